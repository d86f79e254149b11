"""Keeping the past of an engine's containers: each sample, and the means of ever longer stretches of them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from core.live.history.chunks import LEVELS, PEAKS, RECORD, OpenChunk, begins, pack
from core.sampling.ring_buffer import FIELDS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    import numpy.typing as npt

    from core.live.history.chunks import Known, Level

_PEAKS = [FIELDS.index(name) for name in PEAKS]
_PRUNE_EVERY = 600.0


class HistoryWriter:
    """Takes samples as they come; one process writes an engine's history at a time."""

    def __init__(self, folder: Path, most: float = math.inf) -> None:
        self._folder, self._most = folder, most
        self._open: dict[Level, OpenChunk] = {}
        self._waiting = {level: _Means() for level in LEVELS[1:]}
        self._bucket: dict[Level, int] = {}
        self._pruned = -math.inf
        for level in LEVELS:
            left = [begin for begin, path in begins(_of(folder, level)).items() if path.suffix == ".open"]
            for begin in left[:-1]:
                pack(_of(folder, level), begin)
            if left:
                self._open[level] = OpenChunk(_of(folder, level), left[-1])

    def add(self, at: float, rows: Mapping[str, Sequence[float]], known: Mapping[str, Known]) -> None:
        """Take one sample of each of some containers."""
        records = np.empty(len(rows), RECORD)
        if rows:
            records["at"] = at
            records["values"] = [row[: len(FIELDS)] for row in rows.values()]
            records["peaks"] = records["values"][:, _PEAKS]
        self._take(LEVELS[0], at, records, [known[name] for name in rows])
        if at - self._pruned > _PRUNE_EVERY:
            self._pruned = at
            prune(self._folder, at, self._most)

    def _take(self, level: Level, at: float, records: npt.NDArray[Any], containers: Sequence[Known]) -> None:
        """Write records of a level, and give them to the next one."""
        if len(records):
            self._chunk(level, at).add(records, containers)
        place = LEVELS.index(level) + 1
        if place < len(LEVELS):
            self._sum(LEVELS[place], at, records, containers)

    def _sum(self, level: Level, at: float, records: npt.NDArray[Any], containers: Sequence[Known]) -> None:
        """Take records of the level before; when a later stretch of this one begins, write the one before."""
        waiting, bucket = self._waiting[level], math.ceil(at / level.seconds)
        before = self._bucket.get(level, bucket)
        if bucket != before and waiting.containers:
            end = float(before * level.seconds)
            self._waiting[level] = _Means()
            self._take(level, end, waiting.records(end), list(waiting.containers.values()))
        self._bucket[level] = bucket
        self._waiting[level].add(records, containers)

    def _chunk(self, level: Level, at: float) -> OpenChunk:
        begin = (math.ceil(at / level.chunk) - 1) * level.chunk  # a record belongs to where its time ended
        chunk = self._open.get(level)
        if chunk is not None and chunk.begin != begin:
            chunk.close()
            chunk = None
        if chunk is None:
            chunk = self._open[level] = OpenChunk(_of(self._folder, level), begin)
        return chunk


class _Means:
    """Means and peaks of some containers' records so far."""

    def __init__(self) -> None:
        self.containers: dict[str, Known] = {}
        self._places: dict[str, int] = {}
        self._sums = np.zeros((0, len(FIELDS)))
        self._counts = np.zeros((0, len(FIELDS)))
        self._peaks = np.full((0, len(PEAKS)), np.nan, np.float32)

    def add(self, records: npt.NDArray[Any], containers: Sequence[Known]) -> None:
        for each in containers:
            if each.id not in self.containers:
                self._places[each.id] = len(self.containers)
                self.containers[each.id] = each
        more = len(self.containers) - len(self._sums)
        if more:
            self._sums = np.concatenate([self._sums, np.zeros((more, len(FIELDS)))])
            self._counts = np.concatenate([self._counts, np.zeros((more, len(FIELDS)))])
            self._peaks = np.concatenate([self._peaks, np.full((more, len(PEAKS)), np.nan, np.float32)])
        places = [self._places[each.id] for each in containers]
        known = np.isfinite(records["values"])
        self._sums[places] += np.where(known, records["values"], 0.0)
        self._counts[places] += known
        self._peaks[places] = np.fmax(self._peaks[places], records["peaks"])

    def records(self, end: float) -> npt.NDArray[Any]:
        made = np.empty(len(self.containers), RECORD)
        made["at"] = end
        made["values"] = np.where(self._counts > 0, self._sums / np.maximum(self._counts, 1.0), np.nan)
        made["peaks"] = self._peaks
        return made


def prune(folder: Path, now: float, most: float = math.inf) -> None:
    """Remove what is older than it is kept, and beyond `most` bytes the oldest of the finest."""
    left: list[Path] = []
    for level in LEVELS:
        for begin, path in begins(_of(folder, level)).items():
            if path.suffix == ".open":
                continue  # it is packed before it is removed
            if now - (begin + level.chunk) > level.kept:
                path.unlink(missing_ok=True)
            else:
                left.append(path)
    taken = size(folder)
    for path in left:
        if taken <= most:
            return
        taken -= path.stat().st_size
        path.unlink(missing_ok=True)


def size(folder: Path) -> int:
    """Bytes that an engine's history takes."""
    return sum(path.stat().st_size for level in LEVELS for path in _files(_of(folder, level)))


def _files(folder: Path) -> list[Path]:
    return list(folder.iterdir()) if folder.is_dir() else []


def _of(folder: Path, level: Level) -> Path:
    return folder / str(level.seconds)
