"""Executions that are the sum of others: a pod beside its containers, a machine beside its processes.

A name says it (``train-1`` beside ``train-1/main``), or the samples do: at every time about what all smaller
executions are together.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from core.traces.model import Role
from core.traces.summary import mean_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from core.traces.model import FloatArray, IntArray, TraceSet

MOST_TRIED = 5
"""Executions that are compared with all smaller ones, the largest first."""
LEAST_TIMES = 10
MOST_SAMPLES = 100_000
"""Of more samples, those of one time are compared, of all executions."""
MOST_SLOTS = 4
"""Times may be so many for each sample before those without any are left out."""
VARIES, FITS, NEAR = 0.02, 0.1, 0.05
"""A sum varies by this share of its mean; what is left of it varies less than its changes, and is near 0."""
SAME, NEARLY_ALL = 0.002, 0.95
"""A mean of others is the same to this share, at this share of times."""


def of_sums(traces: TraceSet) -> Iterator[str]:
    """A question for the first execution that looks like the sum of others, by name and by samples."""
    inner = [name for name in traces.ids if "/" in name]
    ids = set(traces.ids) if inner else set()
    for name in inner:
        parts = name.split("/")
        above = next(
            (one for i in range(1, len(parts)) if (one := "/".join(parts[:i]) or "/") in ids - {name}), None
        )
        if above is not None:
            yield f"“{above}” is beside “{name}”: is it the sum of what is in it?"
            return
    whole = _whole(traces)
    if whole is not None:
        yield f"“{whole}” is at every time about the sum or the mean of others: is it an execution?"


def _whole(traces: TraceSet) -> str | None:
    """The execution whose CPU and memory are each the mean of all others, or the sum of all smaller ones."""
    columns = [one for role in (Role.CPU, Role.MEMORY) if (one := traces.values(role)) is not None]
    if not columns or traces.n_executions < 3:
        return None
    kept = _of_one_time(traces)
    ids, offsets = _left(traces, kept)
    if len(ids) < 3:
        return None
    slots = np.floor(traces.time[kept] / traces.period + 1e-6).astype(np.int64)
    slots -= slots.min()
    if slots.max() > MOST_SLOTS * len(slots):
        slots = np.unique(slots, return_inverse=True)[1]
    values = [np.nan_to_num(one[kept]) for one in columns]
    totals: list[FloatArray] = [np.bincount(slots, one).astype(np.float64) for one in values]
    count: IntArray = np.bincount(slots).astype(np.int64)
    alike = np.min(
        [
            _mean_like(one, total[slots], count[slots], offsets)
            for one, total in zip(values, totals, strict=True)
        ],
        axis=0,
    )
    if alike.max() > NEARLY_ALL:
        return ids[int(alike.argmax())]
    for e in np.argsort(-mean_of(values[0], offsets))[:MOST_TRIED]:
        part = slice(offsets[e], offsets[e + 1])
        here = slots[part]
        count[here] -= 1
        for one, total in zip(values, totals, strict=True):
            total[here] -= one[part]
        others = count[here] > 1
        if int(others.sum()) >= max(LEAST_TIMES, len(here) // 2) and all(
            _is_sum(one[part][others], total[here][others]) for one, total in zip(values, totals, strict=True)
        ):
            return ids[int(e)]
    return None


def _of_one_time(traces: TraceSet) -> IntArray:
    """The samples near the middle of the middle execution: all of them, or about `MOST_SAMPLES`."""
    n, middle = traces.n_samples, traces.n_executions // 2
    if n <= MOST_SAMPLES:
        return np.arange(n)
    then = traces.time[traces.offsets[middle : middle + 2].sum() // 2]
    apart = np.quantile(np.abs(traces.time[:: n // 10_000 + 1] - then), MOST_SAMPLES / n)
    return np.flatnonzero((traces.time >= then - apart) & (traces.time <= then + apart))


def _left(traces: TraceSet, kept: IntArray) -> tuple[tuple[str, ...], IntArray]:
    """The executions of which samples are kept, and the bounds of these."""
    before = np.searchsorted(kept, traces.offsets)
    there = np.flatnonzero(np.diff(before))
    return tuple(traces.ids[i] for i in there.tolist()), np.append(before[there], before[-1])


def _mean_like(values: FloatArray, total: FloatArray, count: IntArray, offsets: IntArray) -> FloatArray:
    """Per execution that varies the share of samples that are the mean of two others or more."""
    mean = (total - values) / np.maximum(count - 1, 1)
    same = (np.abs(values - mean) < SAME * np.abs(mean)) & (count > 2)
    usual = mean_of(values, offsets)
    spread = np.sqrt(np.maximum(mean_of(values**2, offsets) - usual**2, 0.0))
    return np.where(spread > VARIES * np.abs(usual), mean_of(same.astype(np.float64), offsets), 0.0)


def _is_sum(mine: FloatArray, total: FloatArray) -> bool:
    """Whether samples that vary are about a total."""
    rest = mine - total
    near = abs(rest.mean()) < NEAR * mine.mean() and rest.std() < FITS * mine.std()
    return bool(near and mine.std() > VARIES * abs(mine.mean()))
