"""One file of the past: appended to while its time lasts, then sorted and packed for good.

An open chunk is two files: records of fixed size, and a line for each container that they are of. What a
kill left behind the last whole record is overwritten. A closed one is a Parquet file sorted by container, so
that of many containers one is read without the others.
"""

from __future__ import annotations

import math
import os
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.parquet as pq

from core.sampling.ring_buffer import FIELDS
from core.workspace.files import new_id

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from pathlib import Path

    import numpy.typing as npt


HOUR, DAY = 3600.0, 86_400.0
PEAKS = ("cpu", "memory")
"""Of `FIELDS`, those whose largest value is kept beside the mean."""


class Level(NamedTuple):
    """One fineness."""

    #: That each record stands for.
    seconds: int
    #: Seconds for which records are kept at least.
    kept: float
    #: Seconds in one file.
    chunk: int


LEVELS = (Level(1, HOUR, 600), Level(10, DAY, 7200), Level(60, 30 * DAY, 86_400))
"""Finest first; each is made of the one before."""

RECORD: np.dtype[Any] = np.dtype(
    [
        ("container", "<i4"),
        ("at", "<f8"),
        ("values", "<f4", (len(FIELDS),)),
        ("peaks", "<f4", (len(PEAKS),)),
    ]
)
"""One container over a level's seconds: when that ended, means of `FIELDS` (NaN: unknown), and maxima."""


def level_for(start: float, end: float, now: float) -> Level:
    """The finest level that has kept all of a stretch of time, in at most some thousands of records."""
    able = [each for each in LEVELS if now - start <= each.kept + each.chunk / 2]
    fine = [each for each in able if (end - start) / each.seconds <= _MOST]
    return (fine or able or [LEVELS[-1]])[0]


_MOST = 10_000


_ROWS_OF_A_GROUP = 4096


class Known(NamedTuple):
    """A container: its id, its name and its image."""

    id: str
    name: str
    image: str


class Stretch(NamedTuple):
    """What was kept of one container, oldest first."""

    #: Which one.
    container: Known
    #: Seconds since 1970 at which each record's time ended, shape (n,).
    time: npt.NDArray[np.float64]
    #: Means of `FIELDS`, shape (n, len(FIELDS)).
    values: npt.NDArray[np.float32]
    #: Maxima of `PEAKS`, shape (n, len(PEAKS)).
    peaks: npt.NDArray[np.float32]


class OpenChunk:
    """A chunk that is written to; one process writes at a time."""

    def __init__(self, folder: Path, begin: int) -> None:
        self.begin = begin
        self._records, self._names = _paths(folder, begin)
        folder.mkdir(parents=True, exist_ok=True)
        for path in (self._records, self._names):
            path.touch()
        self._known = {each.id: place for place, each in enumerate(_known(self._names))}
        os.truncate(self._names, _whole_lines(self._names.read_bytes()))
        records = _read_open(self._records)
        there = records["container"] < len(self._known)
        # a name is written before its records, so records without one are what a full disk left
        os.truncate(self._records, int(there.argmin() if not there.all() else len(there)) * RECORD.itemsize)

    def add(self, records: npt.NDArray[Any], containers: Sequence[Known]) -> None:
        """Append records, whose ``container`` is filled in: the n-th is of the n-th container."""
        new = [each for each in containers if each.id not in self._known]
        if new:
            _append(self._names, b"".join(orjson.dumps(list(each)) + b"\n" for each in new))
            for each in new:
                self._known[each.id] = len(self._known)
        records["container"] = [self._known[each.id] for each in containers]
        _append(self._records, records.tobytes())

    def close(self) -> None:
        """Sort and pack it."""
        pack(self._records.parent, self.begin)


def pack(folder: Path, begin: int) -> None:
    """Make a closed chunk of an open one; nothing is lost if that is interrupted."""
    records, names = _paths(folder, begin)
    found = read_open(folder, begin, None)
    if found:
        draft = folder / f".{begin}.{new_id()}"
        try:
            pq.write_table(_table(found), draft, compression="zstd", row_group_size=_ROWS_OF_A_GROUP)
            draft.replace(folder / f"{begin}.parquet")
        finally:
            draft.unlink(missing_ok=True)
    for path in (records, names):
        path.unlink(missing_ok=True)


