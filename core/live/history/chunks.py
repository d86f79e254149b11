"""Chunks of the history: the files that samples lie in, at three resolutions.

A *level* has a record for each container and step: a second, ten seconds or a minute. The records of a fixed
time are a *chunk*. While its time lasts a chunk is *raw*: records of fixed size in one file, and a line for
each container in another. Then it is *packed* into a Parquet file that is sorted by container, so that one
container of many is read without the others. The chunk of the finest level before the open one stays raw as
well: the last ten minutes, which pages and policies read every second, are never unpacked.

A sample is appended with one write and ends with the record of the whole host. A killed process therefore
loses at most the sample that it was writing; bytes after the last whole record are overwritten.
"""

from __future__ import annotations

import math
import os
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.parquet as pq

from core.sampling.values import FIELDS, TOTALS
from core.workspace.files import new_id

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from pathlib import Path

    import numpy.typing as npt


HOUR, DAY = 3600.0, 86_400.0
PEAKS = ("cpu", "memory")
"""Of `FIELDS`, those whose largest value is stored beside the mean."""
TAIL = 600.0
"""Seconds before the newest sample that can be read of every engine, whether its history is kept or not."""


class Level(NamedTuple):
    """One resolution."""

    #: Seconds between two records of a container.
    seconds: int
    #: Seconds for which records are kept at least.
    retention: float
    #: Seconds in one chunk.
    chunk: int
    #: Seconds for which a chunk stays raw after its end.
    raw_for: float = 0.0


LEVELS = (Level(1, HOUR, 600, TAIL), Level(10, DAY, 7200), Level(60, 30 * DAY, 86_400))
"""Finest first; each is made of the one before."""
FINEST = LEVELS[0]

SAMPLE: np.dtype[Any] = np.dtype([("container", "<i4"), ("at", "<f8"), ("values", "<f4", (len(FIELDS),))])
"""A record of the finest level: the container's line, when its second ended, and `FIELDS` (NaN: unknown)."""
SUMMARY: np.dtype[Any] = np.dtype(
    [("container", "<i4"), ("at", "<f8"), ("values", "<f4", (len(FIELDS),)), ("peaks", "<f4", (len(PEAKS),))]
)
"""A record of a coarser level: means of `FIELDS`, and maxima of `PEAKS`."""
_PEAKS = [FIELDS.index(name) for name in PEAKS]

_EARLIER_SAMPLE: np.dtype[Any] = np.dtype([("container", "<i4"), ("at", "<f8"), ("values", "<f4", (12,))])
_EARLIER_SUMMARY: np.dtype[Any] = np.dtype([*_EARLIER_SAMPLE.descr, ("peaks", "<f4", (2,))])
"""Raw records of the version before this one: the first twelve of `FIELDS`."""
RAW = ".samples"
"""The suffix of a raw chunk."""
_EARLIER_RAW = ".raw"
_SUFFIXES = (_EARLIER_RAW, RAW, ".parquet")
"""Of a chunk of the version before this one, of a raw one and of a packed one; a later one is preferred."""

_MAX_RECORDS = 10_000
_ROWS_OF_A_GROUP = 4096
_BLOCK = 4096


class RecordedContainer(NamedTuple):
    """A container: its id, its name and its image."""

    id: str
    name: str
    image: str = ""


HOST = RecordedContainer(TOTALS, "")
"""In place of a container, in raw chunks of the finest level: sums over all, beside the size of the host."""


class Stretch(NamedTuple):
    """Records of one container, oldest first."""

    #: Which one.
    container: RecordedContainer
    #: Seconds since 1970 at which each record's step ended, shape (n,).
    time: npt.NDArray[np.float64]
    #: Means of `FIELDS`, shape (n, len(FIELDS)).
    values: npt.NDArray[np.float32]
    #: Maxima of `PEAKS`, shape (n, len(PEAKS)).
    peaks: npt.NDArray[np.float32]


