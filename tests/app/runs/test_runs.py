"""The Runs pages without a browser: what they show of an experiment, its ledger, and its files."""

import json
from dataclasses import replace

import pytest
from dash import no_update

from app.pages.runs import board_cells, builder, listing, page, stored
from app.pages.runs.experiment import has_new_seeds, predicted_card
from app.pages.runs.measures import format_measure
from app.pages.runs.query import View
from app.pages.runs.selection import facts_of, select
from app.pages.runs.stored import list_policies, policy_title
from app.pages.runs.tick import describe_action, lines
from app.ui import task_card
from app.ui.links import Query
from core.bootstrap import worker_for
from core.errors import NotFoundError
from core.experiments.leaderboard import MEASURES
from core.experiments.spec_reader import read_experiment
from tests.builders import SIX_JOBS


@pytest.fixture
def experiment(place):
    """An experiment that was asked for and run; gives its id."""
    task = place.runs.submit(read_experiment(SIX_JOBS))
    worker_for(place).work(task)
    return str(place.tasks.get(task).params["experiment"])


def text_of_page(**values):
    return json.dumps(page.body(Query("/runs", values)), default=lambda each: each.to_plotly_json())


def test_the_empty_page_starts_a_bundled_experiment_with_one_click(server):
    text = text_of_page()
    assert "No runs yet" in text
    assert all(each.experiment.name in text for each in builder.bundled())


def test_an_experiment_is_compared(experiment):
    text = text_of_page(experiment=experiment, over="lists")
    for words in (
        "Six jobs",
        "3 paired seeds",
        "Mean completion",
        "Step through Fewest jobs",
        "Lists, FlowCon",
    ):
        assert words in text
    only = text_of_page(experiment=experiment, seed="2")
    assert "Time series were not saved for this seed" in only


def test_the_predictions_of_the_simulator_stand_beside_measurements(place, experiment):
    info = place.runs.experiment(experiment)
    view = View.read(Query("/runs", {"experiment": experiment}))
    selection = select(info, view)
    rows = board_cells.rows(info, selection, view)
    assert predicted_card(info, selection, rows) is None
    measures = dict.fromkeys(MEASURES, 60.0)
    comparison = [
        {"label": "fewest", "measures": measures},
        {"label": "specon", "measures": measures | {"mean": 45.0}},
    ]
    fit = {"gamma": 0.04, "curve_error": 0.02}
    predicted = {
        "comparison": comparison,
        "fits": {"1": fit, "2": fit | {"gamma": 0.06}},
        "missing": {"3": "why"},
    }
    made = predicted_card(replace(info, report={"predicted": predicted}), selection, rows)
    text = json.dumps(made, default=lambda each: each.to_plotly_json(), ensure_ascii=False)
    for words in (
        "−25.0%",
        "45.0 s",
        "SpeCon",
        "0.040 to 0.060",
        "1 repeat could not be fitted",
        "Fewest jobs alone",
    ):
        assert words in text, words
    measured = next(row for row in rows if row.label == "specon")
    assert format_measure("mean", measured.measures["mean"]) in text
    assert "FlowCon" not in text


def test_policies_of_the_same_scenario_join_from_other_experiments(place, server, experiment):
    task = place.runs.submit(read_experiment(SIX_JOBS.replace("[fewest, specon, flowcon]", "[las]")))
    worker_for(place).work(task)
    info = place.runs.experiment(experiment)
    assert "Add a policy of another experiment" in text_of_page(experiment=experiment)
    (key,) = stored.rivals(info)
    assert key.startswith("las@")
    address = page.choose(
        ["fewest", key], [{"name": "base"}, {"name": "rival"}], f"?experiment={experiment}", "/runs"
    )
    view = View.read(Query.parse("/runs", address))
    selection = select(info, view)
    assert [side.key for side in selection.sides] == ["fewest", "specon", "flowcon", key]
    assert selection.drawn[-1].key == view.highlighted == key
    rows = {row.label: row for row in board_cells.rows(info, selection, view)}
    assert rows[key].measures["mean"] == pytest.approx(
        sum(place.runs.result(run).mean for run in stored.rivals(info)[key].runs.values()) / 3
    )
    assert "Add a policy of another experiment" not in text_of_page(**view.query.values)
    other = server.test_client().get(f"/api/experiments/{experiment}/leaderboard.csv{address}")
    assert ",las · Six jobs,fewest,3," in other.text


