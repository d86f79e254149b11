"""The event policy: its trigger by hand, its windows against a slow twin, its search by what it must find."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.provisioning.evaluation.metrics import over, resizes_per_cycle, tally, under_time_0
from core.provisioning.policies.event import EVENT, EventSettings, Rule, act, window_quantile, with_margin
from core.provisioning.policy import fit_policy
from tests.provisioning.making import demand_of, demands, random_demand


def slow_quantile(demand, window, level):
    found = np.full(demand.fleet.n_samples, np.nan)
    for begin, end in zip(demand.fleet.offsets[:-1], demand.fleet.offsets[1:], strict=True):
        for t in range(begin + 1, end):
            age = demand.fleet.time[t] - demand.fleet.time[begin:t]
            near = age <= window * (1 + 1e-9)
            near[-1] = True
            ordered = np.sort(demand.values[begin:t][near])
            found[t] = ordered[int(np.ceil(level * (len(ordered) - 1)))]
    return found


@given(demand=demands(), window=st.sampled_from([0.5, 2.0, 7.0]), level=st.sampled_from([0.5, 0.9, 1.0]))
def test_windows_equal_their_slow_twin(demand, window, level):
    np.testing.assert_array_equal(
        window_quantile(demand, window, level), slow_quantile(demand, window, level)
    )


def test_it_grows_when_demand_exceeds_and_shrinks_after_slack():
    demand = demand_of([[1.0, 1, 1, 5, 5, 5, 1, 1, 1, 1, 1, 1]], cycle=4.0)
    rule = Rule(window=0.25, level=1.0, margin=1.0, confirm=0.0, slack=0.1, patience=0.5, reserve=0)
    given_ = act(demand, window_quantile(demand, 1.0, 1.0), rule, start=2.0)
    # two seconds of slack end at the third sample; the step up is seen one sample late and borrows
    np.testing.assert_allclose(given_, [2, 2, 1, 1, 5, 5, 5, 5, 1, 1, 1, 1])


@given(seed=st.integers(0, 10**6), reserve=st.integers(0, 1))
def test_a_container_is_resized_at_most_once_more_than_it_has_begun_cycles(seed, reserve):
    demand = random_demand(seed, 5)
    rule = Rule(0.2, 0.9, 1.0, 0.0, 0.0, 0.0, reserve)
    sums = tally(demand, act(demand, window_quantile(demand, 1.0, 0.9), rule, 3.0))
    assert (sums.resizes <= sums.cycles + 1).all()


def test_the_margin_is_the_least_that_keeps_to_the_time_short():
    demand = random_demand(3, 12)
    rule, quantile = Rule(1.0, 1.0, 1.0, 0.0, 0.1, 0.5, 1), window_quantile(demand, 5.0, 1.0)
    found, cost = with_margin(demand, quantile, rule, 4.0, 0.2)
    sums = tally(demand, act(demand, quantile, found, 4.0)).pooled()
    assert under_time_0(sums)[0] <= 0.2
    assert cost == pytest.approx(over(sums)[0])


def test_the_searched_rule_keeps_to_its_target_in_training():
    demand = random_demand(5, 30, 80)
    sums = tally(demand, fit_policy(EVENT, demand, EventSettings(under_time=0.1))(demand)).pooled()
    assert under_time_0(sums)[0] <= 0.1
    assert resizes_per_cycle(sums)[0] <= 0.9


def test_waiting_leaves_first_cycles_at_the_cold_start_value():
    demand = random_demand(5, 10, 60)
    given_ = fit_policy(EVENT, demand, EventSettings(first_cycle="wait"))(demand)
    np.testing.assert_allclose(given_[demand.fleet.cold], np.quantile(demand.values, 0.95))
    assert len(np.unique(given_[~demand.fleet.cold])) > 1
