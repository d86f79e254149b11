"""Base of the layouts: the beginning of a table, the register's entry and common steps of recognition."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from core.traces.guessing.order import (
    find_distinguishing_columns,
    get_longest_execution_cells,
    is_identity_name,
)
from core.traces.guessing.times import guess_time_unit
from core.traces.mapping import PERIOD

if TYPE_CHECKING:
    from collections.abc import Callable

    from core.traces.mapping import ColumnMapping, MappedColumn


@dataclass(frozen=True, slots=True)
class TableHead:
    """The beginning of a table."""

    #: Its columns' names, and some rows as strings.
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    #: The name of the layout that a format's reader created; "" for a table as in the file.
    made: str = ""

    def column(self, name: str) -> tuple[str, ...]:
        """Return the cells of a column in the sample rows."""
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
    recognise: Callable[[TableHead], ColumnMapping | None]
    #: The header for a first row of this layout without header, or None.
    headerless: Callable[[tuple[str, ...]], tuple[str, ...] | None] | None = None
    #: An example header for the exam of layouts, names between commas; ``*`` marks columns of texts.
    example: str = ""
    #: Whether only a format's reader creates such tables; the same names in a file may mean something else.
    only_made: bool = False


def select_present(head: TableHead, wanted: tuple[MappedColumn, ...]) -> tuple[MappedColumn, ...]:
    """Select the wanted columns that the table has."""
    return tuple(one for one in wanted if one.column in head.header)


def has_columns(head: TableHead, *names: str) -> bool:
    """Whether the table has all of these columns."""
    return all(name in head.header for name in names)


def with_time(
    mapping: ColumnMapping, head: TableHead, name: str = "timestamp", period: float = 1.0
) -> ColumnMapping:
    """Return the mapping with the time of its table; without that column, rows are `period` s apart."""
    if name not in head.header:
        assumed = (*mapping.assumed, PERIOD)
        return replace(mapping, time=None, time_unit="none", period=period, assumed=assumed)
    own = get_longest_execution_cells(name, mapping.executions, head.header, head.rows)
    times = guess_time_unit(name, head.column(name), own)
    assumed = (*mapping.assumed, *((name,) if times.assumed else ()))
    return replace(mapping, time=name, time_unit=times.unit, assumed=assumed)


def with_distinguished_executions(mapping: ColumnMapping, head: TableHead) -> ColumnMapping:
    """Return the mapping with all columns that distinguish executions, such as the host."""
    others = [name for name in head.header if is_identity_name(name) and name not in mapping.executions]
    parts = find_distinguishing_columns(mapping.executions, others, mapping.time, head.header, head.rows)
    return replace(
        mapping,
        execution_parts=(*mapping.execution_parts, *parts),
        attributes=tuple(name for name in mapping.attributes if name not in parts),
        features=tuple(one for one in mapping.features if one.column not in parts),
    )
