"""The speed of a job by its cores and threads.

Its unit is the speed on one core with one thread. A job with `threads` cannot use more cores than that;
below one core it is throttled in proportion. Threads beyond its cores wait for each other: measured on two
cores with PyTorch 2.13 (docs/simulator.md), products that take 1.03 s with one thread under a
quota of half a core take 2.9 to 4.1 s with two: a loss of 1.8 to 3.0 seconds for each useful one.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field
from itertools import pairwise
from math import isfinite
from typing import Final, Protocol

from core.errors import InputError

PENALTY: Final = 2.4
"""Seconds lost per useful second and excess thread per core, between the measured 1.8 and 3.0."""


class Scaling(Protocol):
    """A model of a job's speed by its cores."""

    def speed(self, cores: float) -> float:
        """Speed on `cores`, 1 on one core."""


@dataclass(frozen=True, slots=True)
class SpeedUp:
    """Time per step on c ≥ 1 cores: t(c) = a + b/c + d·c (docs/simulator.md), a, b, d ≥ 0."""

    #: a: not shortened by cores.
    fixed: float = 0.0
    #: b: shared by the cores.
    parallel: float = 1.0
    #: d: the cost of each further core.
    overhead: float = 0.0

    def __post_init__(self) -> None:
        if min(self.fixed, self.parallel, self.overhead) < 0 or self.seconds(1.0) <= 0:
            raise InputError(
                "A speed-up curve has a negative coefficient, or only zeros.",
                "Give a, b and d ≥ 0, not all zero.",
            )

    def seconds(self, cores: float) -> float:
        """Return t(c), in the unit of its parts."""
        return self.fixed + self.parallel / cores + self.overhead * cores

    def speed(self, cores: float) -> float:
        """Return the speed on `cores`, 1 on one core: t(1)/t(c), proportional below one core."""
        return cores if cores <= 1 else self.seconds(1.0) / self.seconds(cores)


@dataclass(frozen=True, slots=True)
class Throughput:
    """Speed by measurements, linear between two numbers of cores."""

    #: (cores, steps per second) by rising cores, each above zero; what is measured may also fall.
    points: tuple[tuple[float, float], ...]
    _unit: float = field(init=False, repr=False, compare=False, default=1.0)

    def __post_init__(self) -> None:
        cores = [point[0] for point in self.points]
        values = [value for point in self.points for value in point]
        if not values or any(not (isfinite(value) and value > 0) for value in values):
            raise InputError(
                "A table of throughput is empty or not above zero.", "Give cores and steps per second."
            )
        if any(after <= before for before, after in pairwise(cores)):
            raise InputError(
                "A table of throughput does not rise in cores.", "Give each number of cores once."
            )
        object.__setattr__(self, "_unit", self.measured(1.0))

    def speed(self, cores: float) -> float:
        """Speed on `cores`, 1 on one core.

        Below the first measured number in proportion, above the last as there.
        """
        return self.measured(cores) / self._unit

    def measured(self, cores: float) -> float:
        """Steps per second on `cores`."""
        points = self.points
        place = bisect_right(points, cores, key=lambda point: point[0])
        if place == 0:
            return points[0][1] * cores / points[0][0]
        (low, slow) = points[place - 1]
        if place == len(points):
            return slow
        (high, fast) = points[place]
        return slow + (fast - slow) * (cores - low) / (high - low)


def excess_threads(threads: int, cores: float) -> float:
    """Return the excess threads per core: (k/max(c, 1) − 1)⁺ of k threads on c cores."""
    return max(0.0, threads / max(cores, 1.0) - 1.0)


def thread_efficiency(threads: int | None, cores: float, penalty: float) -> float:
    """Return the share of its speed that k threads keep on c cores: 1/(1 + penalty·(k/max(c, 1) − 1)⁺)."""
    return 1.0 if threads is None else 1.0 / (1.0 + penalty * excess_threads(threads, cores))


def speed_of(cores: float, speedup: Scaling | None, threads: int | None, penalty: float) -> float:
    """Return the core-seconds of work per second on `cores`, without contention."""
    if cores <= 0:
        return 0.0
    if speedup is None and threads is None:
        return cores
    plain = cores if speedup is None else speedup.speed(cores)
    return plain * thread_efficiency(threads, cores, penalty)
