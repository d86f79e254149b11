"""The exact way to read a text table: line by line, so that every problem has its row number.

It is several times slower than `core.store.formats.csv`, which is tried first and which hands over
wherever a cell or a row is not as it should be. Lines longer than a bound are refused, so that no
file can fill the memory with one line.
"""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass, field
from typing import IO, TYPE_CHECKING

import numpy as np

from core.errors import InputError
from core.store.formats import arrow_tables as parse
from core.store.formats.base import open_content
from core.store.formats.csv_dialect import holds_names, iterate_samples
from core.traces.cells.numbers import POINT
from core.traces.raw import CodedColumn, RawTable
from core.traces.validation import KINDS, ProblemLog
from core.units import file_unit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from core.store.formats.csv_dialect import CsvDialect
    from core.traces.cells.numbers import NumberStyle
    from core.traces.mapping import ColumnMapping
    from core.traces.model import FloatArray, IntArray

CHUNK_ROWS = 20_000
MAX_LINE = 4 * 2**20
MAX_FLAWED_ROWS = 200_000


@dataclass
class _Names:
    """A growing coded column."""

    known: dict[str, int] = field(default_factory=dict)
    parts: list[IntArray] = field(default_factory=list)

    def add(self, cells: Sequence[str]) -> None:
        known = self.known
        codes = [known.setdefault(text, len(known)) if (text := cell.strip()) else -1 for cell in cells]
        self.parts.append(np.array(codes, dtype=np.int32))

    def add_coded(self, part: CodedColumn) -> None:
        known = self.known
        codes = [known.setdefault(name, len(known)) for name in part.names]
        self.parts.append(np.array([*codes, -1], dtype=np.int32)[part.codes])

    def coded(self) -> CodedColumn:
        return CodedColumn(
            np.concatenate(self.parts) if self.parts else np.empty(0, np.int32), tuple(self.known)
        )


@dataclass
class TableReader:
    """Collects the mapped columns of a table from chunks of text cells."""

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
        self._rows: list[IntArray] = []
        self._time: list[FloatArray] = []
        self._columns: list[list[FloatArray]] = [[] for _ in self.mapping.features]
        self._executions = [_Names() for _ in self.mapping.executions]
        self._units = [file_unit(one.unit_key) for one in self.mapping.features]
        self._attributes = [_Names() for _ in self.mapping.attributes]
        self._flawed: dict[str, list[int]] = {}

    def add(self, columns: Sequence[Sequence[str]], rows: Sequence[int]) -> None:
        """Take in a chunk: one sequence of cells per column of the header, and the row numbers."""
        mapping = self.mapping
        place = {name: columns[i] for i, name in enumerate(self.header)}
        for name, texts in zip(mapping.executions, self._executions, strict=True):
            texts.add(place[name])
        if mapping.time is not None:
            name = mapping.time
            values, flawed = parse.parse_times(
                place[name], rows, name, mapping.time_unit, self.log, self.style
            )
            self._time.append(values)
            self._mark_flawed(name, flawed)
        for one, unit, parts in zip(mapping.features, self._units, self._columns, strict=True):
            cells = place[one.column]
            values, flawed = parse.parse_numbers_of_column(
                cells, rows, one.column, self.log, self.style, unit
            )
            parts.append(values)
            self._mark_flawed(one.column, flawed)
        for name, texts in zip(mapping.attributes, self._attributes, strict=True):
            texts.add(place[name])
        self._rows.append(np.asarray(rows, dtype=np.int64))
        self._n += len(rows)

    def _mark_flawed(self, column: str, flawed: list[int]) -> None:
        if flawed:
            self._flawed.setdefault(column, []).extend(self._n + i for i in flawed)

    def add_raw(self, raw: RawTable) -> None:
        """Take in a part of the table that was read as numbers already."""
        names = raw.execution_parts or (raw.executions,)
        for texts, coded in zip(self._executions, names, strict=False):
            texts.add_coded(coded)
        if raw.time is not None:
            self._time.append(raw.time)
        for values, parts in zip(raw.columns, self._columns, strict=True):
            parts.append(values)
        for coded, texts in zip(raw.attributes, self._attributes, strict=True):
            texts.add_coded(coded)
        self._rows.append(np.arange(raw.first_row, raw.first_row + raw.n_rows, dtype=np.int64))
        self._n += raw.n_rows

    def table(self, name: str) -> RawTable:
        """Everything collected; `name` is the execution where the mapping names no column for it."""
        gone = sum(one.count for one in self.log.problems if one.kind in ("ragged", "quote"))
        by_column = self.mapping.execution is not None
        return RawTable(
            n_rows=self._n,
            executions=_join_positions(self._executions)
            if by_column
            else CodedColumn.constant(name, self._n),
            time=_join_columns(self._time) if self.mapping.time is not None else None,
            columns=tuple(_join_columns(parts) for parts in self._columns),
            attributes=tuple(texts.coded() for texts in self._attributes),
            rows=np.concatenate(self._rows) if self._rows else np.empty(0, dtype=np.int64),
            rows_read=self._n + gone,
            problems=self.log.problems,
            flawed={key: np.array(where, dtype=np.int64) for key, where in self._flawed.items()},
        )


