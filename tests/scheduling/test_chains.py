"""Serving the best prefix first is the best order; chances count as what they are worth on average."""

from itertools import accumulate

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.scheduling.forecasting import GOALS, PRIOR, RemainingWork, best_prefix, shares_to_goals
from core.scheduling.policies.phasedock import worth_index
from tests.oracles import slow_chains

TASKS = st.lists(st.tuples(st.floats(0.1, 20.0), st.floats(0.0, 5.0)), min_size=1, max_size=3)


def _index(tasks):
    works = np.array(list(accumulate(seconds for seconds, _ in tasks)))
    return best_prefix(works, np.array([worth for _, worth in tasks]))


def _greedy(chains):
    """Task after task of the job whose index is the largest now."""
    at, order = [0] * len(chains), []
    while any(place < len(chain) for place, chain in zip(at, chains, strict=True)):
        open_ = [job for job, chain in enumerate(chains) if at[job] < len(chain)]
        job = max(open_, key=lambda each: _index(chains[each][at[each] :]))
        at[job] += 1
        order.append(job)
    return order


@given(st.lists(TASKS, min_size=1, max_size=3))
def test_the_best_prefix_first_is_as_good_as_the_best_of_all_orders(chains):
    assert slow_chains.cost(chains, _greedy(chains)) == pytest.approx(
        slow_chains.lowest_cost(chains), rel=1e-9
    )


def test_one_point_is_weight_over_work():
    assert best_prefix(np.array([4.0]), np.array([2.0])) == 0.5


def test_a_point_near_the_next_is_taken_with_it():
    """Nobody stops just before what is worth much more."""
    assert best_prefix(np.array([10.0, 11.0]), np.array([0.1, 10.0])) == pytest.approx(10.1 / 11.0)
    assert best_prefix(np.array([11.0, 10.0]), np.array([10.0, 0.1])) == pytest.approx(10.1 / 11.0)


def _remaining_work(curves, done=0.0):
    return RemainingWork(100.0, 100.0 * (1 - done), done, None if curves is None else tuple(curves.tolist()))


def _sure(curve):
    return np.eye(len(PRIOR))[curve]


@given(
    st.integers(0, len(PRIOR) - 1),
    st.floats(0.0, 0.95),
    st.lists(st.floats(0.0, 4.0), min_size=3, max_size=3),
)
def test_a_known_curve_is_a_chain_of_the_points_that_lie_ahead(curve, done, weights):
    ahead = [(max(at - done, 0.01) * 100.0, weight)
             for at, weight in zip(shares_to_goals(GOALS)[curve], weights, strict=True)
             if at > done]  # fmt: skip
    works, worths = zip(*[*ahead, (100.0 * (1 - done), 1.0)], strict=True)
    assert worth_index(_remaining_work(_sure(curve), done), weights) == pytest.approx(
        best_prefix(np.array(works), np.array(worths))
    )


@given(st.integers(0, 30), st.integers(40, 70), st.floats(0.0, 1.0))
def test_a_job_of_which_two_curves_are_possible_lies_between_them(one, other, chance):
    both = worth_index(_remaining_work(chance * _sure(one) + (1 - chance) * _sure(other)), (1.0, 0.25, 0.1))
    ends = [worth_index(_remaining_work(_sure(curve)), (1.0, 0.25, 0.1)) for curve in (one, other)]
    assert 1 / 100.0 <= both <= max(ends) + 1e-12


def test_without_a_curve_or_without_weights_only_the_end_counts():
    assert worth_index(_remaining_work(None), (1.0, 1.0, 1.0)) == pytest.approx(1 / 100.0)
    assert worth_index(_remaining_work(_sure(3)), (0.0, 0.0, 0.0)) == pytest.approx(1 / 100.0)
