"""Reading the history by containers and time, independent of the files that hold the records."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from core.errors import NotFoundError
from core.live.history.chunks import (
    FINEST,
    HOST,
    LEVELS,
    RecordedContainer,
    Stretch,
    chunks_of,
    level_for,
    newest_moment,
    raw_records,
    read,
)
from core.sampling.phases import LIVE_FEATURES, THROTTLED
from core.traces.model import TraceSet

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence
    from pathlib import Path

    import numpy.typing as npt

    from core.live.history.chunks import Level

_GAP = 2.5
"""Steps without a record that make a break."""

Samples: TypeAlias = "list[tuple[float, dict[str, tuple[float, ...]]]]"
"""Moments, oldest first, each with values of `FIELDS` by container."""


@dataclass(frozen=True, slots=True)
class HistoryPoints:
    """The history of one container in few points, oldest first; n points."""

    #: Which one.
    container: RecordedContainer
    #: Seconds that each point stands for.
    seconds: float
    #: Seconds since 1970, shape (n,).
    time: npt.NDArray[np.float64]
    #: Means of `FIELDS`, shape (n, len(FIELDS)); NaN where nothing is known.
    values: npt.NDArray[np.float32]
    #: Maxima of `core.live.history.chunks.PEAKS`, shape (n, 2).
    peaks: npt.NDArray[np.float32]


def read_points(
    folder: Path, ids: Collection[str], start: float, end: float, now: float, max_points: int = 600
) -> dict[str, HistoryPoints]:
    """Return the history of some containers by id, in at most `max_points` points each."""
    level = level_for(start, end, now)
    stretches = read_span(folder, level, ids, start, end)
    return {name: _thin(each, level.seconds, start, end, max_points) for name, each in stretches.items()}


def read_tail(folder: Path, ids: Collection[str], seconds: float) -> dict[str, Stretch]:
    """Return the last seconds before the newest sample, at most `TAIL`, second by second."""
    chunks = list(chunks_of(folder, FINEST).items())
    past = [each for each in chunks if each[0] <= time.time()]  # others are of a clock that was ahead
    recent = (past or chunks)[-2:]
    newest = max((newest_moment(path) for _, path in recent), default=-math.inf)
    start = newest - seconds
    return _join((path for begin, path in recent if begin + FINEST.chunk >= start), ids, start, newest)


def samples_since(folder: Path, since: float) -> Samples:
    """Return the complete samples after a time, without one that is just being written."""
    samples: dict[float, dict[str, tuple[float, ...]]] = {}
    newest_whole = -math.inf
    for begin, path in list(chunks_of(folder, FINEST).items())[-2:]:
        if path.suffix == ".parquet" or begin + FINEST.chunk < since:
            continue
        records, named = raw_records(path, since)
        places, times, values = (records[name].tolist() for name in ("container", "at", "values"))
        for place, at, sample in zip(places, times, values, strict=True):
            if named[place] == HOST:
                newest_whole = at
            elif at > since:
                samples.setdefault(at, {})[named[place].id] = tuple(sample)
    return sorted((at, rows) for at, rows in samples.items() if at <= newest_whole)


def containers(folder: Path, start: float, end: float, now: float) -> tuple[RecordedContainer, ...]:
    """Return the containers with records between two times, by name."""
    stretches = read_span(folder, level_for(start, end, now), None, start, end)
    return tuple(
        sorted((each.container for each in stretches.values()), key=lambda each: (each.name, each.id))
    )


def oldest(folder: Path) -> float | None:
    """Return the begin of the history, seconds since 1970; None if it has only the last minutes."""
    if not any(chunks_of(folder, level) for level in LEVELS[1:]):
        return None
    firsts = [next(iter(chunks_of(folder, level).values()), None) for level in LEVELS]
    begins = [each.time[0] for path in firsts if path is not None for each in read(path, None)]
    return float(min(begins)) if begins else None


def traces_of(folder: Path, ids: Collection[str] | None, start: float, end: float, now: float) -> TraceSet:
    """Return a stretch of the history as a trace set, at the finest level that covers it.

    Raises NotFoundError if there is no record of them.
    """
    level = level_for(start, end, now)
    stretches = read_span(folder, level, ids, start, end)
    if not stretches:
        raise NotFoundError(
            "Nothing is remembered of these containers in that time.",
            "Choose another time, or other containers.",
        )
    return make_traces(stretches.values(), float(level.seconds))


def make_traces(stretches: Iterable[Stretch], period: float) -> TraceSet:
    """Return a trace set of at least one container, in the order of names; a long gap is a break."""
    ordered = sorted(stretches, key=lambda each: (each.container.name, each.container.id))
    values = np.concatenate([each.values for each in ordered]).astype(np.float64)
    values[:, THROTTLED] = np.nan_to_num(values[:, THROTTLED], nan=0.0)
    finite = np.flatnonzero(np.isfinite(values).any(axis=0)).tolist()
    offsets = np.concatenate([[0], np.cumsum([len(each.time) for each in ordered])]).astype(np.int64)
    time = np.concatenate([each.time for each in ordered])
    late = np.flatnonzero(np.diff(time, prepend=-np.inf) > _GAP * period)
    return TraceSet(
        features=tuple(LIVE_FEATURES[at] for at in finite),
        columns=tuple(np.ascontiguousarray(values[:, at]) for at in finite),
        time=time,
        ids=_unique_names([each.container for each in ordered]),
        offsets=offsets,
        period=period,
        breaks=np.setdiff1d(late, offsets),
        attributes={
            "container": [each.container.id for each in ordered],
            "image": [each.container.image for each in ordered],
        },
    )


def _unique_names(containers: Sequence[RecordedContainer]) -> tuple[str, ...]:
    """Return a unique name for each container; equal names get ids added."""
    names = [each.name for each in containers]
    return tuple(
        each.name if names.count(each.name) == 1 else f"{each.name} {each.id[:12]}" for each in containers
    )


def read_span(
    folder: Path, level: Level, ids: Collection[str] | None, start: float, end: float
) -> dict[str, Stretch]:
    """Return a level's records of some containers between two times, by id."""
    chunks = chunks_of(folder, level).items()
    return _join(
        (path for begin, path in chunks if begin <= end and begin + level.chunk >= start), ids, start, end
    )


