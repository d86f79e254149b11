"""Bringing irregular samples to the sampling period.

With period p and the samples of one stretch at t_0 < t_1 < …:

- *hold*: the output lies on the grid t_0 + k·p and takes the last sample at or before each grid
  point; the grid ends with the first point at or after the last sample, so no sample is lost at
  the end.
- *mean*: output k is the mean of the samples in [t_0 + k·p, t_0 + (k + 1)·p); an empty cell holds
  the mean before it.
- *none*: rows as they come.

A step longer than `max_gap` periods ends a stretch; the next one starts its own grid, and the trace
set records it as a break. An execution whose every step is within a quarter of the period is
regular already and passes through unchanged: real samplers jitter, and holding would only blur them.

An execution that keeps time but for a few steps is *steady*: a loop that was late now and then, or lost a
sample, or whose stamps were cut to whole seconds. On a grid it would drift against the points, and samples
would be lost and repeated all along. It keeps its samples at their own times instead; within a longer step,
the value before it is held once for every period that passed.

Everything works on all executions at once: each sample gets the position of the output cell in
which it is first seen, and a running maximum over the cells carries it forward.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from core.errors import InputError
from core.traces.model import FloatArray, IntArray, Resampling

if TYPE_CHECKING:
    from collections.abc import Sequence

Mask = npt.NDArray[np.bool_]
TOLERANCE = 0.25
WHOLE_SECONDS = 1.0
"""What a step can be off where stamps were cut to whole seconds; in seconds."""
ROUNDED = 0.01
"""How far the mean step is from the median, as a share of it, before it is taken instead."""
FEW = 0.25
"""The largest share of steps that are off in a steady execution."""
DRIFT = 0.05
"""How far a steady execution's number of periods may be from its duration, as a share of it."""
GRID_SLACK = 1e-6
MOST_CELLS = 500_000_000


@dataclass(frozen=True)
class Resampled:
    """Samples after resampling.

    `changed` executions are not as they were; `skipped` samples are nowhere seen, and `filled` ones were not
    taken: they repeat the one before.
    """

    time: FloatArray
    columns: tuple[FloatArray, ...]
    offsets: IntArray
    breaks: IntArray
    changed: int
    skipped: int = 0
    filled: int = 0


@dataclass(frozen=True)
class _Pace:
    """How executions keep time.

    `gaps` are the samples after a gap; `passed` counts the periods since the sample before, shape
    (n_samples,); `steady` executions keep their own times, and `changed` ones are not as they were.
    """

    gaps: IntArray
    passed: FloatArray
    steady: Mask
    changed: int


def steps_within(time: FloatArray, offsets: IntArray) -> FloatArray:
    """Steps between neighbouring samples of one execution, shape (n_samples − n_executions,).

    `offsets` must describe executions with at least one sample each.
    """
    steps = np.diff(time)
    inner = np.ones(len(steps), dtype=bool)
    inner[offsets[1:-1] - 1] = False
    return steps if inner.all() else steps[inner]


def steps_before(values: FloatArray, offsets: IntArray, first: float) -> FloatArray:
    """The step to each sample from the one before, shape (n_samples,): `first` where an execution begins."""
    steps = np.empty_like(values)
    np.subtract(values[1:], values[:-1], out=steps[1:])
    steps[offsets[:-1]] = first
    return steps


