"""A host that replays recordings: what a limit does to it, and what nothing can do to it."""

import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.simulation.replay import (
    DONE,
    KILLED,
    STOPPED,
    Recording,
    Replay,
    ReplayPlan,
    StartingPlace,
    advance_replay,
    share_cores,
)

_CORES = st.one_of(st.just(0.0), st.floats(0.05, 3.0))


@st.composite
def recordings(draw):
    """A job of a few steps, with a loss that falls at each."""
    n = draw(st.integers(1, 8))
    cores = tuple(draw(st.lists(_CORES, min_size=n, max_size=n)))
    return Recording(
        "job",
        draw(st.sampled_from([0.5, 1.0, 2.0])),
        cores,
        tuple(float(100 * (i + 1)) for i in range(n)),
        tuple(1.0 / (i + 1) for i in range(n)),
        tuple(float(i) for i in range(n)),
    )


@st.composite
def plans(draw):
    """A host with up to five places, some with a limit, which begin at different moments."""
    limits = st.one_of(st.none(), st.floats(0.05, 2.0))
    places = st.lists(
        st.builds(StartingPlace, limits, st.none(), st.floats(0.0, 5.0)), min_size=1, max_size=5
    )
    return ReplayPlan(
        draw(st.floats(0.5, 4.0)),
        1e9,
        tuple(draw(st.lists(recordings(), min_size=1, max_size=3))),
        tuple(draw(places)),
        draw(st.sampled_from([0.5, 3.0, math.inf])),
    )


def constant(cores=1.0, steps=10, **more):
    """A job that uses the same cores all the time and prints the number of steps that are left."""
    memory, io = more.get("memory", (50.0,) * steps), (0.0,) * steps
    return Recording("flat", 1.0, (cores,) * steps, memory, tuple(float(steps - i) for i in range(steps)), io)


def once(*recorded, cores=8.0, limit=None, memory=None):
    """A host on which each of some recordings is replayed once."""
    return ReplayPlan(cores, 1e9, recorded, tuple(StartingPlace(limit, memory) for _ in recorded), math.inf)


def used(now):
    return {job.number: job.used for job in now.jobs}


moments = st.lists(st.floats(0.01, 10.0), min_size=1, max_size=12).map(
    lambda steps: [sum(steps[: i + 1]) for i in range(len(steps))]
)


@given(plans(), moments)
def test_nobody_exceeds_the_host_a_limit_or_what_was_recorded(plan, times):
    before = Replay.start(plan)
    for time in times:
        after = advance_replay(plan, before, time)
        assert after.at == time
        seconds, rose = after.at - before.at, 0.0
        for number, total in used(after).items():
            job = next(job for job in after.jobs if job.number == number)
            more = total - used(before).get(number, 0.0)
            assert more >= -1e-9
            assert job.limit is None or more <= job.limit * seconds + 1e-6
            assert total <= plan.recording(job).work + 1e-6
            rose += more
        assert rose <= plan.cores * seconds + 1e-6
        before = after


@given(plans(), moments)
def test_how_often_one_looks_changes_nothing(plan, times):
    often = Replay.start(plan)
    for time in times:
        often = advance_replay(plan, often, time)
    once_only = advance_replay(plan, Replay.start(plan), times[-1])
    assert [job.number for job in often.jobs] == [job.number for job in once_only.jobs]
    for one, other in zip(often.jobs, once_only.jobs, strict=True):
        assert one.used == pytest.approx(other.used, abs=1e-6)
        assert len(one.left) + one.part == pytest.approx(len(other.left) + other.part, abs=1e-5)
        assert one.held_back == pytest.approx(other.held_back, abs=1e-6)


@given(plans(), st.floats(0.1, 60.0))
def test_the_cores_are_all_given_away_or_everybody_has_what_it_can_use(plan, time):
    now = advance_replay(plan, Replay.start(plan), time)
    given_away = share_cores(plan, now)
    caps = [min(plan.recording(job).cores[len(job.left)], job.limit or math.inf) for job, _ in given_away]
    assert sum(share for _, share in given_away) == pytest.approx(min(plan.cores, sum(caps)), abs=1e-9)


@given(recordings(), st.one_of(st.none(), st.floats(0.02, 3.0)), st.floats(0.3, 4.0))
def test_work_is_conserved_whatever_the_limit(recorded, limit, cores):
    plan = once(recorded, cores=cores, limit=limit)
    now = Replay.start(plan)
    while not any(job.outcome for job in now.jobs):
        now = advance_replay(plan, now, now.at + 5.0)
    (job,) = now.jobs
    assert (job.outcome, len(job.left)) == (DONE, recorded.steps)
    assert job.used == pytest.approx(recorded.work, rel=1e-6, abs=1e-9)
    assert job.io_total(recorded) == pytest.approx(recorded.io_total[-1])
    assert job.ended >= recorded.steps * recorded.period - 1e-6
    assert list(job.left) == sorted(job.left)


