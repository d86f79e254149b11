"""Ground truth that only the simulator has: when losses reach their goals, and fair shares."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from core.experiments.measures.fair_completion import fair_completions
from core.experiments.measures.goals_reached import GOALS
from core.experiments.outcome import Truth

if TYPE_CHECKING:
    from core.simulation.loss import LossCurve
    from core.simulation.scenario import Scenario

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
