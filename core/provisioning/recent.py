"""Features of a container's recent past, at every sample, in units of its own recent level.

The level of sample t is the largest demand of the last cycle length before t. Everything else is a ratio
to it, so what is learned on one container holds for others of another scale, and times are measured in
cycles, so it holds for another sampling period. Sample t itself is never looked at: row t may be used to
decide what to allocate to sample t.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from core.phases.kernels.compiling import exact, inlined
from core.provisioning.advice import serializable

if TYPE_CHECKING:
    from core.provisioning.advice import Sample
    from core.provisioning.fleet import Demand, Floats, Truths

NAMES = (
    "last", "mean of 1/16 cycle", "mean of 1/4 cycle", "mean of 1 cycle", "mean of 4 cycles",
    "least", "lower quartile", "median", "upper quartile", "90th percentile", "sd", "mean step", "trend",
    "peak so far", "mean so far", "cycles since the largest", "age in cycles", "share near the largest",
    "level of a young container",
)  # fmt: skip
AGE, YOUNG = 16, 18
FAST, SLOW, CYCLIC, LONG, STEP, DRIFT, SQUARE, TOTAL, LASTED, PEAK, BEFORE, COUNT = range(12)
SUMS = 12
"""Running sums of a container: means over 1/16, 1/4, 1 and 4 cycles; mean step and trend; mean square; demand
over all its life, and how long that lasted; the largest value and the last; how many."""
_SHARE_NEAR = 0.98
_MAX_RATIO, _OLDEST = 1e6, 64.0
_MIN_LEVEL = 1e-3


@dataclass(frozen=True, eq=False)
class Recent:
    """The past of each sample."""

    #: The largest demand of the last cycle length, in the demand's unit, shape (n,).
    level: Floats
    #: The statistics of `NAMES`, shape (n, len(NAMES)), float32.
    rows: np.ndarray
    #: Which samples have a past, shape (n,).
    has_past: Truths


def recent(demand: Demand, unit: float, start: float) -> Recent:
    """The past of each sample of a demand."""
    fleet = demand.fleet
    level = np.zeros(fleet.n_samples)
    rows = np.zeros((fleet.n_samples, len(NAMES)), np.float32)
    floor = max(_MIN_LEVEL * unit, 1e-300)
    if fleet.n_samples:
        samples = (demand.values, fleet.time, fleet.seconds, fleet.offsets)
        fill_history(samples, fleet.cycle, floor, int(fleet.lengths.max()), level, rows)
    young = rows[:, AGE] < 1.0
    rows[:, YOUNG] = np.where(young, np.minimum(level / max(start, floor), _MAX_RATIO), -1.0)
    has_past = np.ones(fleet.n_samples, bool)
    has_past[fleet.offsets[:-1]] = False
    return Recent(level, rows, has_past)


@dataclass(frozen=True, eq=False)
class Past:
    """The past of one container, as far as its statistics need it."""

    #: The time of its first sample, seconds.
    first_time: float
    #: Running sums, shape (SUMS,); None before its first sample is known.
    sums: Floats | None = None
    #: Values and times of the last cycle's samples, the last one last.
    values: Floats = field(default_factory=lambda: np.empty(0))
    sample_times: Floats = field(default_factory=lambda: np.empty(0))


@serializable
@dataclass(frozen=True)
class Watch:
    """Follows the past of one container, sample by sample; finds what `recent` finds, bit by bit."""

    #: The length of a cycle, seconds.
    cycle: float
    #: As in `recent`.
    unit: float
    start: float

    @property
    def floor(self) -> float:
        """The least level."""
        return max(_MIN_LEVEL * self.unit, 1e-300)

    def after(self, past: Past, last: Sample, time: float) -> tuple[Past, float, np.ndarray]:
        """The past at the moment `time`, with the sample before; its level, and its row of statistics."""
        sums = np.empty(SUMS) if past.sums is None else past.sums.copy()
        if past.sums is None:
            start_sums(sums, last.value)
        values, sample_times = np.append(past.values, last.value), np.append(past.sample_times, last.time)
        expired = np.flatnonzero(time - sample_times[:-1] > self.cycle * (1.0 + 1e-9))
        first = int(expired[-1]) + 1 if len(expired) else 0
        values, sample_times = values[first:], sample_times[first:]
        row = np.zeros(len(NAMES), np.float32)
        times = (past.first_time, time, self.cycle)
        level = step_history(sums, (values, sample_times), last.seconds, times, self.floor, row)
        young = np.minimum(level / max(self.start, self.floor), _MAX_RATIO)
        row[YOUNG] = young if row[AGE] < 1.0 else -1.0
        return Past(past.first_time, sums, values, sample_times), level, row


@inlined
def enter(ordered: Floats, count: int, value: float) -> int:
    """Insert a value among the first `count`, which are sorted."""
    place = np.searchsorted(ordered[:count], value)
    for j in range(count, place, -1):
        ordered[j] = ordered[j - 1]
    ordered[place] = value
    return count + 1


@inlined
def leave(ordered: Floats, count: int, value: float) -> int:
    """Remove a value from the first `count`, which are sorted."""
    place = np.searchsorted(ordered[:count], value)
    for j in range(place, count - 1):
        ordered[j] = ordered[j + 1]
    return count - 1


@inlined
def since_largest(values: Floats, time: Floats, oldest: int, t: int, top: float) -> float:
    """Seconds since the window's largest value was last seen."""
    for j in range(t - 1, oldest - 1, -1):
        if values[j] >= top:
            return float(time[t] - time[j])
    return 0.0


