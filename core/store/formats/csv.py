"""Reading CSV, CSV.gz and their relatives: pyarrow's parallel reader, and the exact one behind it.

pyarrow reads a clean file part by part, whole lines each, straight into numbers; execution and attributes
come as indices into their distinct strings. A file with a bad cell is read again in smaller parts: only
those that pyarrow refuses, or whose rows are not one per line, go line by line
(`core.store.formats.parse_exact`), so that one bad cell in a million rows costs little and still has
its row number.
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

from core.store.formats.arrow_tables import columns_of, raw_from_arrow
from core.store.formats.base import GZIP, Format, magic, open_content
from core.store.formats.csv_dialect import CsvHead, look
from core.store.formats.parse_exact import MOST_LINE, Lines, TableReader, add_lines, read_exactly, whole_table
from core.traces.cells.dates import READERS
from core.traces.cells.numbers import EMPTY, bare_numbers, columns_of_rows
from core.traces.validation import ProblemLog

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from core.traces.mapping import ColumnMapping
    from core.traces.raw import RawTable
    from core.traces.validation import Problem


SEGMENT_BYTES = 8 * 2**20
PIECE_BYTES = BLOCK_BYTES = 2**20
USUAL_LINE = 2**16
"""Room behind each part for the rest of its last line; a longer one is copied."""
_ISO = re.compile(r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?(?:Z|[+-]\d\d(?::?\d\d)?)?)?")


@dataclass(frozen=True)
class CsvSource:
    """A text table that can be read with a mapping."""

    path: Path
    head: CsvHead

    @classmethod
    def open(cls, path: Path) -> CsvSource:
        """Look at the beginning of a file (see `core.store.formats.csv_dialect.look`)."""
        return cls(path, look(path))

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
        """What was odd about the beginning."""
        return self.head.problems

    def read(self, mapping: ColumnMapping, progress: Callable[[float, str], None] | None = None) -> RawTable:
        """Read the mapped columns, the fast way where the file allows it.

        Raises
        ------
        InputError
            If a column is missing or the file is damaged.
        """
        mapping.require(self.head.header)
        columns = self._fast(mapping, progress)
        if columns is None:
            return self.read_exactly(mapping, progress)
        name, first = self.path.name.split(".")[0], self.head.header_lines + 1
        try:
            raw = raw_from_arrow(columns, mapping, name, first, self.head.style)
        except pa.ArrowInvalid:  # a text that is no number: who reads line by line says in which row
            return self.read_exactly(mapping, progress)
        return replace(raw, problems=self.head.problems)

    def read_exactly(
        self, mapping: ColumnMapping, progress: Callable[[float, str], None] | None = None
    ) -> RawTable:
        """Read the mapped columns with the number of every row."""
        raw = read_in_pieces(self.path, self.head, mapping, progress)
        return raw if raw is not None else read_exactly(self.path, self.head, mapping, progress)

    def numbers_rows(self, raw: RawTable) -> bool:
        """Tell whether every line below the header is one row, so that positions give row numbers."""
        return rows_are_lines(self.path, self.head.header_lines, raw.n_rows)

    def _fast(
        self, mapping: ColumnMapping, progress: Callable[[float, str], None] | None
    ) -> dict[str, pa.ChunkedArray] | None:
        """The mapped columns as pyarrow reads them; None where it cannot."""
        if self.head.encoding != "utf-8-sig" or self.head.annotated:
            return None
        parser, tell = CsvParser(self.head, mapping), tell_bytes(self.path, progress)
        parts: list[pa.Table] = []
        try:
            with open_content(self.path) as stream:
                for segment in segments(stream, SEGMENT_BYTES):
                    parts.append(parser.parse(segment, 0 if parts else self.head.header_lines))
                    tell(len(segment))
            return columns_of(pa.concat_tables(parts))
        except pa.ArrowInvalid:
            return None


def rows_are_lines(path: Path, header_lines: int, n_rows: int) -> bool:
    """Tell whether every line below the header is one row, so that positions give row numbers."""
    lines, last = 0, b"\n"
    with open_content(path) as stream:
        while block := stream.read(2**22):
            lines += block.count(b"\n")
            last = block[-1:]
    return lines + (last != b"\n") - header_lines == n_rows


@dataclass(frozen=True)
class CsvParser:
    """pyarrow's parser, told the form of a table and the columns that are wanted."""

    head: CsvHead
    mapping: ColumnMapping

    def parse(self, part: bytes | memoryview, skip: int) -> pa.Table:
        """The rows of a part of the file that ends with a whole line; `skip` lines are left out.

        Raises
        ------
        pyarrow.ArrowInvalid
            If a cell is not of its column's type, or a row not of the header's width.
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
        types = {one.column: pa.float64() if self._plain(one.column) else coded for one in mapping.features}
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
        """The first cells of a column that are not empty."""
        cells = self._first_rows[self.head.header.index(column)]
        return [cell for cell in cells if cell not in EMPTY]

    @cached_property
    def _first_rows(self) -> list[tuple[str, ...]]:
        return columns_of_rows(self.head.rows, len(self.head.header))

    def _plain(self, column: str) -> bool:
        """Whether a column's first cells are numbers without units and thousands, as pyarrow reads them."""
        style, cells = self.head.style, self._cells(column)
        number = re.compile(rf"[+-]?\d*(?:{re.escape(style.decimal)}\d*)?(?:[eE][+-]?\d+)?|[+-]?inf")
        return bare_numbers(cells, style) is not None or all(number.fullmatch(cell) for cell in cells)

    def _time_type(self, column: str, unit: str, coded: pa.DataType) -> pa.DataType:
        """Dates as ISO 8601 has them are read by pyarrow, others as distinct texts."""
        if unit not in READERS:
            return pa.float64()
        iso = unit == "iso" and all(_ISO.fullmatch(cell) for cell in self._cells(column))
        return pa.timestamp("us", self._zone(column)) if iso else coded

    def _zone(self, column: str) -> str | None:
        """UTC where the times name a zone, else None: pyarrow wants to know beforehand."""
        first = next(iter(self._cells(column)), "")
        return "UTC" if first.endswith("Z") or "+" in first[10:] or "-" in first[10:] else None


