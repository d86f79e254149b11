"""All policies of an experiment on one page: who is drawn, the leaderboard, figures, files."""

import csv
import io
import json
from dataclasses import replace

import numpy as np
import pytest

from app.figures.runs import comparison, cpu, timelines
from app.figures.runs.comparison import arm_styles
from app.figures.runs.series import Stay, stays
from app.pages.runs import board, board_cells, builder, page, stored
from app.pages.runs.builder import traces_part
from app.pages.runs.completion import usual_bars
from app.pages.runs.measures import kind_of
from app.pages.runs.query import View, join_keys, split_keys
from app.pages.runs.selection import select, toggle_policy
from app.pages.runs.stored import format_relative
from app.ui.links import Query
from core.bootstrap import worker_for
from core.experiments.leaderboard import difference
from core.experiments.parts import PublishedFigure
from core.experiments.spec_reader import read_experiment
from core.traces.model import Role
from tests.app.runs.test_run_figures import series
from tests.app.runs.test_run_form import fields_in
from tests.builders import SIX_JOBS, small_traces

SEVEN = SIX_JOBS.replace("[fewest, specon, flowcon]", "[fewest, half, random, las, srpt, specon, phasedock]")


def view_of(**values):
    return View.read(Query("/runs", values))


def text_of(**values):
    found = page.body(Query("/runs", values))
    return json.dumps(found, default=lambda each: each.to_plotly_json(), ensure_ascii=False)


@pytest.fixture
def experiment(place):
    """Seven policies on three seeds."""
    task = place.runs.submit(read_experiment(SEVEN))
    worker_for(place).work(task)
    return str(place.tasks.get(task).params["experiment"])


def test_an_experiment_opens_on_its_leaderboard(experiment):
    text = text_of(experiment=experiment)
    for words in ("Leaderboard", "3 paired seeds", "Growth efficiency, sum of all jobs",
                  "Completion per job", "Step through SpeCon"):  # fmt: skip
        assert words in text, words
    spread = text_of(experiment=experiment, columns="spread")
    for words in ("Median completion", "95th percentile", "Worst slowdown", "CPU used"):
        assert words in spread, words
    assert "PhaseDock’s own CPU" not in spread


def test_an_address_of_two_policies_draws_them_against_the_first(place, experiment):
    info = place.runs.experiment(experiment)
    view = view_of(experiment=experiment, show="two", a="half", b="las", seed="1")
    found = select(info, view)
    assert (found.base.key, [side.key for side in found.drawn]) == ("half", ["half", "las"])
    assert [style.swatch for style in found.styles] == ["base", "lit"]
    assert not {"a", "b", "show"} & set(view.query.values)
    (only,) = select(info, view_of(experiment=experiment, a="half")).drawn[1:2]
    assert only.key == "half"
    assert "Leaderboard" in text_of(experiment=experiment, show="two", a="half", b="las")


def test_who_is_drawn_is_in_the_address(place, experiment):
    info = place.runs.experiment(experiment)
    usual_ = select(info, view_of())
    assert [side.key for side in usual_.drawn] == ["fewest", "half", "random", "las", "srpt", "phasedock"]
    assert usual_.base.key == "fewest"
    assert [style.swatch for style in usual_.styles] == ["base", "o0", "o1", "o2", "o3", "lit"]
    keys = join_keys(["las", "fewest"])
    some = select(info, view_of(arms=keys, base="las", lit="fewest"))
    assert [side.key for side in some.drawn] == ["las", "fewest"]
    assert [style.swatch for style in some.styles] == ["base", "lit"]
    more = toggle_policy(some, usual_.sides[1])
    assert split_keys(more) == ["fewest", "half", "las"]
    assert toggle_policy(select(info, view_of(arms="las")), usual_.sides[3]) is None
    assert select(info, view_of(arms="nobody", base="nobody")) == usual_


@pytest.mark.parametrize("label", ["plain", "10% | 20 s", "%7C", "a b & c=d"])
def test_any_label_survives_the_address(label):
    assert split_keys(join_keys([label, "other"])) == [label, "other"]


def test_the_leaderboard_says_what_the_report_says_against_any_baseline(place, experiment, monkeypatch):
    info = place.runs.experiment(experiment)
    view = view_of(experiment=experiment)
    from_report = board_cells.rows(info, select(info, view), view)
    computed = board_cells.rows(replace(info, report=None), select(info, view), view)
    assert from_report == computed
    means = [row.measures["mean"] for row in from_report]
    assert means == sorted(means)
    back = view_of(experiment=experiment, base="phasedock", sort="-makespan")
    rows = board_cells.rows(info, select(info, back), back)
    assert [row.measures["makespan"] for row in rows] == sorted(
        (row.measures["makespan"] for row in rows), reverse=True
    )
    mine = next(row for row in rows if row.label == "fewest").differences["mean"]
    own = stored.sides(info)
    means_of = {key: [stored.result(own[key].runs[seed]).mean for seed in (1, 2, 3)]
                for key in ("fewest", "phasedock")}  # fmt: skip
    pair = difference(means_of["fewest"], means_of["phasedock"])
    assert (mine.value, mine.low, mine.high) == (pair.value, pair.low, pair.high)
    assert mine.value == pytest.approx(np.mean(np.divide(means_of["fewest"], means_of["phasedock"])) - 1)