@inlined
def begin(sums: Floats, value: float) -> None:
    """The running sums of a container whose first sample has this value; see `SUMS`."""
    sums[:] = 0.0
    sums[FAST] = sums[SLOW] = sums[CYCLIC] = sums[LONG] = sums[BEFORE] = value
    sums[SQUARE] = value * value


@inlined
def absorb(sums: Floats, value: float, seconds: float, cycle: float) -> None:
    """Take a sample into the running sums; of a container's first one, nothing but its time counts."""
    passed = min(seconds, cycle)
    share = 1.0 - np.exp(-passed / cycle)
    if sums[COUNT] > 0.0:
        change = value - sums[BEFORE]
        sums[STEP] += (abs(change) - sums[STEP]) * share
        sums[DRIFT] += (change - sums[DRIFT]) * (1.0 - np.exp(-4.0 * passed / cycle))
    sums[FAST] += (value - sums[FAST]) * (1.0 - np.exp(-16.0 * passed / cycle))
    sums[SLOW] += (value - sums[SLOW]) * (1.0 - np.exp(-4.0 * passed / cycle))
    sums[CYCLIC] += (value - sums[CYCLIC]) * share
    sums[SQUARE] += (value * value - sums[SQUARE]) * share
    sums[LONG] += (value - sums[LONG]) * (1.0 - np.exp(-0.25 * passed / cycle))
    sums[TOTAL] += value * passed
    sums[LASTED] += passed
    sums[PEAK] = max(sums[PEAK], value)
    sums[BEFORE] = value
    sums[COUNT] += 1.0


@inlined
def describe(sums: Floats, ordered: Floats, floor: float, idle: float, age: float, row: Any) -> float:
    """Fill a row from the running sums and the window's sorted values; the level."""
    count = len(ordered)
    top = ordered[count - 1]
    scale = max(top, floor)
    row[0] = sums[BEFORE] / scale
    row[1] = sums[FAST] / scale
    row[2] = sums[SLOW] / scale
    row[3] = sums[CYCLIC] / scale
    row[4] = min(sums[LONG] / scale, _MAX_RATIO)
    row[5] = ordered[0] / scale
    row[6] = ordered[(count - 1) // 4] / scale
    row[7] = ordered[(count - 1) // 2] / scale
    row[8] = ordered[3 * (count - 1) // 4] / scale
    row[9] = ordered[9 * (count - 1) // 10] / scale
    row[10] = min(np.sqrt(max(sums[SQUARE] - sums[CYCLIC] * sums[CYCLIC], 0.0)) / scale, _MAX_RATIO)
    row[11] = min(sums[STEP] / scale, _MAX_RATIO)
    row[12] = max(min(sums[DRIFT] / scale, _MAX_RATIO), -_MAX_RATIO)
    row[13] = min(sums[PEAK] / scale, _MAX_RATIO)
    row[14] = min(sums[TOTAL] / max(sums[LASTED], 1e-300) / scale, _MAX_RATIO)
    row[15] = min(idle, 1.0)
    row[16] = min(age, _OLDEST)
    row[17] = (count - np.searchsorted(ordered, _SHARE_NEAR * top)) / count
    return float(scale)


@exact
def start_sums(sums: Floats, value: float) -> None:
    """`begin`, for one container."""
    begin(sums, value)


# `fill_history` keeps the window sorted by insertion: 0.5 µs a sample where `Watch` takes 15 µs. What both
# compute from the window, `absorb` and `describe`, is written once.


@exact
def fill_history(samples: Any, cycle: float, floor: float, longest: int, level: Floats, rows: Any) -> None:
    """Fill `level` and `rows`; the last cycle's values are kept sorted by insertion."""
    values, time, seconds, offsets = samples
    ordered, sums = np.empty(longest), np.empty(SUMS)
    for i in range(len(offsets) - 1):
        first, oldest, count = offsets[i], offsets[i], 0
        level[first] = floor
        begin(sums, values[first])
        for t in range(first + 1, offsets[i + 1]):
            absorb(sums, values[t - 1], seconds[t - 1], cycle)
            count = enter(ordered, count, values[t - 1])
            while oldest < t - 1 and time[t] - time[oldest] > cycle * (1.0 + 1e-9):
                count = leave(ordered, count, values[oldest])
                oldest += 1
            idle = since_largest(values, time, oldest, t, ordered[count - 1]) / cycle
            age = (time[t] - time[first]) / cycle
            level[t] = describe(sums, ordered[:count], floor, idle, age, rows[t])


@exact
def step_history(sums: Floats, samples: Any, seconds: float, times: Any, floor: float, row: Any) -> float:
    """One step of `fill_history`: change `sums`, fill `row`, and return the level.

    Parameters
    ----------
    sums
        Of the container until just before its last sample.
    samples
        Values and times of the window's samples, the last one last.
    seconds
        The time that the last one stands for.
    times
        When the container began, the moment now, and the length of a cycle.
    floor
        The least level.
    row
        As in `describe`.
    """
    values, sample_times = samples
    start, now, cycle = times
    absorb(sums, values[-1], seconds, cycle)
    ordered = np.sort(values)
    idle = 0.0
    for j in range(len(values) - 1, -1, -1):
        if values[j] >= ordered[-1]:
            idle = (now - sample_times[j]) / cycle
            break
    return describe(sums, ordered, floor, idle, (now - start) / cycle, row)
