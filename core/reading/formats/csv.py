"""CSV, CSV.gz and their relatives, read in parts of whole lines.

pyarrow splits a part into columns of text, which are cast column by column. A part that it refuses, that has
other than one row per line, or that has a cell to report, is read again in smaller parts, and of these only
the ones at fault line by line, so that one bad cell in a million rows costs little and has its row number.

Quoted cells with line ends, carriage returns alone, and texts that are not UTF-8 are read line by line as a
whole. Lines longer than a bound are refused, so that no file can fill the memory with one line.
"""

from __future__ import annotations

import csv
import io
import re
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import IO, TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv

from core.errors import InputError
from core.reading.dates import READERS
from core.reading.formats.base import GZIP, Format, Source, open_content, read_magic
from core.reading.formats.csv_dialect import CsvDialect, find_dialect, holds_names, iterate_samples
from core.reading.numbers import EMPTY, split_columns
from core.reading.table import InvalidCellError, TableBuilder
from core.traces.validation import KINDS, ProblemLog

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    import numpy.typing as npt

    from core.reading.mapping import ColumnMapping
    from core.reading.table import RawTable

SEGMENT_BYTES = 8 * 2**20
PIECE_BYTES = BLOCK_BYTES = 2**20
LINE_RESERVE = 2**16
"""Bytes reserved behind each part for the rest of its last line; a longer one is copied."""
CHUNK_ROWS = 20_000
MAX_LINE = 4 * 2**20
MAX_FLAWED_ROWS = 200_000


@dataclass(frozen=True, kw_only=True)
class CsvSource(Source):
    """A text table that can be read with a mapping."""

    head: CsvDialect

    @classmethod
    def open(cls, path: Path) -> CsvSource:
        """Open a file with the dialect of its beginning."""
        head = find_dialect(path)
        return cls(
            path=path,
            header=head.header,
            rows=head.rows,
            n_rows=head.n_rows,
            problems=head.problems,
            head=head,
        )

    def read(self, mapping: ColumnMapping, progress: Callable[[float, str], None] | None = None) -> RawTable:
        """Read the mapped columns.

        Raises InputError if a column is missing, the file is damaged, has a line that is too long, or mostly
        rows that do not fit the header.
        """
        builder = self._begin(mapping)
        is_plain = self.head.encoding == "utf-8-sig" and not self.head.annotated
        if is_plain and self._add_parts(builder, progress):
            return require_table(builder, self.path)
        return self.read_lines(mapping, progress)

    def read_lines(
        self, mapping: ColumnMapping, progress: Callable[[float, str], None] | None = None
    ) -> RawTable:
        """Read the mapped columns line by line, which takes several times as long (see `read`)."""
        builder = self._begin(mapping)
        with open_content(self.path) as stream:
            lines = Lines(stream, self.head.encoding, self.path, builder.log, progress)
            add_lines(builder, lines, self.head)
        return require_table(builder, self.path)

    def _begin(self, mapping: ColumnMapping) -> TableBuilder:
        log = ProblemLog()
        log.extend(self.head.problems)
        return TableBuilder(mapping, self.head.header, log, self.head.style)

    def _add_parts(self, builder: TableBuilder, progress: Callable[[float, str], None] | None) -> bool:
        """Take in the file part by part; False if its lines may not be rows."""
        report, n_lines = report_bytes(self.path, progress), 0
        with open_content(self.path) as stream:
            for segment in read_segments(stream, SEGMENT_BYTES):
                n_added = self._add_part(builder, segment, n_lines)
                if n_added is None:
                    return False
                n_lines += n_added
                report(len(segment))
        return True

    def _add_part(self, builder: TableBuilder, part: bytes | memoryview, n_before: int) -> int | None:
        """Take in lines behind the first `n_before`; return their number, None if they may not be rows."""
        codes = np.frombuffer(part, np.uint8)  # counts in a third of the time of bytes, without a copy
        if np.count_nonzero(codes == _QUOTE) % 2 or _has_lone_return(codes):
            return None
        n_lines = int(np.count_nonzero(codes == _NEWLINE)) + bool(codes[-1] != _NEWLINE)
        skip = 0 if n_before else self.head.header_lines
        rows = range(n_before + skip + 1, n_before + n_lines + 1)
        with suppress(pa.ArrowInvalid, InvalidCellError):
            table = self._parse(part, skip, builder.mapping)
            if table.num_rows == len(rows):
                builder.add(dict(zip(table.column_names, table.columns, strict=True)), rows, is_strict=True)
                return n_lines
        pieces = list(read_segments(io.BufferedReader(io.BytesIO(part)), PIECE_BYTES))
        if len(pieces) == 1:
            lines = Lines(io.BytesIO(part), self.head.encoding, self.path, builder.log, before=n_before)
            add_lines(builder, lines, self.head, skip)
            return n_lines
        n_added = 0
        for piece in pieces:
            n_piece = self._add_part(builder, piece, n_before + n_added)
            if n_piece is None:
                return None
            n_added += n_piece
        return n_added

    def _parse(self, data: bytes | memoryview, skip: int, mapping: ColumnMapping) -> pa.Table:
        """Split lines into the mapped columns: texts, numbers if the first rows have plain ones, and indices.

        Raises pyarrow.ArrowInvalid if a row is not of the header's width.
        """
        texts = dict.fromkeys(mapping.columns, pa.string())
        texts |= dict.fromkeys(
            (*mapping.executions, *mapping.attributes), pa.dictionary(pa.int32(), pa.string())
        )
        try:  # pyarrow converts in several threads
            return self._split(data, skip, texts | dict.fromkeys(self._list_plain(mapping), pa.float64()))
        except pa.ArrowInvalid:
            return self._split(data, skip, texts)

    def _split(self, data: bytes | memoryview, skip: int, types: Mapping[str, pa.DataType]) -> pa.Table:
        return pacsv.read_csv(
            pa.BufferReader(data),
            pacsv.ReadOptions(column_names=list(self.head.header), skip_rows=skip, block_size=BLOCK_BYTES),
            pacsv.ParseOptions(delimiter=self.head.separator),
            pacsv.ConvertOptions(
                include_columns=list(types),
                column_types=types,
                null_values=sorted(EMPTY),
                strings_can_be_null=True,
                decimal_point=self.head.style.decimal,
            ),
        )

    def _list_plain(self, mapping: ColumnMapping) -> list[str]:
        """List the columns of numbers whose first cells are written as pyarrow reads them."""
        numbers = [one.column for one in mapping.features]
        if mapping.time is not None and mapping.time_unit not in READERS:
            numbers.append(mapping.time)
        return [name for name in numbers if name in self._plain_columns]

    @cached_property
    def _plain_columns(self) -> frozenset[str]:
        cells = split_columns(self.head.rows, len(self.head.header))
        filled = ([cell for cell in column if cell not in EMPTY] for column in cells)
        pairs = zip(self.head.header, filled, strict=True)
        return frozenset(name for name, texts in pairs if _are_plain(texts, self.head.style.decimal))


