"""The quantile policy: its forest's statistics and distribution against slow twins, and its calibration."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.provisioning.demand_forecast import at_cycles, beginnings, coming, grow, learn, levels_of, sample_of
from core.provisioning.evaluation.metrics import tally, under_time_0
from core.provisioning.policies.quantile import POLICIES, calibrated_level, giver
from core.provisioning.policy import fit_policy
from core.provisioning.recent import NAMES, recent
from tests.provisioning.making import demand_of, demands, random_demand


@given(demand=demands(positive=True))
def test_the_past_equals_its_slow_twin(demand):
    fleet, found = demand.fleet, recent(demand, 1.0, 10.0)
    named = {name: found.rows[:, k] for k, name in enumerate(NAMES)}
    for begin, end in zip(fleet.offsets[:-1], fleet.offsets[1:], strict=True):
        assert not found.has_past[begin]
        for t in range(begin + 1, end):
            near = fleet.time[t] - fleet.time[begin:t] <= fleet.cycle * (1 + 1e-9)
            near[-1] = True
            window = np.sort(demand.values[begin:t][near])
            top = window[-1]
            expected = {
                "last": demand.values[t - 1] / top,
                "least": window[0] / top,
                "median": window[(len(window) - 1) // 2] / top,
                "90th percentile": window[9 * (len(window) - 1) // 10] / top,
                "peak so far": demand.values[begin:t].max() / top,
                "share near the largest": (window >= 0.98 * top).mean(),
            }
            assert found.level[t] == top
            for name, value in expected.items():
                assert named[name][t] == pytest.approx(value, rel=1e-5)


@given(demand=demands(positive=True), horizon=st.sampled_from([0.5, 2.0, 5.0]))
def test_what_comes_equals_its_slow_twin(demand, horizon):
    fleet, grid = demand.fleet, np.array([0.5, 1.0, 2.0, 8.0])
    at, level = np.arange(fleet.n_samples), np.full(fleet.n_samples, 2.0)
    found = coming(demand, level, at, horizon, grid)
    for t in at:
        end = fleet.offsets[1:][fleet.container[t]]
        ahead = fleet.time[t:end] - fleet.time[t] < horizon * (1 - 1e-9)
        ahead[0] = True
        seconds, values = fleet.seconds[t:end][ahead], demand.values[t:end][ahead]
        expected = [(seconds * (values <= 2.0 * g)).sum() / seconds.sum() for g in grid]
        np.testing.assert_allclose(found[t], expected, rtol=1e-5)


def test_a_forest_learns_what_tells_distributions_apart():
    rng = np.random.default_rng(0)
    rows = rng.random((4000, 2)).astype(np.float32)
    values = np.where(rows[:, 0] < 0.5, 1.0, 3.0)
    grid = np.array([0.5, 1.0, 2.0, 3.0])
    shares = (values[:, None] <= grid).astype(np.float32)
    forest = grow(rows, shares, np.ones(4000), grid, 0)
    low, high = forest(np.array([[0.2, 0.5], [0.8, 0.5]], np.float32))
    assert low[1] > 0.8
    assert high[1] < 0.2
    assert (np.diff([low, high], axis=1) >= -1e-6).all()


def test_the_grid_grows_and_holds_the_level_itself():
    grid = levels_of(np.random.default_rng(0).lognormal(0, 2, 5000))
    assert (np.diff(grid) > 0).all()
    assert 1.0 in grid
    assert len(levels_of(np.empty(0))) >= 2


def test_the_level_is_calibrated_on_containers_that_the_forest_did_not_see():
    demand = random_demand(6, 30, 80)
    outlook = learn(demand, 1.0, "none", 0)
    level = calibrated_level(outlook, 0.1)
    given_ = outlook.calibrated(at_cycles, giver(outlook, level))
    filled = np.where(np.isfinite(given_), given_, outlook.start)
    assert under_time_0(tally(demand, filled).pooled())[0] <= 0.1


@pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: policy.name)
def test_phases_and_codes_are_looked_at_only_where_asked_for(policy):
    demand = random_demand(6, 20, 60)
    allocate = fit_policy(policy, demand)
    rng = np.random.default_rng(1)
    fleet = demand.fleet
    other = type(fleet)(
        **{
            **{name: getattr(fleet, name) for name in fleet.__dataclass_fields__},
            "labels": rng.integers(-1, 3, fleet.n_samples).astype(np.int16),
            "codes": rng.random((fleet.n_samples, 3)).astype(np.float32),
        }
    )
    same = np.array_equal(allocate(demand), allocate(demand.with_(fleet=other)))
    assert same == (policy.name == "quantile")


def test_short_containers_are_no_trouble():
    demand = demand_of([[1.0], [2.0, 3.0], [4.0] * 9], cycle=2.0)
    assert np.isfinite(fit_policy(POLICIES[0], demand)(demand)).all()


def test_beginnings_are_the_first_samples_of_each_container():
    demand = random_demand(7, 6, 40)
    fleet, short = demand.fleet, beginnings(demand, 9)
    np.testing.assert_array_equal(short.fleet.lengths, np.minimum(fleet.lengths, 9))
    for i in range(fleet.n_containers):
        picked = slice(fleet.offsets[i], fleet.offsets[i] + short.fleet.lengths[i])
        mine = slice(short.fleet.offsets[i], short.fleet.offsets[i + 1])
        np.testing.assert_array_equal(short.values[mine], demand.values[picked])
        np.testing.assert_array_equal(short.fleet.time[mine], fleet.time[picked])
        np.testing.assert_array_equal(short.fleet.labels[mine], fleet.labels[picked])


def test_of_long_containers_many_are_learned_from_in_part(monkeypatch):
    monkeypatch.setattr("core.provisioning.demand_forecast._CALIBRATION", 1000)
    monkeypatch.setattr("core.provisioning.demand_forecast._CONTAINERS", 20)
    demand = demand_of([np.arange(500.0)] * 30, cycle=2.0)
    used = sample_of(demand, 0)
    assert used.fleet.n_containers == 20
    assert used.fleet.n_samples == 1000
    few = demand.only([0, 1])
    assert sample_of(few, 0) is few
