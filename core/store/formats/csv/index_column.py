"""Rows with one cell more than the header names: an index in front, or numbers that a decimal comma split."""

from __future__ import annotations

from core.traces.cells.dates import is_date
from core.traces.cells.numbers import is_number

LOOKED_AT = 50
LONGEST_COUNT = 18  # digits; what is longer counts no rows, and `int` refuses thousands of digits


def lacks_first_name(names: list[str], body: list[tuple[int, list[str]]]) -> bool:
    """Tell whether the rows have an index before the header's first column, as pandas takes them then.

    R's ``write.table`` writes such files. A separator that ends every row makes no index.
    """
    widths = [len(cells) for _, cells in body]
    wide = len(names) + 1
    if not widths or widths[0] != wide or widths.count(wide) * 2 <= len(widths):
        return False
    return any(len(cells) >= wide and cells[wide - 1].strip() for _, cells in body)


def may_split_numbers(body: list[tuple[int, list[str]]]) -> bool:
    """Whether a decimal comma may have made two cells of one number, and there is no index in front.

    Nothing speaks against it where no number has a decimal point and the first cells do not count the rows or
    give each a name of its own.
    """
    sample = [[cell.strip() for cell in cells] for _, cells in body[:LOOKED_AT]]
    numbers = [cell for cells in sample for cell in cells if is_number(cell)]
    first = [cells[0] for cells in sample]
    return bool(numbers) and not _is_index(first) and not any("." in number for number in numbers)


def _is_index(cells: list[str]) -> bool:
    """Whether cells count rows, or name each of them."""
    if cells[0].isdecimal() and len(cells[0]) <= LONGEST_COUNT:
        return cells == [str(int(cells[0]) + i) for i in range(len(cells))]
    named = not any(is_number(cell) or is_date(cell) for cell in cells)
    return named and len(set(cells)) == len(cells) > 1