_QUOTE, _NEWLINE, _RETURN = b'"\n\r'


def _has_lone_return(codes: npt.NDArray[np.uint8]) -> bool:
    """Whether a carriage return is not followed by a line feed."""
    places = np.flatnonzero(codes == _RETURN)
    return bool(len(places)) and (places[-1] + 1 == len(codes) or bool((codes[places + 1] != _NEWLINE).any()))


def _are_plain(texts: list[str], decimal: str) -> bool:
    """Whether all texts are numbers without units and separators of thousands."""
    return all(map(re.compile(rf"[+-]?\d*(?:{re.escape(decimal)}\d*)?(?:[eE][+-]?\d+)?").fullmatch, texts))


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


def require_table(builder: TableBuilder, path: Path) -> RawTable:
    """Everything that was collected of a file.

    Raises InputError if most of its rows are not of the header's width: what is left of them is not what the
    file says.
    """
    raw = builder.table(path.name.split(".")[0])
    ragged = [one for one in raw.problems if one.kind == "ragged"]
    count = sum(one.count for one in ragged)
    if count > raw.n_rows > 0:
        raise InputError(
            f"{count:,} of the {raw.rows_read:,} rows of “{path.name}” do not have the {len(builder.header)} "
            f"cells of its header; the first is row {ragged[0].row}.",
            "Keep one header and the rows that belong to it.",
        )
    return raw


def add_lines(builder: TableBuilder, lines: Lines, head: CsvDialect, skip: int | None = None) -> None:
    """Take in the rows of some lines, the first `skip` of them left out (None: up to the header)."""
    for chunk, numbers in _iterate_chunks(
        lines, head, builder.log, head.header_lines if skip is None else skip
    ):
        columns = list(zip(*chunk, strict=True))
        wanted = {name: columns[head.header.index(name)] for name in builder.mapping.columns}
        builder.add_cells(wanted, numbers)


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


FORMATS = (
    Format(
        "csv",
        "CSV (also gzipped)",
        (".csv", ".tsv", ".txt", ".gz"),
        lambda start: start.open_once(CsvSource.open),
    ),
)
