"""``vpa``: the recommender of the Kubernetes Vertical Pod Autoscaler, one container at a time.

Samples fall into exponential buckets (each 5% wider than the one before) of a histogram whose weights
halve every half-life; the target is the end of the bucket that holds the 90th percentile, + 15% margin.
CPU takes every sample, weighted in Kubernetes by the request; memory takes the peak of each window.
Kubernetes keeps 8 days with a half-life and a memory window of 24 hours; traces are shorter, so both
are scaled to an eighth of the median lifetime of training containers (and at least a cycle). The
bucket sizes are those of `vertical-pod-autoscaler/pkg/recommender/model/aggregations_config.go`; for a
unit that is a share the first bucket is 0.001. Left out: bump-ups after a kill, as traces show none.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import log1p
from typing import TYPE_CHECKING

import numpy as np

from core.provisioning.advice import serializable
from core.provisioning.fleet import Resource
from core.provisioning.policy import Policy, PolicyKind, by_cycles
from core.settings_fields import setting
from core.units import Unit

if TYPE_CHECKING:
    from core.progress_reporting import Progress
    from core.provisioning.cycles import Cycle
    from core.provisioning.fleet import Demand, Floats, Integers
    from core.provisioning.policy import Fitted

FIRST = {Unit.CORES: (0.01, 1000.0), Unit.BYTES: (1e7, 1e12), Unit.SHARE: (0.001, 10.0)}
MIN_WEIGHT_SHARE = 1 / 8
_FORGET = 1e-12


@dataclass(frozen=True)
class VpaSettings:
    """The recommender's own parameters."""

    percentile: float = setting(
        0.9,
        label="Percentile",
        low=0.01,
        high=1.0,
        help="Of the decaying histogram, the percentile aimed at.",
    )
    margin: float = setting(0.15, label="Margin", low=0.0, high=10.0, help="What is added to the target.")
    growth: float = setting(
        0.05, label="Bucket growth", low=0.001, high=1.0, help="How much wider each bucket is than the last."
    )
    half_life: float = setting(
        0.0, label="Half-life", low=0.0, high=1e9, unit="s",
        help="After this time a sample weighs half; 0 scales 24 h of 8 days to the training containers.",
    )  # fmt: skip


@serializable
@dataclass(frozen=True)
class Buckets:
    """Buckets whose width grows by a constant ratio: the n-th begins at first·((1+g)ⁿ − 1)/g."""

    first: float
    growth: float
    count: int

    def of(self, values: Floats) -> Integers:
        """The bucket of each value."""
        place = np.log1p(values * (self.growth / self.first)) / log1p(self.growth) + 1e-9
        numbers: Integers = np.minimum(place, self.count - 1).astype(np.int64)
        return numbers

    def end(self, place: int) -> float:
        """The upper end of a bucket; the last one has none, so its start stands for it."""
        number = min(place + 1, self.count - 1)
        return float(self.first * ((1 + self.growth) ** number - 1) / self.growth)


def buckets_for(unit: Unit, largest: float, growth: float) -> Buckets:
    """The buckets of a unit; without a unit of its own the largest training value scales them."""
    first, highest = FIRST.get(unit, (max(largest, 1e-9) / 1e4, max(largest, 1e-9) * 100))
    count = int(np.ceil(np.log1p(highest * growth / first) / np.log1p(growth))) + 1
    return Buckets(first, growth, count)


def half_life_of(training: Demand) -> float:
    """24 hours of the 8 days that Kubernetes keeps, scaled to the median lifetime of these containers."""
    fleet = training.fleet
    lived = np.add.reduceat(fleet.seconds, fleet.offsets[:-1])
    return float(max(np.median(lived) * MIN_WEIGHT_SHARE, fleet.cycle))


