"""When each job would have ended under fair sharing: what a slowdown is measured against.

On a virtual worker with the cores of all workers together, every job that has come gets an equal share, at
most its demand and at most what one worker has; contention is that of jobs spread evenly over the workers. On
one worker this is free competition itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from core.simulation.scenario import Scenario

    Floats: TypeAlias = NDArray[np.float64]

_NOTHING = 1e-9


def equal_shares(caps: Floats, capacity: float) -> Floats:
    """Equal shares of a capacity where nobody gets more than its cap and the rest goes to the others.

    Parameters
    ----------
    caps
        Shape (n,), ascending.
    capacity
        Cores.

    Returns
    -------
    ndarray
        Shape (n,), with a sum of at most `capacity`.
    """
    before = np.concatenate(([0.0], np.cumsum(caps)[:-1]))
    levels = (capacity - before) / np.arange(len(caps), 0, -1)
    full = np.nonzero(levels <= caps)[0]
    return np.minimum(caps, levels[full[0]]) if len(full) else caps


def fair_completions(scenario: Scenario) -> dict[str, float]:
    """Seconds from arrival to end of each job under fair sharing, by its id."""
    most = max(worker.for_jobs for worker in scenario.workers)
    capacity = sum(worker.for_jobs for worker in scenario.workers)
    caps = np.array([min(job.demand or most, most) for job in scenario.jobs])
    order = np.argsort(caps, kind="stable")
    jobs = [scenario.jobs[at] for at in order]
    caps = caps[order]
    left = np.array([job.work for job in jobs])
    arrivals = np.array([job.arrival for job in jobs])
    ends = np.zeros(len(jobs))
    now = float(arrivals.min())
    while (left > _NOTHING).any():
        here = np.nonzero((arrivals <= now) & (left > _NOTHING))[0]
        coming = arrivals[arrivals > now]
        next_arrival = float(coming.min()) if len(coming) else np.inf
        if not len(here):
            now = next_arrival
            continue
        crowd = max(len(here) / len(scenario.workers), 1.0)
        rates = equal_shares(caps[here], capacity) / (1 + scenario.gamma * (crowd - 1))
        step = min(float((left[here] / rates).min()), next_arrival - now)
        left[here] -= rates * step
        now = now + step if step < next_arrival - now else next_arrival
        ends[here[left[here] <= _NOTHING * np.maximum(1.0, rates)]] = now
        left[here] = np.where(left[here] <= _NOTHING * np.maximum(1.0, rates), 0.0, left[here])
    return {job.id: float(end - job.arrival) for job, end in zip(jobs, ends, strict=True)}