def _join_positions(parts: Sequence[_Names]) -> CodedColumn:
    return CodedColumn.joined([part.coded() for part in parts])


def _join_columns(parts: list[FloatArray]) -> FloatArray:
    joined = np.concatenate(parts) if parts else np.empty(0)
    parts.clear()
    return joined


def read_exactly(
    path: Path,
    head: CsvDialect,
    mapping: ColumnMapping,
    progress: Callable[[float, str], None] | None = None,
) -> RawTable:
    """Read a text table line by line.

    Raises InputError if the file is damaged, has a line that is too long, or mostly rows that do not fit the
    header.
    """
    log = ProblemLog()
    log.extend(head.problems)
    reader = TableReader(mapping, head.header, log, head.style)
    with open_content(path) as stream:
        lines = Lines(stream, head.encoding, path, log, progress)
        add_lines(reader, lines, head)
    return require_table(reader, path)


def require_table(reader: TableReader, path: Path) -> RawTable:
    """Everything that was collected of a file.

    Raises InputError if most of its rows are not of the header's width: what is left of them is not what the
    file says.
    """
    raw = reader.table(path.name.split(".")[0])
    ragged = [one for one in raw.problems if one.kind == "ragged"]
    count = sum(one.count for one in ragged)
    if count > raw.n_rows > 0:
        raise InputError(
            f"{count:,} of the {raw.rows_read:,} rows of “{path.name}” do not have the {len(reader.header)} "
            f"cells of its header; the first is row {ragged[0].row}.",
            "Keep one header and the rows that belong to it.",
        )
    return raw


def add_lines(reader: TableReader, lines: Lines, head: CsvDialect, skip: int | None = None) -> None:
    """Take in the rows of some lines, the first `skip` of them left out (None: up to the header)."""
    for chunk, numbers in _iterate_chunks(
        lines, head, reader.log, head.header_lines if skip is None else skip
    ):
        reader.add(list(zip(*chunk, strict=True)), numbers)


class Lines:
    """The lines of a text, decoded, counted and bounded; tells progress as it goes."""

    def __init__(
        self,
        stream: IO[bytes],
        encoding: str,
        path: Path,
        log: ProblemLog,
        progress: Callable[[float, str], None] | None = None,
        before: int = 0,
    ) -> None:
        # bytes that are not UTF-8 are read as Windows-1252 below; half a UTF-16 character cannot be read
        self._wide = encoding == "utf-16"
        errors = "replace" if self._wide else "surrogateescape"
        self._text = io.TextIOWrapper(stream, encoding, errors=errors, newline="")
        self._size, self._done, self._told = max(path.stat().st_size, 1), 0, 0
        self._log, self._progress, self._name = log, progress, path.name
        self.before = self.number = before

    def __iter__(self) -> Iterator[str]:
        while line := self._text.readline(MAX_LINE):
            self.number += 1
            if len(line) >= MAX_LINE:
                raise InputError(
                    f"Row {self.number} of “{self._name}” is longer than {MAX_LINE >> 20} MiB.",
                    "Check that the file has line ends and that it is a table.",
                )
            self._done += len(line)
            if self._progress is not None and self._done - self._told > 2**22:
                self._told = self._done
                self._progress(min(self._done / self._size, 1.0), f"Reading row {self.number:,}")
            if "\x00" in line:
                raise InputError(
                    f"Row {self.number} of “{self._name}” contains binary data.",
                    "Export the file again as plain text.",
                )
            yield line if line.isascii() else self._repair_lines(line)

    def _repair_lines(self, line: str) -> str:
        """Report what could not be decoded; bytes that are not UTF-8 are read as Windows-1252."""
        if self._wide:
            if "\ufffd" in line:
                message = f"Row {self.number} has characters that are not UTF-16."
                self._log.add("undecodable", message, row=self.number)
            return line
        try:
            line.encode("utf-8")
        except UnicodeEncodeError:
            message = f"Row {self.number} has characters that are not UTF-8."
            self._log.add("encoding", message, row=self.number)
            return line.encode("utf-8", "surrogateescape").decode("cp1252", "replace")
        return line


