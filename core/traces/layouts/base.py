"""What a column layout is, and what recognising one needs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from core.traces.guessing.order import cells_of_longest, is_identity, telling_apart
from core.traces.guessing.times import look_at
from core.traces.mapping import PERIOD

if TYPE_CHECKING:
    from collections.abc import Callable

    from core.traces.mapping import ColumnMapping, MappedColumn


@dataclass(frozen=True, slots=True)
class Head:
    """The beginning of a table."""

    #: Its columns' names, and some rows as strings.
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    #: The name of the layout that a format's reader made the table in; "" for a table as it is written.
    made: str = ""

    def column(self, name: str) -> tuple[str, ...]:
        """The cells of a column in the sample rows."""
        position = self.header.index(name)
        return tuple(row[position].strip() for row in self.rows if position < len(row))


@dataclass(frozen=True, slots=True)
class Layout:
    """A known layout of columns."""

    #: Its name in the register and in stored mappings.
    name: str
    #: Its name for people, as in “The columns look like: …”.
    label: str
    #: The mapping of a table of this layout, or None for a table of another layout.
    recognise: Callable[[Head], ColumnMapping | None]
    #: The header of a table of this layout that comes without one, recognised by its first row, or None.
    headerless: Callable[[tuple[str, ...]], tuple[str, ...] | None] | None = None
    #: A header of such a table, names between commas, for its exam: those of texts begin with ``*``.
    example: str = ""
    #: Whether only the reader of a format makes such tables: columns of these names that a file has itself
    #: measure what nobody knows.
    only_made: bool = False


def present(head: Head, wanted: tuple[MappedColumn, ...]) -> tuple[MappedColumn, ...]:
    """Those of the wanted columns that the table has."""
    return tuple(one for one in wanted if one.column in head.header)


def has(head: Head, *names: str) -> bool:
    """Whether the table has all of these columns."""
    return all(name in head.header for name in names)


def timed(mapping: ColumnMapping, head: Head, name: str = "timestamp", period: float = 1.0) -> ColumnMapping:
    """The mapping with the time of its table; without that column, rows are taken as `period` s apart."""
    if name not in head.header:
        assumed = (*mapping.assumed, PERIOD)
        return replace(mapping, time=None, time_unit="none", period=period, assumed=assumed)
    own = cells_of_longest(name, mapping.executions, head.header, head.rows)
    times = look_at(name, head.column(name), own)
    assumed = (*mapping.assumed, *((name,) if times.assumed else ()))
    return replace(mapping, time=name, time_unit=times.unit, assumed=assumed)


def told_apart(mapping: ColumnMapping, head: Head) -> ColumnMapping:
    """The mapping whose executions are named by all columns that tell series apart, such as the host."""
    others = [name for name in head.header if is_identity(name) and name not in mapping.executions]
    parts = telling_apart(mapping.executions, others, mapping.time, head.header, head.rows)
    return replace(
        mapping,
        execution_parts=(*mapping.execution_parts, *parts),
        attributes=tuple(name for name in mapping.attributes if name not in parts),
        features=tuple(one for one in mapping.features if one.column not in parts),
    )
