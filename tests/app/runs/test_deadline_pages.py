"""Deadlines on the Runs pages: columns of the leaderboard, two policies against each other, the file."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING

import pytest

from app.pages.runs.arms import choice, standings
from app.pages.runs.compare.differences import quantity
from tests.app.runs.test_queue_pages import asked, made, text_of

if TYPE_CHECKING:
    from core.runtime.workspace import Workspace

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
def experiment(place: Workspace) -> str:
    return made(place, DEADLINES)


def test_the_leaderboard_has_columns_of_deadlines_where_jobs_have_some(
    place: Workspace, experiment: str
) -> None:
    plain, shown = text_of(experiment=experiment), text_of(experiment=experiment, columns="deadlines")
    assert "Waiting and cores" in plain
    assert "Tardiness" not in plain
    for words in ("Met", "Admitted", "Kept", "Tardiness", "Allocated cores used", "core-h"):
        assert words in shown, words
    info = place.runs.experiment(experiment)
    view = asked(experiment=experiment, columns="deadlines")
    assert standings.sorting(view) == ("met", True)
    assert standings.drawn_measure(view) == "met"
    assert standings.sorting(asked(experiment=experiment)) == ("mean", False)
    assert standings.sorting(asked(experiment=experiment, columns="deadlines", sort="mean")) == (
        "mean",
        False,
    )
    rows = standings.rows(info, choice.chosen(info, view), view)
    assert rows[0].label == "deadline"
    assert rows[0].measures["kept"] == 1.0
    assert rows[0].measures["met"] > 1.2 * rows[1].measures["met"]
    assert list(standings.columns(rows, view).titles)[:2] == ["met", "promised"]
    assert standings.columns(rows, view).ways == ("deadlines", "queue")


def test_two_policies_beside_each_other_say_what_became_of_deadlines(
    place: Workspace, experiment: str
) -> None:
    found = text_of(experiment=experiment, show="two", a="kube.default", b="deadline")
    for words in ("Deadlines met", "Mean tardiness", "Use of allocated cores"):
        assert words in found, words


def test_the_file_has_them_with_their_units(place: Workspace, experiment: str) -> None:
    info = place.runs.experiment(experiment)
    view = asked(experiment=experiment)
    head, rows = standings.csv_rows(info, choice.chosen(info, view), view)
    lines = list(csv.DictReader(io.StringIO("\n".join(",".join(map(str, row)) for row in (head, *rows)))))
    assert {"met", "kept", "tardiness_s", "lost"} <= set(head)
    assert {line["policy"] for line in lines} == {"kube.default", "edf", "deadline"}


def test_quantities_have_their_units() -> None:
    assert quantity("met", 0.875) == "87.5%"
    assert quantity("lost", 7200.0) == "2.0 core-h"
    assert quantity("tardiness", 90.0) == "90.0 s"
