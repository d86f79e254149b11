"""All policies of an experiment on one page: who is drawn, the leaderboard, figures, files."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from app.figures.runs import arm_lines, job_bars, lanes
from app.figures.runs.arm_lines import arm_styles
from app.figures.runs.steps import Stay, stays
from app.pages.runs import page, stored
from app.pages.runs.arms import board, choice, standings
from app.pages.runs.arms.jobs import usual
from app.pages.runs.build import callbacks
from app.pages.runs.build.layout import traces_part
from app.pages.runs.compare.differences import kind_of
from app.pages.runs.query import View
from app.pages.runs.stored import change
from app.ui.links import Query
from core.bootstrap import worker_for
from core.experiments.published import Published
from core.experiments.reading.experiment import read_experiment
from core.traces.model import Role
from tests.app.runs.test_run_figures import series
from tests.app.runs.test_run_form import fields_in
from tests.builders import SIX_JOBS, small_traces

if TYPE_CHECKING:
    from flask import Flask

    from core.application import Workspace

SEVEN = SIX_JOBS.replace("[fewest, specon, flowcon]", "[fewest, half, random, las, srpt, specon, phasedock]")


def asked(**values: str) -> View:
    return View.read(Query("/runs", values))


def text_of(**values: str) -> str:
    found = page.body(Query("/runs", values))
    return json.dumps(found, default=lambda each: each.to_plotly_json(), ensure_ascii=False)


@pytest.fixture
def experiment(place: Workspace) -> str:
    """Seven policies on three seeds."""
    task = place.runs.submit(read_experiment(SEVEN))
    worker_for(place).work(task)
    return str(place.tasks.get(task).params["experiment"])


def test_an_experiment_opens_on_its_leaderboard_and_two_are_a_choice(experiment: str) -> None:
    text = text_of(experiment=experiment)
    for words in ("Leaderboard", "3 paired seeds", "All 7 policies", "Growth efficiency, sum of all jobs",
                  "Completion per job", "Step through SpeCon"):  # fmt: skip
        assert words in text, words
    assert "Differences" not in text
    two = text_of(experiment=experiment, show="two")
    assert "Differences" in two
    assert "Leaderboard" not in two
    assert "Leaderboard" not in text_of(experiment=experiment, a="half", b="las")


def test_two_policies_are_beside_each_other_without_a_leaderboard(place: Workspace) -> None:
    task = place.runs.submit(read_experiment(SIX_JOBS.replace(", flowcon]", "]")))
    worker_for(place).work(task)
    text = text_of(experiment=str(place.tasks.get(task).params["experiment"]))
    assert "Differences" in text
    assert "All 2 policies" not in text


def test_who_is_drawn_is_in_the_address(place: Workspace, experiment: str) -> None:
    info = place.runs.experiment(experiment)
    usual_ = choice.chosen(info, asked())
    assert [side.key for side in usual_.drawn] == ["fewest", "half", "random", "las", "srpt", "phasedock"]
    assert usual_.base.key == "fewest"
    assert [style.swatch for style in usual_.styles] == ["base", "o0", "o1", "o2", "o3", "lit"]
    keys = choice.named(["las", "fewest"])
    some = choice.chosen(info, asked(arms=keys, base="las", lit="fewest"))
    assert [side.key for side in some.drawn] == ["las", "fewest"]
    assert [style.swatch for style in some.styles] == ["base", "lit"]
    more = choice.toggled(some, usual_.sides[1])
    assert choice.parsed(more) == ["fewest", "half", "las"]
    assert choice.toggled(choice.chosen(info, asked(arms="las")), usual_.sides[3]) is None
    assert choice.chosen(info, asked(arms="nobody", base="nobody")) == usual_


@pytest.mark.parametrize("label", ["plain", "10% | 20 s", "%7C", "a b & c=d"])
def test_any_label_survives_the_address(label: str) -> None:
    assert choice.parsed(choice.named([label, "other"])) == [label, "other"]


def test_the_leaderboard_says_what_the_report_says_against_any_baseline(
    place: Workspace, experiment: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    info = place.runs.experiment(experiment)
    view = asked(experiment=experiment)
    from_report = standings.rows(info, choice.chosen(info, view), view)
    computed = standings.rows(replace(info, report=None), choice.chosen(info, view), view)
    assert from_report == computed
    means = [row.measures["mean"] for row in from_report]
    assert means == sorted(means)
    back = asked(experiment=experiment, base="phasedock", sort="-makespan")
    rows = standings.rows(info, choice.chosen(info, back), back)
    assert [row.measures["makespan"] for row in rows] == sorted(
        (row.measures["makespan"] for row in rows), reverse=True
    )
    mine = next(row for row in rows if row.label == "fewest").differences["mean"]
    first, second, _ = stored.pair(info, "phasedock", "fewest")
    assert second is not None
    pair = next(row for row in stored.differences(first, second) if row.name == "mean")
    assert (mine.value, mine.low, mine.high) == (pair.value, pair.low, pair.high)


def test_the_picture_of_the_leaderboard_says_what_its_table_says(place: Workspace, experiment: str) -> None:
    info = place.runs.experiment(experiment)
    view = asked(experiment=experiment, sort="-t90", base="srpt")
    found = choice.chosen(info, view)
    rows = standings.rows(info, found, view)
    drawn = board.picture(info, found, view)
    texts = [note.text for note in drawn.layout.annotations]
    names = [text.partition("  ")[2] for text in texts if text[:1].isdigit() and "  " in text]
    titles = {side.key: side.title for side in found.sides}
    assert names == [titles[row.label] for row in rows]
    for row in rows:
        if row.differences:
            assert change(row.differences["t90"].value or 0.0) in texts
    (dots,) = drawn.data
    assert len(dots.x) == len(rows) - 1
    places = dict(zip(dots.y, dots.x, strict=True))
    values = {at: row.differences["t90"].value for at, row in enumerate(rows) if row.differences}
    assert sorted(places, key=places.get) == sorted(values, key=values.get)  # type: ignore[arg-type]


def test_published_figures_stand_beside_the_results_of_their_own_baseline(
    place: Workspace, experiment: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    info = place.runs.experiment(experiment)
    said = (Published("las", "mean", share=-0.136, source="figure 6.19"),
            Published("las", "completion", "Job-1", 57.7, 84.7, source="table 6.2"))  # fmt: skip
    told = replace(info, experiment=replace(info.experiment, published=said))
    monkeypatch.setattr(place.runs, "experiment", lambda _: told)
    text = text_of(experiment=experiment)
    assert "mean −13.6%" in text
    assert "too few seeds to say" in text
    assert "Job-1 −31.9%" in text
    assert "published −31.9%" in text_of(experiment=experiment, bars="table")
    assert "mean −13.6%" not in text_of(experiment=experiment, base="half")


def test_every_figure_is_drawn_for_every_policy(experiment: str) -> None:
    for over in ("learning", "cpu", "stages", "workers", "lists"):
        text = text_of(experiment=experiment, over=over, line="growth")
        if over != "lists":
            for title in ("Fewest jobs", "Random worker", "SRPT", "PhaseDock"):
                assert title in text, (over, title)
    late = text_of(experiment=experiment, seed="2")
    assert "Time series were not saved for this seed" in late


def test_completion_times_are_drawn_in_each_form(experiment: str) -> None:
    for bars in ("job", "policy", "rows", "table"):
        for measure in ("completion", "t90"):
            assert "Job-6" in text_of(experiment=experiment, bars=bars, measure=measure)


def test_few_jobs_stand_by_policy_few_bars_by_job_and_many_in_rows() -> None:
    assert usual(3, 6) == "policy"
    assert usual(20, 4) == "job"
    assert usual(50, 8) == "rows"
    assert job_bars.width_of(50, 8) > 3_000


def test_tables_are_taken_away_as_they_are_shown(server: Flask, experiment: str) -> None:
    client, host = server.test_client(), {"Host": "127.0.0.1"}

    def rows(name: str, search: str) -> list[dict[str, str]]:
        answer = client.get(f"/api/experiments/{experiment}/{name}.csv?{search}", headers=host)
        assert answer.status_code == 200
        return list(csv.DictReader(io.StringIO(answer.text)))

    made = rows("leaderboard", "sort=-mean&base=las")
    assert [int(row["rank"]) for row in made] == list(range(1, 8))
    means = [float(row["mean_s"]) for row in made]
    assert means == sorted(means, reverse=True)
    assert {row["baseline"] for row in made} == {"las"}
    assert next(row for row in made if row["policy"] == "las")["mean_change"] == ""
    jobs = rows("completion", f"arms={choice.named(['las', 'half'])}&measure=t90")
    assert list(jobs[0]) == ["job", "las", "half"]
    assert len(jobs) == 6
    lines = rows("learning", "arms=fewest")
    assert {row["policy"] for row in lines} == {"fewest"}
    assert {row["job"] for row in lines} == {"", *(f"Job-{n}" for n in range(1, 7))}
    last = [row for row in lines if row["job"] == "Job-1"][-1]
    assert float(last["loss_at_end"]) < 0.2
    missing = client.get(f"/api/experiments/{experiment}/learning.csv?seed=2", headers=host)
    assert missing.status_code == 404


def test_a_difference_that_is_written_as_nothing_is_neither_better_nor_worse() -> None:
    """Makespans of policies that never idle differ by rounding alone, on every seed in the same direction."""
    assert kind_of("mean", 1e-12, 1e-13, 1e-11) == "open"
    assert kind_of("mean", -0.02, -0.03, -0.01) == "better"
    assert kind_of("mean", 0.02, 0.01, 0.03) == "worse"
    assert kind_of("mean", 0.02, None, None) == "open"
    assert (change(-1e-9), change(-0.05), change(0.0004)) == ("0.0%", "−5.0%", "0.0%")


def test_moves_that_even_out_are_told_from_others() -> None:
    moves = [{"time": 20.0, "job": "two", "from": "a", "to": "b", "rule": "Algorithm 5 as resolved",
              "rebalanced": True, "failed": False}]  # fmt: skip
    found = stays(series(moves=moves))
    assert found[2] == Stay("two", "b", 20.0, 40.0, moved=True, lane=0, rebalanced=True)
    figure = lanes.worker_lanes(series(moves=moves), 40)
    assert [trace.name for trace in figure.data] == [
        "placed at arrival", "after migration", "after rebalancing", "rebalancing",
    ]  # fmt: skip
    assert lanes.rebalanced(series(moves=moves)) == 1
    failed = [moves[0] | {"failed": True}]
    assert lanes.rebalanced(series(moves=failed)) == 0
    assert lanes.rebalanced(series()) == 0


def test_figures_of_many_policies_draw_what_they_are_given() -> None:
    styles = arm_styles(["A", "B", "C"], 0, 2)
    arms: list[Any] = [(style, [1.0 * at, None]) for at, style in enumerate(styles, 1)]
    grouped = job_bars.by_job(["x", "y"], arms, "Completion time")
    assert [(trace.name, trace.y) for trace in grouped.data] == [
        ("A", (1, None)),
        ("B", (2, None)),
        ("C", (3, None)),
    ]
    turned = job_bars.by_policy(["x", "y"], arms, "Completion time")
    assert [(trace.name, trace.y) for trace in turned.data] == [("x", (1, 2, 3)), ("y", (None, None, None))]
    rows = job_bars.rows(["x", "y"], arms, [1.0, 2.0], "Completion time")
    assert [trace.name for trace in rows.data] == ["A", "baseline", "B", "baseline", "C", "baseline"]
    times = np.array([0.0, 1.0, 2.0])
    same = [(style, times, np.array([1.0, np.nan, 0.5])) for style in styles]
    lines = arm_lines.arm_lines(same, "Loss", 2.0)
    assert lines.data[0].y == (1.0, None, 0.5)
    names = [note for note in lines.layout.annotations if note.text in "ABC"]
    places = sorted(note.y for note in names)
    assert np.diff(places).min() > 0.05
    single = arm_lines.job_rows([("x", same), ("y", same)], "loss", 2.0, 1.0)
    assert [trace.yaxis for trace in single.data] == ["y"] * 3 + ["y2"] * 3
    areas = job_bars.job_areas(series(), ["one", "two", "none"], 40, 4, "two")
    assert [trace.name for trace in areas.data] == ["one", "two"]
    assert max(areas.data[0].y) == 2.0
    assert {note.text for note in areas.layout.annotations} >= {"one", "two"}


def test_jobs_are_made_of_a_trace_set(place: Workspace) -> None:
    assert "Import a trace set first." in text_of(look="build")
    traces = place.traces.add(small_traces(4), None, name="mine")
    ids = [{"name": "count"}, {"name": "losses"}]
    form, said, wrong = callbacks.make_jobs(1, traces.id, ids, [3, None], [None, True], [], [], [], [], [])
    assert wrong == [None, None]
    given = fields_in(form)
    assert given["name"] == f"{traces.name} as jobs"
    assert given["jobs"].count("- {") == 3
    assert "3 jobs made." in json.dumps(said, default=lambda each: each.to_plotly_json())
    _, _, wrong = callbacks.make_jobs(1, traces.id, ids, [0, None], [None, True], [], [], [], [], [])
    assert wrong[0] is not None
    assert "My traces as jobs" in text_of(look="build", traces=traces.id)
    assert "From my traces" in text_of()


def test_the_first_set_with_cpu_is_offered_for_jobs(place: Workspace) -> None:
    mine = place.traces.add(small_traces(4), None, name="mine")
    made = small_traces(3)
    without = [index for index, one in enumerate(made.features) if one.role is not Role.CPU]
    features, columns = (tuple(all_[i] for i in without) for all_ in (made.features, made.columns))
    place.traces.add(replace(made, features=features, columns=columns), None, name="GPUs only")
    (offered,) = [one for one in found(traces_part(None)) if getattr(one, "id", None) == "run-traces"]
    assert [one["label"] for one in offered.data] == ["GPUs only", "mine"]
    assert offered.value == mine.id


def found(node: Any) -> list[Any]:
    """A part of a page and all that is in it."""
    if isinstance(node, list | tuple):
        return [one for each in node for one in found(each)]
    inside = getattr(node, "children", None)
    return [node, *([] if inside is None else found(inside))]
