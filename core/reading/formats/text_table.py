"""Logs as tables, such as those of sar, docker stats and nvidia-smi, and times that loops print before lines.

A parser turns numbered lines into rows of cells under one header; `TextTable` makes a source of these rows.
What parsers have in common is here: rows under headers of names, answers in JSON, processes that a tool does
not print while they are idle.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from core.errors import InputError
from core.reading.dates import is_clock, is_date
from core.reading.formats.base import Format, Source, open_text, strip_escapes
from core.reading.formats.csv_dialect import require_few_columns
from core.reading.table import TableBuilder
from core.traces.validation import ProblemLog, problem
from core.units import plural

if TYPE_CHECKING:
    from collections.abc import Container, Sequence
    from pathlib import Path

    from core.reading.formats.base import FileStart
    from core.reading.mapping import ColumnMapping
    from core.reading.table import RawTable
    from core.reading.tool_facts import ToolFacts
    from core.traces.validation import Problem


SAMPLE_ROWS = 50
HEAD_LINES = 4_000
CHUNK_ROWS = 20_000
MAX_LINE = 2**20
MAX_LATE_COLUMNS = 20
MAX_IDLE_ROWS, MAX_IDLE_RATIO = 100_000, 20


class Line(NamedTuple):
    """A line of a text and its number."""

    number: int
    text: str


class Row(NamedTuple):
    """The cells of a row by column, and the number of its line."""

    number: int
    cells: dict[str, str]


Parser = Callable[[Iterable[Line], ProblemLog], Iterator[Row]]


def fit_row(
    number: int, header: Sequence[str], cells: Sequence[str], log: ProblemLog, *, last_is_text: bool = False
) -> dict[str, str] | None:
    """Return the cells of a row by column; report one of another width, and return None.

    The last column may be a text with spaces in it, such as a command.
    """
    if last_is_text and header and len(cells) > len(header):
        cells = [*cells[: len(header) - 1], " ".join(cells[len(header) - 1 :])]
    if header and len(cells) == len(header):
        return dict(zip(header, cells, strict=True))
    message = f"Row {number} has {len(cells)} cells instead of the {len(header)} of its header."
    log.add("ragged", message, row=number)
    return None


def split_times(lines: Iterable[Line]) -> Iterator[tuple[int, str, str]]:
    """Yield each line that says something: its number, the time before or above it, and the rest of it."""
    stamp_above = ""
    for number, text in lines:
        stripped = text.strip()
        if time_alone := parse_time_line(stripped):
            stamp_above = time_alone
        elif stripped:
            stamp, line_rest = split_time(stripped)
            yield number, stamp or stamp_above, line_rest


def parse_under_headers(
    lines: Iterable[Line],
    log: ProblemLog,
    find_names: Callable[[str], list[str]],
    split: Callable[[str], list[str]] = str.split,
) -> Iterator[tuple[int, str, dict[str, str]]]:
    """Yield number, time and cells of every row below a header, whose time may be that of its rows.

    `find_names` returns the columns that a header names, and none for any other line.
    """
    header: list[str] = []
    header_stamp = ""
    for number, stamp, text in split_times(lines):
        if names := find_names(text):
            header, header_stamp = names, stamp
        elif cells := fit_row(number, header, split(text), log):
            yield number, stamp or header_stamp, cells


def json_parser(read: Callable[[Any], Iterable[dict[str, Any]]], what: str) -> Parser:
    """Return the parser of answers in JSON, each a line, of which `read` makes rows."""

    def parse(lines: Iterable[Line], log: ProblemLog) -> Iterator[Row]:
        for number, stamp, text in split_times(lines):
            try:
                rows = list(read(json.loads(text)))
            except (ValueError, AttributeError, TypeError, KeyError, OverflowError, RecursionError):
                log.add("ragged", f"Object {number} is no answer of {what}.", row=number)
                continue
            for cells in rows:
                known = {name: str(value) for name, value in cells.items() if value is not None}
                yield Row(number, ({"timestamp": stamp} if stamp else {}) | known)

    return parse


class IdleRows:
    """The rows of processes that a tool does not print while they use no CPU.

    Between two rows of a process it had no CPU, and the memory of the earlier one, in every frame that was
    printed. Before its first row and after its last one it may not have run.

    A file of short frames and many processes that were idle between two of them could stand for any number of
    rows; behind `MAX_IDLE_ROWS` and `MAX_IDLE_RATIO` rows for each that is printed, the rest are gaps.
    """

    def __init__(self, log: ProblemLog, *, prints_idle: bool) -> None:
        self._log, self._prints_idle = log, prints_idle
        self._frames: dict[str, list[str]] = {}
        self._place: dict[tuple[str, str], int] = {}
        self._latest: dict[tuple[str, str, str], Row] = {}
        self._count = self._printed = self._omitted = 0

    def begin_frame(self, stamp: str, host: str = "") -> None:
        """Begin the answers of another time of a host."""
        frames = self._frames.setdefault(host, [])
        if (host, stamp) not in self._place:
            self._place[host, stamp] = len(frames)
            frames.append(stamp)

    def add(self, row: Row, active: Container[str] | None = None) -> Iterator[Row]:
        """Yield the idle rows before a row of a process, for `active` frames (None: all), and the row."""
        host = row.cells.get("hostname", "")
        key = (host, row.cells["command"], row.cells["pid"])
        before = self._latest.get(key)
        self._latest[key] = row
        self._printed += 1
        if before is not None and not self._prints_idle:
            first, last = (self._place[host, one.cells["timestamp"]] for one in (before, row))
            for stamp in self._frames[host][first + 1 : last]:
                if active is not None and stamp not in active:
                    continue
                if self._count >= MAX_IDLE_ROWS + MAX_IDLE_RATIO * self._printed:
                    self._omitted += 1
                    continue
                self._count += 1
                yield Row(row.number, before.cells | {"timestamp": stamp, "cpu_percent": "0"})
        yield row

    def report(self) -> None:
        """Report the rows that were added."""
        if self._count:
            message = f"{plural(self._count, 'row')} of processes that were idle and not printed."
            self._log.add("idle_rows", message, count=self._count)
        if self._omitted:
            message = f"{plural(self._omitted, 'row')} of processes that were idle for long and not printed."
            self._log.add("gap", message, count=self._omitted)


def read_lines(path: Path, skip: int = 0) -> Iterator[Line]:
    """Yield the numbered lines of a text behind the first ones; invalid characters are replaced.

    Raises InputError if a line is too long.
    """
    with open_text(path) as text:
        number = 0
        while line := text.readline(MAX_LINE):
            number += 1
            if len(line) >= MAX_LINE:
                raise InputError(
                    f"Row {number} of “{path.name}” is longer than {MAX_LINE >> 20} MiB.",
                    "Check that the file has line ends.",
                )
            if number > skip:
                yield Line(number, strip_escapes(line.rstrip("\r\n")))


def _report_preamble(skip: int) -> ProblemLog:
    log = ProblemLog()
    if skip:
        log.add("preamble", f"{plural(skip, 'line')} above the output of the tool.", row=1, count=skip)
    return log


@dataclass(frozen=True, kw_only=True)
class TextTable(Source):
    """A log as a table, by a parser of its lines."""

    parser: Parser
    #: What the tool measures; None for names of columns from the file.
    facts: ToolFacts | None = None
    #: Splits the file into the parser's input, behind some lines.
    lines: Callable[[Path, int], Iterator[Line]] = read_lines
    #: The number of lines above the tool's output.
    skip: int = 0

    @classmethod
    def open(
        cls,
        start: FileStart,
        parser: Parser,
        expected: str,
        facts: ToolFacts | None = None,
        lines: Callable[[Path, int], Iterator[Line]] = read_lines,
    ) -> TextTable:
        """Parse the first lines.

        Raises InputError if they hold no sample of the `expected` output, or too many columns.
        """
        log = _report_preamble(start.skip)
        first = list(parser(islice(lines(start.path, start.skip), HEAD_LINES), log))
        if not first:
            name = start.path.name
            raise InputError(
                f"“{name}” looks like {expected}, but its first {HEAD_LINES:,} rows hold no sample.",
                "Check that the command ran long enough to write measurements.",
            )
        header = tuple(dict.fromkeys(name for row in first for name in row.cells))
        require_few_columns(len(header), first[0].number)
        sample = tuple(tuple(row.cells.get(name, "") for name in header) for row in first[:SAMPLE_ROWS])
        return cls(
            path=start.path, header=header, rows=sample, problems=log.problems,
            parser=parser, facts=facts, lines=lines, skip=start.skip,
        )  # fmt: skip

    def read(self, mapping: ColumnMapping, progress: Callable[[float, str], None] | None = None) -> RawTable:
        """Read the mapped columns."""
        log = _report_preamble(self.skip)
        builder = TableBuilder(mapping, self.header, log)
        rows, total = self.parser(self.lines(self.path, self.skip), log), 0
        known, late = frozenset(self.header), dict[str, list[int]]()
        while chunk := list(islice(rows, CHUNK_ROWS)):
            for row in chunk:
                for name in row.cells:
                    if name not in known:
                        late.setdefault(name, []).append(row.number)
            columns = {name: [row.cells.get(name, "") for row in chunk] for name in mapping.columns}
            builder.add_cells(columns, [row.number for row in chunk])
            total += len(chunk)
            if progress is not None:
                progress(total / (total + CHUNK_ROWS), f"Reading row {chunk[-1].number:,}")
        log.extend(_report_late_columns(late))
        raw = builder.table(self.path.name.split(".")[0])
        merged = sum(one.count for one in log.problems if one.kind == "duplicate_time")
        return replace(raw, rows_read=raw.rows_read + merged)


def _report_late_columns(rows_by_column: dict[str, list[int]]) -> Iterator[Problem]:
    """Yield a problem for each column that the first rows do not have; many of them share one."""
    for name, rows in islice(rows_by_column.items(), MAX_LATE_COLUMNS):
        message = f"Column “{name}” first appears in row {rows[0]}, too late to be seen."
        yield problem("late_column", message, column=name, count=len(rows), rows=rows)
    others = list(islice(rows_by_column.values(), MAX_LATE_COLUMNS, None))
    if others:
        message = f"{plural(len(others), 'further column')} appear from row {others[0][0]} on."
        yield problem("late_column", message, count=sum(map(len, others)), row=others[0][0])


def tool_format(  # noqa: PLR0913 - the fields of an entry
    name: str,
    title: str,
    suffixes: tuple[str, ...],
    begins: str,
    parse: Parser,
    *,
    check: Callable[[str], bool] | None = None,
    facts: ToolFacts | None = None,
    lines: Callable[[Path, int], Iterator[Line]] = read_lines,
    example: str = "",
) -> Format:
    """Return the format of a tool's output, by its beginning and the parser of its lines."""
    return Format(
        name,
        title,
        suffixes,
        lambda start: TextTable.open(start, parse, f"output of {title}", facts, lines),
        begins,
        None if check is None else lambda start: check(start.text),
        is_of_tool=True,
        example=example,
    )


MAX_WORDS = 6
"""Number of words of the longest date: Sat 14 Mar 2026 09:00:00 UTC."""
_TIME_START = re.compile(r"\[?(?:\d{4}[-/.]|\d{1,2}[-/.:]\d|\d{10}|\w{2,4}[.,]? )")
"""The beginning of times, to skip lines without one quickly."""
_FRACTION = re.compile(r",(?=\d)")
_EPOCH = re.compile(r"\d{10}(?:\.\d+)?|\d{13}|\d{16}|\d{19}")


def parse_time_line(line: str) -> str:
    """Return the time on a line of its own; "" for any other line."""
    text = _FRACTION.sub(".", line.strip().strip("[]"))
    return text if _EPOCH.fullmatch(text) or is_date(text) or is_clock(text) else ""


def split_time(line: str) -> tuple[str, str]:
    """Split a line into the time before it, "" without one, and the rest."""
    if not _TIME_START.match(line):
        return "", line
    for n in range(min(MAX_WORDS, len(line.split(maxsplit=MAX_WORDS)) - 1), 0, -1):
        words = line.split(maxsplit=n)
        if stamp := parse_time_line(" ".join(words[:n])):
            return stamp, words[n]
    return "", line
