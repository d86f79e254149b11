"""The overview: before there is anything, while samples load, when that failed, and with data."""

import json
import re
import time
from dataclasses import replace

import pytest

from app.context import EXTENSION, Choice, workspace
from app.main import create_app
from app.pages.overview import page
from app.pages.overview.cards import _saving, attention
from app.pages.overview.page import _docker
from app.ui.evaluations import saved_tile
from core.bootstrap import worker_for
from core.config import Settings
from core.engines.values import EngineKey
from core.errors import ConflictError
from core.live.view import LiveFiles, write, write_attached
from core.provisioning.evaluation.evaluate import EvaluationSettings
from core.provisioning.verdict.savings import PriceSettings
from core.provisioning.verdict.verdict import verdict
from core.sampling.values import AttachedPolicy, ContainerRow, EngineInfo, EngineState, LiveView, Mode
from core.workspace.evaluations import Question
from core.workspace.records import TaskState
from core.workspace.samples import load_samples
from tests.builders import small_traces
from tests.data.make_synthetic import SYNTHETIC


def text(node):
    return json.dumps(node, default=lambda each: each.to_plotly_json(), ensure_ascii=False)


@pytest.fixture
def server(tmp_path):
    made = create_app(Settings(home=tmp_path / "home", docker="here=unix:///nowhere.sock")).server
    with made.test_request_context("/"):
        yield made
    made.extensions[EXTENSION].close()


# ---- before there is anything ----


def test_nothing_is_loaded_until_it_is_asked_for(server):
    shown = text(page.layout())
    for words in (
        "What does a training job need, phase by phase?",
        "Validation",
        "Understand what jobs need",
        "Stop over-allocating",
        "Steer running containers",
        "Docker: not found",
        "Demo: recorded jobs, replayed",
        "No worker is running",
    ):
        assert words in shown
    assert workspace().traces.list() == []
    assert workspace().tasks.list(1) == []


@pytest.mark.parametrize(
    ("state", "demo", "words"),
    [
        (EngineState.READY, True, ("Docker 28.5", "16 cores. Control is off.")),
        (EngineState.MISSING, True, ("Docker: not found", "Live opens the demo instead.")),
        (EngineState.MISSING, False, ("Docker: not found", "Start it.")),
        (EngineState.DENIED, True, ("Docker: no permission", "Start it.")),
    ],
)
def test_a_docker_host_stands_there_as_it_was_found(server, state, demo, words):
    info = EngineInfo("local", "", state, "It does not answer.", "Start it.", cores=16.0, version="28.5")
    shown = text(_docker(info, alone=True, demo=demo))
    for each in words:
        assert each in shown


def test_a_page_that_is_opened_while_samples_load_says_so(server):
    workspace().tasks.submit("samples", "Samples", {})
    shown = text(page.layout())
    assert "Loading…" in shown
    assert '"disabled": true' in shown


def test_samples_that_could_not_be_loaded_say_why(server, monkeypatch):
    task = workspace().tasks.submit("samples", "Samples", {})
    info = workspace().tasks.get(task)
    failed = replace(info, state=TaskState.FAILED, error=("A sample is damaged.", "Download it again."))
    monkeypatch.setattr(page, "_failed", lambda: failed)
    monkeypatch.setattr(workspace().tasks, "list", lambda *_: [])
    shown = text(page.layout())
    assert "The samples were not loaded." in shown
    assert "A sample is damaged. Download it again." in shown
    assert "Loading…" not in shown


# ---- with data ----


def test_with_data_it_says_what_is_here_and_what_to_do(server):
    load_samples(workspace().traces, workspace().models, sample=SYNTHETIC)
    shown = text(page.layout())
    for words in (
        "not evaluated yet",
        "Evaluate requests and limits",
        "Controlled now",
        "What is new",
        "What to do next",
        "No worker is running",
        "Only the sample traces are loaded",
    ):
        assert words in shown
    # said only where there is a keyboard
    assert '{"children": " with the arrow keys", "className": "bykeys"}' in shown


