"""Features of a container's recent past, at every sample, in units of its own recent level.

The level of sample t is the largest demand of the last cycle length before t. Everything else is a ratio
to it, so what is learned on one container holds for others of another scale, and times are measured in
cycles, so it holds for another sampling period. Sample t itself is never looked at: row t may be used to
decide what to allocate to sample t.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from core.phases.kernels.compiling import compiled, inlined

if TYPE_CHECKING:
    from core.provisioning.fleet import Demand, Floats, Truths

NAMES = (
    "last", "mean of 1/16 cycle", "mean of 1/4 cycle", "mean of 1 cycle", "mean of 4 cycles",
    "least", "lower quartile", "median", "upper quartile", "90th percentile", "sd", "mean step", "trend",
    "peak so far", "mean so far", "cycles since the largest", "age in cycles", "share near the largest",
    "level of a young container",
)  # fmt: skip
AGE, YOUNG = 16, 18
_SHARE_NEAR = 0.98
_MOST, _OLDEST = 1e6, 64.0
_LEAST_LEVEL = 1e-3


@dataclass(frozen=True, eq=False)
class Recent:
    """The past of each sample.

    Parameters
    ----------
    level
        The largest demand of the last cycle length, in the demand's unit, shape (n,).
    rows
        The statistics of `NAMES`, shape (n, len(NAMES)), float32.
    known
        Which samples have a past, shape (n,).
    """

    level: Floats
    rows: np.ndarray
    known: Truths


def recent(demand: Demand, unit: float, start: float) -> Recent:
    """The past of each sample of a demand.

    Parameters
    ----------
    demand
        D of n samples.
    unit
        The mean training demand; levels below a thousandth of it count as that, since ratios to
        nearly nothing mean nothing.
    start
        What a container without a past gets. In its first cycle a container's own level says little, so
        there, and only there, the level's ratio to this is a statistic too.
    """
    fleet = demand.fleet
    level = np.zeros(fleet.n_samples)
    rows = np.zeros((fleet.n_samples, len(NAMES)), np.float32)
    floor = max(_LEAST_LEVEL * unit, 1e-300)
    if fleet.n_samples:
        samples = (demand.values, fleet.time, fleet.seconds, fleet.offsets)
        look_back(samples, fleet.cycle, floor, int(fleet.lengths.max()), level, rows)
    young = rows[:, AGE] < 1.0
    rows[:, YOUNG] = np.where(young, np.minimum(level / max(start, floor), _MOST), -1.0)
    known = np.ones(fleet.n_samples, bool)
    known[fleet.offsets[:-1]] = False
    return Recent(level, rows, known)


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


@compiled
def look_back(samples: Any, cycle: float, floor: float, longest: int, level: Floats, rows: Any) -> None:
    """Fill `level` and `rows`; the last cycle's values are kept sorted by insertion."""
    values, time, seconds, offsets = samples
    ordered = np.empty(longest)
    for i in range(len(offsets) - 1):
        begin, end = offsets[i], offsets[i + 1]
        level[begin] = floor
        oldest, count = begin, 0
        fast = slow = cyclic = long = values[begin]
        step, drift, square = 0.0, 0.0, values[begin] * values[begin]
        total, lasted, peak = 0.0, 0.0, 0.0
        for t in range(begin + 1, end):
            v, passed = values[t - 1], min(seconds[t - 1], cycle)
            share = 1.0 - np.exp(-passed / cycle)
            if t - 1 > begin:
                change = v - values[t - 2]
                step += (abs(change) - step) * share
                drift += (change - drift) * (1.0 - np.exp(-4.0 * passed / cycle))
            fast += (v - fast) * (1.0 - np.exp(-16.0 * passed / cycle))
            slow += (v - slow) * (1.0 - np.exp(-4.0 * passed / cycle))
            cyclic += (v - cyclic) * share
            square += (v * v - square) * share
            long += (v - long) * (1.0 - np.exp(-0.25 * passed / cycle))
            total += v * passed
            lasted += passed
            peak = max(peak, v)
            count = enter(ordered, count, v)
            while oldest < t - 1 and time[t] - time[oldest] > cycle * (1.0 + 1e-9):
                count = leave(ordered, count, values[oldest])
                oldest += 1
            top = ordered[count - 1]
            scale = max(top, floor)
            level[t] = scale
            row = rows[t]
            row[0] = v / scale
            row[1] = fast / scale
            row[2] = slow / scale
            row[3] = cyclic / scale
            row[4] = min(long / scale, _MOST)
            row[5] = ordered[0] / scale
            row[6] = ordered[(count - 1) // 4] / scale
            row[7] = ordered[(count - 1) // 2] / scale
            row[8] = ordered[3 * (count - 1) // 4] / scale
            row[9] = ordered[9 * (count - 1) // 10] / scale
            row[10] = min(np.sqrt(max(square - cyclic * cyclic, 0.0)) / scale, _MOST)
            row[11] = min(step / scale, _MOST)
            row[12] = max(min(drift / scale, _MOST), -_MOST)
            row[13] = min(peak / scale, _MOST)
            row[14] = min(total / max(lasted, 1e-300) / scale, _MOST)
            row[15] = min(since_largest(values, time, oldest, t, top) / cycle, 1.0)
            row[16] = min((time[t] - time[begin]) / cycle, _OLDEST)
            row[17] = (count - np.searchsorted(ordered[:count], _SHARE_NEAR * top)) / count
