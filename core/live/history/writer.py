"""Writing the history: a sample per second, coarser levels from those, and the removal of old chunks."""

from __future__ import annotations

import errno
import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow.parquet as pq

from core.live.history.chunks import (
    FINEST,
    HOST,
    LEVELS,
    PEAKS,
    RAW,
    SAMPLE,
    SUMMARY,
    TAIL,
    OpenChunk,
    bytes_of,
    chunks_of,
    convert_earlier,
    level_folder,
    pack,
    remove,
    size,
    unpack,
    write_packed,
)
from core.sampling.values import FIELDS, TOTALS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    import numpy.typing as npt

    from core.live.history.chunks import Level, RecordedContainer, Span


_PEAKS = [FIELDS.index(name) for name in PEAKS]


class HistoryWriter:
    """Takes samples as they come; one process writes an engine's history at a time.

    Without `remembers` only the finest level is written, and kept for `TAIL` seconds. `pins` returns the
    spans that keep every second; `max_bytes` limits the size of the history beside these.
    """

    def __init__(
        self,
        folder: Path,
        max_bytes: float = math.inf,
        *,
        remembers: bool = True,
        pins: Callable[[], Sequence[Span]] = tuple,
    ) -> None:
        self._folder, self._max_bytes, self._remembers, self._pins = folder, max_bytes, remembers, pins
        self._levels = LEVELS if remembers else LEVELS[:1]
        self._open: dict[Level, OpenChunk] = {}
        self._waiting = {level: _Means() for level in self._levels[1:]}
        self._step: dict[Level, int] = {}
        for level in LEVELS:
            convert_earlier(level_folder(folder, level))

    def add(
        self, at: float, rows: Mapping[str, Sequence[float]], containers: Mapping[str, RecordedContainer]
    ) -> None:
        """Take one sample: values of `FIELDS` by container, and last those of the host (`TOTALS`)."""
        records = np.empty(len(rows), SAMPLE)
        if rows:
            records["at"] = at
            records["values"] = list(rows.values())
        sampled = [HOST if name == TOTALS else containers[name] for name in rows]
        self._write(FINEST, at, records, sampled)
        if sampled and sampled[-1] is HOST:
            records, sampled = records[:-1], sampled[:-1]
        self._add_to_coarser(FINEST, at, records, sampled)

    def _write(
        self, level: Level, at: float, records: npt.NDArray[Any], containers: Sequence[RecordedContainer]
    ) -> None:
        """Append records of a level; on a full disk the oldest of the past makes room."""
        if not len(records):
            return
        try:
            self._open_chunk(level, at).add(records, containers)
        except OSError as error:
            if error.errno not in (errno.ENOSPC, errno.EDQUOT) or not self._drop_oldest():
                raise
            self._open_chunk(level, at).add(records, containers)

    def _drop_oldest(self) -> bool:
        removable = _removable_chunks(self._folder, self._pins())
        for path in removable[:1]:
            remove(path)
        return bool(removable)

    def _add_to_coarser(
        self, level: Level, at: float, records: npt.NDArray[Any], containers: Sequence[RecordedContainer]
    ) -> None:
        """Add to the next level's means; where a later step begins, write the one before."""
        place = self._levels.index(level) + 1
        if place == len(self._levels):
            return
        coarser = self._levels[place]
        waiting, step = self._waiting[coarser], math.ceil(at / coarser.seconds)
        before = self._step.get(coarser, step)
        if step != before and waiting.containers:
            end = float(before * coarser.seconds)
            self._waiting[coarser] = _Means()
            summary, summed = waiting.records(end), list(waiting.containers.values())
            self._write(coarser, end, summary, summed)
            self._add_to_coarser(coarser, end, summary, summed)
        self._step[coarser] = step
        self._waiting[coarser].add(records, containers)

    def _open_chunk(self, level: Level, at: float) -> OpenChunk:
        begin = (math.ceil(at / level.chunk) - 1) * level.chunk  # a record belongs to where its step ended
        chunk = self._open.get(level)
        if chunk is None or chunk.begin != begin:
            if level is FINEST:
                finest = FINEST.retention if self._remembers else TAIL
                # a clock that jumps ahead must not make everything old: the next chunk shows whether it stays
                last = max(chunks_of(self._folder, FINEST), default=begin) if chunk is None else chunk.begin
                now = min(at, last + 2.0 * FINEST.chunk)
                prune(self._folder, now, self._max_bytes, self._pins(), finest)
            for other, path in chunks_of(self._folder, level).items():
                if path.suffix == RAW and other < begin and begin - (other + level.chunk) >= level.raw_for:
                    pack(path)
            unpack(level_folder(self._folder, level), begin)
            chunk = self._open[level] = OpenChunk(level_folder(self._folder, level), begin)
        return chunk


