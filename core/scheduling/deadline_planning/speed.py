"""The speed of a job: predicted time per step, and a table over multiples of the core unit.

Earlier runs of its kind, or else the job's own steps, give t(c), the seconds per step on c cores. Own steps
correct the prediction: every half-life of them halves the error that is still assumed. Until then a reserve
is kept: nine of ten earlier runs, or recent jobs, were at most that much slower than predicted.

A plan reads speeds thousands of times, so they are tabulated once. More cores than a job is fastest with do
not help it: the table never falls, and holds the fewest cores for each speed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np

from core.errors import InputError
from core.scheduling.forecasting import MeasuredTime, fit_step_time

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from core.scheduling.model import Job, Profile


def deadline_of(job: Job) -> float:
    """Return a job's deadline on the run's clock, seconds; infinite without one."""
    deadline = job.terms_or_default.deadline
    return inf if deadline is None else job.arrived + deadline


def estimate_seconds_left(job: Job, cores: float) -> float | None:
    """Return the seconds to a job's end on `cores`, by its profile or measured steps; None if unknown."""
    if job.total_steps is None or job.steps is None:
        return None
    remaining_steps, profile = float(job.total_steps - job.steps), job.terms_or_default.profile
    if profile is not None:
        return remaining_steps * MeasuredTime(profile.points).seconds(cores)
    return None if job.step_seconds is None else remaining_steps * job.step_seconds


Floats: TypeAlias = "NDArray[np.float64]"
Counts: TypeAlias = "NDArray[np.int64]"

_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class Rates:
    """Training steps per second by core units."""

    #: Shape (max_units + 1,): steps per second with at most k units; 0 below the minimum.
    speed: Floats
    #: Shape (max_units + 1,): the fewest units that reach this speed.
    useful: Counts

    @property
    def min_units(self) -> int:
        """The fewest units it runs with."""
        return int(self.speed.searchsorted(0.0, side="right"))

    @property
    def max_units(self) -> int:
        """The units beyond which it gets no faster."""
        return int(self.useful[-1])


def build_rates(
    seconds: Callable[[float], float],
    min_cores: float,
    max_cores: float,
    core_unit: float,
    *,
    powers: bool = False,
    whole: bool = False,
) -> Rates:
    """Tabulate the speed of one job.

    Parameters
    ----------
    seconds
        Seconds per step on so many cores, above zero.
    min_cores, max_cores
        Cores that it can run with, least ≤ most; the table begins with the first multiple of the core unit
        from `min_cores` on, and ends with the last one up to `max_cores`.
    core_unit
        Cores are allocated in multiples of this, above zero.
    powers
        Whether it can only make use of 1, 2, 4, 8 … units, if there is one of them between the bounds.
    whole
        Whether above one core it can only make use of whole ones, since its threads are: a thread more than
        cores makes the others wait for it.

    Raises
    ------
    InputError
        If no multiple of the core unit lies between `min_cores` and `max_cores`.
    """
    first, last = (
        int(np.ceil(min_cores / core_unit - _ROUNDING)),
        int(np.floor(max_cores / core_unit + _ROUNDING)),
    )
    first = max(first, 1)
    if last < first:
        raise InputError(
            f"A job that runs with {min_cores:g} to {max_cores:g} cores has none in steps of {core_unit:g}.",
            "Choose a smaller step of cores.",
        )
    speed = np.zeros(last + 1)
    sizes = [
        k
        for k in range(first, last + 1)
        if not (powers and k & (k - 1))
        and not (whole and k * core_unit > 1 and (k * core_unit) % 1 > _ROUNDING)
    ] or [first]
    speed[sizes] = [1.0 / seconds(k * core_unit) for k in sizes]
    speed = np.maximum.accumulate(speed)
    return Rates(speed, np.searchsorted(speed, speed))


