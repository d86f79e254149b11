"""Stored trace sets: what one says of itself, and reading all of it, its executions, or a single one."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from core.errors import InputError, NotFoundError
from core.traces.model import Feature, FloatArray, IntArray, Resampling, Role, TraceSet
from core.traces.validation import Report
from core.units import Unit

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import pandas as pd

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
    """The column of the table of executions in which an attribute is kept."""
    return f"{key} (attribute)" if key in SUMMARY_COLUMNS else key


@dataclass(frozen=True, slots=True)
class StoredInfo:
    """What is known of a stored set without reading its samples."""

    features: tuple[Feature, ...]
    attributes: tuple[str, ...]
    period: float
    resampling: Resampling
    n_executions: int
    n_samples: int
    fingerprint: str


def features_to_json(features: tuple[Feature, ...]) -> list[list[str]]:
    """Features as JSON takes them."""
    return [[one.name, one.role.value, one.unit.value] for one in features]


def features_from_json(values: list[list[str]]) -> tuple[Feature, ...]:
    """Features back from JSON."""
    return tuple(Feature(name, Role(role), Unit(unit)) for name, role, unit in values)


def info_to_dict(info: StoredInfo) -> dict[str, Any]:
    """The description as JSON holds it."""
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
    """The description that `info_to_dict` wrote."""
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
    """Open a stored trace set; nothing but its description is read.

    Raises
    ------
    NotFoundError
        If the directory holds no complete trace set.
    InputError
        If it was written by a newer version, or is damaged.
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
        """What was wrong with the file that this set came from."""
        return Report.from_dict(json.loads((self.directory / REPORT).read_text(encoding="utf-8")))

    def summary(self) -> pd.DataFrame:
        """The table of executions (see `core.traces.summary.summarise`)."""
        table: pd.DataFrame = pq.read_table(self.directory / EXECUTIONS).to_pandas()
        return table.drop(columns=[START, GROUP])

    def load(self) -> TraceSet:
        """The whole set.

        Raises
        ------
        InputError
            If its files are damaged.
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
        """One execution as a trace set of its own; reads only its row group.

        Raises
        ------
        NotFoundError
            If the set has no such execution.
        InputError
            If its files are damaged.
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
    """All columns, read row group by row group into their final place.

    A table of everything would take the memory twice, and its first touch is most of the time.
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
