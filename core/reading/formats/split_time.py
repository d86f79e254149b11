"""Tables with date and time of day in two columns, joined to one: ``Date,Time`` as ``Date Time``.

Columns are joined only by their names, and only if no column has both: a duration (``elapsed``) is no time of
day.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from core.reading.dates import is_clock, is_date, parse_named_date
from core.reading.formats.base import Source
from core.reading.guessing.column_names import split_words
from core.reading.numbers import EMPTY
from core.reading.table import convert_times
from core.traces.validation import ProblemLog

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from core.reading.mapping import ColumnMapping
    from core.reading.table import CodedColumn, RawTable

_DATES = frozenset(("date", "datum", "day", "tag", "fecha", "data", "jour", "dato"))
_CLOCKS = frozenset(("time", "clock", "zeit", "uhrzeit", "heure", "hora", "ora", "tijd", "tid"))
_FILLER_WORDS = frozenset(("local", "utc", "of", "day", "the", "sample"))
_DIGITS = re.compile(r"(?:19|20)\d{6}")


@dataclass(frozen=True, kw_only=True)
class DatedTable(Source):
    """A table whose columns of date and time of day are joined, in the place of the date."""

    #: The table of the file.
    source: Source
    #: The two columns.
    date: str
    clock: str

    @property
    def name(self) -> str:
        """The name of the joined column."""
        return f"{self.date} {self.clock}"

    def read(self, mapping: ColumnMapping, progress: Callable[[float, str], None] | None = None) -> RawTable:
        """Read the mapped columns."""
        if mapping.time != self.name:
            return self.source.read(mapping, progress)
        attributes = (*mapping.attributes, self.date, self.clock)
        inner = replace(mapping, time=None, time_unit="none", period=1.0, attributes=attributes)
        raw = self.source.read(inner, progress)
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
        """Return the times of all rows and the positions of reported rows without one."""
        date, clock = raw.attributes[-2:]
        pairs = np.column_stack([date.codes, clock.codes])
        unique, inverse = np.unique(pairs, axis=0, return_inverse=True)
        inverse = inverse.reshape(-1)
        texts = [_join_texts(_name(date, of_date), _name(clock, of_clock)) for of_date, of_clock in unique]
        rows = [raw.row_of(int(i)) for i in np.unique(inverse, return_index=True)[1]]
        values, flawed_texts = convert_times(pa.array(texts, pa.string()), rows, self.name, unit, log)
        return values[inverse], np.flatnonzero(np.isin(inverse, flawed_texts))


def _name(column: CodedColumn, code: int) -> str:
    return column.names[code].strip() if code >= 0 else ""


def _join_texts(date: str, clock: str) -> str:
    """Return a date and a time of day as one cell; empty if one of them is."""
    return "" if date in EMPTY or clock in EMPTY else f"{date} {clock}"


def join_split_times(source: Source) -> Source:
    """Return the table with joined columns of date and time of day, or unchanged without such columns."""
    dates = _find_columns(source, _DATES, _is_day)
    clocks = _find_columns(source, _CLOCKS, is_clock)
    if (
        len(dates) != 1
        or len(clocks) != 1
        or any(_most_cells_fit(source, name, _is_date_time) for name in source.header)
    ):
        return source
    date, clock = dates[0], clocks[0]
    name = f"{date} {clock}"
    if name in source.header:
        return source
    at, clock_at = source.header.index(date), source.header.index(clock)

    def join(cells: Sequence[str], joined: str) -> tuple[str, ...]:
        """Return a row with the joined cell in the place of the date, and without the clock."""
        return tuple(joined if i == at else cell for i, cell in enumerate(cells) if i != clock_at)

    whole = [row for row in source.rows if len(row) == len(source.header)]
    return DatedTable(
        path=source.path,
        header=join(source.header, name),
        rows=tuple(join(row, _join_texts(row[at].strip(), row[clock_at].strip())) for row in whole),
        types=join(source.types, "date") if source.types else (),
        n_rows=source.n_rows,
        problems=source.problems,
        source=source,
        date=date,
        clock=clock,
    )


def _find_columns(source: Source, names: frozenset[str], fits: Callable[[str], bool]) -> list[str]:
    """Return the columns with one of these names whose cells fit."""
    found = []
    for name in source.header:
        name_words = set(split_words(name))
        if name_words & names and name_words <= names | _FILLER_WORDS and _most_cells_fit(source, name, fits):
            found.append(name)
    return found


def _most_cells_fit(source: Source, name: str, fits: Callable[[str], bool]) -> bool:
    place, width = source.header.index(name), len(source.header)
    cells = [row[place].strip() for row in source.rows if len(row) == width]
    filled = [cell for cell in cells if cell not in EMPTY]
    return bool(filled) and sum(map(fits, filled)) * 2 > len(filled)


def _is_day(text: str) -> bool:
    return ":" not in text and (is_date(text) or _DIGITS.fullmatch(text) is not None)


def _is_date_time(text: str) -> bool:
    return ":" in text and (is_date(text) or parse_named_date(text) is not None)
