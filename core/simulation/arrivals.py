"""When jobs are submitted: fixed times, fixed spacing, uniform in an interval, Poisson, or as recorded.

Each is a frozen value with ``times(n, seed)``, which gives n seconds in ascending order. Randomness comes
from the seed alone. The thesis' "random" schedules are uniform: its jobs start at a moment drawn from 0 to
200 s (FlowCon, 6.1) or 0 to 300 s (SpeCon, 6.2).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from typing import Protocol

import numpy as np

from core.errors import InputError


class Arrivals(Protocol):
    """A schedule of submissions."""

    def times(self, n: int, seed: int) -> tuple[float, ...]:
        """Seconds at which n jobs are submitted, ascending."""


def _not_negative(what: str, *values: float) -> None:
    for value in values:
        if not (isfinite(value) and value >= 0):
            raise InputError(f"{what} is {value:g} seconds.", "Give zero or more.")


@dataclass(frozen=True, slots=True)
class FixedTimes:
    """Moments one by one, typed in or read from a file.

    Parameters
    ----------
    moments
        Seconds, in any order; at least as many as there are jobs.
    """

    moments: tuple[float, ...]

    def __post_init__(self) -> None:
        _not_negative("A time of submission", *self.moments)

    def times(self, n: int, seed: int) -> tuple[float, ...]:  # noqa: ARG002 - one signature for all schedules
        """Give the first n of them in ascending order.

        Raises
        ------
        InputError
            If there are fewer.
        """
        if len(self.moments) < n:
            raise InputError(
                f"There are {n} jobs and only {len(self.moments)} times of submission.",
                "Give one time for each job.",
            )
        return tuple(sorted(float(moment) for moment in self.moments)[:n])


@dataclass(frozen=True, slots=True)
class Spaced:
    """One job every `spacing` seconds, the first at `first`."""

    spacing: float
    first: float = 0.0

    def __post_init__(self) -> None:
        _not_negative("The spacing of submissions", self.spacing)
        _not_negative("The first submission", self.first)

    def times(self, n: int, seed: int) -> tuple[float, ...]:  # noqa: ARG002 - one signature for all schedules
        """Count up from the first by the spacing."""
        return tuple(self.first + self.spacing * i for i in range(n))


@dataclass(frozen=True, slots=True)
class UniformIn:
    """Each job at a moment of its own, drawn evenly from `first` to `last` seconds."""

    last: float
    first: float = 0.0

    def __post_init__(self) -> None:
        _not_negative("The interval of submissions", self.first, self.last - self.first)

    def times(self, n: int, seed: int) -> tuple[float, ...]:
        """Draw n moments, sorted."""
        drawn = np.random.default_rng(seed).uniform(self.first, self.last, n)
        return tuple(np.sort(drawn).tolist())


@dataclass(frozen=True, slots=True)
class Poisson:
    """Jobs at a mean `rate` per second, each independent of the others; the first one is waited for as well.

    Parameters
    ----------
    rate
        Jobs per second, above zero.
    """

    rate: float

    def __post_init__(self) -> None:
        if not (isfinite(self.rate) and self.rate > 0):
            raise InputError(f"The rate of submissions is {self.rate:g}.", "Give jobs per second above zero.")

    def times(self, n: int, seed: int) -> tuple[float, ...]:
        """Add up n exponential gaps."""
        return tuple(np.cumsum(np.random.default_rng(seed).exponential(1 / self.rate, n)).tolist())
