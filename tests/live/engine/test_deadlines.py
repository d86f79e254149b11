"""Deadlines on real containers when something goes wrong: a slow job, a lost core, an engine that refuses."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, field
from math import inf
from pathlib import Path

import pytest

from core.scheduling.actions import SetLimit, Start
from core.scheduling.loop import drive
from core.scheduling.model import JobState, Profile, Terms
from core.scheduling.policies import POLICIES
from tests.live import host
from tests.live.engines import opened, planned

pytestmark = [pytest.mark.live, pytest.mark.timeout(240)]

JOBS = Path(__file__).parents[3] / "core" / "jobs"
STEPS = 400
"""Many, for what was predicted wrongly is forgotten by halves in 50 of them."""


def due(image, name, seconds, deadline, **more):
    """A job of so many core-seconds on one core, as its profile says, that is due so many seconds later."""
    points = tuple((cores, seconds / STEPS / cores) for cores in (0.25, 0.5, 1.0))
    terms = Terms(max=1.0, deadline=deadline, profile=Profile(points, steps=STEPS))
    return planned(image, name, seconds, STEPS, request=1.0, terms=terms, can_resize=True, **more)


@dataclass
class DeadlineRecord:
    """What became of jobs, and what was said of them and when."""

    ended: dict[str, float] = field(default_factory=dict)
    said: dict[str, list[tuple[float, str]]] = field(default_factory=dict)
    limits: dict[str, list[tuple[float, float]]] = field(default_factory=dict)
    given: list[tuple[float, float, float]] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)

    def late_from(self, job):
        """When it was first said that a job will be late, and that was not taken back."""
        first = inf
        for at, label in self.said[job]:
            first = min(first, at) if label == "late" else inf
        return first


def driven(engine, happens=None):
    """Run `deadline` to the end of all jobs; `happens` sees each look."""
    told, policy = DeadlineRecord(), POLICIES["deadline"]
    for entry in drive(engine, policy, policy.build_settings({"interval": 1.0}), 1, pace=1.0):
        seen = entry.observation
        for action in entry.actions:
            if isinstance(action, Start | SetLimit):
                told.limits.setdefault(action.job, []).append((seen.time, action.limit))
        for mark in entry.marks:
            told.said.setdefault(mark.job, []).append((seen.time, mark.label))
        told.failures += [failure.why for failure in (*seen.failures, *entry.failures)]
        given = sum(job.limit or 0.0 for job in seen.jobs if job.state is JobState.RUNNING)
        told.given.append((seen.time, given, sum(worker.capacity for worker in seen.workers)))
        for job in seen.ended:
            assert job.state is JobState.DONE, engine.reasons[job.id]
            told.ended[job.id] = seen.time
        if happens is not None:
            happens(seen)
    assert engine.close() == ()
    return told


@pytest.mark.long
def test_a_job_that_slows_down_by_half_gets_the_cores_that_it_needs(docker_url, light_image, tmp_path):
    """A quarter of a core would do for 6 core-seconds in 40 s, and not for the 10.5 that they become."""
    slow = due(light_image, "slow", 6.0, 40.0, slower_from=100)
    with opened(docker_url, tmp_path, slow, due(light_image, "other", 3.0, 90.0), cpus=((0,),)) as engine:
        told = driven(engine)
    assert told.ended["slow"] < 40.0
    assert told.ended["other"] < 90.0
    assert {"promised"} == {told.said[name][0][1] for name in ("slow", "other")}


@pytest.mark.long
def test_one_that_can_no_longer_be_in_time_is_said_long_before(docker_url, light_image, tmp_path):
    lost = due(light_image, "lost", 8.0, 12.0, slower_from=40)
    with opened(docker_url, tmp_path, lost, cpus=((0,),)) as engine:
        told = driven(engine)
    assert told.said["lost"][0][1] == "promised"
    assert told.ended["lost"] > 12.0
    assert told.late_from("lost") < 9.0


@pytest.mark.long
def test_an_engine_that_refuses_is_asked_again_and_the_deadline_is_met(
    docker_url, light_image, tmp_path, start_job
):
    """Docker refuses a name that another container has."""
    other = start_job(light_image, ["sleep", "300"], name="phasedock-test-taken")
    taken = due(light_image, "taken", 2.0, 60.0, container=other.name)

    def happens(seen):
        if seen.time > 3.0 and there:
            there.pop().remove(force=True)

    there = [other]
    with opened(docker_url, tmp_path, taken, due(light_image, "free", 2.0, 60.0), cpus=((0,),)) as engine:
        told = driven(engine, happens)
    assert any("phasedock-test-taken" in why for why in told.failures), told.failures
    assert told.ended["taken"] < 60.0
    assert told.ended["free"] < 60.0


@pytest.fixture
def daemon():
    """An engine whose processors may be taken away."""
    with host.killable("shrinking") as made:
        yield made


@pytest.mark.long
def test_a_host_that_loses_a_core_keeps_its_promises_with_the_other_one(daemon, tmp_path):
    volumes = {f"/{name}": f"/{name}" for name in host.PROGRAMS} | {str(JOBS): "/jobs/phasedock_jobs"}
    more = {"volumes": volumes, "environment": {"PYTHONPATH": "/jobs"}}
    soon, later = due("empty", "soon", 7.0, 50.0, **more), due("empty", "later", 7.0, 90.0, **more)

    def happens(seen):
        if not lost and all(job.steps for job in seen.jobs):
            with host.connect(daemon.url) as client:
                for container in client.containers.list():
                    container.update(cpuset_cpus="0")
            for task in Path(f"/proc/{daemon.pid}/task").iterdir():
                os.sched_setaffinity(int(task.name), {0})
            lost.append(time.monotonic() - begin)

    lost, begin = [], time.monotonic()
    with opened(daemon.url, tmp_path, soon, later, cpus=(None,)) as engine:
        told = driven(engine, happens)
    assert told.given[0][2] == 2.0
    after = [(given, cores) for at, given, cores in told.given if at > lost[0] + 7.0]
    assert after
    assert all(given <= cores == 1.0 for given, cores in after)
    assert told.ended["soon"] < 50.0
    assert told.ended["later"] < 90.0
