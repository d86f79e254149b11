"""Any number of policies in one table: same seeds, paired differences, single jobs, published figures."""

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import InputError
from core.experiments.leaderboard import (
    ALL_MEASURES,
    difference,
    leaderboard,
    measured_change,
    ranked,
    reproduced,
    shared_seeds,
    single_jobs,
    value_of,
)
from core.experiments.measures import JobOutcome
from core.experiments.outcome import RunResult
from core.experiments.parts import PublishedFigure
from core.experiments.spec_reader import from_dict, read_experiment
from core.runs import bundled
from tests.experiments.making import THREE, three
from tests.oracles import slow_experiments

STATES = st.sampled_from(["done", "done", "done", "failed"])
JOBS = st.lists(st.tuples(st.floats(1.0, 1e4), STATES), min_size=1, max_size=6)


def job(name, seconds, state="done"):
    return JobOutcome(name, "", 0.0, 0.0, seconds, seconds, seconds, seconds, seconds, None, None, 0, state)


def run(*jobs):
    made = tuple(job(f"job-{at}", seconds, state) for at, (seconds, state) in enumerate(jobs))
    done = [each.completion for each in made if each.state == "done"]
    mean = sum(done) / len(done) if done else None
    failed = len(made) - len(done)
    last = max(each.ended for each in made)
    return RunResult(made, mean, mean, last, mean, mean, mean, None, 0, 0, failed, 1, median=mean)


def outcomes(made):
    return [(each.id, each.completion, each.state) for each in made.jobs]


@given(st.lists(st.tuples(JOBS, JOBS), min_size=1, max_size=5))
def test_single_jobs_are_those_of_the_slow_twin(pairs):
    mine, base = [run(*a) for a, _ in pairs], [run(*b) for _, b in pairs]
    made = single_jobs(mine, base)
    means, by_job = slow_experiments.standing([outcomes(a) for a in mine], [outcomes(b) for b in base])
    assert [made["sooner"], made["best"], made["worst"]] == pytest.approx(means)
    assert made["by_job"] == pytest.approx(by_job)
    if by_job:
        assert made["best_job"][1] == pytest.approx(min(by_job.values()))
        assert made["worst_job"][1] == pytest.approx(max(by_job.values()))
        assert made["by_job"][made["best_job"][0]] == made["best_job"][1]
    else:
        assert made["best_job"] is None


def test_a_job_that_failed_did_not_end_sooner():
    made = single_jobs([run((10.0, "failed"), (90.0, "done"))], [run((100.0, "done"), (100.0, "done"))])
    assert made["sooner"] == 1.0
    assert made["by_job"] == pytest.approx({"job-1": -0.1})
    row = leaderboard({"a": {1: run((100.0, "done"))}, "b": {1: run((10.0, "failed"))}}, "a")[1]
    assert row.jobs is None
    assert row.failed_jobs == 1
    assert value_of(row, "best") is None


def test_all_rows_are_over_the_seeds_that_all_policies_have():
    slow, fast = run((100.0, "done")), run((50.0, "done"))
    results = {"base": {1: slow, 2: slow, 3: fast}, "other": {2: fast, 1: fast}, "third": {1: slow, 2: fast}}
    assert shared_seeds(results) == [1, 2]
    rows = {row.label: row for row in leaderboard(results, "base")}
    assert {row.seeds for row in rows.values()} == {2}
    assert rows["base"].measures["mean"] == 100.0
    assert rows["other"].differences["mean"] == difference([50.0, 50.0], [100.0, 100.0])
    assert rows["third"].differences["mean"].value == pytest.approx(-0.25)
    assert rows["base"].differences == {}
    assert set(rows["other"].differences) == set(ALL_MEASURES)
    assert leaderboard(results | {"none": {}}, "base") == []