def _join(paths: Iterable[Path], ids: Collection[str] | None, start: float, end: float) -> dict[str, Stretch]:
    parts: dict[str, list[Stretch]] = {}
    for path in paths:
        for each in read(path, ids, start):
            parts.setdefault(each.container.id, []).append(each)
    joined = {name: join(stretches, start, end) for name, stretches in parts.items()}
    return {name: each for name, each in joined.items() if len(each.time)}


def join(stretches: Sequence[Stretch], start: float, end: float) -> Stretch:
    """One stretch of several of a container, between two moments."""
    time = np.concatenate([each.time for each in stretches])
    rows = np.flatnonzero((time >= start) & (time <= end))
    values, peaks = (
        np.concatenate([getattr(each, name) for each in stretches])[rows] for name in ("values", "peaks")
    )
    return Stretch(stretches[-1].container, time[rows], values, peaks)


def _thin(stretch: Stretch, seconds: float, start: float, end: float, max_points: int) -> HistoryPoints:
    """Return at most `max_points` points, each the mean of an equal part of the time that has samples."""
    if len(stretch.time) <= max_points:
        return HistoryPoints(stretch.container, seconds, *stretch[1:])
    width = max((end - start) / max_points, seconds)
    bins = np.minimum(((stretch.time - start) / width).astype(np.int64), max_points - 1)
    firsts = np.flatnonzero(np.diff(bins, prepend=-1))
    finite = np.isfinite(stretch.values)
    counts = np.add.reduceat(finite, firsts, axis=0, dtype=np.int64)
    sums = np.add.reduceat(np.where(finite, stretch.values, 0.0), firsts, axis=0, dtype=np.float64)
    means = np.where(counts > 0, sums / np.maximum(counts, 1), np.nan).astype(np.float32)
    peaks = np.fmax.reduceat(stretch.peaks, firsts, axis=0)
    lasts = np.append(firsts[1:], len(bins)) - 1
    return HistoryPoints(stretch.container, width, stretch.time[lasts], means, peaks)
