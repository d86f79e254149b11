"""From an Arrow table of mapped columns to a `RawTable`, freeing each column as it is taken over."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from core.traces.mapping import TIME_FACTORS
from core.traces.raw import Coded, RawTable

if TYPE_CHECKING:
    from core.traces.mapping import ColumnMapping
    from core.traces.model import FloatArray


LARGE = 200_000


def columns_of(table: pa.Table) -> dict[str, pa.ChunkedArray]:
    """The columns of a table by name."""
    return dict(zip(table.column_names, table.columns, strict=True))


def raw_from_arrow(
    columns: dict[str, pa.ChunkedArray], mapping: ColumnMapping, name: str, first_row: int
) -> RawTable:
    """Take over the columns of a table, freeing each one once it is converted.

    Parameters
    ----------
    columns
        Features as numbers; execution and attributes as strings or dictionaries; time as numbers or
        timestamps. Left empty.
    mapping
        What the columns are.
    name
        The execution's name where the mapping has no column for it.
    first_row
        The row number of the first row.

    Raises
    ------
    pyarrow.ArrowInvalid
        If a column that should be numbers holds text that is not a number.
    """
    n = len(next(iter(columns.values())))
    coded = {key: coded_column(columns.pop(key)) for key in (mapping.execution, *mapping.attributes) if key}
    time = None
    if mapping.time is not None:
        time = seconds(columns.pop(mapping.time), mapping.time_unit)
    features = tuple(_taken(columns, one.column) for one in mapping.features)
    return RawTable(
        n_rows=n,
        executions=coded[mapping.execution] if mapping.execution else Coded.constant(name, n),
        time=time,
        columns=features,
        attributes=tuple(coded[key] for key in mapping.attributes),
        first_row=first_row,
        rows_read=n,
    )


def _taken(columns: dict[str, pa.ChunkedArray], name: str) -> FloatArray:
    """A column as floats, its old memory freed at once: this is where an import needs most."""
    values = floats(columns.pop(name))
    if len(values) > LARGE:
        pa.default_memory_pool().release_unused()
    return values


def floats(column: pa.ChunkedArray) -> FloatArray:
    """A column as one float array, NaN where it is empty."""
    if not pa.types.is_float64(column.type):
        column = column.cast(pa.float64())
    values: FloatArray = column.to_numpy()
    return values


def seconds(column: pa.ChunkedArray, unit: str) -> FloatArray:
    """A column of times as seconds since 1970 (or from wherever its numbers count)."""
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        if unit != "iso":
            return floats(column) * TIME_FACTORS.get(unit, 1.0)
        column = column.cast(pa.timestamp("us"))
    if pa.types.is_date(column.type):
        column = column.cast(pa.timestamp("us"))
    if pa.types.is_timestamp(column.type):
        ticks = column.cast(pa.timestamp("us", column.type.tz)).cast(pa.int64())
        return floats(ticks) / 1e6
    values = floats(column)
    factor = TIME_FACTORS.get(unit, 1.0)
    return values if factor == 1.0 else values * factor


def coded_column(column: pa.ChunkedArray) -> Coded:
    """A text column as codes and names; empty and blank cells become -1."""
    if not pa.types.is_dictionary(column.type):
        texts = column.cast(pa.string()) if not pa.types.is_string(column.type) else column
        column = texts.dictionary_encode()
    whole = column.unify_dictionaries().combine_chunks()
    if isinstance(whole, pa.ChunkedArray):
        whole = whole.chunk(0) if whole.num_chunks else pa.array([], column.type)
    texts = pc.utf8_trim_whitespace(whole.dictionary.cast(pa.string()))
    codes = whole.indices.fill_null(-1).to_numpy().astype(np.int32, copy=False)
    names = texts.to_pylist()
    if len(set(names)) == len(names) and "" not in names and None not in names:
        return Coded(codes, tuple(names))
    return _merged(codes, names)


def _merged(codes: np.ndarray[tuple[int], np.dtype[np.int32]], names: list[str | None]) -> Coded:
    """Codes of strings that become equal, or empty, once blanks around them are stripped."""
    known: dict[str, int] = {}
    new = [known.setdefault(name, len(known)) if name else -1 for name in names]
    return Coded(np.array([*new, -1], dtype=np.int32)[codes], tuple(known))
