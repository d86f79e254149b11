"""The form of an experiment: it shows what the text says, says what it shows, and names what is wrong."""

import pytest
import yaml

from app.pages.runs import builder
from app.pages.runs.draft import (
    check_text,
    field_of,
    from_fields,
    has_seed_gaps,
    parse_number,
    parse_span,
    text_of,
    write_yaml,
)
from app.pages.runs.form import change_parts, field_text, form, listed_text
from app.pages.runs.query import View
from app.ui.links import Query
from core.bootstrap import worker_for
from core.experiments.spec_reader import from_dict, read_experiment
from tests.builders import SIX_JOBS


@pytest.mark.parametrize("name", [each.name for each in builder.bundled()])
def test_what_is_written_is_read_as_the_same_experiment(name):
    experiment = builder.find(name).experiment
    assert read_experiment(write_yaml(experiment.to_dict())) == experiment


def fields_in(made):
    """The fields of a part of the form."""
    found = {}

    def walk(node):
        if isinstance(node, list | tuple):
            for each in node:
                walk(each)
            return
        ident = getattr(node, "id", None)
        if isinstance(ident, dict) and ident.get("type") == "field":
            found[ident["name"]] = getattr(node, "value", None) if hasattr(node, "value") else node.checked
        if getattr(node, "children", None) is not None:
            walk(node.children)

    walk(made)
    return found


def fields_of(draft):
    """The form's fields as a browser would send them."""
    return fields_in(form(draft))


@pytest.mark.parametrize("name", [each.name for each in builder.bundled()])
def test_the_form_says_the_experiment_that_it_shows(place, name):
    assert place
    experiment = builder.find(name).experiment
    again, problem = check_text(text_of(fields_of(experiment.to_dict())))
    assert problem is None
    assert again is not None
    assert again.scenario_dict() == experiment.scenario_dict()
    assert again.published == experiment.published
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
def test_what_is_wrong_is_shown_at_its_field_and_line(field, value, words):
    given_ = fields_of(dict(builder.NEW)) | {field: value}
    text = text_of(given_)
    _, problem = check_text(text)
    assert problem is not None
    assert words in problem.message
    assert problem.message.startswith(f"Line {problem.line}: ")
    assert value.split(maxsplit=1)[0] in text.splitlines()[problem.line - 1]
    kinds = list(from_fields(given_)["kinds"])
    assert field_of(problem.path, kinds, list(given_)) == field


def test_text_that_is_no_yaml_names_its_line():
    _, problem = check_text("version: 1\nname: [broken\n")
    assert problem is not None
    assert problem.line >= 2


def test_parts_are_added_and_taken_away():
    draft = dict(builder.NEW)
    more = change_parts(change_parts(draft, "add-policies", ""), "add-kinds", "")
    assert len(more["policies"]) == 3
    assert list(more["kinds"]) == ["VAE", "GRU", "kind-1"]
    assert list(change_parts(more, "drop-kinds", "0")["kinds"]) == ["GRU", "kind-1"]
    assert len(change_parts(draft, "drop-workers", "0")["workers"]) == 0
    assert change_parts(draft, "nonsense", "") == draft


def test_two_kinds_of_one_name_stay_two():
    given = fields_of(dict(builder.NEW)) | {"kinds/1/name": "VAE"}
    made = from_fields(given)["kinds"]
    assert list(made) == ["VAE", "VAE (again)"]
    assert made["VAE"]["work"] == [200, 600]


def test_listed_jobs_go_through_their_field():
    jobs = [{"id": "one", "kind": "VAE", "at": 0.0}, {"id": "two", "kind": "VAE", "work": 12.5}]
    assert from_fields({"jobs": listed_text(jobs)})["jobs"] == jobs
    assert yaml.safe_load(listed_text(jobs)) == jobs


@pytest.mark.parametrize(
    ("text", "value"), [("5", 5), ("0.5", 0.5), ("1e3", 1000), ("90 s", "90 s"), ("x", "x"), (3, 3)]
)
def test_numbers_are_numbers_and_all_else_is_left_to_the_reader(text, value):
    assert parse_number(text) == value


@pytest.mark.parametrize(
    ("value", "text"), [([100, 300], "100 to 300"), (5.5, "5.5"), ([2, 2], "2"), (None, "")]
)
def test_spans_are_written_with_to(value, text):
    assert field_text(value) == text
    if isinstance(value, list) and value[0] != value[1]:
        assert parse_span(text) == value


@pytest.mark.parametrize("text", ["100-300", "100–300", "[100, 300]", "100 to 300", " 100,300 "])
def test_spans_are_read_as_people_write_them(text):
    assert parse_span(text) == [100, 300]


def test_a_form_is_edited_as_text_from_then_on():
    typed = builder.find("flowcon-5-random").experiment.to_dict() | {"name": "Typed", "about": "by hand"}
    given = fields_of(typed)
    ids = [{"name": name} for name in given]
    text, *hidden, mode = builder.edit_text(1, ids, list(given.values()), [None] * len(ids), [], [])
    assert hidden == [True, False, True]
    assert mode == "text"
    assert text == text_of(given)
    assert "name: Typed" in text


def test_a_list_of_seeds_with_gaps_is_text_from_the_start(place):
    """A count and a first seed cannot say it, and the form would run others in silence."""
    experiment = read_experiment(SIX_JOBS.replace("seeds: 3", "seeds: [4, 8, 15]"))
    assert experiment.seeds == (4, 8, 15)
    worker_for(place).work(place.runs.submit(experiment))
    (info,) = place.runs.experiments()
    page = builder.build_page(View.read(Query("/runs", {"look": "build", "from": info.id})))
    found = {
        getattr(node, "id", None): node
        for node in parts_of(page)
        if isinstance(getattr(node, "id", None), str)
    }
    assert found["run-fields"].hidden
    assert not found["run-text"].hidden
    assert found["run-mode"].data == "text"
    assert "[4, 8, 15]" in found["run-yaml"].value
    assert not has_seed_gaps({"seeds": [4, 5, 6]})
    assert not has_seed_gaps({"seeds": {"count": 3}})


def parts_of(node):
    """A part of a page and all that is in it."""
    if isinstance(node, list | tuple):
        return [one for each in node for one in parts_of(each)]
    inside = getattr(node, "children", None)
    return [node, *([] if inside is None else parts_of(inside))]


def test_jobs_with_recorded_losses_go_through_the_form(sentence):
    draft = dict(builder.NEW) | {
        "kinds": {"VAE": {"work": 5}, "mine": {"losses": [3.0, 2.0, 1.5], "values": 9}}
    }
    given = fields_of(draft)
    assert "mine" in given["recorded"]
    assert from_fields(given)["kinds"]["mine"] == {"values": 9, "losses": [3.0, 2.0, 1.5]}
    again, problem = check_text(text_of(given))
    assert problem is None
    assert again is not None
    assert again.kinds["mine"].losses == (3.0, 2.0, 1.5)
    _, problem = check_text(text_of(given | {"recorded": "mine: {losses: [1, 2]}"}))
    assert problem is not None
    sentence(problem.message)


def test_the_new_experiment_is_valid():
    assert from_dict(dict(builder.NEW)).n_jobs == 8


def test_five_things_come_first_and_the_rest_is_folded():
    sections = form(dict(builder.NEW))
    *first, more = sections
    titles = [part.children[0].children for part in first]
    assert titles == ["Experiment", "Machines", "Jobs", "Policies", "Seeds"]
    assert not more.open
    assert {"about", "world/gamma"} <= set(fields_in([more]))
    assert form({**builder.NEW, "engine": "docker"})[-1].open
