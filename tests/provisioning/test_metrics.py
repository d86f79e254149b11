"""Figures, factors and intervals, against slow twins and against what must hold."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.bootstrap_intervals import by_group, resampled, saving_interval
from core.provisioning.evaluation.metrics import factors, figures, tally, under_time_0
from tests.oracles import slow_provisioning as slow
from tests.provisioning.making import demand_of, demands, random_demand


@given(demands(), st.data())
def test_figures_equal_their_twin(demand, data):
    n = demand.fleet.n_samples
    level = st.one_of(st.integers(0, 6).map(float), st.floats(0, 50, allow_subnormal=False))
    allocation = np.array(data.draw(st.lists(level, min_size=n, max_size=n)))
    expected = slow.metrics(demand, allocation)
    found = figures(tally(demand, allocation))
    assert set(found) == set(expected)
    for name, value in expected.items():
        assert found[name] == pytest.approx(value, rel=1e-9, abs=1e-12, nan_ok=True), name


@given(demands(), st.integers(0, 10**6))
def test_cold_and_warm_add_up_to_the_whole(demand, seed):
    allocation = np.random.default_rng(seed).uniform(0, 8, demand.fleet.n_samples)
    whole, cold, warm = (
        tally(demand, allocation, keep) for keep in (None, demand.fleet.cold, ~demand.fleet.cold)
    )
    for name in ("surplus", "shortage", "demand", "allocated", "seconds", "violated", "cycles"):
        np.testing.assert_allclose(getattr(cold, name) + getattr(warm, name), getattr(whole, name))


@given(demands(positive=True), st.integers(0, 10**6), st.sampled_from([0.0, 0.05, 0.2, 0.5, 0.9]))
def test_the_factor_equals_its_twin(demand, seed, target):
    allocation = np.random.default_rng(seed).uniform(0.5, 8, demand.fleet.n_samples)
    found = factors(demand, allocation, (target,))[0]
    assert found == pytest.approx(slow.lowest_factor(demand, allocation, target), rel=1e-9)
    short = under_time_0(tally(demand, found * allocation).pooled())[0]
    assert short <= target + 1e-9


def test_a_matched_policy_is_short_for_the_target():
    demand = random_demand(1, 40, 400)
    allocation = np.random.default_rng(0).uniform(0.5, 8, demand.fleet.n_samples)
    factor = factors(demand, allocation, (0.05,))[0]
    short = under_time_0(tally(demand, factor * allocation).pooled())[0]
    assert short == pytest.approx(0.05, abs=0.002)


def test_no_factor_can_make_up_for_nothing():
    demand = demand_of([[1.0, 1.0, 1.0]])
    assert factors(demand, np.zeros(3), (0.05,)) == (1.0,)


def test_paired_intervals_cover_a_known_saving():
    """Policies whose surplus differs by 20% in every container: the draws agree on that."""
    rng = np.random.default_rng(3)
    base = rng.gamma(2, 1, 200)
    sums = np.stack([0.8 * base, base, rng.gamma(2, 1, 200)], axis=1)
    draws = resampled(sums, 500, 1)
    exact = saving_interval(0.8, 1.0, draws[:, 0], draws[:, 1])
    assert (exact.low, exact.high) == pytest.approx((0.2, 0.2))
    total = sums.sum(axis=0)
    wide = saving_interval(total[2], total[1], draws[:, 2], draws[:, 1])
    assert wide.low < wide.value < wide.high


def test_draws_are_reproducible_and_of_the_right_size():
    sums = np.arange(12.0).reshape(6, 2)
    np.testing.assert_array_equal(resampled(sums, 50, 4), resampled(sums, 50, 4))
    ones = resampled(np.ones((7, 1)), 20, 0)
    np.testing.assert_array_equal(ones, np.full((20, 1), 7.0))
    np.testing.assert_array_equal(
        by_group(sums, ["a", "b", "a", "b", "a", "c"]).sum(axis=0), sums.sum(axis=0)
    )
