"""What is left of a job, from what it prints: to its end, and to the point that its owner waits for.

Programs print how many steps they have done and how many there are; with the core-seconds used so far
that is the work left. The printed losses say where most of the reduction is made (`loss_curve`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from core.scheduling.loss_curve import reaches

if TYPE_CHECKING:
    from core.scheduling.model import Job

GOAL = 0.9
_STEPS = 2
_LEAST = 0.01
_GUESS = 0.4
_GROWTH = 1.25
_BRIEF = 0.5


@dataclass(frozen=True, slots=True)
class Known:
    """What is remembered of one job.

    Parameters
    ----------
    values
        Everything that it has printed.
    fitted
        How many of them its curve was fitted to.
    knee
        Share of its steps at which it has made 90% of its loss reduction, or None if unknown.
    fastest
        Most cores that it was seen to use.
    time, cpu_seconds
        When it was last looked at, and its counter then.
    moves
        How often it was asked to move.
    """

    values: tuple[float, ...] = ()
    fitted: int = 0
    knee: float | None = _GUESS
    fastest: float = 0.0
    time: float = 0.0
    cpu_seconds: float = 0.0
    moves: int = 0


@dataclass(frozen=True, slots=True)
class Left:
    """Core-seconds of a job: total, to its end, and to 90% of its loss reduction (None: past or unknown)."""

    total: float
    end: float
    knee: float | None


def learn(known: Known, job: Job, now: float) -> Known:
    """Take in what a job shows now; its curve is refitted when it has printed a quarter more."""
    passed, used = now - known.time, job.cpu_seconds - known.cpu_seconds
    fastest = max(known.fastest, used / passed) if passed >= _BRIEF else known.fastest
    values = known.values + tuple(value for _, value in job.readings)
    knee, fitted = known.knee, known.fitted
    if len(values) >= max(_GROWTH * fitted, fitted + 4) and job.total_steps and job.steps:
        knee, fitted = reaches(values, min(job.steps / job.total_steps, 1.0), GOAL), len(values)
    return replace(
        known, values=values, fitted=fitted, knee=knee, fastest=fastest, time=now, cpu_seconds=job.cpu_seconds
    )


def left(job: Job, known: Known) -> Left | None:
    """Predict what is left of a job.

    Returns
    -------
    Left or None
        None before it has done two steps, or if it does not say how many there are.
    """
    if not job.total_steps or (job.steps or 0) < _STEPS or not job.cpu_seconds:
        return None
    done = min(((job.steps or 0) + 0.5) / job.total_steps, 1.0)
    total = job.cpu_seconds / done
    knee = None
    if known.knee is not None and known.knee > done:
        knee = max((known.knee - done) * total, _LEAST * total)
    return Left(total, max((1 - done) * total, _LEAST * total), knee)
