"""Resampling of irregular samples to the sampling period.

With period p and the samples of one stretch at t_0 < t_1 < …:

- *hold*: the output lies on the grid t_0 + k·p and takes the last sample at or before each grid
  point; the grid ends with the first point at or after the last sample, so no sample is lost at
  the end.
- *mean*: output k is the mean of the samples in [t_0 + k·p, t_0 + (k + 1)·p); an empty cell holds
  the mean before it.
- *none*: rows unchanged.

A step longer than `max_gap` periods ends a stretch; the next one starts its own grid, and the trace
set records it as a break. An execution whose every step is within a quarter of the period is
regular already and passes through unchanged: real samplers jitter, and holding would only blur them.

An execution with few irregular steps is *steady*: a loop that is late sometimes, loses a sample, or rounds
its times to whole seconds. On a grid it would drift against the points, and samples would be lost and
repeated throughout. It keeps its samples at their own times instead; within a longer step, the previous value
is held once for every passed period.

Everything works on all executions at once: each sample gets the position of its first output cell, and a
running maximum over the cells carries it forward.
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
"""Tolerance of a step in seconds if times are rounded to whole seconds."""
MIN_MEAN_SHIFT = 0.01
"""The minimum difference between mean and median step, as a share of the median, to use the mean."""
MAX_LATE_STEPS = 0.25
"""The largest share of irregular steps of a steady execution."""
MAX_DRIFT = 0.05
"""The largest difference between a steady execution's periods and its duration, as a share of it."""
GRID_SLACK = 1e-6
MAX_CELLS = 500_000_000


@dataclass(frozen=True)
class Resampled:
    """Samples after resampling, with the numbers of `changed` executions, `skipped` and `filled` samples."""

    time: FloatArray
    columns: tuple[FloatArray, ...]
    offsets: IntArray
    breaks: IntArray
    changed: int
    skipped: int = 0
    filled: int = 0


@dataclass(frozen=True)
class _Pace:
    """Regularity of the samples of executions.

    `gaps` are the samples after a gap; `periods_passed` counts the periods since the sample before, shape
    (n_samples,); `steady` executions keep their own times, and `changed` ones are not as they were.
    """

    gaps: IntArray
    periods_passed: FloatArray
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
    """The step to each sample from the previous, shape (n_samples,), `first` where an execution begins."""
    steps = np.empty_like(values)
    np.subtract(values[1:], values[:-1], out=steps[1:])
    steps[offsets[:-1]] = first
    return steps