def begins(folder: Path) -> dict[int, Path]:
    """The chunks of a level, by when they begin; of one that is just being packed the closed form."""
    found: dict[int, Path] = {}
    if folder.is_dir():
        for path in sorted(folder.iterdir(), key=lambda each: each.suffix == ".parquet"):
            if path.stem.isdecimal() and path.suffix in (".open", ".parquet"):
                found[int(path.stem)] = path
    return dict(sorted(found.items()))


def read(path: Path, ids: Collection[str] | None) -> list[Stretch]:
    """What a chunk has of some containers, or of all; nothing if it has just been removed."""
    if path.suffix == ".open":
        found = read_open(path.parent, int(path.stem), ids)
        closed = path.with_suffix(".parquet")
        return found if found or not closed.exists() else read(closed, ids)
    filters = None if ids is None else [("container", "in", sorted(ids))]
    try:
        table = pq.read_table(path, filters=filters)
    except FileNotFoundError:
        return []
    return _stretches(table)


def read_open(folder: Path, begin: int, ids: Collection[str] | None) -> list[Stretch]:
    """What an open chunk has of some containers, or of all."""
    path, names = _paths(folder, begin)
    known, records = _known(names), _read_open(path)
    found = []
    for place, each in enumerate(known):
        if ids is not None and each.id not in ids:
            continue
        own = records[records["container"] == place]
        if len(own):
            found.append(Stretch(each, own["at"], own["values"], own["peaks"]))
    return found


def _paths(folder: Path, begin: int) -> tuple[Path, Path]:
    return folder / f"{begin}.open", folder / f"{begin}.names"


def _known(names: Path) -> list[Known]:
    try:
        text = names.read_bytes()
    except FileNotFoundError:
        return []
    return [Known(*orjson.loads(line)) for line in text[: _whole_lines(text)].splitlines()]


def _whole_lines(text: bytes) -> int:
    return text.rfind(b"\n") + 1


def _read_open(path: Path) -> npt.NDArray[Any]:
    try:
        return np.fromfile(path, RECORD, path.stat().st_size // RECORD.itemsize)
    except FileNotFoundError:
        return np.empty(0, RECORD)


def _append(path: Path, data: bytes) -> None:
    """Write all of it or nothing."""
    handle = os.open(path, os.O_WRONLY | os.O_APPEND)
    try:
        before = os.fstat(handle).st_size
        try:
            written = 0
            while written < len(data):
                written += os.write(handle, data[written:])
        except BaseException:
            os.ftruncate(handle, before)
            raise
    finally:
        os.close(handle)


def _table(found: Sequence[Stretch]) -> pa.Table:
    ordered = sorted(found, key=lambda each: each.container.id)
    counts = [len(each.time) for each in ordered]
    columns: dict[str, Any] = {}
    for name in Known._fields:
        texts = np.repeat([getattr(each.container, name) for each in ordered], counts)
        columns["container" if name == "id" else name] = pa.array(texts.tolist()).dictionary_encode()
    columns["at"] = np.concatenate([each.time for each in ordered])
    for place, field in enumerate(FIELDS):
        columns[field] = np.concatenate([each.values[:, place] for each in ordered])
    for place, field in enumerate(PEAKS):
        columns[f"{field}_max"] = np.concatenate([each.peaks[:, place] for each in ordered])
    return pa.table(columns)


def _stretches(table: pa.Table) -> list[Stretch]:
    if not table.num_rows:
        return []
    columns: Mapping[str, Any] = {name: table.column(name) for name in table.column_names}
    ids = np.asarray(columns["container"].to_pylist())
    time = columns["at"].to_numpy()
    unknown = np.full(len(time), np.nan, np.float32)
    values = np.column_stack([columns[f].to_numpy() if f in columns else unknown for f in FIELDS])
    peaks = np.column_stack([columns[f"{f}_max"].to_numpy() for f in PEAKS])
    starts = np.flatnonzero(np.concatenate([[True], ids[1:] != ids[:-1]]))
    ends = np.append(starts[1:], len(ids))
    return [
        Stretch(
            Known(str(ids[begin]), columns["name"][int(begin)].as_py(), columns["image"][int(begin)].as_py()),
            time[begin:end],
            values[begin:end],
            peaks[begin:end],
        )
        for begin, end in zip(starts.tolist(), ends.tolist(), strict=True)
    ]


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
