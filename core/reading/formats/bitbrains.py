"""Bitbrains GWA-T-12 and Materna GWA-T-13: one file per virtual machine, with units in the columns' names.

The reader of such files adds the usage in cores, each row's percentage of the cores that the row names;
without it the usage stays a share of the machine.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from core.reading.formats.base import Format, Source
from core.reading.formats.csv import CsvSource
from core.reading.known_tables import BITBRAINS
from core.reading.mapping import MappedColumn
from core.reading.numbers import parse_number
from core.reading.tool_facts import TableHead

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from core.reading.formats.base import FileStart
    from core.reading.mapping import ColumnMapping
    from core.reading.numbers import NumberStyle
    from core.reading.table import RawTable
    from core.traces.model import FloatArray


PERCENT, CORES, USED = "CPU usage [%]", "CPU cores", "CPU usage [cores]"


@dataclass(frozen=True, kw_only=True)
class BitbrainsSource(Source):
    """A table of a virtual machine with its usage in cores as the last column."""

    source: CsvSource

    @classmethod
    def of(cls, source: CsvSource) -> BitbrainsSource:
        """Add the usage to the first rows; those of another width stay as they are."""
        width, style = len(source.header), source.head.style
        percent, cores = map(source.header.index, (PERCENT, CORES))
        rows = (
            (*row, _format_cores(row[percent], row[cores], style)) if len(row) == width else row
            for row in source.rows
        )
        return cls(
            path=source.path,
            header=(*source.header, USED),
            rows=tuple(rows),
            n_rows=source.n_rows,
            problems=source.problems,
            source=source,
        )

    def read(self, mapping: ColumnMapping, progress: Callable[[float, str], None] | None = None) -> RawTable:
        """Read the mapped columns."""
        return _with_cores(self.source.read(_with_source_columns(mapping), progress), mapping)


def _format_cores(percent: str, cores: str, style: NumberStyle) -> str:
    """Return the usage in cores as a cell of the table."""
    percent_number, core_number = parse_number(percent, style), parse_number(cores, style)
    if percent_number is None or core_number is None:
        return ""
    if core_number.value <= 0 and percent_number.value != 0:
        return ""  # as `_compute_cores`
    return f"{percent_number.value / 100 * core_number.value:.6g}".replace(".", style.decimal)


def _compute_cores(percent: FloatArray, cores: FloatArray) -> FloatArray:
    """Return the usage in cores, shape (n,); NaN for a busy machine without cores."""
    return np.where((cores > 0) | (percent == 0), percent / 100 * cores, np.nan)


def _with_source_columns(mapping: ColumnMapping) -> ColumnMapping:
    """Return the mapping of the file's own columns, with those to compute the usage in cores."""
    names = [one.column for one in mapping.features]
    if USED not in names:
        return mapping
    missing = tuple(MappedColumn(name) for name in (PERCENT, CORES) if name not in names)
    return replace(
        mapping, features=(*(one for one in mapping.features if one.column != USED), *missing), assumed=()
    )


def _with_cores(raw: RawTable, mapping: ColumnMapping) -> RawTable:
    """Return the columns of a mapping from those of the file."""
    names = [one.column for one in _with_source_columns(mapping).features]
    columns = dict(zip(names, raw.columns, strict=True))
    flawed = dict(raw.flawed)
    if USED in mapping.columns:
        columns[USED] = _compute_cores(columns[PERCENT], columns[CORES])
        flawed[USED] = _merge_positions([flawed[name] for name in (PERCENT, CORES) if name in flawed])
    return replace(raw, columns=[columns[one.column] for one in mapping.features], flawed=flawed)


def _merge_positions(cells: Sequence[np.ndarray]) -> np.ndarray:
    return np.unique(np.concatenate([np.empty(0, dtype=np.int64), *cells]))


def _is_bitbrains(start: FileStart) -> bool:
    source = start.open_once(CsvSource.open)
    head = TableHead(source.header, source.rows)
    return USED not in source.header and BITBRAINS.map_columns(head) is not None


FORMATS = (
    Format(
        "bitbrains",
        "CSV (also gzipped)",
        (".csv", ".gz"),
        lambda start: BitbrainsSource.of(start.open_once(CsvSource.open)),
        r".*CPU cores",
        _is_bitbrains,
    ),
)
