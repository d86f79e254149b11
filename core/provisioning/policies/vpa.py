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
from typing import TYPE_CHECKING

import numpy as np

from core.provisioning.advice import CycleAdviser, cycle_number, serializable
from core.provisioning.fleet import Resource
from core.provisioning.policy import Fitted, Policy, PolicyKind
from core.settings_fields import setting
from core.units import Unit

if TYPE_CHECKING:
    from core.progress_reporting import Progress
    from core.provisioning.advice import Ended
    from core.provisioning.fleet import Demand, Fleet, Floats, Integers

FIRST = {Unit.CORES: (0.01, 1000.0), Unit.BYTES: (1e7, 1e12), Unit.SHARE: (0.001, 10.0)}
KEPT_SHARE = 1 / 8
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
        place = np.floor(np.log1p(values * self.growth / self.first) / np.log1p(self.growth) + 1e-9)
        found: Integers = np.clip(place, 0, self.count - 1).astype(np.int64)
        return found

    def ends(self) -> Floats:
        """Where each bucket ends; the last has no end, so its start stands for it."""
        number = np.minimum(np.arange(1, self.count + 1), self.count - 1)
        return np.asarray(self.first * ((1 + self.growth) ** number - 1) / self.growth)


def buckets_for(unit: Unit, largest: float, growth: float) -> Buckets:
    """The buckets of a unit; without a unit of its own the largest training value scales them."""
    first, most = FIRST.get(unit, (max(largest, 1e-9) / 1e4, max(largest, 1e-9) * 100))
    count = int(np.ceil(np.log1p(most * growth / first) / np.log1p(growth))) + 1
    return Buckets(first, growth, count)


def half_life_of(training: Demand) -> float:
    """24 hours of the 8 days that Kubernetes keeps, scaled to the median lifetime of these containers."""
    fleet = training.fleet
    lived = np.add.reduceat(fleet.seconds, fleet.offsets[:-1])
    return float(max(np.median(lived) * KEPT_SHARE, fleet.cycle))


def _windows(demand: Demand, window: float) -> Integers:
    """The window of each sample, counted from the container's start, shape (n,)."""
    fleet = demand.fleet
    age = fleet.time - np.repeat(fleet.time[fleet.offsets[:-1]], fleet.lengths)
    return np.floor(age / window + 1e-9).astype(np.int64)


def rising_peaks(demand: Demand, window: float) -> tuple[Floats, Floats]:
    """The peak of each sample's window until now, and until just before (NaN at its start), (n,) each."""
    fleet, number = demand.fleet, _windows(demand, window)
    fresh = np.ones(len(number), bool)
    fresh[1:] = (number[1:] != number[:-1]) | (fleet.container[1:] != fleet.container[:-1])
    begins = np.flatnonzero(fresh)
    rank = np.empty(len(number))
    order = np.argsort(demand.values, kind="stable")
    rank[order] = np.arange(len(order))
    stretch = np.repeat(np.arange(len(begins)), np.diff(np.append(begins, len(number))))
    highest = np.maximum.accumulate(rank + stretch * float(len(rank))) - stretch * float(len(rank))
    peak = demand.values[order][highest.astype(np.int64)]
    before = np.where(fresh, np.nan, np.roll(peak, 1))
    return peak, before


def _fit(training: Demand, settings: VpaSettings, _progress: Progress | None) -> Fitted:
    life = settings.half_life or half_life_of(training)
    buckets = buckets_for(training.unit, float(training.values.max()), settings.growth)

    def allocate(demand: Demand) -> Floats:
        fleet = demand.fleet
        entries: list[tuple[Integers, Floats]] = [(buckets.of(demand.values), np.ones(fleet.n_samples))]
        if demand.resource is Resource.MEMORY:
            entries = _peak_entries(demand, buckets, life)
        targets = decayed_percentiles(fleet, entries, buckets, life, settings.percentile)
        return fleet.per_sample(fleet.previous(targets * (1 + settings.margin)))

    peaks = training.resource is Resource.MEMORY
    by = Recommender(training.fleet.cycle, buckets, life, settings.percentile, settings.margin, peaks)
    return Fitted(allocate, CycleAdviser(by))


