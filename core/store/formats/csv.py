"""CSV, CSV.gz and their relatives: pyarrow's parallel reader, and the exact one behind it.

pyarrow parses a clean file in parts of whole lines into numbers; execution and attributes are indices into
their distinct texts. A file with a bad cell is read again in smaller parts: only parts that pyarrow refuses,
or whose rows are not one per line, are read line by line (`core.store.formats.parse_exact`), so that one bad
cell in a million rows costs little and has its row number.
"""

from __future__ import annotations

import io
import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv

from core.store.formats.arrow_tables import convert_table, split_table
from core.store.formats.base import GZIP, Format, open_content, read_magic
from core.store.formats.csv_dialect import CsvDialect, find_dialect
from core.store.formats.parse_exact import (
    MAX_LINE,
    Lines,
    TableReader,
    add_lines,
    read_exactly,
    require_table,
)
from core.traces.cells.dates import READERS
from core.traces.cells.numbers import EMPTY, parse_plain_numbers, split_columns
from core.traces.validation import ProblemLog

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from core.traces.mapping import ColumnMapping
    from core.traces.raw import RawTable
    from core.traces.validation import Problem


SEGMENT_BYTES = 8 * 2**20
PIECE_BYTES = BLOCK_BYTES = 2**20
LINE_RESERVE = 2**16
"""Bytes reserved behind each part for the rest of its last line; a longer one is copied."""
_ISO = re.compile(r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?(?:Z|[+-]\d\d(?::?\d\d)?)?)?")


@dataclass(frozen=True)
class CsvSource:
    """A text table that can be read with a mapping."""

    path: Path
    head: CsvDialect

    @classmethod
    def open(cls, path: Path) -> CsvSource:
        """Open a file with the dialect of its beginning."""
        return cls(path, find_dialect(path))

    @property
    def header(self) -> tuple[str, ...]:
        """The columns' names."""
        return self.head.header

    @property
    def rows(self) -> tuple[tuple[str, ...], ...]:
        """The first rows as strings."""
        return self.head.rows

    @property
    def types(self) -> tuple[str, ...]:
        """Empty: text files state no types."""
        return ()

    @property
    def n_rows(self) -> int | None:
        """The number of rows, estimated from the length of the first ones."""
        return self.head.n_rows

    @property
    def problems(self) -> tuple[Problem, ...]:
        """The problems of the file's beginning."""
        return self.head.problems

    def read(self, mapping: ColumnMapping, progress: Callable[[float, str], None] | None = None) -> RawTable:
        """Read the mapped columns with the fast reader if possible.

        Raises InputError if a column is missing or the file is damaged.
        """
        mapping.require(self.head.header)
        columns = self._read_fast(mapping, progress)
        if columns is None:
            return self.read_exactly(mapping, progress)
        name, first = self.path.name.split(".")[0], self.head.header_lines + 1
        try:
            raw = convert_table(columns, mapping, name, first, self.head.style)
        except pa.ArrowInvalid:  # not a number: the exact reader reports the row
            return self.read_exactly(mapping, progress)
        return replace(raw, problems=self.head.problems)

    def read_exactly(
        self, mapping: ColumnMapping, progress: Callable[[float, str], None] | None = None
    ) -> RawTable:
        """Read the mapped columns with the number of every row."""
        raw = read_in_pieces(self.path, self.head, mapping, progress)
        return raw if raw is not None else read_exactly(self.path, self.head, mapping, progress)

    def numbers_rows(self, raw: RawTable) -> bool:
        """Whether every line below the header is one row, so that positions give row numbers."""
        return are_rows_lines(self.path, self.head.header_lines, raw.n_rows)

    def _read_fast(
        self, mapping: ColumnMapping, progress: Callable[[float, str], None] | None
    ) -> dict[str, pa.ChunkedArray] | None:
        """Read the mapped columns with pyarrow; None if it cannot."""
        if self.head.encoding != "utf-8-sig" or self.head.annotated:
            return None
        parser, report = CsvParser(self.head, mapping), report_bytes(self.path, progress)
        parts: list[pa.Table] = []
        try:
            with open_content(self.path) as stream:
                for segment in read_segments(stream, SEGMENT_BYTES):
                    parts.append(parser.parse(segment, 0 if parts else self.head.header_lines))
                    report(len(segment))
            return split_table(pa.concat_tables(parts))
        except pa.ArrowInvalid:
            return None


def are_rows_lines(path: Path, header_lines: int, n_rows: int) -> bool:
    """Whether every line below the header is one row, so that positions give row numbers."""
    lines, last = 0, b"\n"
    with open_content(path) as stream:
        while block := stream.read(2**22):
            lines += block.count(b"\n")
            last = block[-1:]
    return lines + (last != b"\n") - header_lines == n_rows


