"""The form of an experiment: it shows what the text says, says what it shows, and names what is wrong."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from app.pages.runs.build import bundled
from app.pages.runs.build.changes import changed
from app.pages.runs.build.draft import (
    checked,
    field_of,
    from_fields,
    listed_text,
    plain,
    shown,
    span,
    text_of,
)
from app.pages.runs.build.form import form
from app.pages.runs.build.yaml import written
from core.experiments.reading.experiment import from_dict, read_experiment


@pytest.mark.parametrize("name", [each.name for each in bundled.bundled()])
def test_what_is_written_is_read_as_the_same_experiment(name: str) -> None:
    experiment = bundled.find(name).experiment
    assert read_experiment(written(experiment.to_dict())) == experiment


def fields_of(draft: dict[str, Any]) -> dict[str, Any]:
    """The form's fields as a browser would send them."""
    found: dict[str, Any] = {}

    def walk(node: Any) -> None:
        if isinstance(node, list | tuple):
            for each in node:
                walk(each)
            return
        ident = getattr(node, "id", None)
        if isinstance(ident, dict) and ident.get("type") == "field":
            found[ident["name"]] = getattr(node, "value", None) if hasattr(node, "value") else node.checked
        if getattr(node, "children", None) is not None:
            walk(node.children)

    walk(form(draft))
    return found


@pytest.mark.parametrize("name", [each.name for each in bundled.bundled()])
def test_the_form_says_the_experiment_that_it_shows(name: str) -> None:
    experiment = bundled.find(name).experiment
    again, problem = checked(text_of(fields_of(experiment.to_dict())))
    assert problem is None
    assert again is not None
    assert again.scenario_dict() == experiment.scenario_dict()
    assert (again.baseline, again.seeds) == (experiment.baseline, experiment.seeds)
    assert [(arm.label, arm.policy) for arm in again.policies] == [
        (arm.label, arm.policy) for arm in experiment.policies
    ]


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("workers/0/cores", "-2", "cores"),
        ("kinds/0/demand", "64", "no worker has more"),
        ("drawn/count", "many", "many"),
        ("kinds/1/work", "0 to 5", "work"),
        ("seeds/count", "0", "0"),
        ("world/gamma", "2 cores", "“cores”"),
        ("policies/1/settings/alpha", "-1", "alpha"),
    ],
)
def test_what_is_wrong_is_shown_at_its_field_and_line(field: str, value: str, words: str) -> None:
    given_ = fields_of(dict(bundled.NEW)) | {field: value}
    text = text_of(given_)
    _, problem = checked(text)
    assert problem is not None
    assert words in problem.message
    assert problem.message.startswith(f"Line {problem.line}: ")
    assert value.split(maxsplit=1)[0] in text.splitlines()[problem.line - 1]
    kinds = list(from_fields(given_)["kinds"])
    assert field_of(problem.path, kinds, list(given_)) == field


def test_text_that_is_no_yaml_names_its_line() -> None:
    _, problem = checked("version: 1\nname: [broken\n")
    assert problem is not None
    assert problem.line >= 2


def test_parts_are_added_and_taken_away() -> None:
    draft = dict(bundled.NEW)
    more = changed(changed(draft, "add-policies", ""), "add-kinds", "")
    assert len(more["policies"]) == 3
    assert list(more["kinds"]) == ["VAE", "GRU", "kind-1"]
    assert list(changed(more, "drop-kinds", "0")["kinds"]) == ["GRU", "kind-1"]
    assert len(changed(draft, "drop-workers", "0")["workers"]) == 0
    assert changed(draft, "nonsense", "") == draft


def test_listed_jobs_go_through_their_field() -> None:
    jobs = [{"id": "one", "kind": "VAE", "at": 0.0}, {"id": "two", "kind": "VAE", "work": 12.5}]
    assert from_fields({"jobs": listed_text(jobs)})["jobs"] == jobs
    assert yaml.safe_load(listed_text(jobs)) == jobs


@pytest.mark.parametrize(
    ("text", "value"), [("5", 5), ("0.5", 0.5), ("1e3", 1000), ("90 s", "90 s"), ("x", "x"), (3, 3)]
)
def test_numbers_are_numbers_and_all_else_is_left_to_the_reader(text: Any, value: Any) -> None:
    assert plain(text) == value


@pytest.mark.parametrize(
    ("value", "text"), [([100, 300], "100 to 300"), (5.5, "5.5"), ([2, 2], "2"), (None, "")]
)
def test_spans_are_written_with_to(value: Any, text: str) -> None:
    assert shown(value) == text
    if isinstance(value, list) and value[0] != value[1]:
        assert span(text) == value


@pytest.mark.parametrize("text", ["100-300", "100–300", "[100, 300]", "100 to 300", " 100,300 "])
def test_spans_are_read_as_people_write_them(text: str) -> None:
    assert span(text) == [100, 300]


def test_the_new_experiment_is_valid() -> None:
    assert from_dict(dict(bundled.NEW)).n_jobs == 8
