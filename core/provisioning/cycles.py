"""Statistics of many stretches of samples at once: each function takes flat values and where stretches begin.

Means are clipped to the range of their values, so that a stretch of one constant has exactly that mean
and a rounding error never looks like a violation.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from core.provisioning.advice import serializable

if TYPE_CHECKING:
    from core.provisioning.advice import Ended
    from core.provisioning.fleet import Demand, Floats, Integers


class Stretches(Protocol):
    """Stretches of samples, such as the cycles of a `core.provisioning.fleet.Fleet`."""

    @property
    def starts(self) -> Integers:
        """The first sample of each, shape (n_stretches,)."""

    @property
    def sizes(self) -> Integers:
        """How many samples each has, shape (n_stretches,)."""

    @property
    def cycle_of(self) -> Integers:
        """The stretch of each sample, shape (n,)."""

    def per_sample(self, per_cycle: Floats) -> Floats:
        """Each stretch's value for all of its samples, shape (n,)."""


class Whole:
    """A single stretch of some samples, for the statistics below."""

    def __init__(self, n: int) -> None:
        self.starts, self.sizes = np.zeros(1, np.int64), np.full(1, n, np.int64)
        self.cycle_of = np.zeros(n, np.int64)

    def per_sample(self, per_cycle: Floats) -> Floats:
        """The value for each sample."""
        return np.repeat(per_cycle, self.sizes)


@serializable
def maxima(values: Floats, fleet: Stretches) -> Floats:
    """The largest value of each cycle, shape (n_cycles,)."""
    return np.maximum.reduceat(values, fleet.starts) if len(values) else np.empty(0)


def minima(values: Floats, fleet: Stretches) -> Floats:
    """The smallest value of each cycle, shape (n_cycles,)."""
    return np.minimum.reduceat(values, fleet.starts) if len(values) else np.empty(0)


def means(values: Floats, fleet: Stretches) -> Floats:
    """The mean of each cycle, shape (n_cycles,)."""
    if not len(values):
        return np.empty(0)
    raw = np.add.reduceat(values, fleet.starts) / fleet.sizes
    return np.clip(raw, minima(values, fleet), maxima(values, fleet))


@serializable
def rules(values: Floats, fleet: Stretches, width: float = 2.0) -> Floats:
    """Mean + width·sd of each cycle (population sd), shape (n_cycles,); AI4DL's "stat.rules"."""
    if not len(values):
        return np.empty(0)
    mean = means(values, fleet)
    deviation = values - fleet.per_sample(mean)
    variance = np.add.reduceat(deviation * deviation, fleet.starts) / fleet.sizes
    return mean + width * np.sqrt(variance)


def quantiles(values: Floats, fleet: Stretches, level: float) -> Floats:
    """The quantile of each cycle with linear interpolation, shape (n_cycles,)."""
    if not len(values):
        return np.empty(0)
    ordered = values[np.lexsort((values, fleet.cycle_of))]
    return sorted_quantiles(ordered, fleet.starts, fleet.sizes, level)


def sorted_quantiles(ordered: Floats, starts: Integers, sizes: Integers, level: float) -> Floats:
    """The quantile of each stretch, whose values must be sorted."""
    place = level * (sizes - 1)
    below = np.floor(place).astype(np.int64)
    above = np.minimum(below + 1, sizes - 1)
    low, high = ordered[starts + below], ordered[starts + above]
    found: Floats = np.clip(low + (place - below) * (high - low), low, high)
    return found


LEVEL = 0.95

Statistic = Callable[["Floats", Stretches], "Floats"]
"""A number for each stretch of samples, such as `core.provisioning.cycles.maxima`."""


@serializable
def p95(values: Floats, stretches: Stretches) -> Floats:
    """The 95th percentile of each stretch."""
    return quantiles(values, stretches, LEVEL)


def previous(statistic: Statistic, demand: Demand) -> Floats:
    """A statistic of the cycle that just ended, for every sample, shape (n,); NaN in first cycles."""
    fleet = demand.fleet
    return fleet.per_sample(fleet.previous(statistic(demand.values, fleet)))


@serializable
@dataclass(frozen=True)
class Previous:
    """The same for one container, as `core.provisioning.advice.ByCycle`."""

    #: Of the samples of each cycle.
    statistic: Statistic
    #: The length of a cycle, seconds.
    cycle: float

    def nothing(self) -> None:
        """Nothing is kept."""

    def decide(self, kept: None, ended: Ended) -> tuple[None, float]:
        """The statistic of its samples."""
        return kept, float(self.statistic(ended.values, Whole(len(ended.samples)))[0])
