"""Deadlines on the Runs pages: columns of the leaderboard, two policies against each other, the file."""

import csv
import io

import pytest

from app.pages.runs import board_cells, loads, page
from app.pages.runs.measures import format_measure
from app.pages.runs.selection import select
from core.tables import render_csv
from tests.app.runs.test_queue_pages import run_experiment, text_of, view_of

DEADLINES = """\
version: 1
name: Twice as much as there is
workers: {cores: 4}
kinds:
  VAE: {work: [40, 200], request: 2, slack: 1.5, malleable: true, fixed: 0.1}
  GRU: {work: [20, 100], request: 1, slack: 2, malleable: true, overhead: 0.01}
drawn: {count: 24}
arrivals: {by: uniform, within: 150}
policies: [kube.default, edf, deadline]
baseline: kube.default
seeds: 3
"""


@pytest.fixture
def experiment(place):
    return run_experiment(place, DEADLINES)


def test_the_leaderboard_has_columns_of_deadlines_where_jobs_have_some(place, experiment):
    plain, shown = text_of(experiment=experiment, columns="completion"), text_of(experiment=experiment)
    assert "Waiting and cores" in plain
    assert "Tardiness" not in plain
    assert "Deadline met " in shown
    for words in ("Met", "Admitted", "Kept", "Tardiness", "Allocated cores used", "core-h"):
        assert words in shown, words
    info = place.runs.experiment(experiment)
    view = view_of(experiment=experiment, columns="deadlines")
    assert board_cells.sort_order(view) == ("met", True)
    assert board_cells.dot_measure(view) == "met"
    assert board_cells.sort_order(view_of(experiment=experiment)) == ("mean", False)
    assert board_cells.sort_order(view_of(experiment=experiment, columns="deadlines", sort="mean")) == (
        "mean",
        False,
    )
    rows = board_cells.rows(info, select(info, view), view)
    assert rows[0].label == "deadline"
    assert rows[0].measures["kept"] == 1.0
    assert rows[0].measures["met"] > 1.2 * rows[1].measures["met"]
    assert list(board_cells.columns(rows, view).titles)[:2] == ["met", "promised"]
    assert board_cells.columns(rows, view).ways == ("spread", "deadlines", "queue")


def test_the_file_has_them_with_their_units(place, experiment):
    info = place.runs.experiment(experiment)
    view = view_of(experiment=experiment)
    lines = list(
        csv.DictReader(
            io.StringIO("".join(render_csv(board_cells.board_table(info, select(info, view), view))))
        )
    )
    assert {"met", "kept", "tardiness_s", "lost"} <= set(lines[0])
    assert {line["policy"] for line in lines} == {"kube.default", "edf", "deadline"}


def test_quantities_have_their_units():
    assert format_measure("met", 0.875) == "87.5%"
    assert format_measure("lost", 7200.0) == "2.0 core-h"
    assert format_measure("tardiness", 90.0) == "90.0 s"


AT_LOAD = DEADLINES.replace("arrivals: {by: uniform, within: 150}", "arrivals: {by: load, load: 0.9}")


def at_load(text, load, name):
    return text.replace("load: 0.9", f"load: {load}").replace("Twice as much as there is", name)


def test_deadlines_met_are_drawn_against_load_where_the_same_was_run_at_several(place):
    ample = run_experiment(place, at_load(AT_LOAD, 0.9, "Ample"))
    alone = text_of(experiment=ample)
    assert "Run the same jobs at other loads" in alone
    assert "Run at 0.5, 1.2 and 2" in alone
    scarce = run_experiment(place, at_load(AT_LOAD, 2.0, "Scarce"))
    run_experiment(place, at_load(AT_LOAD, 1.2, "Other machines").replace("cores: 4", "cores: 8"))
    info = place.runs.experiment(ample)
    known = loads.experiments_at_loads(info)
    assert [(load, each.id) for load, each in known.items()] == [(0.9, ample), (2.0, scarce)]
    points = {label: loads.deadlines_met_at_loads(label, known) for label in ("kube.default", "deadline")}
    for label, found in points.items():
        assert [point.load for point in found] == [0.9, 2.0], label
        assert all(0 <= point.low <= point.mean <= point.high <= 1 for point in found)
        seeds = [place.runs.get(run).summary["met"] for run in info.runs[label].values()]
        assert found[0].mean == pytest.approx(sum(seeds) / 3)
    assert points["deadline"][1].mean > points["kube.default"][1].mean
    shown = text_of(experiment=scarce)
    assert "Jobs that met their deadlines" in shown
    assert "means of 3 seeds, with 95% intervals" in shown
    rows = list(loads.loads_table(info).rows)
    assert len(rows) == 6
    assert {(row[0], row[-1]) for row in rows} == {(0.9, 3), (2.0, 3)}


def test_what_is_missing_is_begun_at_once(place, monkeypatch):
    ample = run_experiment(place, at_load(AT_LOAD, 0.9, "Ample"))
    said = []
    monkeypatch.setattr(page, "set_props", lambda *_: None)
    monkeypatch.setattr(page, "notify", lambda *_, title, **__: said.append(title))
    page.act({"act": "loads", "id": ample}, "")
    assert said == ["3 experiments started."]
    names = {info.name for info in place.runs.experiments()}
    assert names == {"Ample", "Ample, load 0.5", "Ample, load 1.2", "Ample, load 2"}
    info = place.runs.experiment(ample)
    assert loads.missing_loads(info, loads.experiments_at_loads(info)) == []


def test_without_a_load_there_is_no_such_card(place, experiment):
    assert "against load" not in text_of(experiment=experiment)
