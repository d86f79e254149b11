"""Stored trace sets: a folder, written once and then only read."""

from __future__ import annotations

import json
import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from core.errors import ConflictError, InputError, NotFoundError
from core.traces.model import (
    Feature,
    FloatArray,
    IntArray,
    Resampling,
    Role,
    TraceSet,
    column_digest,
    combine,
    summarise,
)
from core.traces.validation import Report
from core.units import Unit

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    import pandas as pd

    from core.traces.model import IntArray


FORMAT = 1
INFO, REPORT, SAMPLES, EXECUTIONS, BREAKS = (
    "info.json", "report.json", "samples.parquet", "executions.parquet", "breaks.npy",
)  # fmt: skip
START, GROUP = "first_sample", "row_group"
SUMMARY_COLUMNS = frozenset(
    ("execution", "samples", "start_s", "duration_s", "gaps", "cpu_mean", "cpu_peak", "memory_mean",
     "memory_peak", START, GROUP)
)  # fmt: skip


def attribute_column(key: str) -> str:
    """Return the column of an attribute in the table of executions."""
    return f"{key} (attribute)" if key in SUMMARY_COLUMNS else key


@dataclass(frozen=True, slots=True)
class StoredInfo:
    """The description of a stored set, without its samples."""

    features: tuple[Feature, ...]
    attributes: tuple[str, ...]
    period: float
    resampling: Resampling
    n_executions: int
    n_samples: int
    fingerprint: str


def features_to_json(features: tuple[Feature, ...]) -> list[list[str]]:
    """Return features as JSON values."""
    return [[one.name, one.role.value, one.unit.value] for one in features]


def features_from_json(values: list[list[str]]) -> tuple[Feature, ...]:
    """Return the features that `features_to_json` wrote."""
    return tuple(Feature(name, Role(role), Unit(unit)) for name, role, unit in values)


def info_to_dict(info: StoredInfo) -> dict[str, Any]:
    """Return the description as a JSON object."""
    return {
        "format": FORMAT,
        "features": features_to_json(info.features),
        "attributes": list(info.attributes),
        "period": info.period,
        "resampling": info.resampling.value,
        "n_executions": info.n_executions,
        "n_samples": info.n_samples,
        "fingerprint": info.fingerprint,
    }


def info_from_dict(data: dict[str, Any]) -> StoredInfo:
    """Return the description that `info_to_dict` wrote."""
    return StoredInfo(
        features=features_from_json(data["features"]),
        attributes=tuple(data["attributes"]),
        period=float(data["period"]),
        resampling=Resampling(data["resampling"]),
        n_executions=int(data["n_executions"]),
        n_samples=int(data["n_samples"]),
        fingerprint=str(data["fingerprint"]),
    )


