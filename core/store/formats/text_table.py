"""Files that are tables only after a look at each line, such as those of sar, docker stats and nvidia-smi.

A parser turns numbered lines into rows of cells under one header. Here those rows become a source
like any other, read to the end only when it is asked for.
"""

from __future__ import annotations

import codecs
import io
import re
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from core.errors import InputError
from core.store.formats.base import open_content, plain
from core.store.formats.parse_exact import TableReader
from core.traces.cells.dates import is_clock, is_date
from core.traces.validation import ProblemLog

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from core.traces.mapping import ColumnMapping
    from core.traces.raw import RawTable
    from core.traces.validation import Problem


SAMPLE_ROWS = 50
HEAD_LINES = 4_000
CHUNK_ROWS = 20_000
MOST_LINE = 2**20


class Line(NamedTuple):
    """A line of a text and its number."""

    number: int
    text: str


class Row(NamedTuple):
    """The cells of a row by column, and the number of its line."""

    number: int
    cells: dict[str, str]


def lines_of(path: Path) -> Iterator[Line]:
    """The numbered lines of a text, bounded in length; odd characters are replaced.

    Raises
    ------
    InputError
        If a line is too long to be a line.
    """
    with open_content(path) as stream:
        start = stream.peek(2)[:2] if isinstance(stream, io.BufferedReader) else b""
        encoding = "utf-16" if start in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE) else "utf-8-sig"
        text = io.TextIOWrapper(stream, encoding, errors="replace")
        number = 0
        while line := text.readline(MOST_LINE):
            number += 1
            if len(line) >= MOST_LINE:
                raise InputError(
                    f"Row {number} of “{path.name}” is longer than {MOST_LINE >> 20} MiB.",
                    "Check that the file has line ends.",
                )
            yield Line(number, plain(line.rstrip("\r\n")))


@dataclass(frozen=True)
class TextTable:
    """A log that a parser turns into a table."""

    #: The log, and what makes rows of its lines.
    path: Path
    parser: Callable[[Iterable[Line], ProblemLog], Iterator[Row]]
    #: The columns' names, the first rows, and what was odd about them.
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    problems: tuple[Problem, ...]
    #: The layout in `core.traces.layouts` of the parser's tables; "" where the log names its columns itself.
    layout: str = ""
    #: What the parser is given, where it is not line after line.
    lines: Callable[[Path], Iterator[Line]] = lines_of

    @classmethod
    def open(
        cls,
        path: Path,
        parser: Callable[[Iterable[Line], ProblemLog], Iterator[Row]],
        what: str,
        layout: str = "",
        lines: Callable[[Path], Iterator[Line]] = lines_of,
    ) -> TextTable:
        """Parse the first lines.

        Raises
        ------
        InputError
            If they hold no sample; `what` says what was expected.
        """
        log = ProblemLog()
        first = list(parser(islice(lines(path), HEAD_LINES), log))
        if not first:
            raise InputError(
                f"“{path.name}” looks like {what}, but its first {HEAD_LINES:,} rows hold no sample.",
                "Check that the command ran long enough to write measurements.",
            )
        header = tuple(dict.fromkeys(name for row in first for name in row.cells))
        sample = tuple(tuple(row.cells.get(name, "") for name in header) for row in first[:SAMPLE_ROWS])
        return cls(path, parser, header, sample, log.problems, layout, lines)

    @property
    def types(self) -> tuple[str, ...]:
        """Empty: text files state no types."""
        return ()

    @property
    def n_rows(self) -> int | None:
        """Unknown before the end."""
        return None

    def read(self, mapping: ColumnMapping, progress: Callable[[float, str], None] | None = None) -> RawTable:
        """Read the mapped columns.

        Raises
        ------
        InputError
            If a column is missing or the file is damaged.
        """
        log = ProblemLog()
        reader = TableReader(mapping, self.header, log)
        rows, total = self.parser(self.lines(self.path), log), 0
        while chunk := list(islice(rows, CHUNK_ROWS)):
            self._say_late(chunk, log)
            columns = [[row.cells.get(name, "") for row in chunk] for name in self.header]
            reader.add(columns, [row.number for row in chunk])
            total += len(chunk)
            if progress is not None:
                progress(total / (total + CHUNK_ROWS), f"Reading row {chunk[-1].number:,}")
        raw = reader.table(self.path.name.split(".")[0])
        merged = sum(one.count for one in log.problems if one.kind == "duplicate_time")
        return replace(raw, rows_read=raw.rows_read + merged)

    def _say_late(self, rows: Iterable[Row], log: ProblemLog) -> None:
        """Report columns that were not in the rows that were looked at."""
        known = set(self.header)
        for number, name in ((row.number, name) for row in rows for name in row.cells.keys() - known):
            message = f"Column “{name}” first appears in row {number}, too late to be seen."
            log.add("late_column", message, row=number, column=name)


MOST_WORDS = 6
"""The words of the longest date: Sat 14 Mar 2026 09:00:00 UTC."""
_LIKELY = re.compile(r"\[?(?:\d{4}[-/.]|\d{1,2}[-/.:]\d|\d{10}|\w{2,4}[.,]? )")
"""How times begin: most lines have none, and to find that out word by word takes long."""
_FRACTION = re.compile(r",(?=\d)")
_EPOCH = re.compile(r"\d{10}(?:\.\d+)?|\d{13}|\d{16}|\d{19}")


def time_of(line: str) -> str:
    """The time that a line consists of; "" where it is something else."""
    text = _FRACTION.sub(".", line.strip().strip("[]"))
    return text if _EPOCH.fullmatch(text) or is_date(text) or is_clock(text) else ""


def stamped(line: str) -> tuple[str, str]:
    """A time before a line, "" where there is none, and the rest of the line as it is."""
    if not _LIKELY.match(line):
        return "", line
    for n in range(min(MOST_WORDS, len(line.split(maxsplit=MOST_WORDS)) - 1), 0, -1):
        words = line.split(maxsplit=n)
        if stamp := time_of(" ".join(words[:n])):
            return stamp, words[n]
    return "", line
