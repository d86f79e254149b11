"""The Runs pages without a browser: what they show of an experiment, its form, its ledger, and its files."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from app.components import run_bundled, run_store, task_words
from app.components.links import Query
from app.components.run_compare import more_seeds
from app.components.run_differences import quantity, said
from app.components.run_draft import checked, field_of, from_fields, listed_text, plain, shown, span, text_of
from app.components.run_form import changed, form
from app.components.run_predicted import predicted_card
from app.components.run_shown import facts_of
from app.components.run_tick import history, lines, sentence
from app.components.run_view import View
from app.components.run_yaml import written
from app.context import EXTENSION
from app.figures import run_areas, run_bands, run_bars, run_lanes, run_rows
from app.figures.run_steps import (
    LOSS_STAGES,
    Stay,
    allowed,
    by_label,
    by_loss,
    edges,
    label_names,
    labels,
    rebinned,
    stairs,
    stays,
    used_share,
)
from app.main import create_app
from app.pages import runs as page
from core.errors import NotFoundError
from core.experiments.compare import MEASURES
from core.experiments.reading import from_dict, read_experiment
from core.runtime.worker import Worker
from core.scheduling.actions import Migrate, SetLimit, Start

if TYPE_CHECKING:
    from collections.abc import Iterator

    from flask import Flask

    from core.config import Settings
    from core.runtime.workspace import Workspace

EXPERIMENT = """
version: 1
name: Six jobs
workers: {count: 2, cores: 2, id: box}
kinds:
  VAE: {work: [20, 60], demand: 2}