@dataclass(frozen=True)
class CsvParser:
    """pyarrow's parser for a dialect and the mapped columns."""

    head: CsvDialect
    mapping: ColumnMapping

    def parse(self, part: bytes | memoryview, skip: int) -> pa.Table:
        """Parse a part of the file that ends with a whole line, without its first `skip` lines.

        Raises pyarrow.ArrowInvalid if a cell is not of its column's type, or a row not of the header's width.
        """
        return pacsv.read_csv(
            pa.BufferReader(part),
            pacsv.ReadOptions(column_names=list(self.head.header), skip_rows=skip, block_size=BLOCK_BYTES),
            pacsv.ParseOptions(delimiter=self.head.separator),
            self._conversion,
        )

    @cached_property
    def _conversion(self) -> pacsv.ConvertOptions:
        mapping = self.mapping
        coded = pa.dictionary(pa.int32(), pa.string())
        types = {
            one.column: pa.float64() if self._is_plain(one.column) else coded for one in mapping.features
        }
        types |= dict.fromkeys((*mapping.executions, *mapping.attributes), coded)
        if mapping.time is not None:
            types[mapping.time] = self._time_type(mapping.time, mapping.time_unit, coded)
        return pacsv.ConvertOptions(
            include_columns=list(mapping.columns),
            column_types=types,
            null_values=sorted(EMPTY),
            decimal_point=self.head.style.decimal,
        )

    def _cells(self, column: str) -> list[str]:
        """Return the first nonempty cells of a column."""
        cells = self._first_rows[self.head.header.index(column)]
        return [cell for cell in cells if cell not in EMPTY]

    @cached_property
    def _first_rows(self) -> list[tuple[str, ...]]:
        return split_columns(self.head.rows, len(self.head.header))

    def _is_plain(self, column: str) -> bool:
        """Whether a column's first cells are numbers without units and separators, as pyarrow reads them."""
        style, cells = self.head.style, self._cells(column)
        number = re.compile(rf"[+-]?\d*(?:{re.escape(style.decimal)}\d*)?(?:[eE][+-]?\d+)?|[+-]?inf")
        return parse_plain_numbers(cells, style) is not None or all(number.fullmatch(cell) for cell in cells)

    def _time_type(self, column: str, unit: str, coded: pa.DataType) -> pa.DataType:
        """Return pyarrow's type of times: timestamps for ISO 8601, else numbers or coded texts."""
        if unit not in READERS:
            return pa.float64()
        iso = unit == "iso" and all(_ISO.fullmatch(cell) for cell in self._cells(column))
        return pa.timestamp("us", self._zone(column)) if iso else coded

    def _zone(self, column: str) -> str | None:
        """Return UTC if the times have a zone, else None, as pyarrow needs it in advance."""
        first = next(iter(self._cells(column)), "")
        return "UTC" if first.endswith("Z") or "+" in first[10:] or "-" in first[10:] else None


def read_segments(stream: io.BufferedReader, n_bytes: int) -> Iterator[bytes | memoryview]:
    """Yield parts of a file that end with whole lines; the next one is read while one is parsed.

    pyarrow would read the whole file faster than it is parsed, which costs memory; parts keep that small and
    allow a cancellation in between.
    """
    with ThreadPoolExecutor(1) as pool:
        next_segment = pool.submit(_read_segment, stream, n_bytes)
        while segment := next_segment.result():
            next_segment = pool.submit(_read_segment, stream, n_bytes)
            yield segment


def _read_segment(stream: io.BufferedReader, n_bytes: int) -> bytes | memoryview:
    # room for the rest of a line, so that nearly no segment is copied; NumPy does not fill it with zeros
    data = np.empty(n_bytes + LINE_RESERVE, dtype=np.uint8).data
    n = stream.readinto(data[:n_bytes])
    if n < n_bytes:
        return data[:n]
    line_rest = stream.readline(MAX_LINE)
    if len(line_rest) > LINE_RESERVE:
        return bytes(data[:n]) + line_rest
    data[n : n + len(line_rest)] = line_rest
    return data[: n + len(line_rest)]


def report_bytes(path: Path, progress: Callable[[float, str], None] | None) -> Callable[[int], None]:
    """Return a function that adds a number of read bytes and reports progress."""
    # compressed content is about eight times as large
    size, n_read = path.stat().st_size * (8 if read_magic(path).startswith(GZIP) else 1), 0

    def report(more: int) -> None:
        nonlocal n_read
        n_read += more
        if progress is not None:
            progress(min(n_read / size, 1.0), f"Reading: {n_read / 2**20:,.0f} MiB")

    return report


def read_in_pieces(
    path: Path,
    head: CsvDialect,
    mapping: ColumnMapping,
    progress: Callable[[float, str], None] | None = None,
) -> RawTable | None:
    """Read a text table with the number of every row; None if its lines may not be rows.

    This is the case for quoted cells with line ends, for carriage returns, and for texts that are not UTF-8.
    """
    if head.encoding != "utf-8-sig" or head.annotated:
        return None
    log = ProblemLog()
    log.extend(head.problems)
    reader, parser = TableReader(mapping, head.header, log, head.style), CsvParser(head, mapping)
    report, before = report_bytes(path, progress), 0
    with open_content(path) as stream:
        for piece in map(bytes, read_segments(stream, PIECE_BYTES)):
            if piece.count(b'"') % 2 or piece.count(b"\r") > piece.count(b"\r\n"):
                return None
            skip = 0 if before else head.header_lines
            lines = piece.count(b"\n") + (not piece.endswith(b"\n"))
            rows = _parse_piece(piece, parser, skip, before)
            if rows is not None and rows.n_rows == lines - skip:
                reader.add_raw(rows)
            else:
                text = Lines(io.BytesIO(piece), head.encoding, path, log, before=before)
                add_lines(reader, text, head, skip)
            before += lines
            report(len(piece))
    return require_table(reader, path)


def _parse_piece(piece: bytes, parser: CsvParser, skip: int, before: int) -> RawTable | None:
    """Parse a piece to numbers; None if it must be read line by line."""
    try:
        columns = split_table(parser.parse(piece, skip))
        return convert_table(columns, parser.mapping, "", before + skip + 1, parser.head.style)
    except pa.ArrowInvalid:
        return None


FORMATS = (
    Format(
        "csv",
        "CSV (also gzipped)",
        (".csv", ".tsv", ".txt", ".gz"),
        lambda _start: True,
        lambda start: start.open_once(CsvSource.open),
        "execution,timestamp,cpu_cores,memory_bytes\n"
        + "".join(f"a,{10 * i},0.{i},{1000 + i}\n" for i in range(6)),
    ),
)