def test_the_ledger_shows_a_tick_with_its_reasons(place, experiment):
    run = place.runs.experiment(experiment).runs["flowcon"][1]
    ticks = place.runs.ledgers.ticks(run)
    busy = next(tick.number for tick in ticks if tick.actions)
    text = text_of_page(experiment=experiment, look="ledger", of="flowcon", tick=str(busy))
    entry = place.runs.ledgers.entry(run, busy)
    assert f"Tick {busy}" in text
    assert all(describe_action(action) in text for action in entry.actions)
    found = lines(entry, place.runs.ledgers.series(run))
    assert [line.job.id for line in found if line.decided] == [
        job.id for job in entry.observation.jobs if any(action.job == job.id for action in entry.actions)
    ]


def test_a_tick_beyond_the_last_is_the_last(place, experiment):
    last = len(place.runs.ledgers.ticks(place.runs.experiment(experiment).runs["specon"][1])) - 1
    assert f"Tick {last}," in text_of_page(experiment=experiment, look="ledger", of="specon", tick="99999")


def test_an_address_that_is_wrong_has_its_defaults():
    view = View.read(
        Query("/runs", {"look": "ledger", "measure": "x", "page": "-1", "state": "?", "seed": "a"})
    )
    assert (view.subpage, view.measure, view.page, view.state, view.seed) == (
        "list",
        "completion",
        0,
        None,
        None,
    )


def test_tables_and_runs_are_taken_away(server, place, experiment):
    client = server.test_client()
    host = {"Host": "127.0.0.1"}
    jobs = client.get(f"/api/experiments/{experiment}/jobs.csv", headers=host).text.splitlines()
    assert len(jobs) == 1 + 3 * 3 * 6
    text = client.get(f"/api/experiments/{experiment}.yaml", headers=host).text
    assert read_experiment(text) == place.runs.experiment(experiment).experiment
    run = place.runs.experiment(experiment).runs["specon"][1]
    values = client.get(f"/api/runs/{run}.json", headers=host).json
    assert values["result"]["makespan"] == place.runs.result(run).makespan
    assert set(values["series"]["jobs"]) == {f"Job-{n}" for n in range(1, 7)}
    rows = client.get(f"/api/runs/{run}/lines.csv", headers=host).text.splitlines()
    assert rows[0] == "time_s,job,cpu,limit,weight,worker,state,label,growth,loss,threads"
    assert len(rows) > 6
    workers = client.get(f"/api/runs/{run}/workers.csv", headers=host).text.splitlines()
    assert workers[0] == "time_s,worker,cpu,jobs,cores"
    assert {row.split(",")[1] for row in workers[1:]} == {"box-1", "box-2"}
    moves = client.get(f"/api/runs/{run}/moves.csv", headers=host).text.splitlines()
    assert moves[0] == "time_s,job,from,to,rule,rebalanced,failed"
    assert len(moves) == 1 + len(place.runs.ledgers.series(run)["moves"])
    report = client.get(f"/api/experiments/{experiment}/report.json", headers=host).json
    assert report["baseline"] == "fewest"


def test_deleting_names_what_goes_and_takes_the_runs(place, experiment):
    assert "9 runs" in json.dumps(
        listing.confirm_delete(experiment), default=lambda each: each.to_plotly_json()
    )
    assert stored.delete(experiment) == 9
    assert "No runs yet" in text_of_page()


def test_when_the_task_ends_the_head_changes_and_the_browser_is_told_what_there_is(
    monkeypatch, place, experiment
):
    """Equal marks mean equal results; a redrawn page would close the menu that a person has just opened."""
    changed = {}
    monkeypatch.setattr(page, "set_props", lambda name, props: changed.update({name: props}))
    address = f"?experiment={experiment}"
    fresh = page.follow(None, None, "/runs", address, ["running", 3])
    assert "finished" in json.dumps(changed.pop("run-head"), default=lambda each: each.to_plotly_json())
    assert (fresh["mark"], fresh["address"]) == ("done 3", address)
    drawn = json.dumps(fresh["page"], default=lambda each: each.to_plotly_json())
    assert f'"data-mark": "{fresh["mark"]}"' in drawn
    again = page.follow(None, None, "/runs", address, ["running", 3])
    assert again["at"] > fresh["at"]
    assert '"data-at": "' in drawn
    changed.clear()
    assert page.follow(None, None, "/runs", address, None) is no_update
    assert page.follow(None, None, "/traces", address, ["running", 3]) is no_update
    assert not changed


def test_results_that_come_while_the_page_is_made_are_shown_later(monkeypatch, place, experiment):
    """The mark is of the moment before the results were read, so that the last answer is no known one."""
    info = place.runs.experiment(experiment)
    states = iter(["running", "running"])
    monkeypatch.setattr(stored, "state_of", lambda _: next(states, "done"))
    drawn = page.body(Query.parse("/runs", f"?experiment={info.id}"))
    assert "running 3" in json.dumps(drawn, default=lambda each: each.to_plotly_json())