def median_steps(time: FloatArray, offsets: IntArray) -> FloatArray:
    """The median step of each execution, shape (n_executions,); NaN where there is one sample only."""
    lengths = np.diff(offsets) - 1
    medians = np.full(len(lengths), np.nan)
    steps = steps_within(time, offsets)
    if not len(steps):
        return medians
    if steps.min() == steps.max():
        medians[lengths > 0] = steps[0]
        return medians
    owner = np.repeat(np.arange(len(lengths)), lengths)
    ordered = steps[np.lexsort((steps, owner))]
    starts = np.concatenate([[0], np.cumsum(lengths)[:-1]])
    some = lengths > 0
    low = ordered[(starts + (lengths - 1) // 2)[some]]
    high = ordered[(starts + lengths // 2)[some]]
    medians[some] = (low + high) / 2
    return medians


def usual_steps(time: FloatArray, offsets: IntArray) -> FloatArray:
    """The usual step of each execution, shape (n_executions,); NaN where there is one sample only.

    It is the median, but the mean of the steps a second around it where stamps were cut to whole seconds: a
    loop of 2.7 s has steps of 2 and 3 s.
    """
    firsts, lengths = offsets[:-1], np.diff(offsets)
    if not len(time):
        return np.full(len(lengths), np.nan)
    steps = steps_before(time, offsets, np.nan)
    usual = np.fmin.reduce(steps)
    if usual == np.fmax.reduce(steps):  # as nearly always
        return np.where(lengths > 1, usual, np.nan)
    medians = median_steps(time, offsets)
    beside = np.abs(steps - np.repeat(medians, lengths))
    around = beside <= WHOLE_SECONDS
    if not (around & (beside > 0)).any():
        return medians
    whole = np.logical_and.reduceat(time == np.floor(time), firsts)
    counts = np.add.reduceat(around, firsts, dtype=np.int64)
    means = np.add.reduceat(np.where(around, steps, 0.0), firsts) / counts.clip(1)
    cut = whole & (medians >= 1.5 * WHOLE_SECONDS) & (np.abs(means - medians) > ROUNDED * medians)
    return np.where(cut, np.round(means, 2), medians)


def infer_period(usual: FloatArray) -> float:
    """The sampling period of a set: the 95th percentile of the executions' usual steps.

    The slowest usual sampling, so that faster executions are thinned instead of slower ones being
    filled with invented samples; the few slowest do not decide for all.
    """
    known = np.sort(usual[np.isfinite(usual)])
    return float(known[int(np.ceil(0.95 * len(known))) - 1]) if len(known) else 1.0


def resample(
    time: FloatArray,
    columns: Sequence[FloatArray],
    offsets: IntArray,
    period: float,
    rule: Resampling,
    max_gap: float = 3.0,
) -> Resampled:
    """Bring the samples of all executions to one period.

    Raises
    ------
    InputError
        If the result would not fit into memory.
    """
    nothing = np.empty(0, dtype=np.int64)
    if rule is Resampling.NONE or len(time) == 0:
        return Resampled(time, tuple(columns), offsets, nothing, 0)
    pace = _pace(time, offsets, period, max_gap)
    if not pace.changed:
        return Resampled(time, tuple(columns), offsets, pace.gaps, 0)
    bounds = np.union1d(offsets, pace.gaps)
    steady = np.repeat(pace.steady, np.diff(offsets))
    cells, sizes = _cells(time, bounds, steady, pace.passed, period, rule)
    ends = np.concatenate([[0], np.cumsum(sizes)])
    source = _last_seen(cells, int(ends[-1]))
    place = np.arange(ends[-1])
    grid = np.repeat(time[bounds[:-1]], sizes) + (place - np.repeat(ends[:-1], sizes)) * period
    step = np.append(np.diff(time), 0.0) / np.append(pace.passed[1:], 1.0).clip(1)
    own = steady[source]
    grid[own] = time[source[own]] + (place - cells[source])[own] * step[source[own]]
    values = tuple(_values(column, cells, source, rule) for column in columns)
    where = np.searchsorted(bounds, offsets)
    broken = np.searchsorted(bounds, pace.gaps)
    seen = 1 + int(np.count_nonzero(np.diff(source)))
    skipped = len(time) - seen if rule is Resampling.HOLD else 0
    filled = len(source) - seen
    return Resampled(grid, values, ends[where], ends[broken], pace.changed, skipped, filled)


def _pace(time: FloatArray, offsets: IntArray, period: float, max_gap: float) -> _Pace:
    """How executions keep time between their gaps."""
    firsts, lengths = offsets[:-1], np.diff(offsets)
    steps = steps_before(time, offsets, period)
    low, high = float(steps.min()), float(steps.max())
    if high <= max_gap * period and max(period - low, high - period) <= TOLERANCE * period:
        return _in_time(np.empty(0, dtype=np.int64), time, len(lengths))
    longer = steps > max_gap * period
    gaps = np.flatnonzero(longer)
    steps[longer] = period
    off = np.abs(steps - period)
    odd = off > TOLERANCE * period
    if not odd.any():
        return _in_time(gaps, time, len(lengths))
    passed = np.floor(steps / period + 0.5)
    whole = np.logical_and.reduceat(time == np.floor(time), firsts)
    far = off > TOLERANCE * period + np.repeat(np.where(whole, WHOLE_SECONDS, 0.0), lengths)
    drift = np.abs(np.add.reduceat(passed * period - steps, firsts))
    steady = np.minimum.reduceat(steps, firsts) >= 0.5 * period
    steady &= np.add.reduceat(far, firsts, dtype=np.int64) <= FEW * lengths
    steady &= drift <= DRIFT * np.add.reduceat(steps, firsts)
    steady |= ~np.logical_or.reduceat(odd, firsts)
    as_it_was = steady & (np.maximum.reduceat(passed, firsts) == 1)
    return _Pace(gaps, passed, steady, int((~as_it_was).sum()))


def _in_time(gaps: IntArray, time: FloatArray, n: int) -> _Pace:
    """The pace of executions that are as they were."""
    return _Pace(gaps, np.broadcast_to(1.0, time.shape), np.ones(n, dtype=bool), 0)


def _cells(
    time: FloatArray,
    bounds: IntArray,
    steady: Mask,
    passed: FloatArray,
    period: float,
    rule: Resampling,
) -> tuple[IntArray, IntArray]:
    """The output cell in which each sample is first seen, and the number of cells of each stretch."""
    lengths = np.diff(bounds)
    ages = (time - np.repeat(time[bounds[:-1]], lengths)) / period
    rounded = np.ceil(ages - GRID_SLACK) if rule is Resampling.HOLD else np.floor(ages + GRID_SLACK)
    own = np.cumsum(passed)
    cells = np.where(steady, own - np.repeat(own[bounds[:-1]], lengths), rounded)
    sizes = cells[bounds[1:] - 1] + 1
    total = float(sizes.sum())
    if not total <= MOST_CELLS:
        raise InputError(
            f"A sampling period of {period:g} s would make {total:,.0f} samples out of {len(time):,}.",
            "Set a longer sampling period or a shorter longest gap in the mapping.",
        )
    whole = sizes.astype(np.int64)
    first = np.cumsum(whole) - whole
    return cells.astype(np.int64) + np.repeat(first, lengths), whole


def _last_seen(cells: IntArray, total: int) -> IntArray:
    """For each output cell, the last sample seen at or before it (`cells` never decreases)."""
    source = np.zeros(total, dtype=np.int64)
    last = np.flatnonzero(np.diff(cells, append=cells[-1] + 1))
    source[cells[last]] = last
    return np.asarray(np.maximum.accumulate(source))


def _values(column: FloatArray, cells: IntArray, source: IntArray, rule: Resampling) -> FloatArray:
    if rule is Resampling.HOLD:
        return column[source]
    starts = np.flatnonzero(np.diff(cells, prepend=-1))
    counts = np.diff(starts, append=len(cells))
    means = np.add.reduceat(column, starts) / counts
    group = np.repeat(np.arange(len(starts)), counts)
    return np.asarray(means[group[source]], dtype=column.dtype)
