"""What is expected of a job's time per step, and how far to trust that.

Earlier runs of its kind, or else its own steps, give t(c), the seconds per step on c cores. The job's own
steps correct that: with every half-life of them, half of what was wrong is forgotten. Until then a reserve is
kept: nine of ten earlier runs, or jobs seen lately, were predicted too fast by that factor at most.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf
from typing import TYPE_CHECKING, Final

import numpy as np

from core.scheduling.forecasting import MeasuredTime, fit_step_time

if TYPE_CHECKING:
    from collections.abc import Sequence

    from core.scheduling.model import Profile

HALF_LIFE_STEPS: Final = 50.0
"""Own steps after which half of an error is forgotten,"""
HALF_LIFE_SECONDS: Final = 30.0
"""or seconds, where they are long."""
MAX_RATIOS: Final = 50
"""Predictions by which others are judged."""
INTERPOLATION_ERROR: Final = 1.07
"""By how much a line between two measured speeds may be too slow (t = a + b/c + d·c, cores doubled)."""
_EXTRAPOLATION: Final = 2.0
_MIN_RATIOS, _QUANTILE = 5, 0.9
_TOLERANCE: Final = 1e-9
_MAX_POINTS: Final = 8


@dataclass(frozen=True, slots=True)
class SpeedPrediction:
    """What is expected of one job."""

    #: (cores, seconds per step): by rising cores of earlier runs, or its own where there are none, the latest
    #: last.
    points: tuple[tuple[float, float], ...]
    #: Whether they are of earlier runs.
    profiled: bool = True
    #: Seconds from its start to its first step.
    startup: float = 0.0
    #: Its own time per step in relation to what these points say.
    factor: float = 1.0
    #: Half-lives of its own steps that this rests on.
    half_lives: float = 0.0
    #: Whether the points are a curve t(c) = a + b/c + d·c that also speaks of cores that were never tried.
    curve: bool = False
    #: Earlier runs' observed over predicted time per step, 10th and 90th percentile; None if not known.
    spread: tuple[float, float] | None = None
    #: Core-seconds from its last step to its end, on one core at most.
    teardown: float = 0.0

    @property
    def is_curve(self) -> bool:
        """Whether its speed is that of a curve through its points."""
        return self.curve or not self.profiled

    @property
    def max_cores(self) -> float:
        """Cores of which it speaks at most: a curve is believed up to twice those that were tried."""
        return _EXTRAPOLATION * max(cores for cores, _ in self.points) if self.is_curve else inf

    def seconds(self, cores: float) -> float:
        """Seconds per step on `cores` > 0 by the points alone, without `factor`."""
        return (fit_step_time(self.points) if self.is_curve else MeasuredTime(self.points)).seconds(cores)

    def with_steps(self, cores: float, seconds: float, steps: float) -> SpeedPrediction:
        """Also knowing that it did `steps` on `cores` in so many seconds each."""
        lives = max(steps / HALF_LIFE_STEPS, steps * seconds / HALF_LIFE_SECONDS)
        tried = any(abs(at - cores) <= _TOLERANCE for at, _ in self.points)
        if not self.profiled:
            own = {at: each for at, each in self.points if at != cores} | {cores: seconds}
            return replace(self, points=tuple(own.items())[-_MAX_POINTS:], half_lives=self.half_lives + lives)
        if self.curve and not tried:
            points = (*self.points, (cores, seconds / self.factor))
            return replace(self, points=points, half_lives=self.half_lives + lives)
        ratio = seconds / (self.seconds(cores) * self.factor)
        if ratio < 1 and not tried:
            ratio = min(1.0, ratio * INTERPOLATION_ERROR)
        return replace(
            self, factor=self.factor * ratio ** (1.0 - 0.5**lives), half_lives=self.half_lives + lives
        )

    def remaining_doubt(self) -> float:
        """How much of the reserve is still kept: 1 before its first own step, half after each half-life."""
        return float(0.5**self.half_lives)


def predict_speed(profile: Profile | None) -> SpeedPrediction | None:
    """What a job's earlier runs say; None without any."""
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
    """Between which factors eight of ten predictions of time per step were wrong."""
    if len(ratios) < _MIN_RATIOS:
        return None
    low, high = np.quantile(ratios, (1.0 - _QUANTILE, _QUANTILE)).tolist()
    return low, high


def ratio_reserve(ratios: Sequence[float]) -> float:
    """By how much steps may be slower than predicted: the 90th percentile of others' ratios, at least 1."""
    known = ratio_spread(ratios)
    return 1.0 if known is None else max(1.0, known[1])
