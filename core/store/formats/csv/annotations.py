"""InfluxDB's annotated CSV: tables below each other, each with lines about its columns above its header.

Source: InfluxDB's documentation of annotated CSV. The lines begin with ``#group``, ``#datatype`` and
``#default``; a table ends with a blank line, and the next one may have other columns.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from core.traces.validation import ProblemLog

_ANNOTATIONS = ("#group", "#datatype", "#default")

Numbered = tuple[int, list[str]]
"""The number of a row's line, and its cells."""


def is_annotation(cells: Sequence[str]) -> bool:
    """Whether a row says of the columns what they are."""
    return bool(cells) and cells[0].strip() in _ANNOTATIONS


def first_table(rows: Sequence[Numbered]) -> list[Numbered]:
    """The rows without annotations, and with the header above them all alone."""
    kept = [row for row in rows if not is_annotation(row[1])]
    return [row for i, row in enumerate(kept) if not i or row[1] != kept[0][1]]


def samples(rows: Iterable[Numbered], header: Sequence[str], log: ProblemLog) -> Iterator[Numbered]:
    """The rows without what stands above every table.

    Raises
    ------
    InputError
        If a table has other columns, or has them in another order.
    """
    above = False
    for row, cells in rows:
        if is_annotation(cells):
            above = True
        elif not above:
            yield row, cells
        elif [cell.strip() or f"column {i + 1}" for i, cell in enumerate(cells)] != list(header):
            raise InputError(
                f"Row {row} begins a table with other columns than those above it.",
                "Export the tables one by one, or make one of them in the query, with keep() and group().",
            )
        else:
            log.add("repeated_header", f"The header appears again in row {row}.", row=row)
            above = False