def open_trace_set(directory: Path) -> StoredTraces:
    """Open a stored trace set; reads only its description.

    Raises NotFoundError if the directory holds no complete trace set; InputError if a newer version wrote it,
    or it is damaged.
    """
    try:
        data = json.loads((directory / INFO).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise NotFoundError("This trace set is no longer stored.", "Import it again.") from None
    except (OSError, ValueError):
        raise InputError("The description of this trace set is damaged.", "Import it again.") from None
    if data.get("format") != FORMAT:
        raise InputError(
            f"This trace set is stored in format {data.get('format')}.", "Open it with a newer PhaseDock."
        )
    return StoredTraces(directory, info_from_dict(data))


@dataclass(frozen=True)
class StoredTraces:
    """A stored trace set; its small parts are cached once read."""

    directory: Path
    info: StoredInfo

    @property
    def fingerprint(self) -> str:
        """The fingerprint of the content (see `core.traces.model`)."""
        return self.info.fingerprint

    def report(self) -> Report:
        """Return the report of the import."""
        return Report.from_dict(json.loads((self.directory / REPORT).read_text(encoding="utf-8")))

    def summary(self) -> pd.DataFrame:
        """Return the table of executions (see `core.traces.model.summarise`)."""
        table: pd.DataFrame = pq.read_table(self.directory / EXECUTIONS).to_pandas()
        return table.drop(columns=[START, GROUP])

    def load(self) -> TraceSet:
        """Return the whole set.

        Raises InputError if its files are damaged.
        """
        ids, starts, _ = self._index
        try:
            with pq.ParquetFile(self.directory / SAMPLES, metadata=self._footer) as file:
                columns = _read_columns(file)
        except (pa.ArrowException, OSError) as error:
            raise _damaged(error) from None
        attributes = self._attributes(slice(None))
        offsets = np.append(starts, self.info.n_samples)
        return self._traces(columns, ids, offsets, self._breaks, attributes)

    def load_execution(self, name: str) -> TraceSet:
        """Return one execution as a trace set; reads only its row group.

        Raises NotFoundError if the set has no such execution; InputError if its files are damaged.
        """
        ids, starts, groups = self._index
        position = self._positions.get(name)
        if position is None:
            raise NotFoundError(
                f"There is no execution called “{name}” in this trace set.",
                "Choose one from the list of executions.",
            )
        start = int(starts[position])
        end = int(starts[position + 1]) if position + 1 < len(ids) else self.info.n_samples
        group = int(groups[position])
        first = int(starts[np.searchsorted(groups, group)])
        try:
            with pq.ParquetFile(self.directory / SAMPLES, metadata=self._footer) as file:
                table = file.read_row_group(group, use_threads=False)
        except (pa.ArrowException, OSError) as error:
            raise _damaged(error) from None
        breaks = self._breaks[(self._breaks > start) & (self._breaks < end)] - start
        part = [column.to_numpy() for column in table.slice(start - first, end - start).columns]
        one = slice(position, position + 1)
        offsets = np.array([0, end - start], dtype=np.int64)
        return self._traces(part, (name,), offsets, breaks, self._attributes(one))

    @cached_property
    def _index(self) -> tuple[tuple[str, ...], IntArray, IntArray]:
        table = pq.read_table(self.directory / EXECUTIONS, columns=["execution", START, GROUP])
        ids = tuple(table.column("execution").to_pylist())
        return ids, table.column(START).to_numpy(), table.column(GROUP).to_numpy()

    @cached_property
    def _positions(self) -> dict[str, int]:
        return {name: i for i, name in enumerate(self._index[0])}

    @cached_property
    def _breaks(self) -> IntArray:
        breaks: IntArray = np.load(self.directory / BREAKS, allow_pickle=False)
        return breaks

    @cached_property
    def _footer(self) -> pq.FileMetaData:
        # the footer is kept and the file is not: an open reader serves one thread only
        return pq.read_metadata(self.directory / SAMPLES)

    @cached_property
    def _attribute_table(self) -> dict[str, list[str]]:
        names = [attribute_column(key) for key in self.info.attributes]
        table = pq.read_table(self.directory / EXECUTIONS, columns=names)
        return {key: table.column(attribute_column(key)).to_pylist() for key in self.info.attributes}

    def _attributes(self, part: slice) -> dict[str, list[str]]:
        if not self.info.attributes:
            return {}
        return {key: values[part] for key, values in self._attribute_table.items()}

    def _traces(
        self,
        columns: Sequence[FloatArray],
        ids: tuple[str, ...],
        offsets: IntArray,
        breaks: IntArray,
        attributes: dict[str, list[str]],
    ) -> TraceSet:
        return TraceSet(
            features=self.info.features,
            columns=tuple(columns[1:]),
            time=columns[0],
            ids=ids,
            offsets=offsets,
            period=self.info.period,
            breaks=breaks,
            resampling=self.info.resampling,
            attributes=attributes,
        )


def _read_columns(file: pq.ParquetFile) -> list[FloatArray]:
    """Return all columns, read row group by row group into their final place.

    Reading a single table would need twice the memory, and touching new memory takes most of the time.
    """
    columns = [np.empty(file.metadata.num_rows) for _ in file.schema_arrow]
    at = 0
    for number in range(file.metadata.num_row_groups):
        group = file.read_row_group(number)
        for column, values in zip(columns, group.columns, strict=True):
            column[at : at + group.num_rows] = values.to_numpy()
        at += group.num_rows
    return columns


def _damaged(error: Exception) -> InputError:
    reason = str(error).splitlines()[0][:120]
    return InputError(f"This stored trace set is damaged: {reason}.", "Import its file again.")


GROUP_ROWS = 16_384


def write_trace_set(
    directory: Path,
    traces: TraceSet,
    report: Report | None = None,
    summary: pd.DataFrame | None = None,
    progress: Callable[[float, str], None] | None = None,
    *,
    durable: bool = False,
) -> StoredInfo:
    """Write a trace set into an empty directory.

    Raises ConflictError if the directory is not empty.
    """
    directory.mkdir(parents=True, exist_ok=True)
    if any(directory.iterdir()):
        raise ConflictError(f"The folder “{directory.name}” is not empty.", "Choose a new folder.")
    bounds = _group_bounds(traces.offsets)
    with ThreadPoolExecutor(2) as pool:
        table = pool.submit(lambda: summarise(traces) if summary is None else summary)
        digests = [pool.submit(column_digest, values) for values in (*traces.columns, traces.time)]
        _write_samples(directory / SAMPLES, traces, bounds, progress)
        _write_executions(directory / EXECUTIONS, traces, bounds, table.result())
        mark = combine(traces, [one.result() for one in digests])
    np.save(directory / BREAKS, np.asarray(traces.breaks, dtype=np.int64), allow_pickle=False)
    _write_json(directory / REPORT, (report or Report()).to_dict())
    info = StoredInfo(
        traces.features,
        tuple(traces.attributes),
        traces.period,
        traces.resampling,
        traces.n_executions,
        traces.n_samples,
        mark,
    )
    _write_json(directory / INFO, info_to_dict(info))
    if durable:
        _sync(directory)
    return info


def _group_bounds(offsets: IntArray) -> IntArray:
    """Bounds of the row groups: whole executions, about `GROUP_ROWS` samples each."""
    if len(offsets) < 2:
        return np.zeros(1, dtype=np.int64)
    groups = offsets[:-1] // GROUP_ROWS
    firsts = np.flatnonzero(np.diff(groups, prepend=-1))
    return np.append(offsets[firsts], offsets[-1])


def _write_samples(
    path: Path, traces: TraceSet, bounds: IntArray, progress: Callable[[float, str], None] | None
) -> None:
    columns = [traces.time, *traces.columns]
    # columns are stored by position: a feature may have any name, even "time"
    table = pa.table({str(i): values for i, values in enumerate(columns)})
    with pq.ParquetWriter(
        path,
        table.schema,
        compression="lz4",
        use_dictionary=False,
        write_statistics=False,
        store_schema=False,
        write_batch_size=4 * GROUP_ROWS,
        data_page_size=2**24,  # a column of a group is one page
    ) as writer:
        for start, end in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
            writer.write_table(table.slice(start, end - start), row_group_size=max(end - start, 1))
            if progress is not None:
                progress(end / traces.n_samples, f"Storing {end:,} of {traces.n_samples:,} samples")


def _write_executions(path: Path, traces: TraceSet, bounds: IntArray, summary: pd.DataFrame) -> None:
    starts = traces.offsets[:-1]
    table = summary.assign(**{START: starts, GROUP: np.searchsorted(bounds, starts, side="right") - 1})
    pq.write_table(pa.Table.from_pandas(table, preserve_index=False), path, compression="lz4")


def _write_json(path: Path, data: dict[str, Any]) -> None:
    path.write_text(json.dumps(data, ensure_ascii=False, indent=1), encoding="utf-8")


def _sync(directory: Path) -> None:
    for path in (*directory.iterdir(), directory):
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
