"""What is left of a job, from what it prints: to its end, and to the points that its owner waits for.

Programs print how many steps they have done and how many there are; with the core-seconds used so far
that is the work left. The printed losses say where most of the reduction is made (`loss_curve`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from core.scheduling.forecasting.loss_curve import PRIOR, Chances, chances, reached

if TYPE_CHECKING:
    from core.scheduling.forecasting.loss_curve import Floats
    from core.scheduling.model import Job

GOALS = (0.9, 0.95, 0.99)
"""The points: shares of its whole loss reduction, in the order in which they are reached."""
_STEPS = 2
_LEAST = 0.01
_GROWTH = 1.25
_BRIEF = 0.5


@dataclass(frozen=True, slots=True)
class Known:
    """What is remembered of one job."""

    #: Everything that it has printed.
    values: tuple[float, ...] = ()
    #: How many of them its curve was fitted to.
    fitted: int = 0
    #: How likely each curve of the grid is to be that of its loss, or None if that does not fall.
    curves: Chances | None = PRIOR
    #: Most cores that it was seen to use.
    fastest: float = 0.0
    #: When it was last looked at, and its counter then.
    time: float = 0.0
    cpu_seconds: float = 0.0
    #: How often it was asked to move.
    moves: int = 0


@dataclass(frozen=True, slots=True)
class Left:
    """What is left of a job."""

    #: Core-seconds in total, and to its end.
    total: float
    end: float
    #: Share of its steps that is done.
    done: float
    #: As in `Known`.
    curves: Chances | None

    def ahead(self) -> tuple[Floats, Floats]:
        """Core-seconds to each place where a point of `GOALS` may be, and how likely it is there.

        Returns
        -------
        (ndarray, ndarray)
            Each of shape (curves, goals); places that lie behind have a chance of 0.
        """
        places = reached(GOALS)
        curves = np.zeros(len(places)) if self.curves is None else np.array(self.curves)
        chance = np.where(places > self.done, curves[:, None], 0.0)
        return np.maximum(places - self.done, _LEAST) * self.total, chance


def learn(known: Known, job: Job, now: float) -> Known:
    """Take in what a job shows now; its curve is refitted when it has printed a quarter more."""
    passed, used = now - known.time, job.cpu_seconds - known.cpu_seconds
    fastest = max(known.fastest, used / passed) if passed >= _BRIEF else known.fastest
    values = known.values + tuple(value for _, value in job.readings)
    curves, fitted = known.curves, known.fitted
    if len(values) >= max(_GROWTH * fitted, fitted + 4) and job.total_steps and job.steps:
        curves, fitted = chances(values, min(job.steps / job.total_steps, 1.0)), len(values)
    return replace(
        known,
        values=values,
        fitted=fitted,
        curves=curves,
        fastest=fastest,
        time=now,
        cpu_seconds=job.cpu_seconds,
    )


def left(job: Job, known: Known) -> Left | None:
    """Predict what is left of a job."""
    if not job.total_steps or (job.steps or 0) < _STEPS or not job.cpu_seconds:
        return None
    done = min(((job.steps or 0) + 0.5) / job.total_steps, 1.0)
    total = job.cpu_seconds / done
    return Left(total, max(1 - done, _LEAST) * total, done, known.curves)
