"""The first rows of a table, column by column."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def columns_of_rows(rows: Sequence[Sequence[str]], width: int) -> list[tuple[str, ...]]:
    """The cells of each column, blanks around them left out; of a row that is too short the last are missing.

    Parameters
    ----------
    rows
        Cells as strings.
    width
        How many columns there are; cells behind the last one do not count.
    """
    if rows and min(map(len, rows)) >= width:
        return [tuple(map(str.strip, cells)) for cells in islice(zip(*rows, strict=False), width)]
    return [tuple([row[i].strip() for row in rows if i < len(row)]) for i in range(width)]
