"""A table as a value: the same columns and rows on a page, in a grid, in a file and on the terminal.

A `Table` says once which columns there are, what a row has in each, and how that is shown. Renderers add
only what their medium needs, so a file has what the screen has: `app.ui.tables` draws HTML and AG Grid,
`core.cli.output` prints, and `render_csv` here writes files. A file keeps values at full precision under the
columns' keys; the screen shows texts under their titles.

No cell of a CSV file acts as a formula in a spreadsheet or as a command in a terminal. The rule is for text
only (numbers are written as they are):

1. Escape sequences go, and each run of other control characters becomes a space
   (`core.plain_text.without_controls`).
2. Text gets an apostrophe before it if its first character, ignoring blanks, is ``=``, ``+``, ``-`` or
   ``@`` or one of their full-width forms ``＝ ＋ － ＠``, or if it begins with a tab or a carriage return.
3. Numbers with a sign stay numbers: ``-1.5``, ``+.5``, ``-2e-3``, ``-5%``. What only begins like one
   (``-1+2``, ``+49 30 1``) is not a number.

The cases that prove it are in ``tests/shared/csv_cells.json``, for writers in other languages as well.
Source: OWASP, "CSV Injection"; full-width forms are what East Asian spreadsheets read as formulas, too.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any

from core.plain_text import without_controls
from core.units import DASH

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

_FORMULA = re.compile(r"[\t\r]|\s*[=+\-@＝＋－＠]")
_NUMBER = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?%?")


@dataclass(frozen=True, slots=True)
class Column:
    """One column: its names, its value in a row, and the text of that value."""

    #: Its name in files.
    key: str
    #: Its head on screens; a column without one is in files only.
    title: str = ""
    #: Writes a value for people, as `core.units` does; None for texts.
    show: Callable[[Any], str] | None = None
    #: A row's value; None takes the row's entry or attribute of the key's name.
    value: Callable[[Any], Any] | None = None
    #: Names in files where a value consists of several, such as the ends of an interval.
    parts: tuple[str, ...] = ()
    #: Whether it stands at the right; None where `show` says so, as it does for numbers.
    right: bool | None = None
    #: What stands for a missing value.
    missing: str = DASH

    @property
    def is_right(self) -> bool:
        """Whether its values stand at the right."""
        return self.show is not None if self.right is None else self.right

    def value_of(self, row: Any) -> Any:
        """The value of a row in this column."""
        if self.value is not None:
            return self.value(row)
        return row[self.key] if isinstance(row, Mapping) else getattr(row, self.key)

    def text(self, value: Any) -> str:
        """A value as people read it."""
        if value is None:
            return self.missing
        return str(value) if self.show is None else self.show(value)


@dataclass(frozen=True, slots=True)
class Table:
    """Columns and rows under one name, which is also the name of its files."""

    name: str
    columns: Sequence[Column]
    #: A row is a tuple of the columns' values, or whatever the columns take their values from.
    rows: Iterable[Any]

    @classmethod
    def file_only(cls, name: str, keys: Iterable[str], rows: Iterable[Any]) -> Table:
        """A table that no screen shows, with columns of these keys."""
        return cls(name, [*map(Column, keys)], rows)

    @property
    def titled(self) -> list[Column]:
        """The columns that screens show."""
        return [column for column in self.columns if column.title]

    def values(self, row: Any) -> Sequence[Any]:
        """A row's value in each column."""
        return row if type(row) is tuple else tuple(column.value_of(row) for column in self.columns)

    def texts(self, row: Any) -> list[str]:
        """The displayed texts of a row, in the order of the titled columns."""
        pairs = zip(self.columns, self.values(row), strict=True)
        return [column.text(value) for column, value in pairs if column.title]


def render_csv(table: Table, end: str = "\r\n") -> Iterator[str]:
    """The table as lines of CSV, every cell made safe; what several parts make up has a column for each."""
    head = [name for column in table.columns for name in column.parts or (column.key,)]
    for row in chain([head], (_csv_row(table, row) for row in table.rows)):
        line = io.StringIO()
        csv.writer(line, lineterminator=end).writerow([safe_cell(cell) for cell in row])
        yield line.getvalue()


def _csv_row(table: Table, row: Any) -> Iterator[object]:
    for column, value in zip(table.columns, table.values(row), strict=True):
        if column.parts:
            yield from [None] * len(column.parts) if value is None else value
        else:
            yield value


def safe_cell(value: object) -> object:
    """A value made safe for a cell; whatever is not text stays as it is."""
    if not isinstance(value, str):
        return value
    plain = without_controls(value)
    formula = _FORMULA.match(plain) or value[:1] in ("\t", "\r")
    return f"'{plain}" if formula and not _NUMBER.fullmatch(plain) else plain
