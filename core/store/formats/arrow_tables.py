"""Turning strings into numbers and times, cell by cell, with a row number for each that is neither."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from core.traces.cells.dates import READERS
from core.traces.cells.numbers import EMPTY, POINT, quantity, read
from core.traces.raw import Coded, RawTable
from core.units import FILE_UNITS, TIME_FACTORS, file_unit, format_number

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from core.traces.cells.numbers import NumberStyle
    from core.traces.mapping import ColumnMapping, MappedColumn
    from core.traces.model import FloatArray
    from core.traces.validation import ProblemLog
    from core.units import FileUnit


_PLAIN = FILE_UNITS["plain"]


def numbers(
    cells: Sequence[str],
    rows: Sequence[int],
    column: str,
    log: ProblemLog,
    style: NumberStyle = POINT,
    unit: FileUnit = _PLAIN,
) -> tuple[FloatArray, list[int]]:
    """Read cells as numbers in a unit; missing and unparsable ones become NaN."""
    if style.decimal == ".":
        try:
            quick = np.fromiter(map(float, cells), dtype=np.float64, count=len(cells))
        except ValueError:
            pass
        else:
            if not any("_" in cell for cell in cells):
                return quick, []
    values, flawed = np.empty(len(cells)), []
    for i, cell in enumerate(cells):
        value = number(cell, unit, style)
        if value is None:
            flawed.append(i)
            _say(log, "unparsable", column, rows[i], cell, _wrong(cell, unit, style))
        elif not value[1]:
            read_as = f"{format_number(value[0])} {unit.label}"
            message = f"Column “{column}”: row {rows[i]} has “{_shown(cell)}”, read as {read_as}."
            log.add("assumed_suffix", message, row=rows[i], column=column)
        values[i] = math.nan if value is None else value[0]
    return values, flawed


def number(cell: str, unit: FileUnit, style: NumberStyle) -> tuple[float, bool] | None:
    """A cell's value and whether its unit is sure; NaN where it is empty, None where it is no such value."""
    text = cell.strip()
    return (math.nan, True) if text in EMPTY else quantity(text, unit, style)


def times(
    cells: Sequence[str],
    rows: Sequence[int],
    column: str,
    unit: str,
    log: ProblemLog,
    style: NumberStyle = POINT,
) -> tuple[FloatArray, list[int]]:
    """Read cells as seconds; missing and unparsable ones become NaN (see `numbers`)."""
    if unit not in READERS:
        scratch = type(log)()
        values, flawed = numbers(cells, rows, column, scratch, style)
        for i in flawed:
            _say(log, "unparsable_time", column, rows[i], cells[i], "no time")
        return values * TIME_FACTORS.get(unit, 1.0), flawed
    values, flawed = np.empty(len(cells)), []
    for i, cell in enumerate(cells):
        value = moment(cell, unit)
        if value is None:
            flawed.append(i)
            wanted = "no date" if unit != "clock" else "no time of day"
            _say(log, "unparsable_time", column, rows[i], cell, wanted)
        values[i] = math.nan if value is None else value
    return values, flawed


def moment(cell: str, unit: str) -> float | None:
    """A date's or a time of day's seconds; NaN where the cell is empty, None where it is neither."""
    text = cell.strip()
    return math.nan if text in EMPTY else READERS[unit](text)


def _wrong(cell: str, unit: FileUnit, style: NumberStyle) -> str:
    """Why a cell is no value in a unit."""
    if read(cell, style) is None:
        return "no number"
    return "no plain number" if unit is _PLAIN else f"not in {unit.label}"


def _shown(cell: str) -> str:
    text = cell.strip()
    return text if len(text) <= 40 else text[:40] + "…"


def _say(log: ProblemLog, kind: str, column: str, row: int, cell: str, what: str) -> None:
    message = f"Column “{column}”: row {row} has “{_shown(cell)}”, which is {what}."
    log.add(kind, message, row=row, column=column)


RELEASED_BYTES = 2**25
"""Freed memory is given back in parts of about this size: each time takes a few milliseconds."""


def columns_of(table: pa.Table) -> dict[str, pa.ChunkedArray]:
    """The columns of a table by name."""
    return dict(zip(table.column_names, table.columns, strict=True))