def segments(stream: io.BufferedReader, n_bytes: int) -> Iterator[bytes | memoryview]:
    """Parts of a file that end with whole lines; the next one is read while one is parsed.

    pyarrow reads a whole file as fast as the disk gives it, and a file that waits for its parser
    costs memory: parts keep that small, and let a person stop in between.
    """
    with ThreadPoolExecutor(1) as pool:
        following = pool.submit(_segment, stream, n_bytes)
        while segment := following.result():
            following = pool.submit(_segment, stream, n_bytes)
            yield segment


def _segment(stream: io.BufferedReader, n_bytes: int) -> bytes | memoryview:
    # room for the rest of a line, so that nearly no segment is copied; NumPy does not fill it with zeros
    data = np.empty(n_bytes + USUAL_LINE, dtype=np.uint8).data
    n = stream.readinto(data[:n_bytes])
    if n < n_bytes:
        return data[:n]
    rest = stream.readline(MOST_LINE)
    if len(rest) > USUAL_LINE:
        return bytes(data[:n]) + rest
    data[n : n + len(rest)] = rest
    return data[: n + len(rest)]


def tell_bytes(path: Path, progress: Callable[[float, str], None] | None) -> Callable[[int], None]:
    """A function that is told how many more bytes were read, and reports progress."""
    # compressed content is about eight times as large
    size, done = path.stat().st_size * (8 if magic(path).startswith(GZIP) else 1), 0

    def tell(more: int) -> None:
        nonlocal done
        done += more
        if progress is not None:
            progress(min(done / size, 1.0), f"Reading: {done / 2**20:,.0f} MiB")

    return tell


def read_in_pieces(
    path: Path,
    head: CsvHead,
    mapping: ColumnMapping,
    progress: Callable[[float, str], None] | None = None,
) -> RawTable | None:
    """Read a text table with the number of every row; None where its lines are not rows.

    That is so where a quoted cell may hold a line end, where lines end in carriage returns, or where
    the text is not UTF-8.
    """
    if head.encoding != "utf-8-sig" or head.annotated:
        return None
    log = ProblemLog()
    log.extend(head.problems)
    reader, parser = TableReader(mapping, head.header, log, head.style), CsvParser(head, mapping)
    tell, before = tell_bytes(path, progress), 0
    with open_content(path) as stream:
        for piece in map(bytes, segments(stream, PIECE_BYTES)):
            if piece.count(b'"') % 2 or piece.count(b"\r") > piece.count(b"\r\n"):
                return None
            skip = 0 if before else head.header_lines
            lines = piece.count(b"\n") + (not piece.endswith(b"\n"))
            rows = _rows_of(piece, parser, skip, before)
            if rows is not None and rows.n_rows == lines - skip:
                reader.add_raw(rows)
            else:
                text = Lines(io.BytesIO(piece), head.encoding, path, log, before=before)
                add_lines(reader, text, head, skip)
            before += lines
            tell(len(piece))
    return whole_table(reader, path)


def _rows_of(piece: bytes, parser: CsvParser, skip: int, before: int) -> RawTable | None:
    """The rows of a piece as numbers; None where it has to be read line by line."""
    try:
        columns = columns_of(parser.parse(piece, skip))
        return raw_from_arrow(columns, parser.mapping, "", before + skip + 1, parser.head.style)
    except pa.ArrowInvalid:
        return None


FORMATS = (
    Format(
        "csv",
        "CSV (also gzipped)",
        (".csv", ".tsv", ".txt", ".gz"),
        lambda _start: True,
        lambda start: start.opened(CsvSource.open),
        "execution,timestamp,cpu_cores,memory_bytes\n"
        + "".join(f"a,{10 * i},0.{i},{1000 + i}\n" for i in range(6)),
    ),
)
