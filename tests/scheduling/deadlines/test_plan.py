"""Least shares of cores over slots: against their definition slot by slot, and what holds for every plan."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import InputError
from core.scheduling.deadline_planning.plan import (
    AllocationRequest,
    add_request,
    continue_plan,
    find_min_share,
    make_plan,
    slot_edges,
)
from core.scheduling.deadline_planning.speed import build_rates
from core.scheduling.forecasting import StepTime

PARTS = st.tuples(st.floats(0.0, 2.0), st.floats(0.05, 5.0), st.floats(0.0, 0.5))
CAPACITY = st.integers(1, 12)


@st.composite
def wishes(draw, most=8, jobs=6):
    made = []
    for k in range(draw(st.integers(1, jobs))):
        step = StepTime(*draw(PARTS))
        least = draw(st.integers(1, 3))
        table = build_rates(step.seconds, least, draw(st.integers(least, most)), 1.0)
        made.append(
            AllocationRequest(f"j{k}", draw(st.floats(0.5, 300.0)), table, draw(st.floats(5.0, 2000.0)))
        )
    return made


def laid(jobs, capacity, now=0.0):
    edges = slot_edges(now, [each.deadline for each in jobs], 30.0)
    return np.full(len(edges) - 1, capacity), edges


def steps_done(wish, cores, edges):
    """Steps by the deadline with so many core units in each slot, slot by slot."""
    total = 0.0
    for k, begin, end in zip(cores, edges[:-1], edges[1:], strict=True):
        total += wish.rates.speed[int(k)] * max(0.0, min(end, wish.deadline) - begin)
    return total


@given(PARTS, st.integers(1, 4), st.integers(4, 40), st.sampled_from([0.25, 1.0]))
def test_a_table_of_rates_is_one_over_the_time_per_step_until_more_cores_cost(parts, least, most, grain):
    step = StepTime(*parts)
    table = build_rates(step.seconds, least, most, grain)
    first, best = round(least / grain), 0.0
    for k in range(round(most / grain) + 1):
        best = max(best, 1.0 / step.seconds(k * grain)) if k >= first else 0.0
        assert table.speed[k] == pytest.approx(best)
        useful = int(table.useful[k])
        assert table.speed[useful] == table.speed[k]
        assert useful == 0 or table.speed[useful - 1] < table.speed[k]


def test_a_step_of_cores_that_no_job_can_have_is_refused(refuses):
    with refuses(InputError):
        build_rates(StepTime(0.0, 1.0).seconds, 0.2, 0.9, 1.0)


@given(st.floats(0.0, 1e6), st.lists(st.floats(0.0, 1e6), max_size=8), st.floats(1.0, 60.0))
def test_slots_begin_now_and_end_at_every_deadline(now, after, length):
    deadlines = [now + each for each in after]
    edges = slot_edges(now, deadlines, length)
    assert edges[0] == now
    assert len(edges) >= 2
    assert (np.diff(edges) > 0).all()
    assert {each for each in deadlines if each > now} <= set(edges.tolist())
    assert (np.diff(edges) <= np.maximum(length, 0.05 * (edges[:-1] - now)) * (1 + 1e-9) + 1e-9).all()


@given(wishes(jobs=1), CAPACITY, st.data())
def test_the_least_share_is_the_fewest_cores_that_end_in_time(made, capacity, data):
    (wish,) = made
    _, edges = laid(made, capacity)
    free = np.array(
        data.draw(st.lists(st.integers(0, capacity), min_size=len(edges) - 1, max_size=len(edges) - 1))
    )
    share = find_min_share(wish, free, edges)
    enough = [k for k in range(wish.rates.max_units + 1)
              if steps_done(wish, np.minimum(free, k), edges) >= wish.steps * (1 - 1e-9)]  # fmt: skip
    if share is None:
        assert not enough
        return
    assert share.units == enough[0]
    assert (share.by_slot <= np.minimum(free, share.units)).all()
    assert steps_done(wish, share.by_slot, edges) >= wish.steps * (1 - 1e-8)


@given(wishes(), CAPACITY)
def test_no_slot_is_given_away_twice_and_each_deadline_is_met_by_what_was_given(made, capacity):
    free, edges = laid(made, capacity)
    plan = make_plan(made, free, edges)
    assert (sum((share.by_slot for share in plan.shares.values()), plan.free) == capacity).all()
    assert (plan.free >= 0).all()
    assert {*plan.shares, *plan.late} == {wish.job for wish in made}
    for wish in made:
        if wish.job in plan.shares:
            assert steps_done(wish, plan.shares[wish.job].by_slot, edges) >= wish.steps * (1 - 1e-8)


@given(wishes(), CAPACITY)
def test_a_later_deadline_never_harms_an_earlier_one(made, capacity):
    free, edges = laid(made, capacity)
    ordered = sorted(made, key=lambda each: (each.deadline, each.job))
    whole, fewer = make_plan(ordered, free, edges), make_plan(ordered[:-1], free, edges)
    for name, share in fewer.shares.items():
        assert share.units == whole.shares[name].units
        assert (share.by_slot == whole.shares[name].by_slot).all()


@given(wishes(jobs=1), CAPACITY, st.integers(0, 4))
def test_more_cores_or_time_never_ask_for_a_larger_share(made, capacity, more):
    (wish,) = made
    free, edges = laid(made, capacity)
    share, wider = find_min_share(wish, free, edges), find_min_share(wish, free + more, edges)
    later = wish._replace(deadline=wish.deadline + 30.0 * more)
    longer = find_min_share(later, *laid([later], capacity))
    if share is not None:
        assert wider is not None
        assert wider.units <= share.units
        assert longer is not None
        assert longer.units <= share.units


def test_the_earliest_deadline_is_served_first_with_what_it_needs_and_the_next_of_what_is_left():
    """Each has 600 steps of a second on one core; five cores."""
    table = build_rates(StepTime(0.0, 1.0).seconds, 1, 8, 1.0)
    made = [
        AllocationRequest(name, 600.0, table, by) for name, by in (("a", 200.0), ("b", 300.0), ("c", 250.0))
    ]
    plan = make_plan(made, *laid(made, 5))
    assert plan.shares["a"].units == 3
    assert plan.shares["c"].units == 4  # two of the others until 200 s, then four
    assert plan.late == ("b",)


@given(wishes(), CAPACITY, st.floats(0.0, 1.0))
def test_a_plan_that_was_followed_can_be_continued(made, capacity, share):
    """Whatever was done by its slots, the rest of the plan still brings everybody to the end in time."""
    free, edges = laid(made, capacity)
    plan = make_plan(made, free, edges)
    now = float(edges[0] + share * (edges[-1] - edges[0]) * 0.999)
    going = []
    for wish in (each for each in made if each.job in plan.shares):
        spent = np.clip(now - edges[:-1], 0.0, np.diff(edges))
        left = wish.steps - float(wish.rates.speed[plan.shares[wish.job].by_slot] @ spent)
        if left > 1e-6 * wish.steps:
            going.append(wish._replace(steps=left))
    rest = continue_plan(plan, going, capacity, now)
    assert rest is not None
    assert rest.late == ()
    assert (rest.free + sum(each.by_slot for each in rest.shares.values()) == capacity).all()
    assert continue_plan(plan, [*going, made[0]._replace(job="new")], capacity, now) is None
    assert continue_plan(plan, going, 0, now) is None or not any(
        each.by_slot.any() for each in rest.shares.values()
    )


def test_who_is_late_in_a_plan_that_goes_on_holds_nothing_of_it():
    """Two jobs of 50 s on one core each; after 10 s one of them has all of its work left, and is late."""
    table = build_rates(StepTime(0.0, 1.0).seconds, 1, 1, 1.0)
    made = [AllocationRequest("a", 50.0, table, 60.0), AllocationRequest("b", 50.0, table, 55.0)]
    free, edges = laid(made, 2)
    plan = make_plan(made, free, edges)
    rest = continue_plan(plan, [made[0]._replace(steps=40.0), made[1]], 2, 10.0)
    assert (set(rest.shares), rest.late) == ({"a"}, ("b",))
    assert rest.free[0] == 1


@given(wishes(jobs=5), CAPACITY)
def test_one_more_job_takes_only_what_is_free(made, capacity):
    *before, last = made
    free, edges = laid(made, capacity)
    plan = make_plan(before, free, edges)
    more = add_request(plan, last)
    alone = find_min_share(last, plan.free, edges)
    assert (more is None) == (alone is None)
    if more is not None:
        assert {name: more.shares[name] for name in plan.shares} == plan.shares
        assert (plan.free - more.free == more.shares[last.job].by_slot).all()
        assert more != plan
