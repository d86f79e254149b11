"""Arrival processes: fixed times or spacing, normal gaps, uniform, Poisson, or recorded.

Each is a frozen value with ``times(n, seed)``, which gives n seconds in ascending order. Randomness comes
from the seed alone. The thesis' "random" schedules are uniform: its jobs start at a moment drawn from 0 to
200 s (FlowCon, 6.1) or 0 to 300 s (SpeCon, 6.2).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING, Protocol

import numpy as np

from core.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Arrivals(Protocol):
    """A schedule of submissions."""

    def times(self, n: int, seed: int) -> tuple[float, ...]:
        """Seconds at which n jobs are submitted, ascending."""


def _require_not_negative(what: str, *values: float) -> None:
    for value in values:
        if not (isfinite(value) and value >= 0):
            raise InputError(f"{what} is {value:g} seconds.", "Give zero or more.")


@dataclass(frozen=True, slots=True)
class FixedTimes:
    """Fixed submission times."""

    #: Seconds, in any order; at least as many as there are jobs.
    arrivals: tuple[float, ...]

    def __post_init__(self) -> None:
        _require_not_negative("A time of submission", *self.arrivals)

    def times(self, n: int, seed: int) -> tuple[float, ...]:  # noqa: ARG002 - one signature for all schedules
        """Return the first n times in ascending order.

        Raises InputError if there are fewer.
        """
        if len(self.arrivals) < n:
            raise InputError(
                f"There are {n} jobs and only {len(self.arrivals)} times of submission.",
                "Give one time for each job.",
            )
        return tuple(sorted(float(time) for time in self.arrivals)[:n])


@dataclass(frozen=True, slots=True)
class Spaced:
    """One job every `spacing` seconds, the first at `first`."""

    spacing: float
    first: float = 0.0

    def __post_init__(self) -> None:
        _require_not_negative("The spacing of submissions", self.spacing)
        _require_not_negative("The first submission", self.first)

    def times(self, n: int, seed: int) -> tuple[float, ...]:  # noqa: ARG002 - one signature for all schedules
        """Return n times at the spacing."""
        return tuple(self.first + self.spacing * i for i in range(n))


SPREADS = 3.0
"""The mean gap is at least so many standard deviations: of 740 gaps, fewer than one would be negative."""


def normal_times(
    spacing: float, spread: float, n: int, rng: np.random.Generator, first: float = 0.0
) -> NDArray[np.float64]:
    """Return n submission times with gaps from N(spacing, spread); a negative gap counts as zero."""
    gaps = np.maximum(rng.normal(spacing, spread, max(n - 1, 0)), 0.0)
    return np.asarray(first + np.concatenate(([0.0], np.cumsum(gaps)))[:n])


def check_spread(spacing: float, spread: float) -> bool:
    """Refuse gaps that would often be negative."""
    return spread * SPREADS <= spacing


@dataclass(frozen=True, slots=True)
class NormalGaps:
    """Jobs with gaps of N(`spacing`, `spread`) seconds, the first at `first`."""

    #: Mean and standard deviation of a gap; the mean is at least `SPREADS` times the deviation.
    spacing: float
    spread: float
    #: Seconds.
    first: float = 0.0

    def __post_init__(self) -> None:
        _require_not_negative("The spacing of submissions", self.spacing)
        _require_not_negative("The spread of their gaps", self.spread)
        _require_not_negative("The first submission", self.first)
        if not check_spread(self.spacing, self.spread):
            raise InputError(
                f"Gaps of {self.spacing:g} s that vary by {self.spread:g} s would often be below zero.",
                f"Give a spread of at most {self.spacing / SPREADS:.4g} s.",
            )

    def times(self, n: int, seed: int) -> tuple[float, ...]:
        """Add up n − 1 normal gaps."""
        rng = np.random.default_rng(seed)
        return tuple(normal_times(self.spacing, self.spread, n, rng, self.first).tolist())


@dataclass(frozen=True, slots=True)
class UniformIn:
    """Jobs at independent uniform times from `first` to `last` seconds."""

    last: float
    first: float = 0.0

    def __post_init__(self) -> None:
        _require_not_negative("The interval of submissions", self.first, self.last - self.first)

    def times(self, n: int, seed: int) -> tuple[float, ...]:
        """Draw n times, sorted."""
        arrivals = np.random.default_rng(seed).uniform(self.first, self.last, n)
        return tuple(np.sort(arrivals).tolist())


@dataclass(frozen=True, slots=True)
class Poisson:
    """Poisson arrivals at a mean `rate` per second; the first job also waits."""

    #: Jobs per second, above zero.
    rate: float

    def __post_init__(self) -> None:
        if not (isfinite(self.rate) and self.rate > 0):
            raise InputError(f"The rate of submissions is {self.rate:g}.", "Give jobs per second above zero.")

    def times(self, n: int, seed: int) -> tuple[float, ...]:
        """Add up n exponential gaps."""
        return tuple(np.cumsum(np.random.default_rng(seed).exponential(1 / self.rate, n)).tolist())
