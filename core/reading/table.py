"""The mapped columns of a file in the file's order, before they are cleaned.

Readers return a `RawTable`; `core.reading.cleaning` turns it into a trace set. Text columns are *coded*: each
distinct text once and an index per row, so that a million rows do not need a million strings.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from core.reading.dates import READERS
from core.reading.numbers import EMPTY, POINT, parse_number, parse_quantity
from core.traces.validation import MAX_ROWS, ProblemLog
from core.units import FILE_UNITS, TIME_FACTORS, file_unit, format_number

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from core.reading.mapping import ColumnMapping
    from core.reading.numbers import NumberStyle
    from core.traces.model import FloatArray, IntArray
    from core.traces.validation import Problem
    from core.units import FileUnit


@dataclass(frozen=True, slots=True)
class CodedColumn:
    """A text column."""

    #: Shape (n_rows,): the position of each row's text in `names`; -1 where the cell is empty.
    codes: IntArray
    #: The distinct texts, in the order of their first appearance.
    names: tuple[str, ...]

    @classmethod
    def joined(cls, parts: Sequence[CodedColumn]) -> CodedColumn:
        """Join several columns to one: their texts with ``/`` between, without empty ones."""
        if len(parts) == 1:
            return parts[0]
        stacked = np.column_stack([part.codes for part in parts])
        unique, inverse = np.unique(stacked, axis=0, return_inverse=True)
        texts = [
            "/".join(part.names[code] for part, code in zip(parts, row, strict=True) if code >= 0)
            for row in unique
        ]
        code_of_text: dict[str, int] = {}
        codes = [code_of_text.setdefault(text, len(code_of_text)) if text else -1 for text in texts]
        return cls(np.array(codes, dtype=np.int32)[inverse.reshape(-1)], tuple(code_of_text))

    @classmethod
    def constant(cls, name: str, n_rows: int) -> CodedColumn:
        """Return a column with the same text in every row."""
        return cls(np.zeros(n_rows, dtype=np.int32), (name,))


@dataclass(frozen=True, slots=True)
class RawTable:
    """The mapped columns of a file."""

    #: Rows in this table.
    n_rows: int
    #: The executions' names.
    executions: CodedColumn
    #: Seconds, shape (n_rows,), NaN where missing; None where the file has no time.
    time: FloatArray | None
    #: One array of shape (n_rows,) per feature of the mapping, in the file's units; cleaning replaces them.
    columns: list[FloatArray]
    #: One column per attribute of the mapping.
    attributes: tuple[CodedColumn, ...] = ()
    #: Shape (n_rows,): each row's number in the file; None where it is `first_row` + position.
    rows: IntArray | None = None
    #: The number of the first row: 2 where the header is row 1.
    first_row: int = 2
    #: Rows of the file, including those dropped by the reader.
    rows_read: int = 0
    #: Problems found by the reader.
    problems: tuple[Problem, ...] = ()
    #: By column name, the positions of cells with a reported problem.
    flawed: Mapping[str, IntArray] = field(default_factory=dict)

    def row_of(self, position: int) -> int:
        """Return the number of a row in the file, as an editor shows it."""
        return int(self.rows[position]) if self.rows is not None else self.first_row + position


_PLAIN = FILE_UNITS["plain"]
_MAX_SHOWN = 40
Cells = Any
"""A `pyarrow.Array` or `pyarrow.ChunkedArray`."""


class InvalidCellError(Exception):
    """A part has a cell that has to be reported."""


class _Growing:
    """A growing array: untouched room takes no memory, whereas the heap keeps that of many joined parts."""

    def __init__(self, kind: type[np.generic]) -> None:
        self._room, self._n = np.empty(0, dtype=kind), 0

    def append(self, values: npt.NDArray[Any]) -> None:
        end = self._n + len(values)
        if end > len(self._room):
            room = np.empty(max(end, 2 * self._n), dtype=self._room.dtype)
            room[: self._n] = self._room[: self._n]
            self._room = room
        self._room[self._n : end] = values
        self._n = end

    def array(self) -> Any:
        """Return a view of what was appended."""
        return self._room[: self._n]


@dataclass
class _Texts:
    """A growing coded column."""

    known: dict[str, int] = field(default_factory=dict)
    codes: _Growing = field(default_factory=lambda: _Growing(np.int32))

    def add(self, cells: Cells) -> None:
        texts, codes = _code_texts(cells)
        stripped = [text.strip() for text in texts]
        new = [self.known.setdefault(text, len(self.known)) if text else -1 for text in stripped]
        self.codes.append(np.array([*new, -1], dtype=np.int32)[codes])

    def coded(self) -> CodedColumn:
        return CodedColumn(self.codes.array(), tuple(self.known))


@dataclass
class TableBuilder:
    """Collects the mapped columns of a table."""

    #: Which columns are wanted.
    mapping: ColumnMapping
    #: The table's columns.
    header: tuple[str, ...]
    #: Where problems are reported.
    log: ProblemLog
    #: How its numbers are written.
    style: NumberStyle = POINT

    def __post_init__(self) -> None:
        self.mapping.require(self.header)
        self._n = 0
        self._rows: list[IntArray | range] = []
        numbers = (self.mapping.time, *(one.column for one in self.mapping.features))
        self._numbers = {name: _Growing(np.float64) for name in numbers if name}
        self._texts = {name: _Texts() for name in (*self.mapping.executions, *self.mapping.attributes)}
        self._units = {one.column: file_unit(one.unit_key) for one in self.mapping.features}
        self._flawed: dict[str, list[IntArray]] = {}

    def add_cells(self, columns: Mapping[str, Sequence[str]], rows: Sequence[int]) -> None:
        """Take in a part: the cells of the mapped columns, and the row numbers."""
        self.add({name: pa.array(cells, pa.string()) for name, cells in columns.items()}, rows)

    def add(self, columns: Mapping[str, Cells], rows: Sequence[int], *, is_strict: bool = False) -> None:
        """Take in a part: its mapped columns, and the row numbers.

        Raises InvalidCellError if it is strict and a cell has to be reported; nothing is taken in then.
        """
        log = ProblemLog()
        numbers = {name: self._convert(name, columns[name], rows, log) for name in self._numbers}
        if is_strict and log.problems:
            raise InvalidCellError
        self.log.extend(log.problems)
        for name, (values, flawed) in numbers.items():
            self._numbers[name].append(values)
            if len(flawed):
                self._flawed.setdefault(name, []).append(self._n + flawed)
        for name, texts in self._texts.items():
            texts.add(columns[name])
        self._rows.append(rows if isinstance(rows, range) else np.asarray(rows, dtype=np.int64))
        self._n += len(rows)

    def table(self, name: str) -> RawTable:
        """Everything collected; `name` is the execution where the mapping names no column for it."""
        mapping = self.mapping
        gone = sum(one.count for one in self.log.problems if one.kind in ("ragged", "quote"))
        parts = [self._texts[key].coded() for key in mapping.executions]
        first = self._rows[0][0] if self._rows and len(self._rows[0]) else 2
        return RawTable(
            n_rows=self._n,
            executions=CodedColumn.joined(parts) if parts else CodedColumn.constant(name, self._n),
            time=None if mapping.time is None else self._numbers[mapping.time].array(),
            columns=[self._numbers[one.column].array() for one in mapping.features],
            attributes=tuple(self._texts[key].coded() for key in mapping.attributes),
            rows=None if _are_consecutive(self._rows) else concatenate(self._rows, np.int64),
            first_row=int(first),
            rows_read=self._n + gone,
            problems=self.log.problems,
            flawed={key: np.concatenate(where) for key, where in self._flawed.items()},
        )

    def _convert(
        self, name: str, cells: Cells, rows: Sequence[int], log: ProblemLog
    ) -> tuple[FloatArray, IntArray]:
        if name == self.mapping.time:
            return convert_times(cells, rows, name, self.mapping.time_unit, log, self.style)
        return convert_numbers(cells, rows, name, log, self.style, self._units[name])


def _are_consecutive(parts: Sequence[IntArray | range]) -> bool:
    return all(isinstance(part, range) for part in parts) and all(
        before[-1] + 1 == after[0] for before, after in pairwise(parts)
    )


def concatenate(parts: list[Any], kind: type[np.generic]) -> Any:
    """Join parts to one array, and free them."""
    joined = np.concatenate(parts) if parts else np.empty(0, dtype=kind)
    parts.clear()
    return joined


def convert_numbers(
    cells: Cells,
    rows: Sequence[int],
    column: str,
    log: ProblemLog,
    style: NumberStyle = POINT,
    unit: FileUnit = _PLAIN,
) -> tuple[FloatArray, IntArray]:
    """Convert a column to numbers in a unit, shape (n,), NaN where a cell is empty or invalid.

    Also returns the positions of the invalid cells, which are reported.
    """
    if (values := _cast_numbers(cells, style)) is not None:
        return values, np.empty(0, dtype=np.int64)

    def parse(text: str) -> tuple[float, bool] | None:
        return (np.nan, True) if text in EMPTY else parse_quantity(text, unit, style)

    texts, codes = _code_texts(cells)
    parsed = [parse(text.strip()) for text in texts]
    values = np.array([*(np.nan if one is None else one[0] for one in parsed), np.nan])[codes]
    invalid = _find_codes(codes, [one is None for one in parsed])
    if len(invalid):
        _report_cell(
            log, "unparsable", column, rows, invalid, texts[codes[invalid[0]]],
            lambda text: _describe_mismatch(text, unit, style),
        )  # fmt: skip
    unsure = _find_codes(codes, [one is not None and not one[1] for one in parsed])
    if len(unsure):
        shown = f"{format_number(float(values[unsure[0]]))} {unit.label}"
        text, row = _shorten(texts[codes[unsure[0]]]), rows[int(unsure[0])]
        message = f"Column “{column}”: row {row} has “{text}”, read as {shown}."
        log.add("assumed_suffix", message, column=column, count=len(unsure), rows=_first_rows(rows, unsure))
    return values, invalid


def convert_times(
    cells: Cells,
    rows: Sequence[int],
    column: str,
    unit: str,
    log: ProblemLog,
    style: NumberStyle = POINT,
) -> tuple[FloatArray, IntArray]:
    """Convert a column to seconds since 1970, or since the start of its clock (see `convert_numbers`)."""
    if (values := _cast_dates(cells, unit)) is not None:
        return values, np.empty(0, dtype=np.int64)
    if unit not in READERS:
        inner = ProblemLog()
        values, invalid = convert_numbers(cells, rows, column, inner, style)
        mismatch, factor = "no time", TIME_FACTORS.get(unit, 1.0)
        values = values if factor == 1.0 else values * factor
        texts, codes = _code_texts(cells) if len(invalid) else ([], np.empty(0, np.int64))
    else:
        texts, codes = _code_texts(cells)
        parsed = [np.nan if text.strip() in EMPTY else READERS[unit](text.strip()) for text in texts]
        values = np.array([*(np.nan if one is None else one for one in parsed), np.nan])[codes]
        invalid = _find_codes(codes, [one is None for one in parsed])
        mismatch = "no date" if unit != "clock" else "no time of day"
    if len(invalid):
        first = texts[codes[invalid[0]]]
        _report_cell(log, "unparsable_time", column, rows, invalid, first, lambda _text: mismatch)
    return values, invalid


def _cast_numbers(cells: Cells, style: NumberStyle) -> FloatArray | None:
    """Return the numbers of a column that Arrow can cast as it is; else None."""
    if pa.types.is_temporal(cells.type):
        return None
    try:
        if style.decimal != "." and pa.types.is_string(cells.type):
            if pc.any(pc.match_substring_regex(cells, "[.]")).as_py():
                return None
            cells = pc.replace_substring(cells, style.decimal, ".")
        return _to_floats(cells.cast(pa.float64()))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return None


def _cast_dates(cells: Cells, unit: str) -> FloatArray | None:
    """Return the seconds of a column of dates that Arrow can cast as it is; else None."""
    kinds = [cells.type] if pa.types.is_temporal(cells.type) else []
    if unit == "iso" and pa.types.is_string(cells.type):
        kinds = [pa.timestamp("us"), pa.timestamp("us", "UTC")]
    for kind in kinds:
        try:
            zone = getattr(kind, "tz", None)
            return _to_floats(cells.cast(kind).cast(pa.timestamp("us", zone)).cast(pa.int64())) / 1e6
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            continue
    return None


def _to_floats(cells: Cells) -> FloatArray:
    values: FloatArray = (
        cells.to_numpy(zero_copy_only=False) if isinstance(cells, pa.Array) else cells.to_numpy()
    )
    return values.astype(np.float64, copy=False)


def _code_texts(cells: Cells) -> tuple[list[str], IntArray]:
    """Return the distinct texts of a column, and the position of each cell's among them; -1 for no cell."""
    if not pa.types.is_dictionary(cells.type):
        if not (pa.types.is_string(cells.type) or pa.types.is_large_string(cells.type)):
            cells = _to_texts(cells)
        cells = cells.dictionary_encode()
    whole = cells.unify_dictionaries().combine_chunks() if isinstance(cells, pa.ChunkedArray) else cells
    if isinstance(whole, pa.ChunkedArray):
        whole = whole.chunk(0) if whole.num_chunks else pa.array([], cells.type)
    texts = [text or "" for text in whole.dictionary.to_pylist()]
    return texts, whole.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)


