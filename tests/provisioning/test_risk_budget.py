"""One price on violations: the cost and its minimum against slow twins, the price by what it must reach."""

from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from core.provisioning.demand_forecast import learn
from core.provisioning.evaluation.metrics import tally, under_time_0
from core.provisioning.policies.risk_budget import RISK_BUDGET, RiskSettings
from core.provisioning.policy import fit_policy
from core.provisioning.violation_price import (
    Prices,
    cheapest,
    fitted_price,
    follow,
    price_factor,
    unchanged_cost,
)
from tests.provisioning.making import demand_of, random_demand


def slow_cost(amount, level, price, shares, grid):
    """E[(A − D)⁺] + λ·P(D > A) of the discrete distribution that the staircase is."""
    points, mass = level * grid, np.diff(shares, prepend=0.0)
    reached = points <= amount * (1 + 1e-12)
    return float(((amount - points) * mass)[reached].sum() + price * (1 - mass[reached].sum()))


@given(
    steps=st.lists(st.floats(0.01, 2), min_size=1, max_size=6),
    price=st.floats(0, 20),
    level=st.floats(0.1, 50),
    ratio=st.floats(0, 15),
    seed=st.integers(0, 10**6),
)
def test_costs_equal_their_slow_twin(steps, price, level, ratio, seed):
    grid = np.cumsum(steps)
    shares = np.sort(np.random.default_rng(seed).random(len(grid)).astype(np.float32)).astype(float)
    found = unchanged_cost(ratio, level, price, shares, grid)
    np.testing.assert_allclose(
        found, slow_cost(ratio * level, level, price, shares, grid), rtol=1e-6, atol=1e-9
    )
    best, least = cheapest(level, price, shares, grid)
    costs = [slow_cost(level * g, level, price, shares, grid) for g in grid]
    np.testing.assert_allclose(least, min(costs), rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(costs[best], min(costs), rtol=1e-6, atol=1e-9)


def test_a_dear_hurdle_keeps_the_start_and_a_container_that_was_short_pays_more():
    demand = demand_of([[1.0, 3.0] * 10], cycle=2.0)
    grid, shares = np.array([1.0, 3.0]), np.array([[0.9, 1.0]], np.float32)
    row = np.where(np.arange(20) % 2, -1, 0)
    plain = Prices(violation=15.0, hurdle=0.0, cap=1.0, under_time=0.05, start=1.0)
    given_ = follow(demand, np.ones(20), row, shares, grid, plain)
    # 1.8 is saved per second by not covering the tail, whose price is 1.5 at first
    np.testing.assert_allclose(given_[:2], 1.0)
    np.testing.assert_allclose(given_[2:4], 3.0)
    dear = replace(plain, hurdle=1e9)
    assert set(follow(demand, np.ones(20), row, shares, grid, dear)) == {1.0}


def test_a_containers_price_follows_its_own_past_and_is_steep_above_the_cap():
    own = (0.05, 0.075, 30.0, 200.0)
    np.testing.assert_allclose(price_factor(0.0, 0.0, own), 1.0)
    np.testing.assert_allclose(price_factor(50.0, 1000.0, own), 1.0)
    np.testing.assert_allclose(price_factor(0.0, 1e9, own), 0.3)
    once, share = price_factor(8.5, 170.0, own), (17.0 + 1.5) / 200.0
    np.testing.assert_allclose(once, 1.0)
    np.testing.assert_allclose(price_factor(17.0, 170.0, own), share / 0.05)
    slow = (100.0 + 10.0) / 1200.0
    expected = (101.5 / 1030.0) / 0.05 * (slow / 0.075) ** 4
    np.testing.assert_allclose(price_factor(100.0, 1000.0, own), expected)


def test_the_price_is_the_least_that_keeps_to_the_time_short():
    demand = demand_of([np.arange(1.0, 101.0)])
    price = fitted_price(demand, 0.05, lambda price: np.full(100, 10 * price), 1.0)
    assert under_time_0(tally(demand, np.full(100, 10 * price)).pooled())[0] <= 0.05
    assert under_time_0(tally(demand, np.full(100, 9.8 * price)).pooled())[0] > 0.05


def test_a_looser_budget_allocates_less():
    demand = random_demand(8, 20, 80)
    strict, loose = (
        fit_policy(RISK_BUDGET, demand, RiskSettings(under_time=share))(demand).sum() for share in (0.02, 0.3)
    )
    assert loose < strict


def test_it_allocates_the_same_in_parts(monkeypatch):
    demand = random_demand(8, 12, 60)
    allocate = fit_policy(RISK_BUDGET, demand)
    whole = allocate(demand)
    monkeypatch.setattr("core.provisioning.demand_forecast._CHUNK", 30)
    np.testing.assert_array_equal(allocate(demand), whole)


def test_predictions_to_calibrate_on_come_from_other_containers():
    """Where each group has a level of its own, a forest that saw the group would know it; these do not."""
    rng = np.random.default_rng(0)
    demand = demand_of([np.where(rng.random(60) < 0.5, 1.0, 2.0 + i) for i in range(9)], cycle=5.0)
    outlook = learn(demand, 1.0, "none", 0)
    own, others = outlook.forest(outlook.past.rows), outlook.shares
    assert np.abs(own - others).max() > 0.05