HALF_LIFE_STEPS: Final = 50.0
"""Own steps after which half of a prediction error is corrected,"""
HALF_LIFE_SECONDS: Final = 30.0
"""or seconds, for long steps."""
MAX_RATIOS: Final = 50
"""Prediction ratios that are remembered."""
INTERPOLATION_ERROR: Final = 1.07
"""By how much linear interpolation of speeds may be too slow (t = a + b/c + d·c, cores doubled)."""
_EXTRAPOLATION: Final = 2.0
_MIN_RATIOS, _QUANTILE = 5, 0.9
_TOLERANCE: Final = 1e-9
_MAX_POINTS: Final = 8


@dataclass(frozen=True, slots=True)
class SpeedPrediction:
    """The predicted time per step of one job."""

    #: (cores, seconds per step): by rising cores from earlier runs, or the job's own with the latest last.
    points: tuple[tuple[float, float], ...]
    #: Whether the points are from earlier runs.
    profiled: bool = True
    #: Seconds from its start to its first step.
    startup: float = 0.0
    #: Its own time per step over that of the points.
    factor: float = 1.0
    #: Half-lives of own steps behind `factor`.
    half_lives: float = 0.0
    #: Whether a curve t(c) = a + b/c + d·c runs through the points and holds beyond them.
    curve: bool = False
    #: Observed over predicted time per step of earlier runs, 10th and 90th percentile; None if unknown.
    spread: tuple[float, float] | None = None
    #: Core-seconds from its last step to its end, on one core at most.
    teardown: float = 0.0

    @property
    def is_curve(self) -> bool:
        """Whether the speed follows a curve through the points."""
        return self.curve or not self.profiled

    @property
    def max_cores(self) -> float:
        """The most cores that the prediction covers: a curve holds up to twice the cores that were tried."""
        return _EXTRAPOLATION * max(cores for cores, _ in self.points) if self.is_curve else inf

    def seconds(self, cores: float) -> float:
        """Return the seconds per step on `cores` > 0 by the points, without `factor`."""
        return (fit_step_time(self.points) if self.is_curve else MeasuredTime(self.points)).seconds(cores)

    def with_steps(self, cores: float, seconds: float, steps: float) -> SpeedPrediction:
        """Return the prediction corrected by `steps` of so many seconds each on `cores`."""
        lives = max(steps / HALF_LIFE_STEPS, steps * seconds / HALF_LIFE_SECONDS)
        is_measured = any(abs(at - cores) <= _TOLERANCE for at, _ in self.points)
        if not self.profiled:
            measured = {at: each for at, each in self.points if at != cores} | {cores: seconds}
            return replace(
                self, points=tuple(measured.items())[-_MAX_POINTS:], half_lives=self.half_lives + lives
            )
        if self.curve and not is_measured:
            points = (*self.points, (cores, seconds / self.factor))
            return replace(self, points=points, half_lives=self.half_lives + lives)
        ratio = seconds / (self.seconds(cores) * self.factor)
        if ratio < 1 and not is_measured:
            ratio = min(1.0, ratio * INTERPOLATION_ERROR)
        return replace(
            self, factor=self.factor * ratio ** (1.0 - 0.5**lives), half_lives=self.half_lives + lives
        )

    def remaining_doubt(self) -> float:
        """Return the remaining share of the reserve: 1 before the first own step, halved each half-life."""
        return float(0.5**self.half_lives)


def predict_speed(profile: Profile | None) -> SpeedPrediction | None:
    """Return the prediction of a profile; None without one."""
    if profile is None:
        return None
    return SpeedPrediction(
        profile.points,
        startup=profile.startup,
        curve=profile.curve,
        spread=profile.spread,
        teardown=profile.teardown,
    )


def ratio_spread(ratios: Sequence[float]) -> tuple[float, float] | None:
    """Return the 10th and 90th percentile of observed over predicted time per step."""
    if len(ratios) < _MIN_RATIOS:
        return None
    low, high = np.quantile(ratios, (1.0 - _QUANTILE, _QUANTILE)).tolist()
    return low, high


def ratio_reserve(ratios: Sequence[float]) -> float:
    """Return the reserve for slower steps: the 90th percentile of earlier ratios, at least 1."""
    spread = ratio_spread(ratios)
    return 1.0 if spread is None else max(1.0, spread[1])