def _to_texts(cells: Cells) -> Cells:
    """Return the values of a typed column as Python writes them."""
    values = cells.to_pylist()
    return pa.array(
        [
            None if value is None else value.isoformat() if hasattr(value, "isoformat") else str(value)
            for value in values
        ],
        pa.string(),
    )


def _find_codes(codes: IntArray, is_wanted: Sequence[bool]) -> IntArray:
    """Return the positions of the cells whose text is wanted."""
    if not any(is_wanted):
        return np.empty(0, dtype=np.int64)
    return np.flatnonzero(np.array([*is_wanted, False])[codes])


def _report_cell(
    log: ProblemLog,
    kind: str,
    column: str,
    rows: Sequence[int],
    positions: IntArray,
    text: str,
    describe: Callable[[str], str],
) -> None:
    row = rows[int(positions[0])]
    message = f"Column “{column}”: row {row} has “{_shorten(text)}”, which is {describe(text)}."
    log.add(kind, message, column=column, count=len(positions), rows=_first_rows(rows, positions))


def _first_rows(rows: Sequence[int], positions: IntArray) -> tuple[int, ...]:
    return tuple(int(rows[int(i)]) for i in positions[:MAX_ROWS])


def _describe_mismatch(cell: str, unit: FileUnit, style: NumberStyle) -> str:
    """Describe why a cell is not a value in a unit."""
    if parse_number(cell, style) is None:
        return "no number"
    return "no plain number" if unit is _PLAIN else f"not in {unit.label}"


def _shorten(cell: str) -> str:
    text = cell.strip()
    return text if len(text) <= _MAX_SHOWN else text[:_MAX_SHOWN] + "…"
