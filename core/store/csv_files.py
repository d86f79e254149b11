"""Reading CSV, CSV.gz and their relatives: pyarrow's parallel reader, and the exact one behind it.

pyarrow reads a clean file in one go, straight into numbers; execution and attributes come as indices
into their different texts. Anything that it cannot read, and any problem whose row number it cannot
tell, goes to `core.store.csv_exact`.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING

import pyarrow as pa
import pyarrow.csv as pacsv

from core.store.arrow_tables import columns_of, raw_from_arrow
from core.store.csv_exact import MOST_LINE, read_exactly
from core.store.csv_head import CsvHead, look
from core.store.streams import GZIP, magic, open_content
from core.traces.guessing import EMPTY

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from core.traces.mapping import ColumnMapping
    from core.traces.raw import RawTable
    from core.traces.validation import Problem

BLOCK_BYTES = 2**20
SEGMENT_BYTES = 16 * 2**20


@dataclass(frozen=True)
class CsvSource:
    """A text table that can be read with a mapping."""

    path: Path
    head: CsvHead

    @classmethod
    def open(cls, path: Path) -> CsvSource:
        """Look at the beginning of a file (see `core.store.csv_head.look`)."""
        return cls(path, look(path))

    @property
    def header(self) -> tuple[str, ...]:
        """The columns' names."""
        return self.head.header

    @property
    def rows(self) -> tuple[tuple[str, ...], ...]:
        """The first rows as texts."""
        return self.head.rows

    @property
    def types(self) -> tuple[str, ...]:
        """Empty: a text states no types."""
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
        """Read the mapped columns, the fast way where the file lets us.

        Raises
        ------
        InputError
            If a column is missing or the file is damaged.
        """
        mapping.require(self.head.header)
        columns = self._fast(mapping, progress)
        if columns is None:
            return read_exactly(self.path, self.head, mapping, progress)
        return raw_from_arrow(columns, mapping, self.path.name.split(".")[0], self.head.header_lines + 1)

    def read_exactly(
        self, mapping: ColumnMapping, progress: Callable[[float, str], None] | None = None
    ) -> RawTable:
        """Read the mapped columns with the number of every row."""
        return read_exactly(self.path, self.head, mapping, progress)

    def _fast(self, mapping: ColumnMapping, progress: Callable[[float, str], None] | None) -> pa.Table | None:
        """The mapped columns as pyarrow reads them; None where it cannot."""
        if self.head.encoding != "utf-8-sig" or self.head.problems:
            return None
        size = self.path.stat().st_size * (8 if magic(self.path).startswith(GZIP) else 1)
        parts: list[pa.Table] = []
        done, conversion = 0, self._conversion(mapping)
        try:
            with open_content(self.path) as stream:
                for segment in _segments(stream):
                    parts.append(self._parse(segment, first=not parts, conversion=conversion))
                    done += len(segment)
                    if progress is not None:
                        progress(min(done / size, 1.0), f"Reading: {done / 2**20:,.0f} MiB")
            return columns_of(pa.concat_tables(parts))
        except pa.ArrowInvalid:
            return None

    def _parse(self, segment: bytes, *, first: bool, conversion: pacsv.ConvertOptions) -> pa.Table:
        """The rows of a part of the file that ends with a whole line."""
        return pacsv.read_csv(
            pa.BufferReader(segment),
            pacsv.ReadOptions(
                column_names=list(self.head.header),
                skip_rows=self.head.header_lines if first else 0,
                block_size=BLOCK_BYTES,
            ),
            pacsv.ParseOptions(delimiter=self.head.separator),
            conversion,
        )

    def _conversion(self, mapping: ColumnMapping) -> pacsv.ConvertOptions:
        types = {one.column: pa.float64() for one in mapping.features}
        coded = pa.dictionary(pa.int32(), pa.string())
        types |= {name: coded for name in (mapping.execution, *mapping.attributes) if name is not None}
        if mapping.time is not None:
            iso = mapping.time_unit == "iso"
            types[mapping.time] = pa.timestamp("us", self._zone(mapping.time)) if iso else pa.float64()
        return pacsv.ConvertOptions(
            include_columns=list(mapping.columns),
            column_types=types,
            null_values=sorted(EMPTY),
            decimal_point=self.head.decimal,
        )

    def _zone(self, column: str) -> str | None:
        """UTC where the times name a zone, else None: pyarrow wants to know beforehand."""
        position = self.head.header.index(column)
        first = next((row[position].strip() for row in self.head.rows if position < len(row)), "")
        return "UTC" if first.endswith("Z") or "+" in first[10:] or "-" in first[10:] else None


def _segments(stream: IO[bytes]) -> Iterator[bytes]:
    """Parts of a file that end with whole lines; the next one is read while one is parsed.

    pyarrow reads a whole file as fast as the disk gives it, and a file that waits for its parser
    costs memory: parts keep that small, and let a person stop in between.
    """
    with ThreadPoolExecutor(1) as pool:
        following = pool.submit(_segment, stream)
        while segment := following.result():
            following = pool.submit(_segment, stream)
            yield segment


def _segment(stream: IO[bytes]) -> bytes:
    data = stream.read(SEGMENT_BYTES)
    return data + stream.readline(MOST_LINE) if len(data) == SEGMENT_BYTES else data


def rows_are_lines(path: Path, header_lines: int, n_rows: int) -> bool:
    """Tell whether every line below the header is one row, so that positions give row numbers."""
    lines, last = 0, b"\n"
    with open_content(path) as stream:
        while block := stream.read(2**22):
            lines += block.count(b"\n")
            last = block[-1:]
    return lines + (last != b"\n") - header_lines == n_rows