def raw_from_arrow(
    columns: dict[str, pa.ChunkedArray],
    mapping: ColumnMapping,
    name: str,
    first_row: int,
    style: NumberStyle = POINT,
) -> RawTable:
    """Take over the columns of a table, freeing each one once it is converted.

    Raises
    ------
    pyarrow.ArrowInvalid
        If a column that should be numbers holds text that is not a number, or one whose unit is not sure.
    """
    n = len(next(iter(columns.values())))
    coded = {key: coded_column(columns.pop(key)) for key in (*mapping.executions, *mapping.attributes)}
    time = None
    if mapping.time is not None:
        time = seconds(columns.pop(mapping.time), mapping.time_unit)
    features = _taken(columns, mapping.features, style)
    parts = tuple(coded[key] for key in mapping.executions)
    return RawTable(
        n_rows=n,
        executions=Coded.joined(parts) if parts else Coded.constant(name, n),
        time=time,
        columns=features,
        attributes=tuple(coded[key] for key in mapping.attributes),
        first_row=first_row,
        rows_read=n,
        execution_parts=parts if len(parts) > 1 else (),
    )


def _taken(
    columns: dict[str, pa.ChunkedArray], features: Sequence[MappedColumn], style: NumberStyle
) -> tuple[FloatArray, ...]:
    """Columns as floats, their old memory freed on the way: this is where an import needs most."""
    taken, freed = [], 0
    for one in features:
        column = columns.pop(one.column)
        freed += column.nbytes
        taken.append(_read(column, one, style))
        del column
        if freed >= RELEASED_BYTES:
            pa.default_memory_pool().release_unused()
            freed = 0
    return tuple(taken)


def _read(column: pa.ChunkedArray, one: MappedColumn, style: NumberStyle) -> FloatArray:
    if not pa.types.is_dictionary(column.type):
        return floats(column)
    unit = file_unit(one.unit_key)
    return _decoded(column, lambda text: _sure(number(text, unit, style)))


def _sure(value: tuple[float, bool] | None) -> float | None:
    return value[0] if value is not None and value[1] else None


def _decoded(column: pa.ChunkedArray, read: Callable[[str], float | None]) -> FloatArray:
    """The number of every cell of a text column; each distinct text is read once.

    Raises
    ------
    pyarrow.ArrowInvalid
        If one has no number; who reads line by line says in which row.
    """
    coded = coded_column(column)
    values = [read(text) for text in coded.names]
    if None in values:
        raise pa.ArrowInvalid(f"not a number: {coded.names[values.index(None)][:40]}")
    found: FloatArray = np.array([*values, np.nan], dtype=np.float64)[coded.codes]
    return found


def floats(column: pa.ChunkedArray) -> FloatArray:
    """A column as one float array, NaN where it is empty."""
    if not pa.types.is_float64(column.type):
        column = column.cast(pa.float64())
    values: FloatArray = column.to_numpy()
    return values


def seconds(column: pa.ChunkedArray, unit: str) -> FloatArray:
    """A column of times as seconds since 1970 (or from wherever its numbers count)."""
    if pa.types.is_dictionary(column.type):
        return _decoded(column, lambda text: moment(text, unit))
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        if unit not in READERS:
            return floats(column) * TIME_FACTORS.get(unit, 1.0)
        column = _dates(column, unit)
        if isinstance(column, np.ndarray):
            return column
    if pa.types.is_date(column.type):
        column = column.cast(pa.timestamp("us"))
    if pa.types.is_timestamp(column.type):
        ticks = column.cast(pa.timestamp("us", column.type.tz)).cast(pa.int64())
        return floats(ticks) / 1e6
    values = floats(column)
    factor = TIME_FACTORS.get(unit, 1.0)
    return values if factor == 1.0 else values * factor


def _dates(column: pa.ChunkedArray, unit: str) -> pa.ChunkedArray | FloatArray:
    """Texts as timestamps where ISO 8601 has them so, else as seconds, each distinct text read once."""
    try:
        return column.cast(pa.timestamp("us")) if unit == "iso" else _read_dates(column, unit)
    except pa.ArrowInvalid:
        return _read_dates(column, unit)


def _read_dates(column: pa.ChunkedArray, unit: str) -> FloatArray:
    return _decoded(column.dictionary_encode(), lambda text: moment(text, unit))


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
