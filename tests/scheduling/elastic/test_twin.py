"""Every variant of ``elastic`` decides what its rules say, as a plain and slow twin applies them."""

import itertools

from hypothesis import given
from hypothesis import strategies as st

from core.engines.simulated import simulated
from core.scheduling.actions import Pause, Refuse, Resume, SetLimit, SetThreads, Start
from core.scheduling.loop import drive
from core.scheduling.policies import POLICIES
from core.scheduling.policies.elastic.settings import ADMISSIONS, ORDERS, REASSIGNMENTS
from core.simulation.scenario import JobSpec, Scenario, WorkerSpec
from tests.oracles.slow_elastic import SlowElastic, threads

VARIANTS = list(itertools.product(ADMISSIONS, ORDERS, REASSIGNMENTS, ("waiting", "running")))
ELASTIC = POLICIES["elastic"]


@st.composite
def queues(draw):
    """Jobs that ask for more than there is, on one worker; some cannot change their threads."""
    cores = draw(st.integers(2, 12))
    jobs = []
    for number in range(draw(st.integers(1, 8))):
        least = draw(st.none() | st.integers(1, 3))
        request = draw(st.integers(least or 1, cores + 1))
        jobs.append(
            JobSpec(
                f"j{number}",
                work=float(draw(st.integers(5, 200))),
                arrival=float(draw(st.integers(0, 60))),
                request=float(request),
                min=least,
                max=draw(st.none() | st.integers(request, 16)),
                threads=draw(st.none() | st.integers(request, 16)),
                resizable=draw(st.booleans()),
                priority=draw(st.integers(0, 9)),
                steps=None,
            )
        )
    return Scenario((WorkerSpec("w", float(cores)),), tuple(jobs))


def after(entry):
    """What an entry leaves: cores of jobs that run, jobs that it pauses, jobs that it refuses."""
    cores = {job.id: job.limit for job in entry.observation.jobs if job.state.value == "running"}
    limits = {job.id: job.limit for job in entry.observation.jobs}
    paused, refused = [], []
    for action in entry.actions:
        match action:
            case Start(job, _, limit):
                cores[job] = limit
            case SetLimit(job, limit):
                limits[job] = limit
                if job in cores:
                    cores[job] = limit
            case Pause(job):
                del cores[job]
                paused.append(job)
            case Resume(job):
                cores[job] = limits[job]
            case Refuse(job):
                refused.append(job)
    return cores, paused, refused


@given(variant=st.sampled_from(VARIANTS), scenario=queues(), victim=st.sampled_from(["longest", "smallest"]),
       feedback=st.booleans(), cap=st.sampled_from([0.0, 0.0, 3.0]))  # fmt: skip
def test_a_variant_decides_what_its_rules_say(variant, scenario, victim, feedback, cap):
    values = dict(zip(("admission", "order", "reassign", "first"), variant, strict=True))
    values |= {"victim": victim, "feedback": feedback, "quantum": 20.0, "ageing": 15.0, "cap": cap}
    chosen = ELASTIC.build_settings(values)
    capacity = scenario.workers[0].cores
    twin = SlowElastic(chosen, capacity)
    for entry in drive(simulated(scenario, 1), ELASTIC, chosen, 1):
        assert entry.failures == ()
        cores, paused, refused = after(entry)
        expected, stopped, turned_away = twin.decide(entry.observation)
        assert cores == expected
        assert sorted(paused) == sorted(stopped)
        assert sorted(refused) == sorted(turned_away)
        _obeys(entry, cores, capacity, scenario)


def _obeys(entry, cores, capacity, scenario):
    """What no variant may break: capacity, min and max, threads that follow, and the order of actions."""
    specs = {spec.id: spec for spec in scenario.jobs}
    assert sum(cores.values()) <= capacity + 1e-9
    for name, held in cores.items():
        assert (specs[name].min or 0) - 1e-9 <= held <= (specs[name].max or capacity) + 1e-9
    before = {job.id: job for job in entry.observation.jobs}
    room = capacity - sum(job.limit for job in before.values() if job.state.value == "running")
    for action in entry.actions:
        match action:
            case Start(job, _, limit, _, told):
                room -= limit
                assert told == (threads(limit) if specs[job].resizable else None)
            case SetLimit(job, limit) if before[job].state.value == "running":
                room += before[job].limit - limit
            case SetThreads(job):
                assert specs[job].resizable
            case Pause(job):
                room += before[job].limit
            case Resume(job):
                room -= cores[job]
        assert room >= -1e-9, "cores are given before they are free"
