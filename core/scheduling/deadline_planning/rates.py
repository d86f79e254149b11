"""How fast a job is with how many cores, as a table over multiples of a grain.

A plan asks this thousands of times, so it is computed once. More cores than a job is fastest with are never
of use to it: the table does not fall, and says with how few cores the same speed is had.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from core.errors import InputError
from core.scheduling.forecasting import MeasuredTime

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from core.scheduling.model import Job


def deadline_of(job: Job) -> float:
    """Its deadline on the run's clock, seconds; infinite without one."""
    deadline = job.terms_or_default.deadline
    return inf if deadline is None else job.arrived + deadline


def estimate_seconds_left(job: Job, cores: float) -> float | None:
    """Seconds to its end on `cores` by its profile, or else by its time per step now; None if not known."""
    if job.total_steps is None or job.steps is None:
        return None
    left, profile = float(job.total_steps - job.steps), job.terms_or_default.profile
    if profile is not None:
        return left * MeasuredTime(profile.points).seconds(cores)
    return None if job.step_seconds is None else left * job.step_seconds


Floats: TypeAlias = "NDArray[np.float64]"
Counts: TypeAlias = "NDArray[np.int64]"

_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class Rates:
    """Training steps per second with k grains of cores."""

    #: Shape (most + 1,): steps per second with k grains or fewer; 0 below the fewest that it runs with.
    speed: Floats
    #: Shape (most + 1,): the fewest grains with that speed.
    useful: Counts

    @property
    def min_grains(self) -> int:
        """The fewest grains that it runs with."""
        return int(self.speed.searchsorted(0.0, side="right"))

    @property
    def max_grains(self) -> int:
        """Grains beyond which it is not faster."""
        return int(self.useful[-1])


def build_rates(
    seconds: Callable[[float], float],
    min_cores: float,
    max_cores: float,
    grain: float,
    *,
    powers: bool = False,
    whole: bool = False,
) -> Rates:
    """Make the table of one job.

    Parameters
    ----------
    seconds
        Seconds per step on so many cores, above zero.
    min_cores, max_cores
        Cores that it can run with, least ≤ most; the table begins with the first multiple of the grain that
        is not below `min_cores`, and ends with the last one that is not above `max_cores`.
    grain
        Cores are given in multiples of this, above zero.
    powers
        Whether it can only make use of 1, 2, 4, 8 … grains, if there is one of them between the bounds.
    whole
        Whether above one core it can only make use of whole ones, since its threads are: a thread more than
        cores makes the others wait for it.

    Raises
    ------
    InputError
        If no multiple of the grain lies between `min_cores` and `max_cores`.
    """
    first, last = int(np.ceil(min_cores / grain - _ROUNDING)), int(np.floor(max_cores / grain + _ROUNDING))
    first = max(first, 1)
    if last < first:
        raise InputError(
            f"A job that runs with {min_cores:g} to {max_cores:g} cores has none in steps of {grain:g}.",
            "Choose a smaller step of cores.",
        )
    speed = np.zeros(last + 1)
    sizes = [
        k
        for k in range(first, last + 1)
        if not (powers and k & (k - 1)) and not (whole and k * grain > 1 and (k * grain) % 1 > _ROUNDING)
    ] or [first]
    speed[sizes] = [1.0 / seconds(k * grain) for k in sizes]
    speed = np.maximum.accumulate(speed)
    return Rates(speed, np.searchsorted(speed, speed))