def test_results_are_drawn_as_they_come(monkeypatch, place, experiment):
    """While a task runs the page is drawn again when there are twice as many, and once it has stopped."""
    changed = []
    monkeypatch.setattr(page, "set_props", lambda name, _: changed.append(name))
    info = place.runs.experiment(experiment)
    monkeypatch.setattr(place.runs, "experiment", lambda _: replace(info, report=None))
    monkeypatch.setattr(page, "is_polled", lambda _: True)
    address = f"?experiment={experiment}"
    monkeypatch.setattr(stored, "state_of", lambda _: "running")
    assert page.follow(None, 1, "/runs", address, ["running", 2]) is no_update
    assert page.follow(None, 1, "/runs", address, ["running", 1]) is not no_update
    assert not changed
    assert page.follow(None, 1, "/runs", address, ["queued", 2]) is no_update
    assert changed.pop() == "run-head"  # it waited, and runs now
    assert page.follow(None, None, "/runs", address, None) is no_update
    assert changed == ["run-head"]
    monkeypatch.setattr(page, "is_polled", lambda _: False)
    assert page.follow("task", 1, "/runs", address, ["running", 2]) is not no_update
    assert page.follow("task", None, "/runs", address, None) is no_update


def test_a_finished_task_leads_to_its_experiment(place, experiment):
    task = next(task for task in place.tasks.list() if task.kind == "simulate")
    assert task_card.result_link(task) == f"/runs?experiment={experiment}"


def test_quantities_have_their_units():
    assert format_measure("mean", 440.2) == "440 s"
    assert format_measure("worst_slowdown", 1.25) == "1.25×"
    assert format_measure("migrations", 4.3) == "4.3"
    assert format_measure("used", 0.61) == "61.0%"
    assert format_measure("jobs_per_hour", 87.02) == "87.0 / h"
    assert format_measure("pauses", 3.0) == "3"
    assert format_measure("t90", None) == "–"


def test_a_stopped_experiment_keeps_its_runs_and_a_retry_is_its_task(place):
    task = place.runs.submit(read_experiment(SIX_JOBS))
    experiment = str(place.tasks.get(task).params["experiment"])
    info = place.runs.experiment(experiment)
    assert stored.state_of(info) == "queued"
    assert "Nothing to compare yet" in text_of_page(experiment=experiment)
    place.tasks.cancel(task)
    worker_for(place).work(task)
    assert stored.state_of(info) == "cancelled"
    assert "The runs that were done are kept" in text_of_page(experiment=experiment)
    again = place.tasks.retry(task)
    found = stored.task_of(info)
    assert found is not None
    assert found.id == again
    worker_for(place).work(again)
    done = place.runs.experiment(experiment)
    assert stored.state_of(done) == "done"
    assert has_new_seeds(done, View.read(Query("/runs", {})), 1)
    assert not has_new_seeds(done, View.read(Query("/runs", {})), 2)


def test_an_experiment_that_waits_is_among_the_running(place):
    place.runs.submit(read_experiment(SIX_JOBS))
    assert "Six jobs" in text_of_page(state="running")
    assert "No experiment is in this state." in text_of_page(state="failed")
    assert "No experiment is in this state." in text_of_page(state="done")


def test_lines_that_come_later_are_found_later(place, experiment):
    run = place.runs.experiment(experiment).runs["fewest"][1]
    kept = place.runs.ledgers.series
    place.runs.ledgers.series = lambda _run: (_ for _ in ()).throw(NotFoundError("Not yet.", "Wait."))  # type: ignore[method-assign]
    assert facts_of(run) is None
    assert stored.recent_series(run) is None
    place.runs.ledgers.series = kept  # type: ignore[method-assign]
    found = facts_of(run)
    assert found is not None
    assert (found.workers, found.cores, found.bars) == (2, 4.0, True)


@pytest.mark.parametrize(
    ("label", "policy", "title"),
    [
        ("fewest", "fewest", "Fewest jobs"),
        ("NA", "free", "No policy"),
        ("NA one thread", "free", "No policy, one thread"),
        ("half · Another", "half", "Default (half) · Another"),
        ("FlowCon 5% 20 s", "flowcon", "FlowCon 5% 20 s"),
        ("Night", "free", "Night"),
    ],
)
def test_a_policy_without_a_label_of_its_own_is_called_by_its_title(label, policy, title):
    assert policy_title(label, policy) == title


def test_a_list_of_policies_is_short_enough_to_say_how_many_more_there_are():
    for each in builder.bundled():
        words, count = list_policies(each.experiment), len(each.experiment.policies)
        assert count < 4 or words.endswith(f" and {count - 2} more"), each.name