def _iterate_chunks(
    lines: Lines, head: CsvDialect, log: ProblemLog, skip: int
) -> Iterator[tuple[list[list[str]], list[int]]]:
    """Rows of the header's width in chunks, with the number of each one's first line."""
    width = len(head.header)
    chunk: list[list[str]] = []
    numbers: list[int] = []
    rows = _rows(lines, head.separator, skip)
    for row, cells in iterate_samples(rows, head.header, log) if head.annotated else rows:
        fitted = cells if len(cells) == width else _fit_width(cells, row, lines.number, head, log)
        if fitted is None:
            continue
        if fitted[0] == head.header[0] and tuple(cell.strip() for cell in fitted) == head.header:
            log.add("repeated_header", f"The header appears again in row {row}.", row=row)
            continue
        if holds_names(fitted):
            log.add("other_header", f"Row {row} has names and no numbers, as a header has.", row=row)
            continue
        chunk.append(fitted)
        numbers.append(row)
        if len(chunk) >= CHUNK_ROWS:
            yield chunk, numbers
            chunk, numbers = [], []
    if chunk:
        yield chunk, numbers


def _rows(lines: Lines, separator: str, skip: int) -> Iterator[tuple[int, list[str]]]:
    """Rows below the header that are not blank, with the number of their first line."""
    reader = csv.reader(lines, delimiter=separator)
    start = 0
    try:
        for cells in reader:
            start, row = reader.line_num, start + 1
            if row > skip and cells:
                yield lines.before + row, cells
    except csv.Error as error:
        raise InputError(
            f"Row {lines.before + start + 1} cannot be read: {error}.",
            "Open the file in an editor and look for an unclosed quotation mark or a missing line end there.",
        ) from None


def _fit_width(
    cells: list[str], row: int, last_line: int, head: CsvDialect, log: ProblemLog
) -> list[str] | None:
    """A row of another width: fine where the extra cells are all empty, else reported and dropped."""
    width = len(head.header)
    if len(cells) > width and not any(cell.strip() for cell in cells[width:]):
        return cells[:width]
    if not any(cell.strip() for cell in cells):
        return None
    if any("\n" in cell or "\r" in cell for cell in cells):
        message = f"Row {row}: a quotation mark opens and does not close before row {last_line}."
        log.add("quote", message, row=row, count=last_line - row + 1)
        return None
    message = f"Row {row} has {len(cells)} cells instead of the {width} of the header."
    log.add("ragged", message, row=row)
    _check_flawed_rows(row, head, log)
    return None


def _check_flawed_rows(row: int, head: CsvDialect, log: ProblemLog) -> None:
    """Refuse a file whose rows are all ragged before millions of them are looked at one by one.

    Raises InputError if none of the first `MAX_FLAWED_ROWS` rows has as many cells as the header.
    """
    if row == head.header_lines + MAX_FLAWED_ROWS:
        count = sum(one.count for one in log.problems if one.kind == "ragged")
        if count == MAX_FLAWED_ROWS:
            raise InputError(
                f"None of the first {count:,} rows has the {len(head.header)} cells of the header.",
                KINDS["ragged"].hint,
            )
