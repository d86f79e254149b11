"""Tables whose cells stand apart by spaces, as awk, column and many tools print them, under a header.

A date and a time of day with a space between them are one cell.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.reading.dates import is_clock, is_date
from core.reading.formats.csv_dialect import holds_names
from core.reading.formats.text_table import Row, fit_row, tool_format
from core.reading.numbers import is_number

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from core.reading.formats.text_table import Line
    from core.traces.validation import ProblemLog

INSPECTED_LINES = 20
MIN_FITTING = 0.75
"""The share of rows that have as many cells as the header: something else may be printed between them."""
_OTHER_SEPARATORS = frozenset(",;\t|{")


def is_spaced(start: str) -> bool:
    """Tell whether a text begins with a header and rows of as many cells, apart by spaces alone."""
    lines = [line for line in start.splitlines()[:-1] if line.strip()][:INSPECTED_LINES]
    if len(lines) < 3 or _OTHER_SEPARATORS & set("".join(lines)):
        return False
    header, *rows = (line.lstrip("# ").split() for line in lines)
    fitting = [len(_cells(row, len(header))) == len(header) and any(map(is_number, row)) for row in rows]
    has_header = len(header) > 1 and len(set(header)) == len(header) and not any(map(is_number, header))
    return has_header and all(fitting[:2]) and sum(fitting) >= MIN_FITTING * len(fitting)


def parse(lines: Iterable[Line], log: ProblemLog) -> Iterator[Row]:
    """Rows under the first line's names."""
    header: list[str] = []
    for number, text in lines:
        cells = text.lstrip("# ").split()
        if not cells:
            continue
        if not header:
            header = cells
            continue
        if cells == header:
            log.add("repeated_header", f"The header appears again in row {number}.", row=number)
            continue
        cells = _cells(cells, len(header))
        values = fit_row(number, header, cells, log)
        if values is None:
            continue
        if holds_names(cells):
            message = f"Row {number} has names and no numbers, as a header has."
            log.add("other_header", message, row=number)
            continue
        yield Row(number, values)


def _cells(words: Sequence[str], width: int) -> list[str]:
    """The cells of a row; a date and a time of day are one where there is a word too many."""
    for i in range(len(words) - 1 if len(words) == width + 1 else 0):
        if is_date(words[i]) and is_clock(words[i + 1]):
            return [*words[:i], f"{words[i]} {words[i + 1]}", *words[i + 2 :]]
    return list(words)


FORMATS = (
    tool_format(
        "spaced",
        "table with spaces",
        (".txt", ".log", ".dat"),
        r"(?:[^\n,;\t|{]*\n){3}",
        parse,
        check=is_spaced,
    ),
)
