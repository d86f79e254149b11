"""Tables whose date and time of day stand in two columns, seen with one: ``Date,Time`` as ``Date Time``.

Only columns that are called so are joined, and only where no column has both: a duration in an own column
(``elapsed``) is no time of day.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from core.store.formats import arrow_tables
from core.store.formats.base import ExactSource
from core.traces.cells.dates import is_clock, is_date, named_time
from core.traces.cells.numbers import EMPTY
from core.traces.guessing.column_names import words
from core.traces.validation import ProblemLog

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from core.store.formats.base import Source
    from core.traces.mapping import ColumnMapping
    from core.traces.raw import Coded, RawTable
    from core.traces.validation import Problem

_DATES = frozenset(("date", "datum", "day", "tag", "fecha", "data", "jour", "dato"))
_CLOCKS = frozenset(("time", "clock", "zeit", "uhrzeit", "heure", "hora", "ora", "tijd", "tid"))
_AROUND = frozenset(("local", "utc", "of", "day", "the", "sample"))
_DIGITS = re.compile(r"(?:19|20)\d{6}")


@dataclass(frozen=True)
class DatedTable:
    """A table in whose header one name stands for the date and the time of day."""

    #: The table as it is written.
    source: Source
    #: The two columns.
    date: str
    clock: str

    @property
    def name(self) -> str:
        """What the column of both is called."""
        return f"{self.date} {self.clock}"

    @property
    def path(self) -> Path:
        """The file."""
        return self.source.path

    @property
    def header(self) -> tuple[str, ...]:
        """The columns' names: both where the date is."""
        return self._seen(self.source.header, self.name)

    @property
    def rows(self) -> tuple[tuple[str, ...], ...]:
        """The first rows."""
        places = [self.source.header.index(name) for name in (self.date, self.clock)]
        width = len(self.source.header)
        whole = [row for row in self.source.rows if len(row) == width]
        return tuple(self._seen(row, _moment(*(row[place].strip() for place in places))) for row in whole)

    @property
    def types(self) -> tuple[str, ...]:
        """The columns' types where the file states them."""
        return self._seen(self.source.types, "date") if self.source.types else ()

    @property
    def n_rows(self) -> int | None:
        """The number of rows where it is known."""
        return self.source.n_rows

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What was odd about the beginning of the table."""
        return self.source.problems

    def numbers_rows(self, raw: RawTable) -> bool:
        """Tell whether positions in what was read are row numbers."""
        return not isinstance(self.source, ExactSource) or self.source.numbers_rows(raw)

    def read(self, mapping: ColumnMapping, progress: Callable[[float, str], None] | None = None) -> RawTable:
        """Read the mapped columns.

        Raises
        ------
        InputError
            If a column is missing or the file is damaged.
        """
        return self._with(mapping, self.source.read, progress)

    def read_exactly(
        self, mapping: ColumnMapping, progress: Callable[[float, str], None] | None = None
    ) -> RawTable:
        """Read the mapped columns with the number of every row."""
        exact = self.source.read_exactly if isinstance(self.source, ExactSource) else self.source.read
        return self._with(mapping, exact, progress)

    def _seen(self, cells: Sequence[str], both: str) -> tuple[str, ...]:
        """The cells of a row of the source, with one in place of two."""
        header = self.source.header
        return tuple(
            both if name == self.date else cell
            for name, cell in zip(header, cells, strict=True)
            if name != self.clock
        )

    def _with(
        self,
        mapping: ColumnMapping,
        read: Callable[[ColumnMapping, Callable[[float, str], None] | None], RawTable],
        progress: Callable[[float, str], None] | None,
    ) -> RawTable:
        """What is read of the source, with the times of both columns where they are mapped."""
        if mapping.time != self.name:
            return read(mapping, progress)
        attributes = (*mapping.attributes, self.date, self.clock)
        inner = replace(mapping, time=None, time_unit="none", period=1.0, attributes=attributes)
        raw = read(inner, progress)
        log = ProblemLog()
        log.extend(raw.problems)
        time, flawed = self._times(raw, mapping.time_unit, log)
        return replace(
            raw,
            time=time,
            attributes=raw.attributes[:-2],
            problems=log.problems,
            flawed={**raw.flawed, self.name: flawed},
        )

    def _times(self, raw: RawTable, unit: str, log: ProblemLog) -> tuple[np.ndarray, np.ndarray]:
        """The times of all rows, and the positions of those that are reported to have none."""
        date, clock = raw.attributes[-2:]
        pairs = np.column_stack([date.codes, clock.codes])
        unique, inverse = np.unique(pairs, axis=0, return_inverse=True)
        inverse = inverse.reshape(-1)
        texts = [_moment(_name(date, of_date), _name(clock, of_clock)) for of_date, of_clock in unique]
        values, wrong = arrow_tables.times(texts, range(len(texts)), self.name, unit, ProblemLog())
        flawed = np.flatnonzero(np.isin(inverse, wrong))
        for position in flawed:
            arrow_tables.times([texts[inverse[position]]], [raw.row_of(int(position))], self.name, unit, log)
        return values[inverse], flawed


def _name(column: Coded, code: int) -> str:
    return column.names[code].strip() if code >= 0 else ""


def _moment(date: str, clock: str) -> str:
    """A date and a time of day as one cell; empty where one of them is."""
    return "" if date in EMPTY or clock in EMPTY else f"{date} {clock}"


def with_whole_times(source: Source) -> Source:
    """The table with date and time of day in one column, where it has them in two."""
    dates = _called(source, _DATES, _is_day)
    clocks = _called(source, _CLOCKS, is_clock)
    if (
        len(dates) != 1
        or len(clocks) != 1
        or any(_mostly(source, name, _is_moment) for name in source.header)
    ):
        return source
    found = DatedTable(source, dates[0], clocks[0])
    return source if found.name in source.header else found


def _called(source: Source, names: frozenset[str], fits: Callable[[str], bool]) -> list[str]:
    """The columns of such names whose cells are of that kind."""
    found = []
    for name in source.header:
        said = set(words(name))
        if said & names and said <= names | _AROUND and _mostly(source, name, fits):
            found.append(name)
    return found


def _mostly(source: Source, name: str, fits: Callable[[str], bool]) -> bool:
    place, width = source.header.index(name), len(source.header)
    cells = [row[place].strip() for row in source.rows if len(row) == width]
    filled = [cell for cell in cells if cell not in EMPTY]
    return bool(filled) and sum(map(fits, filled)) * 2 > len(filled)


def _is_day(text: str) -> bool:
    return ":" not in text and (is_date(text) or _DIGITS.fullmatch(text) is not None)


def _is_moment(text: str) -> bool:
    return ":" in text and (is_date(text) or named_time(text) is not None)