def test_the_baseline_is_a_choice():
    results = {"a": {1: run((100.0, "done"))}, "b": {1: run((50.0, "done"))}}
    there, back = leaderboard(results, "a")[1], leaderboard(results, "b")[0]
    assert there.differences["mean"].value == pytest.approx(-0.5)
    assert back.differences["mean"].value == pytest.approx(1.0)


def test_rows_without_a_value_are_last_whichever_way_they_are_sorted():
    results = {name: {1: run((seconds, state))} for name, seconds, state in
               (("b", 50.0, "done"), ("a", 100.0, "done"), ("C", 70.0, "failed"))}  # fmt: skip
    rows = leaderboard(results, "a")
    assert [row.label for row in ranked(rows, "mean")] == ["b", "a", "C"]
    assert [row.label for row in ranked(rows, "mean", falling=True)] == ["a", "b", "C"]
    assert [row.label for row in ranked(rows, "difference.mean")] == ["b", "a", "C"]
    assert [row.label for row in ranked(rows, "label")] == ["a", "b", "C"]
    assert [row.label for row in ranked(rows, "best", falling=True)] == ["b", "a", "C"]
    assert [row.label for row in ranked(rows, "migrations")] == ["b", "a", "C"]


def test_published_figures_stand_in_the_bundled_experiments():
    for name in bundled.names():
        experiment = bundled.load(name)
        labels = {arm.label for arm in experiment.policies}
        assert {each.policy for each in experiment.published} <= labels - {experiment.baseline}
        assert all(-0.5 < each.change < 0.2 or each.measure == "sooner" for each in experiment.published)
        assert from_dict(json.loads(json.dumps(experiment.to_dict()))) == experiment
    table = [each for each in bundled.load("flowcon-3-fixed").published if each.source == "table 6.2"]
    assert [round(each.change, 3) for each in table] == [-0.262, -0.324, -0.143, -0.153, -0.031]


def test_published_figures_are_no_part_of_what_is_run():
    plain = three()
    told_ = replace(plain, published=(PublishedFigure(policy="FlowCon", measure="mean", share=-0.1),))
    assert told_.scenario_dict() == plain.scenario_dict()


@pytest.mark.parametrize(
    "line",
    ["{policy: FlowCon}", "{policy: FlowCon, value: 5}", "{policy: FlowCon, value: 5, base: 6, share: 1%}",
     "{policy: FlowCon, measure: completion, share: 1%}", "{policy: FlowCon, measure: median, share: 1%}"]
)  # fmt: skip
def test_a_published_figure_that_says_too_little_is_refused_with_its_line(line, refuses):
    with refuses(InputError):
        read_experiment(f"{THREE}published:\n  - {line}\n")


def test_published_figures_are_judged_by_the_range_of_enough_seeds():
    changes = [0.5 + 0.01 * at for at in range(40)]
    results = {"base": {at: run((100.0, "done")) for at in range(40)},
               "mine": {at: run((100.0 * change, "done")) for at, change in enumerate(changes)}}  # fmt: skip
    row = leaderboard(results, "base")[1]
    inside, outside = (PublishedFigure("mine", measure, share=share) for measure, share in
                       (("mean", -0.3), ("makespan", -0.6)))  # fmt: skip
    assert (reproduced(inside, row), reproduced(outside, row)) == (True, False)
    assert reproduced(PublishedFigure("mine", "best", share=-0.3), row) is True
    assert reproduced(PublishedFigure("mine", "completion", job="job-0", share=-0.3), row) is None
    assert measured_change(
        PublishedFigure("mine", "completion", job="job-0", share=-0.3), row
    ) == pytest.approx(-0.305)
    assert measured_change(PublishedFigure("mine", "sooner", share=0.5), row) == 1.0
    few = leaderboard({name: {0: runs[0], 1: runs[1]} for name, runs in results.items()}, "base")[1]
    assert reproduced(inside, few) is None
    assert PublishedFigure("mine", "mean", value=57.7, base=84.7).change == pytest.approx(-0.3188, abs=1e-4)
