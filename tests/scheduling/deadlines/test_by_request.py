"""Policies that give every job its request: known cases, and the slow twin."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.scheduling.actions import Pause, Resume, Start
from core.scheduling.model import Failure, JobState, Profile, Terms, Worker
from core.scheduling.policies import POLICIES
from core.simulation.scenario import JobSpec, Scenario, WorkerSpec
from tests.oracles import slow_by_request as slow
from tests.scheduling.making import Table
from tests.simulation.making import ends, run

GIB = float(2**30)
RULES = ("fifo", "fifo.backfill", "kube.default", "edf", "edf.preemptive", "least.laxity")


def scenario(jobs, capacities):
    made = tuple(
        JobSpec(
            name, work, arrival, request=request, steps=steps, values=5, deadline=deadline, resizable=True,
            profile=Profile(((request, work / steps / request),))
        )
        for name, arrival, work, request, deadline, steps in jobs
    )  # fmt: skip
    return Scenario(tuple(WorkerSpec(f"w{k}", cores) for k, cores in enumerate(capacities)), made)


def ended(rule, jobs, capacities=(4.0,)):
    policy = POLICIES[rule]
    return ends(run(scenario(jobs, capacities), policy, settings=policy.build_settings()))


SMALL_BEHIND_LARGE = (
    ("half", 0.0, 200.0, 2.0, 1000.0, 100),  # until 100 s
    ("whole", 1.0, 400.0, 4.0, 900.0, 100),  # then 100 s
    ("short", 2.0, 40.0, 2.0, 800.0, 100),  # 20 s
    ("long", 3.0, 400.0, 2.0, 110.0, 100),  # 200 s
)


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("fifo", {"half": 100, "whole": 200, "short": 220, "long": 400}),
        ("fifo.backfill", {"half": 100, "whole": 200, "short": 22, "long": 400}),
        ("kube.default", {"half": 100, "short": 22, "long": 222, "whole": 322}),
        ("edf", {"half": 100, "short": 22, "long": 222, "whole": 322}),
        ("edf.preemptive", {"short": 22, "half": 120, "long": 203, "whole": 302}),
    ],
)
def test_who_passes_one_that_does_not_fit(rule, expected):
    assert ended(rule, SMALL_BEHIND_LARGE) == pytest.approx(expected)


def test_no_more_pass_than_the_reservation_leaves_room_for():
    """Eight of ten cores are reserved from 100 s on: of two long jobs with two cores each, one may pass."""
    jobs = (
        ("six", 0.0, 600.0, 6.0, None, 100),
        ("eight", 1.0, 800.0, 8.0, None, 100),
        ("one", 2.0, 600.0, 2.0, None, 100),
        ("other", 3.0, 600.0, 2.0, None, 100),
    )
    expected = {"six": 100.0, "eight": 200.0, "one": 302.0, "other": 500.0}
    assert ended("fifo.backfill", jobs, (10.0,)) == pytest.approx(expected)
    assert slow.simulate(jobs, (10.0,), "fifo.backfill") == pytest.approx(expected)


def test_the_least_requested_worker_takes_a_job():
    made = Table("kube.default", {}, (Worker("v", 4.0), Worker("w", 8.0)))
    for name in ("a", "b", "c"):
        made.put(name, request=2.0)
    made.step(0.0)
    assert {name: job.worker for name, job in made.jobs.items()} == {"a": "v", "b": "w", "c": "w"}


def test_whoever_is_paused_for_another_goes_on_where_it_was():
    made = Table("edf.preemptive", {}, (Worker("w", 2.0),))
    made.put("late", request=2.0, terms=Terms(deadline=500.0))
    made.step(0.0)
    made.put("late", limit=2.0)
    made.put("soon", request=2.0, arrived=10.0, terms=Terms(deadline=50.0))
    assert [type(action) for action in made.step(10.0).actions] == [Pause, Start]
    made.put("late", state=JobState.PAUSED)
    made.put("soon", limit=2.0)
    assert made.step(20.0, ended=("soon",)).actions == (Resume("late"),)


def test_a_start_that_fails_is_tried_elsewhere_and_later_again():
    made = Table("fifo", {}, (Worker("v", 2.0), Worker("w", 2.0)))
    made.put("a", request=2.0)
    (start,) = made.step(0.0).actions
    made.put("a", state=JobState.WAITING, worker=None)
    answer = made.step(1.0, failures=(Failure(start, "No such image."),))
    assert (answer.actions, answer.wake) == ((), 6.0)
    (again,) = made.step(6.0).actions
    assert (start.worker, again.worker) == ("v", "w")


def test_memory_lets_wait():
    made = Table("kube.default", {}, (Worker("w", 8.0, memory=10 * GIB, memory_used=0.0),))
    for name in ("a", "b"):
        made.put(name, request=1.0, terms=Terms(memory=6 * GIB))
    made.step(0.0)
    assert [job.state for job in made.jobs.values()] == [JobState.RUNNING, JobState.WAITING]


@st.composite
def workloads(draw):
    jobs = [
        (
            f"j{k}",
            draw(st.integers(0, 60)) + 0.01 * k,
            draw(st.integers(5, 600)) + 0.001 * k,
            draw(st.sampled_from([0.5, 1.0, 2.0, 3.0, 4.0])),
            draw(st.none() | st.integers(10, 600).map(float)),
            draw(st.sampled_from([50, 200])),
        )
        for k in range(draw(st.integers(4, 14)))
    ]
    return jobs, draw(st.sampled_from([(4.0,), (4.0, 5.0), (6.0, 4.0)]))


@pytest.mark.parametrize("rule", RULES)
@given(drawn=workloads())
def test_every_job_ends_when_the_slow_twin_says(rule, drawn):
    jobs, capacities = drawn
    assert ended(rule, jobs, capacities) == pytest.approx(slow.simulate(jobs, capacities, rule), abs=1e-6)