def test_one_part_that_fails_leaves_the_others(server, monkeypatch):
    def broken(*_):
        raise ConflictError("The labels cannot be read.", "Label again.")

    load_samples(workspace().traces, workspace().models, sample=SYNTHETIC)
    monkeypatch.setattr(page, "what_jobs_do", broken)
    shown = text(page.layout())
    assert "The labels cannot be read." in shown
    assert "What is new" in shown


def test_limits_that_are_not_the_original_ones_are_said(server):
    live = workspace().live
    live.saved_limits.keeper("").keep(EngineKey("here", "x"), "a" * 64, {})
    live.saved_limits.keeper("").keep(EngineKey("here", "x"), "b" * 64, {})
    steps = [step for step in attention([]) if "Limits" in step.text]
    assert [(step.text, step.href) for step in steps] == [
        ("Limits of 2 containers on here are not their original ones.", "/live?engine=here")
    ]


def test_an_engine_that_is_silent_while_something_goes_on_there_is_said(server):
    tasks = workspace().tasks
    tasks.submit("record", "Record", {"engine": "here"})
    steps = [step.text for step in attention(tasks.list(5)) if step.text.startswith("here")]
    assert len(steps) == 1
    assert "not found" in steps[0]
    assert not [step for step in attention([]) if step.text.startswith("here")]


def test_a_failure_is_said_until_the_same_has_worked(server, sentence):
    task = workspace().tasks.get(workspace().tasks.submit("evaluate", "Compare", {}))
    failed = replace(task, state=TaskState.FAILED, error=("It is too short.", "Take another."))
    done, other = replace(task, id="b", state=TaskState.DONE), replace(failed, id="c", title="Another")
    texts = [[step.text for step in attention(tasks) if "too short" in step.text]
             for tasks in ([failed], [done, failed], [failed, done], [done, other])]  # fmt: skip
    assert [len(each) for each in texts] == [1, 0, 1, 1]
    sentence(*texts[0])
    assert not [step for step in attention([replace(task, id="d", retry_of=task.id), failed])
                if "too short" in step.text]  # fmt: skip


# ---- what could be saved ----


def test_without_a_comparison_nothing_is_said_of_savings(server):
    load_samples(workspace().traces, workspace().models, sample=SYNTHETIC)
    shown = text(page.layout())
    assert "not evaluated yet" in shown
    assert "Evaluate requests and limits" in shown


def test_the_saving_is_that_of_the_table_and_of_the_chosen_traces_first(server):
    space = workspace()
    runs = replace(small_traces(8, samples=60), attributes={"workload": ["job"] * 8})
    first, other = (space.traces.add(runs, None, name=name) for name in ("night", "day"))
    settings = EvaluationSettings(cycle=60.0, draws=100)
    task = space.evaluations.submit(Question(first.id, None, settings, ("prev.step.max",)))
    worker_for(space).work(task)
    report = space.evaluations.get(str(space.tasks.get(task).result["evaluation"])).report
    table = text(saved_tile(verdict(report), report, PriceSettings()).children[1])
    own, others = (_saving(Choice(traces, None)) for traces in (first, other))
    assert text(own.children[1]) == text(others.children[1]) == table
    assert re.search(r"\d", table)
    assert "on “night”" in text(others)
    assert "on “" not in text(own)


def test_it_says_which_policy_steers_how_many_containers(server):
    space = workspace()
    files = LiveFiles(space.settings.home, "demo")
    files.want("model")
    info = space.live.engines.get("demo")
    write(files.snapshot, LiveView(info, time.time(), (ContainerRow("a", "job"), ContainerRow("b", "two"))))
    params = {"engine": "demo", "policy": "flowcon", "mode": "control"}
    task = space.tasks.submit("attach", "FlowCon controls demo", params)
    write_attached(files.attached, AttachedPolicy(task, "flowcon", Mode.CONTROL, resizes=3), {})
    load_samples(space.traces, space.models, sample=SYNTHETIC)
    shown = text(page.layout())
    assert "FlowCon on Demo: recorded jobs, replayed, 3 resizes" in shown
    assert files.model() == "model"