@given(recordings(), st.floats(0.05, 1.0), st.floats(1.1, 4.0))
def test_a_lower_limit_lets_no_loss_fall_earlier(recorded, low, times):
    ends = []
    for limit in (low, low * times):
        plan = once(recorded, limit=limit)
        now = advance_replay(plan, Replay.start(plan), 40.0)
        ends.append(recorded.values_at(now.jobs[0].left) if now.jobs else [])
    assert len(ends[0]) <= len(ends[1])
    for (late, value), (soon, same) in zip(ends[0], ends[1], strict=False):
        assert value == same
        assert late >= soon - 1e-9


def test_a_limit_of_a_quarter_makes_a_job_take_four_times_as_long():
    plan = once(constant(), limit=0.25)
    now = advance_replay(plan, Replay.start(plan), 20.0)
    (job,) = now.jobs
    assert len(job.left) + job.part == pytest.approx(5.0)
    assert (job.used, job.limited, job.held_back) == pytest.approx((5.0, 20.0, 20.0))
    assert job.withheld == pytest.approx(20.0 * (1.0 - 0.25))
    printed = plan.recording(job).values_at(job.left)
    assert [value for _, value in printed] == [10.0, 9.0, 8.0, 7.0, 6.0]
    assert [moment for moment, _ in printed] == pytest.approx([4.0, 8.0, 12.0, 16.0, 20.0])


def test_neighbours_and_not_its_limit_hold_a_job_back_where_cores_are_scarce():
    plan = once(constant(), constant(), constant(), cores=1.0, limit=0.5)
    now = advance_replay(plan, Replay.start(plan), 9.0)
    assert [job.used for job in now.jobs] == pytest.approx([3.0] * 3)
    assert [(job.limited, job.held_back, job.withheld) for job in now.jobs] == [(9.0, 0.0, 0.0)] * 3


def test_weights_divide_scarce_cores():
    plan = once(constant(steps=40), constant(steps=40), cores=1.0)
    now = advance_replay(plan, Replay.start(plan), 0.0).changed(0, weight=3.0)
    assert [job.used for job in advance_replay(plan, now, 8.0).jobs] == pytest.approx([6.0, 2.0])


def test_a_paused_job_stands_still_and_others_have_its_cores():
    plan = once(constant(), constant(), cores=1.0)
    now = advance_replay(plan, Replay.start(plan), 2.0).changed(0, paused=True)
    later = advance_replay(plan, now, 6.0)
    assert [job.used for job in later.jobs] == pytest.approx([1.0, 5.0])
    assert advance_replay(plan, later.changed(0, paused=False), 8.0).jobs[0].used == pytest.approx(2.0)


def test_a_job_that_needs_more_memory_than_it_may_have_is_killed():
    plan = once(constant(steps=4, memory=(10.0, 20.0, 90.0, 20.0)), memory=50.0)
    (job,) = advance_replay(plan, Replay.start(plan), 9.0).jobs
    assert (job.outcome, job.ended, len(job.left)) == (KILLED, 2.0, 2)


def test_another_job_begins_after_a_pause_and_ended_ones_are_forgotten():
    plan = ReplayPlan(2.0, 1e9, (constant(steps=5), constant(steps=7)), (StartingPlace(first=1.0),), 3.0)
    now = advance_replay(plan, Replay.start(plan), 30.0)
    assert [(job.begun, job.ended) for job in now.jobs] == [
        (1.0, 6.0),
        (9.0, 16.0),
        (19.0, 24.0),
        (27.0, None),
    ]
    later = advance_replay(plan, now, 100.0)
    assert later.jobs[0].number > 0
    assert all(later.at - job.ended <= 60 for job in later.jobs if job.ended is not None)


def test_a_stopped_job_makes_room_for_the_next():
    plan = ReplayPlan(2.0, 1e9, (constant(),), (StartingPlace(),), 3.0)
    now = advance_replay(plan, Replay.start(plan), 2.0).stopped(plan, 0)
    assert now.job(0) is None
    assert now.jobs[0].outcome == STOPPED
    assert [job.begun for job in advance_replay(plan, now, 6.0).jobs] == [0.0, 5.0]
    assert now.stopped(plan, 99) == now


def test_a_loss_is_printed_when_it_changes():
    nan = math.nan
    recorded = Recording("a", 1.0, (1.0,) * 5, (1.0,) * 5, (nan, 3.0, 3.0, nan, 2.0), (0.0,) * 5)
    assert recorded.values_at([1.0, 2.0, 3.0, 4.0, 5.0]) == [(2.0, 3.0), (5.0, 2.0)]
    assert recorded.values_at([1.0, 2.0]) == [(2.0, 3.0)]


def test_what_is_no_recording_is_refused(refuses):
    with refuses(ValueError):
        Recording("a", 1.0, (1.0,), (1.0, 2.0), (1.0,), (1.0,))
    with refuses(ValueError):
        Recording("a", 1.0, (-1.0,), (1.0,), (1.0,), (1.0,))


def test_order_of_jobs_is_order_of_beginnings():
    plan = ReplayPlan(2.0, 1e9, (constant(),), (StartingPlace(first=2.0), StartingPlace(first=1.0)), 1.0)
    now = advance_replay(plan, Replay.start(plan), 60.0)
    assert all(one.number < two.number and one.begun <= two.begun for one, two in pairwise(now.jobs))
