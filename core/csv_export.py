"""Making CSV exports safe: no cell acts as a formula in a spreadsheet or as a command in a terminal.

The rule, for text only (numbers are written as they are):

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
from typing import TYPE_CHECKING

from core.plain_text import without_controls

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

_FORMULA = re.compile(r"[\t\r]|\s*[=+\-@＝＋－＠]")
_NUMBER = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?%?")


def safe_cell(value: object) -> object:
    """A value made safe for a cell; whatever is not text stays as it is."""
    if not isinstance(value, str):
        return value
    plain = without_controls(value)
    formula = _FORMULA.match(plain) or value[:1] in ("\t", "\r")
    return f"'{plain}" if formula and not _NUMBER.fullmatch(plain) else plain


def csv_lines(head: Sequence[str], rows: Iterable[Sequence[object]], end: str = "\r\n") -> Iterator[str]:
    """The rows as lines of CSV, every cell made safe."""
    for row in (head, *rows):
        line = io.StringIO()
        csv.writer(line, lineterminator=end).writerow([safe_cell(cell) for cell in row])
        yield line.getvalue()
