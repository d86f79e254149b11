"""The virtual machine on which everybody shares, and the promises made from it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.scheduling.shares import FairShare, advance_fair_shares, compute_slack, estimate_fair_finishes

works = st.lists(st.floats(0.5, 500.0), min_size=1, max_size=8)


def shares_of(left):
    names = [f"j{k}" for k in range(len(left))]
    return (
        {name: FairShare(0.0, 0.0) for name in names},
        dict(zip(names, left, strict=True)),
        dict.fromkeys(names, 4.0),
    )


def step_by_step(left, caps, capacity):
    """The same ends by small steps of time."""
    left, ends, time, step = dict(left), {}, 0.0, 0.01
    while left:
        rates, free, waiting = {}, capacity, len(left)
        for name in sorted(left, key=lambda each: caps[each]):
            rates[name] = min(caps[name], free / waiting)
            free, waiting = free - rates[name], waiting - 1
        time += step
        for name in list(left):
            left[name] -= rates[name] * step
            if left[name] <= 0:
                ends[name] = time
                del left[name]
    return ends


@given(st.lists(st.floats(0.5, 20.0), min_size=1, max_size=5), st.lists(st.floats(0.2, 2.0), min_size=5))
def test_ends_are_those_of_sharing_in_small_steps(left, caps):
    jobs, totals, demands = shares_of(left)
    demands = {name: caps[k] for k, name in enumerate(demands)}
    found = estimate_fair_finishes(jobs, totals, demands, 1.0, 0.0)
    for name, end in step_by_step(totals, demands, 1.0).items():
        assert found[name] == pytest.approx(end, abs=0.1, rel=0.01)


@given(works)
def test_no_capacity_is_lost_while_anyone_can_use_it(left):
    jobs, totals, demands = shares_of(left)
    assert max(estimate_fair_finishes(jobs, totals, demands, 2.0, 7.0).values()) == pytest.approx(
        7.0 + sum(left) / 2.0
    )


@given(works, st.floats(0.0, 50.0))
def test_looking_twice_is_looking_once(left, seconds):
    jobs, totals, demands = shares_of(left)
    later = advance_fair_shares(jobs, totals, demands, 2.0, seconds)
    once, twice = (
        estimate_fair_finishes(jobs, totals, demands, 2.0, 0.0),
        estimate_fair_finishes(later, totals, demands, 2.0, seconds),
    )
    for name, end in twice.items():
        assert end == pytest.approx(once[name], rel=1e-6, abs=1e-4)
    assert all(once[name] <= seconds + 1e-4 for name in set(once) - set(twice))


def test_slack_counts_everything_that_is_promised_earlier():
    spare = compute_slack({"a": 30.0, "b": 20.0}, {"a": 8.0, "b": 4.0}, {"a": 2.0, "b": 2.0}, 2.0, 10.0)
    assert spare == [("b", 8.0), ("a", 14.0)]
