"""Differences between policies are paired by seed, and their intervals are those of a slow twin."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.experiments.leaderboard import ALL_MEASURES, compare, difference
from core.experiments.outcome import RunResult
from core.runs.runner import run_arm
from tests.experiments.making import some, three
from tests.oracles import slow_experiments

SECONDS = st.floats(1.0, 1e5)


@given(st.lists(st.tuples(SECONDS, SECONDS), min_size=2, max_size=40))
def test_the_interval_is_that_of_the_slow_twin(pairs):
    mine, base = [a for a, _ in pairs], [b for _, b in pairs]
    found = difference(mine, base, draws=200)
    value, low, high = slow_experiments.interval(mine, base, 200)
    assert (found.value, found.low, found.high) == pytest.approx((value, low, high), rel=1e-9, abs=1e-9)
    assert found.seconds == pytest.approx(np.mean(mine) - np.mean(base), abs=1e-6)
    assert found.n == len(pairs)


def test_the_interval_covers_the_truth_as_often_as_it_says():
    rng, hits = np.random.default_rng(4), 0
    for _ in range(300):
        base = rng.uniform(100, 200, 30)
        found = difference(base * (0.9 + 0.05 * rng.standard_normal(30)), base, draws=400)
        hits += found.low <= -0.1 <= found.high
    assert 0.89 <= hits / 300 <= 0.98


def test_pairs_without_a_measure_are_left_out():
    assert difference([90.0, None, 50.0], [100.0, 100.0, None]).value == pytest.approx(-0.1)
    found = difference([90.0], [100.0])
    assert (found.low, found.high, found.n) == (None, None, 1)
    assert difference([], []).value is None


def test_every_policy_stands_beside_the_baseline():
    experiment = some()
    results = {
        arm.label: {seed: run_arm(experiment, arm, seed) for seed in experiment.seeds}
        for arm in experiment.policies
    }
    base, other = compare(results, "fewest")
    assert base["differences"] is None
    assert set(other["differences"]) == set(ALL_MEASURES)
    means = [results["specon"][seed].mean / results["fewest"][seed].mean - 1 for seed in experiment.seeds]
    assert other["differences"]["mean"]["value"] == pytest.approx(np.mean(means))
    assert 0 <= other["jobs"]["sooner"] <= 1
    assert len(other["jobs"]["by_job"]) == 6


def test_single_jobs_are_told_as_the_thesis_tells_them():
    experiment = three()
    results = {arm.label: {1: run_arm(experiment, arm, 1)} for arm in experiment.policies}
    row = compare(results, "NA")[1]
    assert row["jobs"]["best"] == pytest.approx(55.227 / 84.6 - 1, abs=1e-3)
    assert row["jobs"]["by_job"]["VAE"] == pytest.approx(0.0, abs=1e-9)
    assert row["jobs"]["sooner"] == pytest.approx(2 / 3)
    assert row["differences"]["makespan"]["low"] is None


def test_a_result_survives_as_plain_values():
    result = run_arm(three(), three().policies[0], 1)
    assert RunResult.from_dict(result.to_dict()) == result