@dataclass(frozen=True, eq=False)
class Histogram:
    """A container's decaying histogram, with weights as of the beginning of its cycle."""

    #: When the container's first sample came, seconds; None before it has ended a cycle.
    begun: float | None = None
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

    def nothing(self) -> Histogram:
        """No sample."""
        return Histogram()

    def decide(self, kept: Histogram, ended: Ended) -> tuple[Histogram, float]:
        """The histogram with the cycle that ended, and its percentile + margin."""
        since = ended.samples[0].time
        begun = since if kept.begun is None else kept.begun
        weights = np.zeros(self.buckets.count) if kept.begun is None else kept.weights.copy()
        entries, window, peak = self._entries(kept, ended, begun)
        for values, weight, times in entries:
            added = weight * 2.0 ** ((times - since) / self.life)
            weights += np.bincount(self.buckets.of(values), added, minlength=len(weights))
        place = _percentile(weights[None], self.percentile)[0]
        amount = float(self.buckets.ends()[place] * (1 + self.margin))
        weights *= 0.5 ** ((ended.until - since) / self.life)
        return Histogram(begun, weights, window, peak), amount

    def _entries(
        self, kept: Histogram, ended: Ended, begun: float
    ) -> tuple[list[tuple[Floats, Floats, Floats]], int, float]:
        """What the samples add: values, weights and times; and the last one's window and peak."""
        if not self.peaks:
            times = np.array([each.time for each in ended.samples])
            return [(ended.values, np.ones(len(times)), times)], kept.window, kept.peak
        window, peak = kept.window, kept.peak
        risen, replaced = [], []
        for each in ended.samples:
            number = cycle_number(each.time, begun, self.life)
            weight = 2.0 ** (((number + 1) * self.life - (each.time - begun)) / self.life)
            if number != window:
                risen.append((each.value, weight, each.time))
                window, peak = number, each.value
            elif each.value > peak:
                risen.append((each.value, weight, each.time))
                replaced.append((peak, -weight, each.time))
                peak = each.value
        columns = [np.array(rows).reshape(-1, 3).T for rows in (risen, replaced)]
        return [(values, weights, times) for values, weights, times in columns], window, peak


def _peak_entries(demand: Demand, buckets: Buckets, window: float) -> list[tuple[Integers, Floats]]:
    """Peaks as they rise, and the lower ones they replace, all dated at their window's end."""
    fleet, (peak, before) = demand.fleet, rising_peaks(demand, window)
    age = fleet.time - np.repeat(fleet.time[fleet.offsets[:-1]], fleet.lengths)
    weight = 2.0 ** (((_windows(demand, window) + 1) * window - age) / window)
    known = np.isfinite(before)
    rising = ~known | (peak > before)
    return [
        (buckets.of(peak), np.where(rising, weight, 0.0)),
        (buckets.of(np.where(known, before, 0.0)), np.where(known & rising, -weight, 0.0)),
    ]


def decayed_percentiles(
    fleet: Fleet, entries: list[tuple[Integers, Floats]], buckets: Buckets, half_life: float, level: float
) -> Floats:
    """The percentile of each container's decaying histogram at the end of each cycle, shape (n_cycles,).

    A sample of time t weighs 2^(t/half-life): instead of letting old samples decay, new ones weigh
    more, counted from the container's start and rescaled as the weights grow.

    Parameters
    ----------
    fleet
        The containers.
    entries
        What each sample adds: its bucket and its weight, (n,) each; a peak that rises removes
        what it added before.
    buckets
        The histogram's buckets.
    half_life
        Seconds.
    level
        The percentile, 0 to 1.
    """
    per_container = np.diff(fleet.cycle_offsets)
    order = np.argsort(-per_container, kind="stable")
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    begun = fleet.time[fleet.starts]
    apart = np.where(fleet.first, 0.0, np.diff(begun, prepend=begun[:1]))
    decay = 0.5 ** (apart / half_life)
    weigh = 2.0 ** ((fleet.time - fleet.per_sample(begun)) / half_life)
    histogram, ends = np.zeros((fleet.n_containers, buckets.count)), buckets.ends()
    targets = np.empty(fleet.n_cycles)
    for number in range(int(per_container.max(initial=0))):
        alive = order[: np.searchsorted(-per_container[order], -number, side="left")]
        cycle = fleet.cycle_offsets[alive] + number
        if number:
            histogram[: len(alive)] *= decay[cycle][:, None]
        samples = _spans(fleet.starts[cycle], fleet.sizes[cycle])
        row = rank[fleet.container[samples]]
        for bucket, weight in entries:
            place = row * buckets.count + bucket[samples]
            added = np.bincount(place, weight[samples] * weigh[samples], minlength=len(alive) * buckets.count)
            histogram[: len(alive)] += added.reshape(len(alive), buckets.count)
        targets[cycle] = ends[_percentile(histogram[: len(alive)], level)]
    return targets


def _spans(starts: Integers, sizes: Integers) -> Integers:
    ends = np.cumsum(sizes)
    return np.repeat(starts - ends + sizes, sizes) + np.arange(int(sizes.sum()))


def _percentile(histogram: Floats, level: float) -> Integers:
    """The first bucket of each row up to which a share `level` of the weight lies."""
    running = np.cumsum(np.maximum(histogram, 0.0), axis=1)
    found: Integers = np.argmax(running >= level * running[:, -1:] * (1 - _FORGET), axis=1)
    return found


VPA = Policy(
    "vpa",
    PolicyKind.AUTOSCALER,
    "The Kubernetes Vertical Pod Autoscaler: p90 of a decaying histogram + 15%.",
    _fit,
    VpaSettings,
    usual=True,
)
POLICIES = (VPA,)
