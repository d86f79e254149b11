"""Simulated runs with their policies: 20 jobs on 4 workers, and 10,000 jobs on 1,000 workers.

The first is SpeCon in the thesis' case with random submissions. In the second the jobs are submitted over
time, so that about nine tenths of the cores are busy, and every arrival and departure is shown to the policy;
`elastic` is measured against `fewest` there. In the third nearly all of the jobs are present at once.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np

from core.engines.simulated import simulated
from core.scheduling.loop import drive
from core.scheduling.policies import POLICIES
from core.simulation.arrivals import Poisson, UniformIn
from core.simulation.loss import FAMILIES, MODELS
from core.simulation.scenario import JobSpec, Scenario, WorkerSpec

if TYPE_CHECKING:
    from core.simulation.arrivals import Arrivals

_SMALL, _LARGE, _TIMES = 0.004, 60.0, 2.0


def _scenario(workers: int, jobs: int, arrivals: Arrivals, seed: int = 1) -> Scenario:
    rng = np.random.default_rng(seed)
    names, works = rng.choice(MODELS, jobs).tolist(), rng.uniform(100, 300, jobs).tolist()
    moments = arrivals.times(jobs, seed)
    return Scenario(
        tuple(WorkerSpec(f"worker-{i:04}", 1.0) for i in range(workers)),
        tuple(
            JobSpec(f"job-{i:05}", work, arrival, loss=FAMILIES["exponential"][name], model=name)
            for i, (name, work, arrival) in enumerate(zip(names, works, moments, strict=True))
        ),
    )


def _whole(policy_name: str, scenario: Scenario, seed: int) -> tuple[float, int]:
    """Processor seconds of a whole run, and its number of decisions."""
    policy = POLICIES[policy_name]
    start = time.process_time()
    engine = simulated(scenario, seed, reveal_hidden=policy.oracle)
    decisions = sum(1 for _ in drive(engine, policy, policy.build_settings(), seed))
    return time.process_time() - start, decisions


def _row(name: str, seconds: float, limit: float, unit: str = "s") -> dict[str, object]:
    scale = 1000.0 if unit == "ms" else 1.0
    return {
        "name": name,
        "value": seconds * scale,
        "unit": unit,
        "target": f"<= {limit * scale:g} {unit}",
        "met": seconds <= limit,
    }


def run() -> list[dict[str, object]]:
    """Measure all, processor time; the small run is the median of 30 seeds after a first one."""
    small = _scenario(4, 20, UniformIn(300.0))
    _whole("specon", small, 0)
    times, counts = zip(*(_whole("specon", small, seed) for seed in range(1, 31)), strict=True)
    rows = [
        _row(f"SpeCon, 20 jobs, 4 workers ({counts[0]} decisions)", float(np.median(times)), _SMALL, "ms")
    ]
    large = _scenario(1000, 10_000, Poisson(4.5))
    seconds, decisions = _whole("fewest", large, 1)
    rows.append(_row(f"fewest, 10,000 jobs, 1,000 workers ({decisions:,} decisions)", seconds, _LARGE))
    elastic, decisions = _whole("elastic", large, 1)
    name = f"elastic, the same, against fewest ({decisions:,} decisions)"
    rows.append(_row(name, elastic / seconds, _TIMES, "x"))
    seconds, decisions = _whole("fewest", _scenario(1000, 10_000, UniformIn(60.0)), 1)
    return [*rows, _row(f"fewest, all 10,000 jobs at once ({decisions:,} decisions)", seconds, _LARGE)]
