"""`deadline` with 10,000 jobs on 1,000 machines: what a decision at an arrival takes, and a look at them all.

The jobs come within ten minutes and ask for more than there is, so that nearly all of them are there at the
end: thousands run, and thousands wait for what is left over.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from core.engines.simulated import simulated
from core.scheduling.model import Profile, Trigger
from core.scheduling.policies import POLICIES
from core.scheduling.policies.deadline.context import DeadlineState
from core.simulation.scenario import JobSpec, Scenario, WorkerSpec
from core.simulation.speedup import SpeedUp

if TYPE_CHECKING:
    from core.scheduling.model import Observation

_JOBS, _WORKERS, _CORES, _WITHIN, _STEPS = 10_000, 1_000, 4.0, 600.0, 200
_FULL = 0.9
"""The share of the jobs after which arrivals are measured."""


def _scenario() -> Scenario:
    rng = np.random.default_rng(1)
    curve = SpeedUp(0.1, 0.9, 0.01)
    works, slacks = rng.uniform(200, 2000, _JOBS).tolist(), rng.uniform(0.8, 6, _JOBS).tolist()
    moments = np.sort(rng.uniform(0, _WITHIN, _JOBS)).tolist()
    return Scenario(
        tuple(WorkerSpec(f"worker-{i:04}", _CORES) for i in range(_WORKERS)),
        tuple(
            JobSpec(
                f"job-{i:05}", work, at, steps=_STEPS, values=5, deadline=work * slack, speedup=curve,
                resizable=True, request=1.0,
                profile=Profile(tuple((c, work / _STEPS / curve.speed(c)) for c in (1.0, 2.0, 4.0))),
            )
            for i, (work, slack, at) in enumerate(zip(works, slacks, moments, strict=True))
        ),
        horizon=1e9,
    )  # fmt: skip


def run() -> list[dict[str, object]]:
    """Measure both, processor time."""
    policy = POLICIES["deadline"]
    engine = simulated(_scenario(), 1, reveal_hidden=False)
    state, wake, arrivals, times = policy.begin(policy.build_settings({}), 1), None, 0, []
    observation: Observation
    while arrivals < _JOBS:
        engine.wait(wake)
        observation = engine.observe()
        start = time.process_time()
        decision = policy.decide(state, observation)
        spent = time.process_time() - start
        if observation.trigger is Trigger.ARRIVAL:
            arrivals += 1
            if arrivals > _FULL * _JOBS:
                times.append(spent)
        state, wake = decision.state, decision.wake
        engine.apply(decision.actions)
    assert isinstance(state, DeadlineState)
    n_jobs = len(observation.jobs)
    due = {name: home._replace(next_decision=observation.time) for name, home in state.records.items()}
    start = time.process_time()
    policy.decide(
        replace(state, records=due), replace(observation, number=observation.number + 1, trigger=Trigger.TICK)
    )
    tick_seconds = time.process_time() - start
    name = f"deadline, a job comes to {n_jobs:,} on {_WORKERS:,} workers"
    return [
        _row(name, float(np.median(times)), 0.020),
        _row(f"{name}, 99th percentile", float(np.quantile(times, 0.99)), 0.020),
        _row("deadline, a look at all of these workers", tick_seconds, 1.0),
    ]


def _row(name: str, seconds: float, limit: float) -> dict[str, object]:
    ms, target = 1000 * seconds, f"<= {1000 * limit:g} ms"
    return {"name": name, "value": ms, "unit": "ms", "target": target, "met": seconds <= limit}
