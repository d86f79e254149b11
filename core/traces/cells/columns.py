"""The first rows of a table, column by column."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def columns_of_rows(rows: Sequence[Sequence[str]], width: int) -> list[tuple[str, ...]]:
    """The stripped cells of each column; the last cells of a short row are missing."""
    if rows and min(map(len, rows)) >= width:
        return [tuple(map(str.strip, cells)) for cells in islice(zip(*rows, strict=False), width)]
    return [tuple([row[i].strip() for row in rows if i < len(row)]) for i in range(width)]
