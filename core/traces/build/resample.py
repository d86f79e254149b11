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

Everything works on all executions at once: each sample gets the position of the output cell in
which it is first seen, and a running maximum over the cells carries it forward.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from core.errors import InputError
from core.traces.model import FloatArray, IntArray, Resampling

if TYPE_CHECKING:
    from collections.abc import Sequence

TOLERANCE = 0.25
GRID_SLACK = 1e-6
MOST_CELLS = 500_000_000


@dataclass(frozen=True)
class Resampled:
    """Samples after resampling; `changed` executions were not regular, `skipped` samples are nowhere seen."""

    time: FloatArray
    columns: tuple[FloatArray, ...]
    offsets: IntArray
    breaks: IntArray
    changed: int
    skipped: int = 0


def steps_within(time: FloatArray, offsets: IntArray) -> FloatArray:
    """Steps between neighbouring samples of one execution, shape (n_samples − n_executions,).

    `offsets` must describe executions with at least one sample each.
    """
    steps = np.diff(time)
    inner = np.ones(len(steps), dtype=bool)
    inner[offsets[1:-1] - 1] = False
    return steps if inner.all() else steps[inner]


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


def infer_period(medians: FloatArray) -> float:
    """The sampling period of a set: the 95th percentile of the executions' median steps.

    The slowest usual sampling, so that faster executions are thinned instead of slower ones being
    filled with invented samples; the few slowest do not decide for all.
    """
    known = np.sort(medians[np.isfinite(medians)])
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

    Parameters
    ----------
    time
        Seconds, shape (n_samples,), strictly increasing within each execution.
    columns
        Arrays of shape (n_samples,).
    offsets
        Bounds of the executions, shape (n_executions + 1,); none of them empty.
    period
        Seconds.
    rule
        The resampling rule.
    max_gap
        Steps longer than this many periods split an execution.

    Raises
    ------
    InputError
        If the result would not fit into memory.
    """
    nothing = np.empty(0, dtype=np.int64)
    if rule is Resampling.NONE or len(time) == 0:
        return Resampled(time, tuple(columns), offsets, nothing, 0)
    gaps, regular = _look(time, offsets, period, max_gap)
    if regular.all():
        return Resampled(time, tuple(columns), offsets, gaps, 0)
    bounds = np.union1d(offsets, gaps)
    cells, sizes = _cells(time, offsets, bounds, regular, period, rule)
    ends = np.concatenate([[0], np.cumsum(sizes)])
    keep = np.repeat(regular[np.searchsorted(offsets, bounds[:-1], side="right") - 1], sizes)
    starts = np.repeat(time[bounds[:-1]], sizes)
    grid = starts + (np.arange(ends[-1]) - np.repeat(ends[:-1], sizes)) * period
    source = _last_seen(cells, int(ends[-1]))
    grid[keep] = time[source[keep]]
    values = tuple(_values(column, cells, source, rule) for column in columns)
    where = np.searchsorted(bounds, offsets)
    broken = np.searchsorted(bounds, gaps)
    skipped = len(time) - 1 - int(np.count_nonzero(np.diff(source))) if rule is Resampling.HOLD else 0
    return Resampled(grid, values, ends[where], ends[broken], int((~regular).sum()), skipped)


def _look(
    time: FloatArray, offsets: IntArray, period: float, max_gap: float
) -> tuple[IntArray, np.ndarray[tuple[int], np.dtype[np.bool_]]]:
    """Find the samples after a gap, and whether each execution is regular between them."""
    steps = np.diff(time, prepend=time[:1])
    steps[offsets[:-1]] = period
    gaps = steps > max_gap * period
    odd = (np.abs(steps - period) > TOLERANCE * period) & ~gaps
    if not odd.any():
        return np.flatnonzero(gaps), np.ones(len(offsets) - 1, dtype=bool)
    return np.flatnonzero(gaps), np.add.reduceat(odd, offsets[:-1], dtype=np.int64) == 0


def _cells(
    time: FloatArray,
    offsets: IntArray,
    bounds: IntArray,
    regular: np.ndarray[tuple[int], np.dtype[np.bool_]],
    period: float,
    rule: Resampling,
) -> tuple[IntArray, IntArray]:
    """The output cell in which each sample is first seen, and the number of cells of each stretch."""
    lengths = np.diff(bounds)
    ages = (time - np.repeat(time[bounds[:-1]], lengths)) / period
    rounded = np.ceil(ages - GRID_SLACK) if rule is Resampling.HOLD else np.floor(ages + GRID_SLACK)
    own = np.arange(len(time)) - np.repeat(bounds[:-1], lengths)
    cells = np.where(np.repeat(regular, np.diff(offsets)), own, rounded)
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