def test_the_picture_of_the_leaderboard_says_what_its_table_says(place, experiment):
    info = place.runs.experiment(experiment)
    view = view_of(experiment=experiment, sort="-t90", base="srpt")
    found = select(info, view)
    rows = board_cells.rows(info, found, view)
    drawn = board.picture(info, found, view)
    texts = [note.text for note in drawn.layout.annotations]
    names = [text.partition("  ")[2] for text in texts if text[:1].isdigit() and "  " in text]
    titles = {side.key: side.title for side in found.sides}
    assert names == [titles[row.label] for row in rows]
    for row in rows:
        if row.differences:
            assert format_relative(row.differences["t90"].value or 0.0) in texts
    (dots,) = drawn.data
    assert len(dots.x) == len(rows) - 1
    places = dict(zip(dots.y, dots.x, strict=True))
    values = {at: row.differences["t90"].value for at, row in enumerate(rows) if row.differences}
    assert sorted(places, key=places.get) == sorted(values, key=values.get)  # type: ignore[arg-type]


def test_published_figures_stand_beside_the_results_of_their_own_baseline(place, experiment, monkeypatch):
    info = place.runs.experiment(experiment)
    said = (PublishedFigure("las", "mean", share=-0.136, source="figure 6.19"),
            PublishedFigure("las", "completion", "Job-1", 57.7, 84.7, source="table 6.2"))  # fmt: skip
    told = replace(info, experiment=replace(info.experiment, published=said))
    monkeypatch.setattr(place.runs, "experiment", lambda _: told)
    text = text_of(experiment=experiment)
    assert "mean −13.6%" in text
    assert "too few seeds to test" in text
    assert "Job-1 −31.9%" in text
    assert "published −31.9%" in text_of(experiment=experiment, bars="table")
    assert "mean −13.6%" not in text_of(experiment=experiment, base="half")


def test_every_figure_is_drawn_for_every_policy(experiment):
    for over in ("learning", "cpu", "limits", "stages", "workers", "load", "lists"):
        text = text_of(experiment=experiment, over=over, line="growth")
        if over != "lists":
            for title in ("Fewest jobs", "Random worker", "Shortest remaining first", "PhaseDock"):
                assert title in text, (over, title)
    late = text_of(experiment=experiment, seed="2")
    assert "Time series were not saved for this seed" in late


def test_completion_times_are_drawn_in_each_form(experiment):
    for bars in ("job", "policy", "rows", "table"):
        for measure in ("completion", "t90"):
            assert "Job-6" in text_of(experiment=experiment, bars=bars, measure=measure)


def test_few_jobs_stand_by_policy_few_bars_by_job_and_many_in_rows():
    assert usual_bars(3, 6) == "policy"
    assert usual_bars(20, 4) == "job"
    assert usual_bars(50, 8) == "rows"
    assert comparison.width_of(50, 8) > 3_000


def test_tables_are_taken_away_as_they_are_shown(server, experiment):
    client, host = server.test_client(), {"Host": "127.0.0.1"}

    def rows(name, search):
        answer = client.get(f"/api/experiments/{experiment}/{name}.csv?{search}", headers=host)
        assert answer.status_code == 200
        return list(csv.DictReader(io.StringIO(answer.text)))

    made = rows("leaderboard", "sort=-mean&base=las")
    assert [int(row["rank"]) for row in made] == list(range(1, 8))
    means = [float(row["mean_s"]) for row in made]
    assert means == sorted(means, reverse=True)
    assert {row["baseline"] for row in made} == {"las"}
    base = next(row for row in made if row["policy"] == "las")
    assert base["mean_change"] == ""
    assert float(base["p95_s"]) > float(base["median_s"])
    assert float(base["worst_slowdown"]) > 1
    assert all(row["median_apart"] for row in made if row is not base)
    jobs = rows("completion", f"arms={join_keys(['las', 'half'])}&measure=t90")
    assert list(jobs[0]) == ["job", "las", "half"]
    assert len(jobs) == 6
    lines = rows("learning", "arms=fewest")
    assert {row["policy"] for row in lines} == {"fewest"}
    assert {row["job"] for row in lines} == {"", *(f"Job-{n}" for n in range(1, 7))}
    last = [row for row in lines if row["job"] == "Job-1"][-1]
    assert float(last["loss_at_end"]) < 0.2
    missing = client.get(f"/api/experiments/{experiment}/learning.csv?seed=2", headers=host)
    assert missing.status_code == 404


