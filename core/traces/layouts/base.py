"""What a column layout is, and what recognising one needs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from core.traces.mapping import ColumnMapping, MappedColumn


@dataclass(frozen=True, slots=True)
class Head:
    """The beginning of a table: its header and some rows as strings."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def column(self, name: str) -> tuple[str, ...]:
        """The cells of a column in the sample rows."""
        position = self.header.index(name)
        return tuple(row[position].strip() for row in self.rows if position < len(row))


@dataclass(frozen=True, slots=True)
class Layout:
    """A known layout of columns.

    Parameters
    ----------
    name
        Its name in the register and in stored mappings.
    label
        Its name for people, as in “The columns look like: …”.
    recognise
        The mapping of a table of this layout, or None for a table of another layout.
    headerless
        The header of a table of this layout that comes without one, recognised by its first row, or None.
    example
        A header of such a table, names between commas, for its exam: those of texts begin with ``*``.
    """

    name: str
    label: str
    recognise: Callable[[Head], ColumnMapping | None]
    headerless: Callable[[tuple[str, ...]], tuple[str, ...] | None] | None = None
    example: str = ""


def present(head: Head, wanted: tuple[MappedColumn, ...]) -> tuple[MappedColumn, ...]:
    """Those of the wanted columns that the table has."""
    return tuple(one for one in wanted if one.column in head.header)


def has(head: Head, *names: str) -> bool:
    """Whether the table has all of these columns."""
    return all(name in head.header for name in names)