class Span(NamedTuple):
    """A time that is needed second by second, for some containers or for all (None)."""

    start: float
    end: float
    containers: frozenset[str] | None = None


def level_for(start: float, end: float, now: float) -> Level:
    """Return the finest level that covers a stretch of time, in at most some thousands of records."""
    complete = [each for each in LEVELS if now - start <= each.retention + each.chunk / 2]
    short = [each for each in complete if (end - start) / each.seconds <= _MAX_RECORDS]
    return (short or complete or [LEVELS[-1]])[0]


def level_folder(folder: Path, level: Level) -> Path:
    """Return the folder of a level within an engine's history."""
    return folder / str(level.seconds)


def chunks_of(folder: Path, level: Level) -> dict[int, Path]:
    """Return the chunks of a level by begin; the packed form of one that is just being packed."""
    level_dir, chunks = level_folder(folder, level), {}
    if level_dir.is_dir():
        paths = [path for path in level_dir.iterdir() if path.suffix in _SUFFIXES and path.stem.isdecimal()]
        for path in sorted(paths, key=lambda each: _SUFFIXES.index(each.suffix)):
            chunks[int(path.stem)] = path
    return dict(sorted(chunks.items()))


def read(path: Path, ids: Collection[str] | None, since: float = -math.inf) -> list[Stretch]:
    """Return the records of some containers in a chunk, or of all; none if it has just been removed.

    Records before `since` may be left out.
    """
    if path.suffix != ".parquet":
        stretches = _read_raw(path, ids, since)
        packed = path.with_suffix(".parquet")
        return stretches if stretches or not packed.exists() else read(packed, ids)
    try:
        with pq.ParquetFile(path) as file:
            groups = [at for at in range(file.num_row_groups) if ids is None or _may_have(file, at, ids)]
            stretches = _unpack(file.read_row_groups(groups, use_threads=False))
    except FileNotFoundError:
        return []
    return [each for each in stretches if ids is None or each.container.id in ids]


def _may_have(file: pq.ParquetFile, group: int, ids: Collection[str]) -> bool:
    """Whether a row group may have rows of one of some containers; rows are sorted by container."""
    statistics = file.metadata.row_group(group).column(0).statistics
    return statistics is None or any(statistics.min <= each <= statistics.max for each in ids)


def raw_records(path: Path, since: float = -math.inf) -> tuple[npt.NDArray[Any], list[RecordedContainer]]:
    """Return the whole records of a raw chunk and their containers; none if it was removed."""
    kind = _record_type(path)
    try:
        with path.open("rb") as file:
            count = file.seek(0, os.SEEK_END) // kind.itemsize
            first = count
            while first > 0:  # blocks from the end, so that the last seconds cost the same in a long chunk
                first = max(0, first - _BLOCK)
                file.seek(first * kind.itemsize)
                if first > 0 and np.fromfile(file, kind, 1)["at"][0] < since:
                    break
            file.seek(first * kind.itemsize)
            records = np.fromfile(file, kind, count - first)
    except (FileNotFoundError, IndexError):
        return np.empty(0, kind), []
    containers = _read_containers(path.with_suffix(".names"))
    records = records[(records["at"] >= since) & (records["container"] < len(containers))]
    return records, containers


def newest_moment(path: Path) -> float:
    """Return the end of a chunk's newest record; minus infinity without records."""
    if path.suffix == ".parquet":
        return max((float(each.time[-1]) for each in read(path, None)), default=-math.inf)
    kind = _record_type(path)
    try:
        with path.open("rb") as file:
            count = file.seek(0, os.SEEK_END) // kind.itemsize
            file.seek(max(count - 1, 0) * kind.itemsize)
            return float(np.fromfile(file, kind, 1)["at"][0])
    except (FileNotFoundError, IndexError):
        return -math.inf


def _record_type(path: Path) -> np.dtype[Any]:
    is_finest = path.parent.name == str(FINEST.seconds)
    if path.suffix == _EARLIER_RAW:
        return _EARLIER_SAMPLE if is_finest else _EARLIER_SUMMARY
    return SAMPLE if is_finest else SUMMARY


