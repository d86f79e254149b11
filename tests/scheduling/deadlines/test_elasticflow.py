"""``elasticflow`` decides as its publication says, against its algorithms slot by slot with loops."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from core.scheduling.actions import Refuse, SetThreads, Start
from core.scheduling.model import Job, JobState, Observation, Profile, Terms, Trigger, Worker
from core.scheduling.policies import POLICIES
from tests.oracles.slow_elasticflow import DeadlineJob, decide

NOW = 50.0
POLICY = POLICIES["elasticflow"]
SIZES = (1, 2, 4, 8, 16)


@st.composite
def waiting(draw):
    """Jobs that came at once, on one machine."""
    cores = draw(st.integers(1, 12))
    jobs = []
    for at in range(draw(st.integers(1, 6))):
        one, gains = draw(st.floats(0.05, 5.0)), draw(st.lists(st.floats(0.0, 1.0), min_size=4, max_size=4))
        speeds = [one]
        for gain in gains:
            speeds.append(speeds[-1] * (1 + gain))
        points = tuple(zip(map(float, SIZES), (1.0 / each for each in speeds), strict=True))
        jobs.append((f"j{at}", draw(st.integers(1, 600)), points, draw(st.floats(20.0, 1500.0))))
    return cores, jobs


def slow(cores, jobs):
    made = []
    for name, steps, points, seconds in jobs:
        known = {int(at): 1.0 / each for at, each in points if at <= cores}
        speed = [0.0]
        for k in range(1, cores + 1):
            speed.append(max(speed[-1], known.get(k, 0.0)))
        until = NOW + seconds
        little = min(max(0.001 * seconds, 0.05), 1.0)
        made.append(DeadlineJob(name, float(steps), speed, until - little, until))
    return decide(made, cores, NOW)


def fast(cores, jobs):
    seen = Observation(
        0, NOW, Trigger.ARRIVAL, (Worker("w", float(cores)),),
        tuple(
            Job(name, JobState.WAITING, arrived=NOW, steps=0, total_steps=steps, can_resize=True,
                terms=Terms(deadline=seconds, profile=Profile(points)))
            for name, steps, points, seconds in jobs
        )
    )  # fmt: skip
    return POLICY.decide(POLICY.begin(POLICY.build_settings({}), 1), seen)


@given(waiting())
def test_it_admits_and_gives_what_the_algorithms_say(drawn):
    cores, jobs = drawn
    told, said = slow(cores, jobs), fast(cores, jobs)
    refused = {action.job for action in said.actions if isinstance(action, Refuse)}
    assert refused == {name for name, *_ in jobs} - set(told.admitted)
    assume(not told.tied)  # rounding decides then
    started = {action.job: action.limit for action in said.actions if isinstance(action, Start)}
    assert started == pytest.approx({name: float(each) for name, each in told.cores.items() if each})
    assert all(isinstance(action, Start | Refuse | SetThreads) for action in said.actions)


def test_two_that_are_both_in_time_leave_no_room_for_a_third():
    """Two cores make these jobs only half as fast again: A and B need one each, and C would need both."""
    curve = ((1.0, 1.0), (2.0, 1 / 1.5))
    jobs = [("A", 300, curve, 301.0), ("B", 150, curve, 350.0), ("C", 260, curve, 350.0)]
    told = slow(2, jobs)
    assert told.admitted == ["A", "B"]
    said = fast(2, jobs)
    assert [action.job for action in said.actions if isinstance(action, Refuse)] == ["C"]
    assert {action.job: action.limit for action in said.actions if isinstance(action, Start)} == {
        "A": 1.0,
        "B": 1.0,
    }
