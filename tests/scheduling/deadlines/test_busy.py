"""Promises on a machine that is asked for more than it has: with right predictions every one is kept."""

from random import Random

import pytest

from core.engines.simulated import simulated
from core.scheduling.loop import drive
from core.scheduling.model import Profile
from core.scheduling.policies import POLICIES
from core.simulation.scenario import JobSpec, Scenario, WorkerSpec
from core.simulation.speedup import SpeedUp


def busy(seed):
    """Forty jobs of very different sizes and deadlines on eight cores, one every 25 s."""
    rng, jobs, now = Random(seed), [], 0.0
    for number in range(40):
        now += rng.expovariate(1 / 25.0)
        curve = SpeedUp(rng.choice([0.05, 0.1, 0.2]), 1.0, rng.choice([0.0, 0.005]))
        steps = rng.randint(50, 400)
        work = rng.choice([20.0, 60.0, 200.0, 1000.0, 4000.0]) * rng.uniform(0.5, 1.5)
        points = tuple((float(cores), work / steps / curve.speed(cores)) for cores in (1, 2, 4, 8))
        deadline = work / curve.speed(8) * rng.uniform(1.05, 4.0)
        jobs.append(
            JobSpec(
                f"j{number}", work, round(now, 1), steps=steps, values=5, speedup=curve, resizable=True,
                profile=Profile(points), deadline=deadline, max=8.0
            )
        )  # fmt: skip
    return Scenario((WorkerSpec("w", 8.0),), tuple(jobs))


# of the first 300 those in which a promise was broken once: by a later job that took the time of one that was
# late by a second, or because steps between two measured numbers of cores were believed too much
@pytest.mark.parametrize("seed", [14, 53, 70, 84, 95, 102, 112, 201, 224])
def test_every_promise_is_kept(seed):
    policy, scenario, promised, late = POLICIES["deadline"], busy(seed), set(), {}
    due = {job.id: job.arrival + job.deadline for job in scenario.jobs}
    for entry in drive(simulated(scenario, 1), policy, policy.build_settings({}), 1):
        promised |= {reason.job for reason in entry.reasons if reason.rule == "deadline, promise"}
        for job in entry.observation.ended:
            late[job.id] = entry.observation.time - due[job.id]
    assert len(promised) > 10
    assert {name: late[name] for name in promised if late[name] > 1e-6} == {}