drawn: {count: 6}
arrivals: {by: uniform, within: 20}
policies: [fewest, specon, flowcon]
seeds: 3
"""


@pytest.fixture
def server(settings: Settings) -> Iterator[Flask]:
    made: Flask = create_app(settings).server
    with made.test_request_context("/runs"):
        yield made
    made.extensions[EXTENSION].close()


@pytest.fixture
def place(server: Flask) -> Workspace:
    opened: Workspace = server.extensions[EXTENSION]
    return opened


@pytest.fixture
def experiment(place: Workspace) -> str:
    """An experiment that was asked for and run; gives its id."""
    task = place.runs.submit(read_experiment(EXPERIMENT))
    Worker(place).work(task)
    return str(place.tasks.get(task).params["experiment"])


def text_of_page(**values: str) -> str:
    return json.dumps(page.body(Query("/runs", values)), default=lambda each: each.to_plotly_json())


def series(**more: Any) -> dict[str, Any]:
    """Two workers, two jobs; the second moves after 20 s."""
    first = {
        "first": 0,
        "cpu": [0.0, 1.0, 2.0, 2.0],
        "limit": [None, None, 1.0, 1.0],
        "worker": [None, "a", "a", "a"],
        "label": ["NL", "NL", "WL", "CL"],
        "loss": [None, 0.9, 0.5, 0.4],
        "state": ["waiting", "running", "running", "done"],
        "growth": [None, 0.3, 0.2, 0.1],
        "weight": [1.0] * 4,
    }
    second = first | {"first": 1, "cpu": [0.0, 1.0, 1.0], "limit": [None] * 3, "worker": ["a", "a", "b"],
                      "label": ["NL", "NL", "NL"], "state": ["running"] * 3, "loss": [1.0] * 3,
                      "growth": [None] * 3, "weight": [1.0] * 3}  # fmt: skip
    workers = {name: {"capacity": 2.0, "cpu": [0.0, 1.0, 1.0, 1.0], "jobs": [0, 1, 2, 1]} for name in "ab"}
    times, jobs = [0.0, 10.0, 20.0, 40.0], {"one": first, "two": second}
    return {"time": times, "trigger": ["arrival"] * 4, "jobs": jobs, "workers": workers, "moves": [], **more}


def test_a_label_holds_for_the_interval_that_begins_with_its_tick() -> None:
    lines_ = series()
    assert label_names(lines_) == ("NL", "WL", "CL")
    assert labels(lines_, "one", ("NL", "WL", "CL")).tolist() == [-1, 0, 0, 1]
    assert labels(lines_, "two", ("NL", "WL", "CL")).tolist() == [-1, -1, 0, 0]


def test_cpu_is_shared_out_among_labels_and_nothing_is_lost() -> None:
    parts = by_label(series(), ("NL", "WL", "CL"))
    assert parts["NL"].tolist() == [0, 1, 3, 1]
    assert parts["WL"].tolist() == [0, 0, 0, 2]
    assert sum(parts.values()).tolist() == [0, 1, 3, 3]


def test_stages_of_the_loss_split_the_interval_in_which_they_begin() -> None:
    parts = by_loss(series(), {"one": (15.0, 30.0), "two": (None, None)})
    assert parts[LOSS_STAGES[0]].tolist() == [0, 1, 1 + 1, 1]
    assert parts[LOSS_STAGES[1]].tolist() == [0, 0, 1, 1]
    assert parts[LOSS_STAGES[2]].tolist() == [0, 0, 0, 1]


def test_limits_come_to_no_more_than_the_worker_has() -> None:
    assert allowed(series()).tolist() == [0, 2, 2, 3]


def test_the_used_share_is_core_seconds_over_those_offered() -> None:
    assert used_share(series()) == pytest.approx((10 + 30 + 60) / (4 * 40))


def test_stays_end_where_the_next_begins_and_take_free_lanes() -> None:
    found = stays(series())
    assert found == [
        Stay("one", "a", 0.0, 40.0, moved=False, lane=0),
        Stay("two", "a", 0.0, 20.0, moved=False, lane=1),
        Stay("two", "b", 20.0, 40.0, moved=True, lane=0),
    ]


@given(
    st.lists(st.tuples(st.floats(0.01, 50), st.floats(0, 100)), min_size=1, max_size=400), st.integers(1, 50)
)
def test_fewer_intervals_have_the_same_area(pieces: list[tuple[float, float]], most: int) -> None:
    bounds = np.concatenate([[0.0], np.cumsum([length for length, _ in pieces])])
    values = np.array([value for _, value in pieces])
    coarse, means = rebinned(bounds, values, most)
    assert len(means) <= max(most, min(len(values), most))
    assert (means * np.diff(coarse)).sum() == pytest.approx((values * np.diff(bounds)).sum(), abs=1e-6)


def test_stairs_have_two_corners_per_interval() -> None:
    x, y = stairs(np.array([0.0, 1.0, 3.0]), np.array([5.0, 2.0]))
    assert (x.tolist(), y.tolist()) == ([0, 1, 1, 3], [5, 5, 2, 2])


def test_figures_draw_what_they_are_given() -> None:
    lines_, names = series(), ("NL", "WL", "CL")
    areas = run_areas.category_areas(lines_, by_label(lines_, names), names, 40, 4, 40)
    assert [trace.name for trace in areas.data] == ["NL", "WL", "CL", "Limit"]
    lanes = run_lanes.worker_lanes(lines_, 40)
    assert [len(trace.y) for trace in lanes.data] == [2, 1, 3]
    bands = run_bands.label_bands(lines_, names, ["one", "two"], 40)
    assert bands.data[0].text.tolist() == [["NL", "NL", "WL"], ["", "NL", "NL"]]
    rows = run_rows.cpu_rows(lines_, run_rows.job_rows(lines_, ["one", "two"]), 40, 2)
    assert [trace.name for trace in rows.data] == ["one", "one, limit", "two"]
    bars = run_bars.pair_bars(["one"], [("A", [3.0]), ("B", [None])], "Completion time")
    assert [trace.y for trace in bars.data] == [(3.0,), (None,)]


def test_too_many_bars_become_a_heat_map() -> None:
    jobs = {f"job-{n}": series()["jobs"]["one"] for n in range(300)}
    figure = run_lanes.worker_lanes(series(jobs=jobs), 40)
    assert figure.data[0].type == "heatmap"
    assert run_lanes.lanes_height(series(jobs=jobs)) <= 460


def test_the_empty_page_starts_a_bundled_experiment_with_one_click(server: Flask) -> None:
    text = text_of_page()
    assert "No runs yet" in text
    assert all(each.experiment.name in text for each in run_bundled.bundled())


def test_an_experiment_is_compared(experiment: str) -> None:
    text = text_of_page(experiment=experiment)
    for words in ("Six jobs", "3 paired seeds", "Mean completion", "Step through fewest", "Lists, flowcon"):
        assert words in text
    only = text_of_page(experiment=experiment, a="fewest", b="specon", seed="2")
    assert "Lines over time were not kept for this seed" in only


def test_differences_are_paired_and_exchange_their_sign(place: Workspace, experiment: str) -> None:
    info = place.runs.experiment(experiment)
    first, second, every = run_store.pair(info, "fewest", "specon")
    assert second is not None
    assert list(every) == ["fewest", "specon", "flowcon"]
    rows = {row.name: row for row in run_store.differences(first, second)}
    back = {row.name: row for row in run_store.differences(second, first)}
    assert rows["mean"].n == 3
    assert (rows["mean"].a, rows["mean"].b) == (back["mean"].b, back["mean"].a)
    own = next(row for row in info.report["comparison"] if row["label"] == "specon")  # type: ignore[index]
    assert rows["mean"].value == own["differences"]["mean"]["value"]
    assert "95% interval" in said(rows["mean"])


def test_what_the_simulator_predicted_stands_beside_what_was_measured(
    place: Workspace, experiment: str
) -> None:
    info = place.runs.experiment(experiment)
    first, second, _ = run_store.pair(info, "fewest", "specon")
    assert second is not None
    rows = run_store.differences(first, second)
    assert predicted_card(info, rows, ("fewest", "specon")) is None
    measures = dict.fromkeys(MEASURES, 60.0)
    said_ = [
        {"label": "fewest", "measures": measures},
        {"label": "specon", "measures": measures | {"mean": 45.0}},
    ]
    fit = {"gamma": 0.04, "curve_error": 0.02}
    predicted = {"comparison": said_, "fits": {"1": fit, "2": fit | {"gamma": 0.06}}, "missing": {"3": "why"}}
    made = predicted_card(replace(info, report={"predicted": predicted}), rows, ("fewest", "specon"))
    text = json.dumps(made, default=lambda each: each.to_plotly_json(), ensure_ascii=False)
    for words in ("−25.0%", "45.0 s", "specon, predicted", "0.040 to 0.060", "1 repeat could not be fitted"):
        assert words in text, words
    measured = next(row for row in rows if row.name == "mean")
    assert quantity("mean", measured.b) in text


def test_arms_of_the_same_scenario_are_rivals_across_experiments(place: Workspace, experiment: str) -> None:
    task = place.runs.submit(read_experiment(EXPERIMENT.replace("[fewest, specon, flowcon]", "[las]")))
    Worker(place).work(task)
    _, second, every = run_store.pair(place.runs.experiment(experiment), "fewest", None)
    assert [key.partition("@")[0] for key in every] == ["fewest", "specon", "flowcon", "las"]
    assert second is not None
    key = next(key for key in every if key.startswith("las@"))
    assert "Six jobs" in text_of_page(experiment=experiment, a="fewest", b=key)


def test_the_ledger_shows_a_tick_with_its_reasons(place: Workspace, experiment: str) -> None:
    run = place.runs.experiment(experiment).runs["flowcon"][1]
    ticks = place.runs.ticks(run)
    busy = next(tick.number for tick in ticks if tick.actions)
    text = text_of_page(experiment=experiment, look="ledger", of="flowcon", tick=str(busy))
    entry = place.runs.ledger(run, busy)
    assert f"Tick {busy}" in text
    assert all(sentence(action) in text for action in entry.actions)
    found = lines(entry, place.runs.series(run))
    assert [line.job.id for line in found if line.decided] == [
        job.id for job in entry.observation.jobs if any(action.job == job.id for action in entry.actions)
    ]


def test_a_tick_beyond_the_last_is_the_last(place: Workspace, experiment: str) -> None:
    last = len(place.runs.ticks(place.runs.experiment(experiment).runs["specon"][1])) - 1
    assert f"Tick {last}," in text_of_page(experiment=experiment, look="ledger", of="specon", tick="99999")


def test_a_job_has_the_history_of_its_changes() -> None:
    assert history(series(), "one") == [
        (0, "seen for the first time"),
        (1, "on a, running"),
        (2, "now WL, 1.00 cores"),
        (3, "now CL, done"),
    ]
    assert history(series(), "none") == []


def test_actions_are_sentences() -> None:
    assert sentence(SetLimit("a", 0.25)) == "a may use 0.25 cores"
    assert sentence(SetLimit("a", None, 2.0)) == "a has no limit, weight 2.00"
    assert sentence(Migrate("a", "box-2")) == "a moves to box-2"
    assert sentence(Start("a", "box-1", 1.0)) == "a starts on box-1 with 1.00 cores"


@pytest.mark.parametrize("name", [each.name for each in run_bundled.bundled()])
def test_what_is_written_is_read_as_the_same_experiment(name: str) -> None:
    experiment = run_bundled.find(name).experiment
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


@pytest.mark.parametrize("name", [each.name for each in run_bundled.bundled()])
def test_the_form_says_the_experiment_that_it_shows(name: str) -> None:
    experiment = run_bundled.find(name).experiment
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
    given_ = fields_of(dict(run_bundled.NEW)) | {field: value}
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
    draft = dict(run_bundled.NEW)
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


def test_an_address_that_is_wrong_has_its_defaults() -> None:
    view = View.read(
        Query("/runs", {"look": "ledger", "measure": "x", "page": "-1", "state": "?", "seed": "a"})
    )
    assert (view.look, view.measure, view.page, view.state, view.seed) == (
        "list",
        "completion",
        0,
        None,
        None,
    )


def test_tables_and_runs_are_taken_away(server: Flask, place: Workspace, experiment: str) -> None:
    client = server.test_client()
    host = {"Host": "127.0.0.1"}
    table = client.get(f"/api/experiments/{experiment}/differences.csv?a=fewest&b=flowcon", headers=host).text
    assert table.splitlines()[0].startswith("measure,a,b,mean_a,mean_b,difference")
    assert table.splitlines()[1].startswith("mean,fewest,flowcon,")
    jobs = client.get(f"/api/experiments/{experiment}/jobs.csv", headers=host).text.splitlines()
    assert len(jobs) == 1 + 3 * 3 * 6
    text = client.get(f"/api/experiments/{experiment}.yaml", headers=host).text
    assert read_experiment(text) == place.runs.experiment(experiment).experiment
    run = place.runs.experiment(experiment).runs["specon"][1]
    values = client.get(f"/api/runs/{run}.json", headers=host).json
    assert values["result"]["makespan"] == place.runs.result(run).makespan
    assert set(values["series"]["jobs"]) == {f"Job-{n}" for n in range(1, 7)}
    rows = client.get(f"/api/runs/{run}/lines.csv", headers=host).text.splitlines()
    assert rows[0] == "time_s,job,cpu,limit,weight,worker,state,label,growth,loss"
    assert len(rows) > 6
    report = client.get(f"/api/experiments/{experiment}/report.json", headers=host).json
    assert report["baseline"] == "fewest"


def test_deleting_names_what_goes_and_takes_the_runs(place: Workspace, experiment: str) -> None:
    from app.components import run_list

    asked = json.dumps(run_list.asked(experiment), default=lambda each: each.to_plotly_json())
    assert (
        "“Six jobs” and its 9 runs" in json.loads(f'"{asked}"')
        if asked.startswith("“")
        else "9 runs" in asked
    )
    assert run_store.removed(experiment) == 9
    assert "No runs yet" in text_of_page()


def test_a_finished_task_leads_to_its_experiment(place: Workspace, experiment: str) -> None:
    task = next(task for task in place.tasks.list() if task.kind == "simulate")
    assert task_words.result_link(task) == f"/runs?experiment={experiment}"


def test_quantities_have_their_units() -> None:
    assert quantity("mean", 440.2) == "440 s"
    assert quantity("worst_slowdown", 1.25) == "1.25×"
    assert quantity("migrations", 4.3) == "4.3"
    assert quantity("used", 0.61) == "61%"
    assert quantity("t90", None) == "–"


def test_the_new_experiment_is_valid() -> None:
    assert from_dict(dict(run_bundled.NEW)).n_jobs == 8
    assert edges({"time": []}).tolist() == [0.0]


def test_a_stopped_experiment_keeps_its_runs_and_a_retry_is_its_task(place: Workspace) -> None:
    task = place.runs.submit(read_experiment(EXPERIMENT))
    experiment = str(place.tasks.get(task).params["experiment"])
    info = place.runs.experiment(experiment)
    assert run_store.state_of(info) == "queued"
    assert "Nothing to compare yet" in text_of_page(experiment=experiment)
    place.tasks.cancel(task)
    Worker(place).work(task)
    assert run_store.state_of(info) == "cancelled"
    assert "The runs that were done are kept" in text_of_page(experiment=experiment)
    again = place.tasks.retry(task)
    found = run_store.task_of(info)
    assert found is not None
    assert found.id == again
    assert run_store.experiment_of(again) == experiment
    Worker(place).work(again)
    done = place.runs.experiment(experiment)
    assert run_store.state_of(done) == "done"
    assert more_seeds(done, View.read(Query("/runs", {})), 1)
    assert not more_seeds(done, View.read(Query("/runs", {})), 2)


def test_an_experiment_that_waits_is_among_the_running(place: Workspace) -> None:
    place.runs.submit(read_experiment(EXPERIMENT))
    assert "Six jobs" in text_of_page(state="running")
    assert "No experiment is in this state." in text_of_page(state="failed")
    assert "No experiment is in this state." in text_of_page(state="done")


def test_lines_that_come_later_are_found_later(place: Workspace, experiment: str) -> None:
    run = place.runs.experiment(experiment).runs["fewest"][1]
    kept = place.runs.series
    place.runs.series = lambda _run: (_ for _ in ()).throw(NotFoundError("Not yet.", "Wait."))  # type: ignore[method-assign]
    assert facts_of(run) is None
    assert run_store.recent_series(run) is None
    place.runs.series = kept  # type: ignore[method-assign]
    found = facts_of(run)
    assert found is not None
    assert (found.workers, found.cores, found.bars) == (2, 4.0, True)
