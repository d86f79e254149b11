"""The exam that every kind of task sits, so that a new one is shown everywhere and breaks nothing."""

import re
from datetime import UTC, datetime
from pathlib import Path

import pytest

from app.ui import task_card
from core.errors import NotFoundError
from core.handlers import KINDS
from core.tasks.kind import ResultLink
from core.workspace.records import TaskInfo, TaskState
from tests.runtime.kinds_for_tests import kind_for_tests

ROOT = Path(__file__).resolve().parents[2]
PAGES = {path.stem for path in (ROOT / "app" / "pages").iterdir() if not path.name.startswith("_")}
ID = "0123456789abcdef"
EVERY_KIND = pytest.mark.parametrize("kind", [kind for _, kind in KINDS.items()], ids=lambda kind: kind.name)


def finished_task(kind, params=None, result=None):
    """A task of a kind that is done."""
    now = datetime(2026, 11, 20, tzinfo=UTC)
    return TaskInfo(
        id=ID, kind=kind.name, title="A task", state=TaskState.DONE, progress=1.0, message="", error=None,
        params=params or {}, result=result, created=now, started=now, finished=now, seconds_left=None,
        attempt=1, retry_of=None
    )  # fmt: skip


def tasks_of(kind):
    """Done tasks as they are, and as other versions and other hands may have left them."""
    full = {"trace_set": ID, "model": ID, "experiment": ID}
    numbers = {"decisions": 3, "resizes": 1, "recommended": 4, "trials": [{}], "candidates": [{}]}
    given = {name: numbers.get(name, ID) for name in kind.gives}
    yield finished_task(kind, full, given)
    yield finished_task(kind, {}, given)
    yield finished_task(kind, full, {})
    yield finished_task(kind, {}, None)


@EVERY_KIND
def test_it_has_a_title_of_its_own_and_an_icon_that_is_there(kind):
    assert KINDS[kind.name] is kind
    assert re.fullmatch(r"[a-z][a-z_]*", kind.name)
    assert re.fullmatch(r"[A-Z].{3,29}[^.]", kind.title)
    assert [other.title for _, other in KINDS.items()].count(kind.title) == 1
    assert f".i-{kind.icon}{{" in (ROOT / "assets" / "css" / "icons.css").read_text()


@EVERY_KIND
def test_its_outcome_is_one_short_sentence_whatever_is_missing(kind):
    for task in tasks_of(kind):
        said = kind.outcome(task)
        assert re.fullmatch(r"[A-Z0-9“].*\.", said)
        assert len(said) <= 120
        assert "None" not in said
    assert kind.kept.endswith(".")


@EVERY_KIND
def test_its_link_leads_to_a_page_of_the_application_or_nowhere(kind):
    links = [kind.link(task) for task in tasks_of(kind)]
    assert links[0] is not None
    for link in filter(None, links):
        assert link.page in PAGES
        address = task_card.address_of(link)
        assert address is None or re.fullmatch(r"/[a-z]+(\?[^ ?]+)?", address)
        assert address is None or "None" not in address


@EVERY_KIND
def test_it_tells_before_it_runs_whether_it_draws_a_curve(kind):
    for params in ({}, {"settings": None}, {"settings": {"encoder": "pca"}}):
        epochs = kind.curve(params)
        assert epochs is None or epochs > 0


def test_the_docs_name_kinds_with_their_results():
    text = (ROOT / "docs" / "runtime.md").read_text(encoding="utf-8")
    rows = [
        line.split("|")[1:-1] for line in text.splitlines() if re.match(r"\| `[a-z_]+` \| (`|none)", line)
    ]
    given = {cells[0].strip(" `"): cells[-1].strip() for cells in rows}
    assert len(given) >= 10
    for name, result in given.items():
        assert result == ", ".join(f"`{each}`" for each in KINDS[name].gives)


@EVERY_KIND
def test_it_is_shown_by_what_it_declares(kind):
    task = next(tasks_of(kind))
    assert (task_card.title(task), task_card.icon_name(task)) == (kind.title, kind.icon)
    assert task_card.outcome(task) == kind.outcome(task)
    assert task_card.kept_work(task) == kind.kept


def test_a_new_kind_is_shown_without_another_line(monkeypatch):
    made = kind_for_tests("tidy_up", lambda *_: {})
    task = finished_task(made, {"model": ID})
    assert task_card.title(task) == "Tidy up"
    assert task_card.outcome(task) == ""
    assert task_card.result_link(task) is None
    monkeypatch.setitem(KINDS._entries, "tidy_up", made)
    assert task_card.title(task) == made.title
    assert task_card.outcome(task) == "It is done."


@pytest.mark.parametrize(
    ("link", "address"),
    [
        (ResultLink("traces"), "/traces"),
        (ResultLink("phases", {"model": "m", "trace_set": "t"}), "/phases?model=m&traces=t"),
        (ResultLink("models", {"view": "search", "trace_set": None}), "/models?view=search"),
        (ResultLink("provisioning", {"trace_set": "t", "settings": {"cycle": -1}}), None),
        (ResultLink("provisioning", {}), None),
    ],
)
def test_a_link_becomes_an_address(link, address):
    assert task_card.address_of(link) == address


def test_a_kind_that_is_not_there_is_named(refuses):
    with refuses(NotFoundError):
        KINDS["dance"]