class _Means:
    """Means and peaks of some containers' records so far."""

    def __init__(self) -> None:
        self.containers: dict[str, RecordedContainer] = {}
        self._places: dict[str, int] = {}
        self._sums = np.zeros((0, len(FIELDS)))
        self._counts = np.zeros((0, len(FIELDS)))
        self._peaks = np.full((0, len(PEAKS)), np.nan, np.float32)

    def add(self, records: npt.NDArray[Any], containers: Sequence[RecordedContainer]) -> None:
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
        finite = np.isfinite(records["values"])
        self._sums[places] += np.where(finite, records["values"], 0.0)
        self._counts[places] += finite
        peaks = records["peaks"] if records.dtype == SUMMARY else records["values"][:, _PEAKS]
        self._peaks[places] = np.fmax(self._peaks[places], peaks)

    def records(self, end: float) -> npt.NDArray[Any]:
        means = np.empty(len(self.containers), SUMMARY)
        means["at"] = end
        means["values"] = np.where(self._counts > 0, self._sums / np.maximum(self._counts, 1.0), np.nan)
        means["peaks"] = self._peaks
        return means


# Retention: a chunk goes when it is older than its level keeps it, or when the history takes too many bytes;
# what a pin needs stays, but only of the containers that it names.


def prune(
    folder: Path,
    now: float,
    max_bytes: float = math.inf,
    pins: Sequence[Span] = (),
    finest: float = FINEST.retention,
) -> None:
    """Remove expired chunks, and beyond `max_bytes` the oldest of the finest level."""
    pinned = 0
    for level, begin, path in _finished_chunks(folder):
        expired = now - (begin + level.chunk) > (finest if level is FINEST else level.retention)
        needed = _pins_of_chunk(level, begin, pins)
        if expired and not needed:
            remove(path)
        elif expired and path.suffix == ".parquet":
            _keep_only(path, needed)
        pinned += bytes_of(path) if needed else 0
    total = size(folder) - pinned
    for path in _removable_chunks(folder, pins):
        if total <= max_bytes:
            return
        total -= bytes_of(path)
        remove(path)


def _finished_chunks(folder: Path) -> list[tuple[Level, int, Path]]:
    """Return all chunks except the open ones, the least valuable first."""
    return [(level, *item) for level in LEVELS for item in list(chunks_of(folder, level).items())[:-1]]


def _removable_chunks(folder: Path, pins: Sequence[Span]) -> list[Path]:
    return [path for level, begin, path in _finished_chunks(folder) if not _pins_of_chunk(level, begin, pins)]


def _pins_of_chunk(level: Level, begin: int, pins: Iterable[Span]) -> list[Span]:
    """Return the pins that need a chunk."""
    return [pin for pin in pins if level is FINEST and pin.start <= begin + level.chunk and begin <= pin.end]


def _keep_only(path: Path, pins: Sequence[Span]) -> None:
    """Leave in a packed chunk only the containers that pins name; it is rewritten once."""
    if any(pin.containers is None for pin in pins):
        return
    ids = sorted({name for pin in pins for name in pin.containers or ()})
    mark = {"only": " ".join(ids)}
    if (pq.read_schema(path).metadata or {}).get(b"only") == mark["only"].encode():
        return
    table = pq.read_table(path, filters=[("container", "in", ids)])
    write_packed(path, table.replace_schema_metadata(mark))