def _fit(training: Demand, settings: VpaSettings, _progress: Progress | None) -> Fitted:
    life = settings.half_life or half_life_of(training)
    buckets = buckets_for(training.unit, float(training.values.max()), settings.growth)

    peaks = training.resource is Resource.MEMORY
    by = Recommender(training.fleet.cycle, buckets, life, settings.percentile, settings.margin, peaks)
    return by_cycles(by)


@dataclass(frozen=True, eq=False)
class Histogram:
    """A container's decaying histogram, with weights as of the beginning of its cycle."""

    #: When the container's first sample came, seconds; None before it has ended a cycle.
    first_time: float | None = None
    #: Of each bucket; empty before that.
    weights: Floats = field(default_factory=lambda: np.empty(0))
    #: The window of its last sample, and its peak so far; only of memory.
    window: int = -1
    peak: float = 0.0


@serializable
@dataclass(frozen=True, eq=False)
class Recommender:
    """The recommender for one container."""

    #: The length of a rescaling cycle, seconds.
    cycle: float
    #: Of its histogram.
    buckets: Buckets
    life: float
    percentile: float
    margin: float
    #: Whether it takes the peaks of windows as long as the half-life, as for memory, or every sample.
    peaks: bool

    def empty(self) -> Histogram:
        """No sample."""
        return Histogram()

    def decide(self, memory: Histogram, ended: Cycle) -> tuple[Histogram, float]:
        """The histogram with the cycle that ended, and its percentile + margin."""
        since, count = float(ended.times[0]), self.buckets.count
        start = since if memory.first_time is None else memory.first_time
        weights_before = np.zeros(count) if memory.first_time is None else memory.weights
        values, ages, window, peak = ended.values, ended.times - start, memory.window, memory.peak
        signs = np.ones(len(values))
        if self.peaks:
            values, ages, signs, window, peak = self._peak_entries(memory, ended.values, ages)
        added = signs * 2.0 ** ((ages - (since - start)) / self.life)
        weights = weights_before + np.bincount(self.buckets.of(values), added, minlength=count)
        amount = self.buckets.end(_percentile(weights, self.percentile)) * (1 + self.margin)
        weights *= 0.5 ** ((ended.until - since) / self.life)
        return Histogram(start, weights, window, peak), amount

    def _peak_entries(
        self, memory: Histogram, values: Floats, ages: Floats
    ) -> tuple[Floats, Floats, Floats, int, float]:
        """Peaks as they rise, dated at their window's end, and with a minus sign the lower ones they replace.

        Then the window of the last sample, and its peak so far.
        """
        number = np.floor(ages / self.life + 1e-9)
        before, peak = np.full(len(values), np.nan), memory.peak
        for window in dict.fromkeys(number.tolist()):
            in_window = np.flatnonzero(number == window)
            highest = np.maximum.accumulate(values[in_window])
            if window == memory.window:
                highest, before[in_window[0]] = np.maximum(highest, memory.peak), memory.peak
            before[in_window[1:]], peak = highest[:-1], float(highest[-1])
        ends, replaced = (number + 1) * self.life, values > before
        risen = replaced | np.isnan(before)
        return (
            np.append(values[risen], before[replaced]),
            np.append(ends[risen], ends[replaced]),
            np.repeat([1.0, -1.0], [np.count_nonzero(risen), np.count_nonzero(replaced)]),
            int(number[-1]),
            peak,
        )


def _percentile(weights: Floats, level: float) -> int:
    """The first bucket up to which a share `level` of the weight lies."""
    running = np.cumsum(np.maximum(weights, 0.0))
    return int(np.searchsorted(running, level * running[-1] * (1 - _FORGET)))


VPA = Policy(
    "vpa",
    PolicyKind.AUTOSCALER,
    "The Kubernetes Vertical Pod Autoscaler: p90 of a decaying histogram + 15%.",
    _fit,
    VpaSettings,
    usual=True,
    title="Kubernetes Vertical Pod Autoscaler",
)
POLICIES = (VPA,)