def test_a_difference_that_is_written_as_nothing_is_neither_better_nor_worse():
    """Makespans of policies that never idle differ by rounding alone, on every seed in the same direction."""
    assert kind_of("mean", 1e-12, 1e-13, 1e-11) == "open"
    assert kind_of("mean", -0.02, -0.03, -0.01) == "better"
    assert kind_of("mean", 0.02, 0.01, 0.03) == "worse"
    assert kind_of("mean", 0.02, None, None) == "open"
    assert (format_relative(-1e-9), format_relative(-0.05), format_relative(0.0004)) == (
        "0.0%",
        "−5.0%",
        "0.0%",
    )


def test_moves_that_even_out_are_told_from_others():
    moves = [{"time": 20.0, "job": "two", "from": "a", "to": "b", "rule": "Algorithm 5 as resolved",
              "rebalanced": True, "failed": False}]  # fmt: skip
    found = stays(series(moves=moves))
    assert found[2] == Stay("two", "b", 20.0, 40.0, moved=True, lane=0, rebalanced=True)
    figure = timelines.worker_lanes(series(moves=moves), 40)
    assert [trace.name for trace in figure.data] == [
        "placed at arrival", "after migration", "after rebalancing", "rebalancing"
    ]  # fmt: skip
    assert timelines.count_rebalanced(series(moves=moves)) == 1
    failed = [moves[0] | {"failed": True}]
    assert timelines.count_rebalanced(series(moves=failed)) == 0
    assert timelines.count_rebalanced(series()) == 0


def test_figures_of_many_policies_draw_what_they_are_given():
    styles = arm_styles(["A", "B", "C"], 0, 2)
    arms = [(style, [1.0 * at, None]) for at, style in enumerate(styles, 1)]
    grouped = comparison.bars_by_job(["x", "y"], arms, "Completion time")
    assert [(trace.name, trace.y) for trace in grouped.data] == [
        ("A", (1, None)),
        ("B", (2, None)),
        ("C", (3, None)),
    ]
    turned = comparison.bars_by_policy(["x", "y"], arms, "Completion time")
    assert [(trace.name, trace.y) for trace in turned.data] == [("x", (1, 2, 3)), ("y", (None, None, None))]
    rows = comparison.job_bar_rows(["x", "y"], arms, [1.0, 2.0], "Completion time")
    assert [trace.name for trace in rows.data] == ["A", "baseline", "B", "baseline", "C", "baseline"]
    times = np.array([0.0, 1.0, 2.0])
    same = [(style, times, np.array([1.0, np.nan, 0.5])) for style in styles]
    lines = comparison.arm_lines(same, "Loss", 2.0)
    assert lines.data[0].y == (1.0, None, 0.5)
    names = [note for note in lines.layout.annotations if note.text in "ABC"]
    places = sorted(note.y for note in names)
    assert np.diff(places).min() > 0.05
    single = comparison.job_rows([("x", same), ("y", same)], "loss", 2.0, 1.0)
    assert [trace.yaxis for trace in single.data] == ["y"] * 3 + ["y2"] * 3
    areas = cpu.job_areas(series(), ["one", "two", "none"], 40, 4, "two")
    assert [trace.name for trace in areas.data] == ["one", "two"]
    assert max(areas.data[0].y) == 2.0
    assert {note.text for note in areas.layout.annotations} >= {"one", "two"}


def test_jobs_are_made_of_a_trace_set(place):
    assert "Import a trace set first." in text_of(look="build")
    traces = place.traces.add(small_traces(4), None, name="mine")
    ids = [{"name": "count"}, {"name": "losses"}]
    form, said, wrong = builder.make_jobs(1, traces.id, ids, [3, None], [None, True], [], [], [], [], [])
    assert wrong == [None, None]
    given = fields_in(form)
    assert given["name"] == f"{traces.name} as jobs"
    assert given["jobs"].count("- {") == 3
    assert "3 jobs made." in json.dumps(said, default=lambda each: each.to_plotly_json())
    _, _, wrong = builder.make_jobs(1, traces.id, ids, [0, None], [None, True], [], [], [], [], [])
    assert wrong[0] is not None
    assert "My traces as jobs" in text_of(look="build", traces=traces.id)
    assert "From my traces" in text_of()


def test_the_first_set_with_cpu_is_offered_for_jobs(place):
    mine = place.traces.add(small_traces(4), None, name="mine")
    made = small_traces(3)
    without = [index for index, one in enumerate(made.features) if one.role is not Role.CPU]
    features, columns = (tuple(all_[i] for i in without) for all_ in (made.features, made.columns))
    place.traces.add(replace(made, features=features, columns=columns), None, name="GPUs only")
    (offered,) = [one for one in parts_of(traces_part(None)) if getattr(one, "id", None) == "run-traces"]
    assert [one["label"] for one in offered.data] == ["GPUs only", "mine"]
    assert offered.value == mine.id


def parts_of(node):
    """A part of a page and all that is in it."""
    if isinstance(node, list | tuple):
        return [one for each in node for one in parts_of(each)]
    inside = getattr(node, "children", None)
    return [node, *([] if inside is None else parts_of(inside))]