def median_steps(time: FloatArray, offsets: IntArray) -> FloatArray:
    """The median step of each execution, shape (n_executions,); NaN for one sample."""
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
    has_steps = lengths > 0
    low = ordered[(starts + (lengths - 1) // 2)[has_steps]]
    high = ordered[(starts + lengths // 2)[has_steps]]
    medians[has_steps] = (low + high) / 2
    return medians


def usual_steps(time: FloatArray, offsets: IntArray) -> FloatArray:
    """The usual step of each execution, shape (n_executions,); NaN for one sample.

    It is the median, or the mean of the steps within a second of it if times are rounded to whole seconds: a
    loop of 2.7 s has steps of 2 and 3 s.
    """
    firsts, lengths = offsets[:-1], np.diff(offsets)
    if not len(time):
        return np.full(len(lengths), np.nan)
    steps = steps_before(time, offsets, np.nan)
    usual = np.fmin.reduce(steps)
    if usual == np.fmax.reduce(steps):  # the fast path
        return np.where(lengths > 1, usual, np.nan)
    medians = median_steps(time, offsets)
    distance = np.abs(steps - np.repeat(medians, lengths))
    is_near = distance <= WHOLE_SECONDS
    if not (is_near & (distance > 0)).any():
        return medians
    is_whole = np.logical_and.reduceat(time == np.floor(time), firsts)
    counts = np.add.reduceat(is_near, firsts, dtype=np.int64)
    means = np.add.reduceat(np.where(is_near, steps, 0.0), firsts) / counts.clip(1)
    is_cut = (
        is_whole & (medians >= 1.5 * WHOLE_SECONDS) & (np.abs(means - medians) > MIN_MEAN_SHIFT * medians)
    )
    return np.where(is_cut, np.round(means, 2), medians)


def infer_period(usual: FloatArray) -> float:
    """The sampling period of a set: the 95th percentile of the executions' usual steps.

    A slow period thins fast executions instead of filling slow ones with invented samples; the few slowest
    executions do not decide for all.
    """
    ordered = np.sort(usual[np.isfinite(usual)])
    return float(ordered[int(np.ceil(0.95 * len(ordered))) - 1]) if len(ordered) else 1.0


def resample(
    time: FloatArray,
    columns: Sequence[FloatArray],
    offsets: IntArray,
    period: float,
    rule: Resampling,
    max_gap: float = 3.0,
) -> Resampled:
    """Resample all executions to one period.

    Raises InputError if the result would not fit into memory.
    """
    nothing = np.empty(0, dtype=np.int64)
    if rule is Resampling.NONE or len(time) == 0:
        return Resampled(time, tuple(columns), offsets, nothing, 0)
    pace = _find_pace(time, offsets, period, max_gap)
    if not pace.changed:
        return Resampled(time, tuple(columns), offsets, pace.gaps, 0)
    bounds = np.union1d(offsets, pace.gaps)
    steady = np.repeat(pace.steady, np.diff(offsets))
    cells, sizes = _assign_cells(time, bounds, steady, pace.periods_passed, period, rule)
    ends = np.concatenate([[0], np.cumsum(sizes)])
    source = _find_last_samples(cells, int(ends[-1]))
    cell_index = np.arange(ends[-1])
    grid = np.repeat(time[bounds[:-1]], sizes) + (cell_index - np.repeat(ends[:-1], sizes)) * period
    step = np.append(np.diff(time), 0.0) / np.append(pace.periods_passed[1:], 1.0).clip(1)
    is_steady = steady[source]
    grid[is_steady] = (
        time[source[is_steady]] + (cell_index - cells[source])[is_steady] * step[source[is_steady]]
    )
    values = tuple(_resample_column(column, cells, source, rule) for column in columns)
    ends_of_executions = np.searchsorted(bounds, offsets)
    ends_of_gaps = np.searchsorted(bounds, pace.gaps)
    n_used = 1 + int(np.count_nonzero(np.diff(source)))
    skipped = len(time) - n_used if rule is Resampling.HOLD else 0
    filled = len(source) - n_used
    return Resampled(
        grid, values, ends[ends_of_executions], ends[ends_of_gaps], pace.changed, skipped, filled
    )


def _find_pace(time: FloatArray, offsets: IntArray, period: float, max_gap: float) -> _Pace:
    firsts, lengths = offsets[:-1], np.diff(offsets)
    steps = steps_before(time, offsets, period)
    low, high = float(steps.min()), float(steps.max())
    if high <= max_gap * period and max(period - low, high - period) <= TOLERANCE * period:
        return _unchanged_pace(np.empty(0, dtype=np.int64), time, len(lengths))
    is_gap = steps > max_gap * period
    gaps = np.flatnonzero(is_gap)
    steps[is_gap] = period
    deviation = np.abs(steps - period)
    is_irregular = deviation > TOLERANCE * period
    if not is_irregular.any():
        return _unchanged_pace(gaps, time, len(lengths))
    periods_passed = np.floor(steps / period + 0.5)
    is_whole = np.logical_and.reduceat(time == np.floor(time), firsts)
    is_late = deviation > TOLERANCE * period + np.repeat(np.where(is_whole, WHOLE_SECONDS, 0.0), lengths)
    drift = np.abs(np.add.reduceat(periods_passed * period - steps, firsts))
    steady = np.minimum.reduceat(steps, firsts) >= 0.5 * period
    steady &= np.add.reduceat(is_late, firsts, dtype=np.int64) <= MAX_LATE_STEPS * lengths
    steady &= drift <= MAX_DRIFT * np.add.reduceat(steps, firsts)
    steady |= ~np.logical_or.reduceat(is_irregular, firsts)
    is_unchanged = steady & (np.maximum.reduceat(periods_passed, firsts) == 1)
    return _Pace(gaps, periods_passed, steady, int((~is_unchanged).sum()))


def _unchanged_pace(gaps: IntArray, time: FloatArray, n: int) -> _Pace:
    return _Pace(gaps, np.broadcast_to(1.0, time.shape), np.ones(n, dtype=bool), 0)


def _assign_cells(
    time: FloatArray,
    bounds: IntArray,
    steady: Mask,
    periods_passed: FloatArray,
    period: float,
    rule: Resampling,
) -> tuple[IntArray, IntArray]:
    """Return the first output cell of each sample and the number of cells of each stretch."""
    lengths = np.diff(bounds)
    ages = (time - np.repeat(time[bounds[:-1]], lengths)) / period
    rounded = np.ceil(ages - GRID_SLACK) if rule is Resampling.HOLD else np.floor(ages + GRID_SLACK)
    is_steady = np.cumsum(periods_passed)
    cells = np.where(steady, is_steady - np.repeat(is_steady[bounds[:-1]], lengths), rounded)
    sizes = cells[bounds[1:] - 1] + 1
    total = float(sizes.sum())
    if not total <= MAX_CELLS:
        raise InputError(
            f"A sampling period of {period:g} s would make {total:,.0f} samples out of {len(time):,}.",
            "Set a longer sampling period or a shorter longest gap in the mapping.",
        )
    n_cells = sizes.astype(np.int64)
    first = np.cumsum(n_cells) - n_cells
    return cells.astype(np.int64) + np.repeat(first, lengths), n_cells


def _find_last_samples(cells: IntArray, total: int) -> IntArray:
    """Return for each output cell the last sample at or before it (`cells` never decreases)."""
    source = np.zeros(total, dtype=np.int64)
    last = np.flatnonzero(np.diff(cells, append=cells[-1] + 1))
    source[cells[last]] = last
    return np.asarray(np.maximum.accumulate(source))


def _resample_column(column: FloatArray, cells: IntArray, source: IntArray, rule: Resampling) -> FloatArray:
    if rule is Resampling.HOLD:
        return column[source]
    starts = np.flatnonzero(np.diff(cells, prepend=-1))
    counts = np.diff(starts, append=len(cells))
    means = np.add.reduceat(column, starts) / counts
    group = np.repeat(np.arange(len(starts)), counts)
    return np.asarray(means[group[source]], dtype=column.dtype)
