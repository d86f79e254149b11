"""The first screen of a finished experiment: its result in a sentence, the first rows, and one chart."""

import json
from dataclasses import replace

import pytest

from app.figures.runs.comparison import arm_styles
from app.figures.runs.job_lives import MAX_JOBS, Lives, height_of, job_lives
from app.figures.runs.series import Span
from app.pages.runs import board, builder, listing, page
from app.pages.runs.headline import headline, own_measure, with_own_columns
from app.pages.runs.query import View
from app.pages.runs.selection import Selection
from app.pages.runs.stored import Side
from app.ui.links import Query
from core.experiments.leaderboard import Difference, Standing


def change(value, low=None, high=None):
    return Difference(value, low, high, None, None, 1.0, 1)


def row(label, mean, makespan=0.0, low=None, high=None, **measures):
    differences = {} if label == "NA" else {"mean": change(mean, low, high), "makespan": change(makespan)}
    return Standing(label, 1, {"mean": 100 * (1 + mean), **measures}, differences, None, 0.0, 0)


def chosen(*policies, seeds=(1,)):
    sides = tuple(Side(label, label, policy) for label, policy in policies)
    styles = arm_styles([side.title for side in sides], 0, len(sides) - 1)
    return Selection(sides, sides[0], sides, tuple(styles), tuple(seeds))


THREE = (("NA", "free"), ("FlowCon 5% 20 s", "flowcon"), ("phasedock", "phasedock"))


def test_ours_is_said_against_the_baseline_with_the_best_of_the_others():
    standings = [row("NA", 0.0), row("FlowCon 5% 20 s", -0.056), row("phasedock", -0.174)]
    assert headline(chosen(*THREE), standings) == (
        "PhaseDock finished jobs 17% sooner than no policy; the last job no later.",
        "One seed: no interval. Best of the others, FlowCon 5% 20 s: −5.6%.",
    )


def test_an_interval_with_zero_is_no_gain_and_a_later_last_job_is_said():
    standings = [row("NA", 0.0), row("FlowCon 5% 20 s", 0.0), row("phasedock", -0.03, 0.08, -0.07, 0.01)]
    said = headline(chosen(*THREE, seeds=(1, 2, 3)), standings)
    assert said[0] == "PhaseDock finished jobs no sooner than no policy; the last job 8% later."
    assert "over 3 seeds" in said[1]


def test_without_ours_the_best_that_does_not_know_the_future_is_said():
    parts = chosen(("NA", "free"), ("srpt", "srpt"), ("las", "las"), ("slaq", "slaq"))
    standings = [row("NA", 0.0), row("srpt", -0.3), row("las", -0.1), row("slaq", 0.1, 0.2)]
    words, detail = headline(parts, standings)
    assert words.startswith("Least served first finished jobs 10% sooner than no policy")
    assert "A scheduler that knows the future: −30.0%." in detail
    assert headline(chosen(("NA", "free")), [row("NA", 0.0)]) is None


def test_deadlines_are_the_measure_where_jobs_have_some():
    standings = [row("NA", 0.0, met=0.5), row("deadline", 0.1, met=0.9)]
    assert own_measure(standings) == "met"
    assert own_measure([row("NA", 0.0), row("las", -0.1)]) == "mean"
    words, _ = headline(chosen(("NA", "free"), ("deadline", "deadline")), standings)
    assert words == "Deadline met 90% of deadlines, no policy 50%."
    assert with_own_columns(view(), standings).columns == "deadlines"
    assert with_own_columns(view(columns="completion"), standings).columns == "completion"


def view(**values):
    return View.read(Query("/runs", values))


def test_of_many_policies_the_first_rows_are_the_best_the_baseline_and_ours():
    labels = ["NA", *(f"FlowCon {n}" for n in range(9)), "srpt", "phasedock"]
    names = {"NA": "free", "srpt": "srpt", "phasedock": "phasedock"}
    parts = chosen(*((label, names.get(label, "flowcon")) for label in labels))
    ranked = [row(label, 0.01 * at) for at, label in enumerate(sorted(labels))]
    shown = [each.label for each in board.first_rows(ranked, parts)]
    assert shown == ["FlowCon 0", "FlowCon 1", "FlowCon 2", "FlowCon 3", "NA", "phasedock", "srpt"]
    few = replace(parts, sides=parts.sides[:3])
    assert board.first_rows(ranked[:8], few) == ranked[:8]


def test_each_job_has_a_row_below_its_policy_full_while_it_runs():
    base, ours = arm_styles(["No policy", "PhaseDock"], 0, 1)
    spans = [Span("a", "running", 0.0, 40.0), Span("a", "paused", 40.0, 60.0), Span("b", "waiting", 5.0, 9.0)]
    lives = [Lives(base, ["a"], spans[:1]), Lives(ours, ["a", "b"], spans)]
    figure = job_lives(lives, 70.0)
    bars = {bar.name: bar for bar in figure.data}
    assert list(bars["PhaseDock, running"].x) == [40.0]
    assert list(bars["PhaseDock, not running"].base) == [40.0, 5.0]
    assert bars["PhaseDock, running"].y[0] > bars["No policy, running"].y[0]
    assert list(figure.layout.yaxis.ticktext) == ["a", "a", "b"]
    many = [f"job-{n}" for n in range(500)]
    assert height_of([Lives(base, many, [])]) == height_of([Lives(base, many[:MAX_JOBS], [])])


def text_of_page(**values):
    return json.dumps(page.body(Query("/runs", values)), default=lambda each: each.to_plotly_json())


def test_what_cannot_run_here_has_its_reason_instead_of_a_button(server):
    text = text_of_page()
    real = [each for each in builder.bundled() if each.experiment.real]
    assert real
    assert all("PHASEDOCK_CONTROL is off" in listing.obstacle(each.experiment) for each in real)
    assert text.count("Not here") == len(real)
    assert listing.obstacle(builder.find(listing.FIRST).experiment) == ""


@pytest.mark.parametrize("name", [listing.FIRST])
def test_the_first_suggestion_is_small_and_simulated(name):
    experiment = builder.find(name).experiment
    assert not experiment.real
    assert experiment.n_jobs * len(experiment.policies) * len(experiment.seeds) < 100
