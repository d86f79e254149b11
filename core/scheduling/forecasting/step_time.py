"""Seconds per training step against cores, t(c) = a + b/c + d·c, fitted to what was measured of a job.

a is what no core makes shorter, b what cores share, d what every further core costs (docs/simulator.md); none
is below zero. With one measurement only b is known, with two a and b.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

SETTLED = 5.0
"""Seconds with the same cores after which a measured time per step belongs to them."""
_PARTS = 3
_SAME = 1e-12
"""Errors closer than this are the same; the curve with fewer parts is taken."""


@dataclass(frozen=True, slots=True)
class StepTime:
    """Time per step of one job."""

    #: a, b and d, in seconds and core-seconds; ≥ 0.
    fixed: float
    parallel: float
    overhead: float = 0.0

    def seconds(self, cores: float) -> float:
        """Seconds per step on `cores` > 0."""
        return self.fixed + self.parallel / cores + self.overhead * cores

    def gain(self, cores: float, more: float) -> float:
        """The share of a step's time that `more` cores would save; below zero where they would cost."""
        return 1.0 - self.seconds(cores + more) / self.seconds(cores)


@dataclass(frozen=True, slots=True)
class MeasuredTime:
    """Time per step as it was measured: between two numbers of cores the speed lies on a straight line."""

    #: (cores, seconds per step) by rising cores, each above zero. With fewer cores than the first the speed
    #: is in proportion, with more than the last it is that of the last.
    points: tuple[tuple[float, float], ...]

    def seconds(self, cores: float) -> float:
        """Seconds per step on `cores` > 0."""
        measured = [0.0, *(at for at, _ in self.points)]
        return 1.0 / float(np.interp(cores, measured, [0.0, *(1.0 / each for _, each in self.points)]))


def fitted(measured: Sequence[tuple[float, float]]) -> StepTime:
    """The curve through what was measured, with the least squared relative error.

    It is the best of the ordinary least-squares fits in which some parts are zero and none is below: with
    three parts those are few, and one of them is the constrained optimum (Lawson and Hanson 1974, ch. 23).

    Parameters
    ----------
    measured
        (cores, seconds per step), both above zero; at least one pair.
    """
    cores, seconds = np.array(measured, float).T
    rows = np.column_stack([np.ones_like(cores), 1.0 / cores, cores]) / seconds[:, None]
    best, least = np.array([0.0, 1.0, 0.0]), np.inf
    different = len(np.unique(cores))
    for parts in _choices(min(different, _PARTS)):
        solved = np.linalg.lstsq(rows[:, parts], np.ones(len(cores)), rcond=None)[0]
        if (solved < 0).any() or not solved.any():
            continue
        found = np.zeros(_PARTS)
        found[list(parts)] = solved
        error = float(((rows @ found - 1.0) ** 2).sum())
        if error < least - _SAME:
            best, least = found, error
    return StepTime(*best.tolist())


def _choices(most: int) -> list[list[int]]:
    """Which parts may be above zero, simplest first: b alone, then b with others, then those without it."""
    chosen = [list(parts) for size in range(1, most + 1) for parts in combinations(range(_PARTS), size)]
    return sorted(chosen, key=lambda parts: (len(parts), 1 not in parts, parts)) if most > 1 else [[1]]
