"""Reading CSV, CSV.gz and their relatives: pyarrow's parallel reader, and the exact one behind it.

pyarrow reads a clean file in one go, straight into numbers; execution and attributes come as indices
into their distinct strings. Anything that it cannot read, and any problem whose row number it cannot
tell, goes to `core.store.formats.csv.parse_exact`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pyarrow as pa

from core.store.formats.arrow_tables import columns_of, raw_from_arrow
from core.store.formats.csv.dialect import CsvHead, look
from core.store.formats.csv.parse_exact import read_exactly
from core.store.formats.csv.parse_fast import CsvParser, read_in_pieces, segments, tell_bytes
from core.store.streams import open_content

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from core.traces.mapping import ColumnMapping
    from core.traces.raw import RawTable
    from core.traces.validation import Problem

SEGMENT_BYTES = 16 * 2**20


@dataclass(frozen=True)
class CsvSource:
    """A text table that can be read with a mapping."""

    path: Path
    head: CsvHead

    @classmethod
    def open(cls, path: Path) -> CsvSource:
        """Look at the beginning of a file (see `core.store.formats.csv.dialect.look`)."""
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
        raw = raw_from_arrow(columns, mapping, self.path.name.split(".")[0], self.head.header_lines + 1)
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
        if self.head.encoding != "utf-8-sig":
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
