"""Looking back: the past of some containers in few points, and any stretch of it as a trace set."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from core.errors import NotFoundError
from core.live.history.chunks import LEVELS, Known, Stretch, begins, level_for, read
from core.sampling.phases import KNOWN_ZERO, LIVE_FEATURES
from core.sampling.ring_buffer import FIELDS
from core.traces.model import TraceSet

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence
    from pathlib import Path

    import numpy.typing as npt

    from core.live.history.chunks import Level

_GAP = 2.5


@dataclass(frozen=True, slots=True)
class Past:
    """The past of one container, oldest first; n points."""

    #: Which one.
    container: Known
    #: That each point stands for.
    seconds: float
    #: Seconds since 1970, shape (n,).
    time: npt.NDArray[np.float64]
    #: Means of `FIELDS`, shape (n, len(FIELDS)); NaN where nothing was known.
    values: npt.NDArray[np.float32]
    #: Maxima of `core.live.history.chunks.PEAKS`, shape (n, 2).
    peaks: npt.NDArray[np.float32]


def look_back(
    folder: Path, ids: Collection[str], start: float, end: float, now: float, most: int = 600
) -> dict[str, Past]:
    """The past of some containers, by id, in at most so many points each."""
    level = level_for(start, end, now)
    found = _stretches(folder, level, ids, start, end)
    return {name: _thinned(each, level.seconds, start, end, most) for name, each in found.items()}


def containers(folder: Path, start: float, end: float, now: float) -> tuple[Known, ...]:
    """The containers of which something is kept between two moments, by name."""
    found = _stretches(folder, level_for(start, end, now), None, start, end)
    return tuple(sorted((each.container for each in found.values()), key=lambda each: (each.name, each.id)))


def oldest(folder: Path) -> float | None:
    """When what is kept begins, seconds since 1970; None where nothing is."""
    firsts = [next(iter(begins(folder / str(level.seconds)).values()), None) for level in LEVELS]
    found = [each.time[0] for path in firsts if path is not None for each in read(path, None)]
    return float(min(found)) if found else None


def traces_of(folder: Path, ids: Collection[str] | None, start: float, end: float, now: float) -> TraceSet:
    """A stretch of the past as a trace set, as finely as it is kept.

    Raises
    ------
    NotFoundError
        If nothing is kept of them.
    """
    level = level_for(start, end, now)
    found = _stretches(folder, level, ids, start, end)
    chosen = sorted(found.values(), key=lambda each: (each.container.name, each.container.id))
    if not chosen:
        raise NotFoundError(
            "Nothing is kept of these containers in that time.", "Choose another time, or other containers."
        )
    values = np.concatenate([each.values for each in chosen]).astype(np.float64)
    zero = [FIELDS.index(name) for name in KNOWN_ZERO]
    values[:, zero] = np.nan_to_num(values[:, zero], nan=0.0)
    kept = np.flatnonzero(np.isfinite(values).any(axis=0)).tolist()
    offsets = np.concatenate([[0], np.cumsum([len(each.time) for each in chosen])]).astype(np.int64)
    time = np.concatenate([each.time for each in chosen])
    late = np.flatnonzero(np.diff(time, prepend=-np.inf) > _GAP * level.seconds)
    return TraceSet(
        features=tuple(LIVE_FEATURES[at] for at in kept),
        columns=tuple(np.ascontiguousarray(values[:, at]) for at in kept),
        time=time,
        ids=_names([each.container for each in chosen]),
        offsets=offsets,
        period=float(level.seconds),
        breaks=np.setdiff1d(late, offsets),
        attributes={
            "container": [each.container.id for each in chosen],
            "image": [each.container.image for each in chosen],
        },
    )


def _names(chosen: Sequence[Known]) -> tuple[str, ...]:
    """A name for each; containers of one name, one after the other, get their ids added."""
    names = [each.name for each in chosen]
    return tuple(
        each.name if names.count(each.name) == 1 else f"{each.name} {each.id[:12]}" for each in chosen
    )


def _stretches(
    folder: Path, level: Level, ids: Collection[str] | None, start: float, end: float
) -> dict[str, Stretch]:
    """What a level has of some containers between two moments, by id."""
    parts: dict[str, list[Stretch]] = {}
    for begin, path in begins(folder / str(level.seconds)).items():
        if begin <= end and begin + level.chunk >= start:
            for each in read(path, ids):
                parts.setdefault(each.container.id, []).append(each)
    joined = {name: _joined(some, start, end) for name, some in parts.items()}
    return {name: each for name, each in joined.items() if len(each.time)}


def _joined(parts: Iterable[Stretch], start: float, end: float) -> Stretch:
    some = list(parts)
    time = np.concatenate([each.time for each in some])
    chosen = np.flatnonzero((time >= start) & (time <= end))
    values, peaks = (np.concatenate([getattr(each, name) for each in some]) for name in ("values", "peaks"))
    return Stretch(some[-1].container, time[chosen], values[chosen], peaks[chosen])


def _thinned(found: Stretch, seconds: float, start: float, end: float, most: int) -> Past:
    """At most so many points; each is the mean of an equal part of the time, where there was anything."""
    if len(found.time) <= most:
        return Past(found.container, seconds, *found[1:])
    width = max((end - start) / most, seconds)
    bins = np.minimum(((found.time - start) / width).astype(np.int64), most - 1)
    firsts = np.flatnonzero(np.diff(bins, prepend=-1))
    known = np.isfinite(found.values)
    counts = np.add.reduceat(known, firsts, axis=0, dtype=np.int64)
    sums = np.add.reduceat(np.where(known, found.values, 0.0), firsts, axis=0, dtype=np.float64)
    means = np.where(counts > 0, sums / np.maximum(counts, 1), np.nan).astype(np.float32)
    peaks = np.fmax.reduceat(found.peaks, firsts, axis=0)
    lasts = np.append(firsts[1:], len(bins)) - 1
    return Past(found.container, width, found.time[lasts], means, peaks)
