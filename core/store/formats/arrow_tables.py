"""Cells and Arrow columns as numbers, times and coded texts, in a `RawTable`.

Cells are parsed one by one with a row number for each that is invalid; Arrow columns are converted as a
whole, and each one's memory is freed, because this is where an import needs most of it.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from core.traces.cells.dates import READERS
from core.traces.cells.numbers import EMPTY, POINT, parse_number, parse_quantity
from core.traces.raw import CodedColumn, RawTable
from core.units import FILE_UNITS, TIME_FACTORS, file_unit, format_number

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from core.traces.cells.numbers import NumberStyle
    from core.traces.mapping import ColumnMapping, MappedColumn
    from core.traces.model import FloatArray
    from core.traces.validation import ProblemLog
    from core.units import FileUnit


_PLAIN = FILE_UNITS["plain"]


def parse_numbers_of_column(
    cells: Sequence[str],
    rows: Sequence[int],
    column: str,
    log: ProblemLog,
    style: NumberStyle = POINT,
    unit: FileUnit = _PLAIN,
) -> tuple[FloatArray, list[int]]:
    """Parse cells as numbers in a unit; empty and invalid ones become NaN."""
    if style.decimal == ".":
        try:
            plain_values = np.fromiter(map(float, cells), dtype=np.float64, count=len(cells))
        except ValueError:
            pass
        else:
            if not any("_" in cell for cell in cells):
                return plain_values, []
    values, flawed_indices = np.empty(len(cells)), []
    for i, cell in enumerate(cells):
        value = parse_cell(cell, unit, style)
        if value is None:
            flawed_indices.append(i)
            _report_cell(log, "unparsable", column, rows[i], cell, _describe_mismatch(cell, unit, style))
        elif not value[1]:
            read_as = f"{format_number(value[0])} {unit.label}"
            message = f"Column “{column}”: row {rows[i]} has “{_shorten(cell)}”, read as {read_as}."
            log.add("assumed_suffix", message, row=rows[i], column=column)
        values[i] = math.nan if value is None else value[0]
    return values, flawed_indices


def parse_cell(cell: str, unit: FileUnit, style: NumberStyle) -> tuple[float, bool] | None:
    """Parse a cell to its value and whether its unit is sure; NaN if empty, None if invalid."""
    text = cell.strip()
    return (math.nan, True) if text in EMPTY else parse_quantity(text, unit, style)


def parse_times(
    cells: Sequence[str],
    rows: Sequence[int],
    column: str,
    unit: str,
    log: ProblemLog,
    style: NumberStyle = POINT,
) -> tuple[FloatArray, list[int]]:
    """Read cells as seconds; missing and unparsable ones become NaN (see `parse_numbers_of_column`)."""
    if unit not in READERS:
        inner_log = type(log)()
        values, flawed_indices = parse_numbers_of_column(cells, rows, column, inner_log, style)
        for i in flawed_indices:
            _report_cell(log, "unparsable_time", column, rows[i], cells[i], "no time")
        return values * TIME_FACTORS.get(unit, 1.0), flawed_indices
    values, flawed_indices = np.empty(len(cells)), []
    for i, cell in enumerate(cells):
        value = parse_time_cell(cell, unit)
        if value is None:
            flawed_indices.append(i)
            mismatch = "no date" if unit != "clock" else "no time of day"
            _report_cell(log, "unparsable_time", column, rows[i], cell, mismatch)
        values[i] = math.nan if value is None else value
    return values, flawed_indices


def parse_time_cell(cell: str, unit: str) -> float | None:
    """Parse a date or time of day to seconds; NaN if empty, None if invalid."""
    text = cell.strip()
    return math.nan if text in EMPTY else READERS[unit](text)


def _describe_mismatch(cell: str, unit: FileUnit, style: NumberStyle) -> str:
    """Describe why a cell is not a value in a unit."""
    if parse_number(cell, style) is None:
        return "no number"
    return "no plain number" if unit is _PLAIN else f"not in {unit.label}"


def _shorten(cell: str) -> str:
    text = cell.strip()
    return text if len(text) <= 40 else text[:40] + "…"


def _report_cell(log: ProblemLog, kind: str, column: str, row: int, cell: str, mismatch: str) -> None:
    message = f"Column “{column}”: row {row} has “{_shorten(cell)}”, which is {mismatch}."
    log.add(kind, message, row=row, column=column)


RELEASED_BYTES = 2**25
"""Memory is released in parts of about this size, because each release takes a few milliseconds."""


def split_table(table: pa.Table) -> dict[str, pa.ChunkedArray]:
    """Return the columns of a table by name."""
    return dict(zip(table.column_names, table.columns, strict=True))


def convert_table(
    columns: dict[str, pa.ChunkedArray],
    mapping: ColumnMapping,
    name: str,
    first_row: int,
    style: NumberStyle = POINT,
) -> RawTable:
    """Convert the columns of a table, freeing each one.

    Raises pyarrow.ArrowInvalid if a column of numbers has other texts, or numbers whose unit is not sure.
    """
    n = len(next(iter(columns.values())))
    coded = {key: to_coded_column(columns.pop(key)) for key in (*mapping.executions, *mapping.attributes)}
    time = None
    if mapping.time is not None:
        time = to_seconds(columns.pop(mapping.time), mapping.time_unit)
    features = _convert_features(columns, mapping.features, style)
    parts = tuple(coded[key] for key in mapping.executions)
    return RawTable(
        n_rows=n,
        executions=CodedColumn.joined(parts) if parts else CodedColumn.constant(name, n),
        time=time,
        columns=features,
        attributes=tuple(coded[key] for key in mapping.attributes),
        first_row=first_row,
        rows_read=n,
        execution_parts=parts if len(parts) > 1 else (),
    )


def _convert_features(
    columns: dict[str, pa.ChunkedArray], features: Sequence[MappedColumn], style: NumberStyle
) -> tuple[FloatArray, ...]:
    """Convert columns to floats, freeing each one."""
    converted, n_freed = [], 0
    for one in features:
        column = columns.pop(one.column)
        n_freed += column.nbytes
        converted.append(_convert_feature(column, one, style))
        del column
        if n_freed >= RELEASED_BYTES:
            pa.default_memory_pool().release_unused()
            n_freed = 0
    return tuple(converted)


def _convert_feature(column: pa.ChunkedArray, one: MappedColumn, style: NumberStyle) -> FloatArray:
    if not pa.types.is_dictionary(column.type):
        return to_floats(column)
    unit = file_unit(one.unit_key)
    return _decode_texts(column, lambda text: _drop_unsure(parse_cell(text, unit, style)))


def _drop_unsure(value: tuple[float, bool] | None) -> float | None:
    return value[0] if value is not None and value[1] else None


def _decode_texts(column: pa.ChunkedArray, parse_number: Callable[[str], float | None]) -> FloatArray:
    """Return the number of every cell of a text column; each distinct text is parsed once.

    Raises pyarrow.ArrowInvalid if a text is not a number; the exact reader reports the row.
    """
    coded = to_coded_column(column)
    values = [parse_number(text) for text in coded.names]
    if None in values:
        raise pa.ArrowInvalid(f"not a number: {coded.names[values.index(None)][:40]}")
    found: FloatArray = np.array([*values, np.nan], dtype=np.float64)[coded.codes]
    return found


def to_floats(column: pa.ChunkedArray) -> FloatArray:
    """Return a column as a float array, NaN for empty cells."""
    if not pa.types.is_float64(column.type):
        column = column.cast(pa.float64())
    values: FloatArray = column.to_numpy()
    return values


def to_seconds(column: pa.ChunkedArray, unit: str) -> FloatArray:
    """Return a column of times as seconds since 1970, or since the start of its clock."""
    if pa.types.is_dictionary(column.type):
        return _decode_texts(column, lambda text: parse_time_cell(text, unit))
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        if unit not in READERS:
            return to_floats(column) * TIME_FACTORS.get(unit, 1.0)
        column = _dates(column, unit)
        if isinstance(column, np.ndarray):
            return column
    if pa.types.is_date(column.type):
        column = column.cast(pa.timestamp("us"))
    if pa.types.is_timestamp(column.type):
        ticks = column.cast(pa.timestamp("us", column.type.tz)).cast(pa.int64())
        return to_floats(ticks) / 1e6
    values = to_floats(column)
    factor = TIME_FACTORS.get(unit, 1.0)
    return values if factor == 1.0 else values * factor


def _dates(column: pa.ChunkedArray, unit: str) -> pa.ChunkedArray | FloatArray:
    """Return ISO 8601 texts as timestamps, others as seconds."""
    try:
        return column.cast(pa.timestamp("us")) if unit == "iso" else _read_dates(column, unit)
    except pa.ArrowInvalid:
        return _read_dates(column, unit)


def _read_dates(column: pa.ChunkedArray, unit: str) -> FloatArray:
    return _decode_texts(column.dictionary_encode(), lambda text: parse_time_cell(text, unit))


def to_coded_column(column: pa.ChunkedArray) -> CodedColumn:
    """Return a text column as codes and names; blank cells become -1."""
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
        return CodedColumn(codes, tuple(names))
    return _merge_names(codes, names)


def _merge_names(codes: np.ndarray[tuple[int], np.dtype[np.int32]], names: list[str | None]) -> CodedColumn:
    """Return the column with texts merged that are equal, or empty, once stripped."""
    known: dict[str, int] = {}
    new = [known.setdefault(name, len(known)) if name else -1 for name in names]
    return CodedColumn(np.array([*new, -1], dtype=np.int32)[codes], tuple(known))