def _read_raw(path: Path, ids: Collection[str] | None, since: float) -> list[Stretch]:
    records, containers = raw_records(path, since)
    order = np.argsort(records["container"], kind="stable")
    places, firsts = np.unique(records["container"][order], return_index=True)
    stretches = []
    for place, rows in zip(places.tolist(), np.split(order, firsts[1:]), strict=len(places) > 0):
        container = containers[place]
        if container != HOST if ids is None else container.id in ids:
            stretches.append(_make_stretch(container, records[rows]))
    return stretches


def _make_stretch(container: RecordedContainer, records: npt.NDArray[Any]) -> Stretch:
    values = _pad_fields(np.ascontiguousarray(records["values"]))
    peaks = records["peaks"] if "peaks" in (records.dtype.names or ()) else values[:, _PEAKS]
    return Stretch(container, np.ascontiguousarray(records["at"]), values, np.ascontiguousarray(peaks))


def _pad_fields(values: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """Values of an earlier version, with NaN for the fields that it did not have."""
    missing = len(FIELDS) - values.shape[1]
    return np.pad(values, ((0, 0), (0, missing)), constant_values=np.nan) if missing else values


def _read_containers(path: Path) -> list[RecordedContainer]:
    try:
        text = path.read_bytes()
    except FileNotFoundError:
        return []
    return [RecordedContainer(*orjson.loads(line)) for line in text[: _end_of_whole_lines(text)].splitlines()]


def _end_of_whole_lines(text: bytes) -> int:
    return text.rfind(b"\n") + 1


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


class OpenChunk:
    """A raw chunk that is written to; one process writes at a time."""

    def __init__(self, folder: Path, begin: int) -> None:
        self.begin = begin
        self._records, self._names = folder / f"{begin}{RAW}", folder / f"{begin}.names"
        folder.mkdir(parents=True, exist_ok=True)
        for path in (self._records, self._names):
            path.touch()
        self._places = {each.id: place for place, each in enumerate(_read_containers(self._names))}
        os.truncate(self._names, _end_of_whole_lines(self._names.read_bytes()))
        self._kind = _record_type(self._records)
        records = np.fromfile(self._records, self._kind, self._records.stat().st_size // self._kind.itemsize)
        there = records["container"] < len(self._places)
        # a name is written before its records, so records without one are what a full disk left
        count = len(there) if there.all() else int(there.argmin())
        os.truncate(self._records, count * self._kind.itemsize)

    def add(self, records: npt.NDArray[Any], containers: Sequence[RecordedContainer]) -> None:
        """Append records, whose ``container`` is filled in: the n-th is of the n-th container."""
        new = list({each.id: each for each in containers if each.id not in self._places}.values())
        if new:
            _append(self._names, b"".join(orjson.dumps(list(each)) + b"\n" for each in new))
            for each in new:
                self._places[each.id] = len(self._places)
        records["container"] = [self._places[each.id] for each in containers]
        _append(self._records, records.tobytes())


def pack(path: Path) -> None:
    """Make a packed chunk of a raw one; nothing is lost if that is interrupted."""
    stretches = _read_raw(path, None, -math.inf)
    if stretches:
        write_packed(
            path.with_suffix(".parquet"), _build_table(stretches, path.parent.name == str(FINEST.seconds))
        )
    remove(path)


def unpack(folder: Path, begin: int) -> None:
    """Make a packed chunk raw again, if there is one: a clock that was set back writes to it once more.

    Nothing is lost if that is interrupted, because the packed one is removed last.
    """
    packed = folder / f"{begin}.parquet"
    stretches = read(packed, None) if packed.exists() else []
    if not stretches:
        return
    remove(packed.with_suffix(RAW))
    chunk = OpenChunk(folder, begin)
    records = np.concatenate([_raw_records_of(each, _record_type(packed)) for each in stretches])
    containers = [each.container for each in stretches for _ in each.time]
    order = np.argsort(records["at"], kind="stable")
    chunk.add(records[order], [containers[place] for place in order])
    remove(packed)


def _raw_records_of(stretch: Stretch, kind: np.dtype[Any]) -> npt.NDArray[Any]:
    records = np.empty(len(stretch.time), kind)
    records["at"], records["values"] = stretch.time, stretch.values
    if kind == SUMMARY:
        records["peaks"] = stretch.peaks
    return records


def write_packed(path: Path, table: pa.Table) -> None:
    """Write a packed chunk, or replace it, in one step."""
    draft = path.with_name(f".{path.stem}.{new_id()}")
    try:
        pq.write_table(table, draft, compression="zstd", row_group_size=_ROWS_OF_A_GROUP)
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


def remove(path: Path) -> None:
    """Remove a chunk, whatever its form."""
    path.unlink(missing_ok=True)
    if path.suffix != ".parquet":
        path.with_suffix(".names").unlink(missing_ok=True)


def _build_table(stretches: Sequence[Stretch], finest: bool) -> pa.Table:
    ordered = sorted(stretches, key=lambda each: each.container.id)
    counts = [len(each.time) for each in ordered]
    columns: dict[str, Any] = {}
    for name in RecordedContainer._fields:
        texts = np.repeat([getattr(each.container, name) for each in ordered], counts)
        columns["container" if name == "id" else name] = pa.array(texts.tolist()).dictionary_encode()
    columns["at"] = np.concatenate([each.time for each in ordered])
    for place, field in enumerate(FIELDS):
        columns[field] = np.concatenate([each.values[:, place] for each in ordered])
    for place, field in enumerate(() if finest else PEAKS):
        columns[f"{field}_max"] = np.concatenate([each.peaks[:, place] for each in ordered])
    return pa.table(columns)


def _unpack(table: pa.Table) -> list[Stretch]:
    if not table.num_rows:
        return []
    columns: Mapping[str, Any] = {name: table.column(name) for name in table.column_names}
    ids = np.asarray(columns["container"].combine_chunks().dictionary_encode().indices)
    time = columns["at"].to_numpy()
    unknown = np.full(len(time), np.nan, np.float32)
    values = np.column_stack([columns[f].to_numpy() if f in columns else unknown for f in FIELDS])
    maxima = [columns.get(f"{f}_max", columns[f]).to_numpy() for f in PEAKS]
    peaks = np.column_stack(maxima)
    starts = np.flatnonzero(np.concatenate([[True], ids[1:] != ids[:-1]]))
    ends = np.append(starts[1:], len(ids))
    return [
        Stretch(
            RecordedContainer(
                *(columns[name][int(begin)].as_py() for name in ("container", "name", "image"))
            ),
            time[begin:end],
            values[begin:end],
            peaks[begin:end],
        )
        for begin, end in zip(starts.tolist(), ends.tolist(), strict=True)
    ]


def convert_earlier(folder: Path) -> None:
    """Convert raw chunks of the previous version; a killed conversion loses nothing."""
    for path in folder.glob(f"*{_EARLIER_RAW}"):
        raw = path.with_suffix(RAW)
        records, _ = raw_records(path)
        if not raw.exists() and len(records):
            converted = np.empty(len(records), _record_type(raw))
            for name in converted.dtype.names or ():
                converted[name] = _pad_fields(records[name]) if name == "values" else records[name]
            draft = raw.with_name(f".{raw.name}.{new_id()}")
            draft.write_bytes(converted.tobytes())
            draft.replace(raw)
        path.unlink()


def bytes_of(path: Path) -> int:
    """Return the size of a file; 0 if it has just been removed."""
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def size(folder: Path) -> int:
    """Bytes that an engine's history takes."""
    return sum(bytes_of(path) for level in LEVELS for path in level_folder(folder, level).glob("*"))
