"""Ground truth that only the simulator has: when losses reach their goals, and fair shares."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from core.experiments.measures.measure import GOALS
from core.experiments.outcome import Truth

if TYPE_CHECKING:
    from core.simulation.loss import LossCurve
    from core.simulation.scenario import Scenario


if TYPE_CHECKING:
    from numpy.typing import NDArray

    from core.simulation.scenario import Scenario

    Floats: TypeAlias = NDArray[np.float64]

_NOTHING = 1e-9


# When each job would have ended under fair sharing: what a slowdown is measured against.
#
# On a virtual worker with the cores of all workers together, every job that has come gets an equal share, at
# most its demand and at most what one worker has; contention is that of jobs spread evenly over the workers.
# On one worker this is free competition itself.


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


_FINE = np.linspace(0.0, 1.0, 200) ** 3  # losses fall steeply first


def truth(scenario: Scenario) -> Truth:
    """The truth of a scenario.

    Value i of n is printed when i/n of the training is done (`core.simulation.scenario`), so a share x of the
    training is done at the moment of "value" x·n, between two printed ones.
    """
    known: dict[LossCurve, tuple[float, ...]] = {}
    for job in scenario.jobs:
        if job.loss not in known:
            known[job.loss] = work_at_goals(job.loss)
    return Truth(
        goals={job.id: tuple(x * job.values for x in known[job.loss]) for job in scenario.jobs},
        fair=fair_completions(scenario),
        models={job.id: job.model for job in scenario.jobs},
    )


def work_at_goals(curve: LossCurve) -> tuple[float, ...]:
    """Shares of the work after which a loss has fallen by `GOALS` of its whole fall for the first time."""
    return tuple(_first(curve, goal) for goal in GOALS)


def _first(curve: LossCurve, goal: float) -> float:
    """The first crossing on a fine grid, made exact by bisection between its two grid points."""
    above = np.nonzero(np.asarray(curve.reduction(_FINE)) >= goal)[0]
    if not len(above):
        return 1.0
    low, high = float(_FINE[max(above[0] - 1, 0)]), float(_FINE[above[0]])
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if float(curve.reduction(np.array(middle))) >= goal else (middle, high)
    return high
