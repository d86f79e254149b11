"""Base of the layouts: the beginning of a table, the register's entry and common steps of recognition."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from core.reading.guessing.order import (
    find_distinguishing_columns,
    get_longest_execution_cells,
    is_identity_name,
)
from core.reading.guessing.times import guess_time_unit
from core.reading.mapping import PERIOD, ColumnMapping, MappedColumn
from core.reading.numbers import find_style_of_rows, parse_quantity
from core.traces.model import Role
from core.units import GIB, MIB, Unit, file_unit

if TYPE_CHECKING:
    from collections.abc import Callable


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
    #: An example header for the exam of layouts, names between commas; ``*`` marks columns of texts.
    example: str = ""


class ToolColumn(NamedTuple):
    """A column that a tool's reader makes."""

    #: Matches the whole name.
    pattern: str
    role: Role = Role.OTHER
    unit: str = "plain"


@dataclass(frozen=True, slots=True)
class ToolFacts:
    """What a tool measures: the columns of its reader's table with their roles and units."""

    #: Its name in inspections, and for people, as in “The columns look like: …”.
    name: str
    label: str
    #: Its columns; of several for CPU or memory, the first one that no row lacks is used.
    columns: tuple[ToolColumn, ...]
    #: The columns that name an execution together.
    executions: tuple[str, ...] = ()
    #: The column of the machine, which names executions, too, where there are several.
    place: str = ""
    #: The columns of attributes.
    attributes: tuple[str, ...] = ()
    #: The column of time; without it rows are `period` seconds apart.
    time: str = "timestamp"
    period: float = 1.0
    #: Its unit where the reader computes it; "" where the cells tell.
    time_unit: str = ""

    def role_of(self, name: str) -> Role:
        """Return the role of a column; `Role.OTHER` for one that the tool does not have."""
        return next((one.role for one in self.columns if re.fullmatch(one.pattern, name)), Role.OTHER)

    def map_columns(self, head: TableHead) -> ColumnMapping | None:
        """Return the mapping of a table; None if it has none of the columns."""
        found = [
            (column, MappedColumn(name, column.role, column.unit))
            for column in self.columns
            for name in head.header
            if re.fullmatch(column.pattern, name) and any(head.column(name))
        ]
        kept = [one for _, one in found if one.role not in _ONCE]
        for role in _ONCE:
            rivals = [one for _, one in found if one.role is role]
            filled = [sum(map(bool, head.column(one.column))) for one in rivals]
            kept += rivals[filled.index(max(filled)) :][:1] if rivals else []
        if not kept:
            return None
        features = tuple(one for _, one in found if one in kept)
        executions = tuple(name for name in self.executions if name in head.header)
        if self.place in head.header and len(set(head.column(self.place))) > 1:
            executions = (self.place, *executions)
        mapping = ColumnMapping(
            features,
            executions[0] if executions else None,
            execution_parts=executions[1:],
            attributes=tuple(name for name in self.attributes if name in head.header),
        )
        mapping = with_time(mapping, head, self.time, self.period)
        if self.time_unit and mapping.time is not None:
            mapping = replace(mapping, time_unit=self.time_unit, assumed=())
        return with_distinguished_executions(mapping, head) if executions else mapping


_ONCE = (Role.CPU, Role.MEMORY)


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


_MIN_HOST_RATIO = 3.0
"""A host has at least so many times the memory that any of its containers uses."""


def find_host_limit(mapping: ColumnMapping, head: TableHead, *, is_of_docker: bool = False) -> str | None:
    """Find a column of memory limits that is the host's memory.

    It is one size, far above use, and none that people set: no whole MiB or MB, or, where Docker prints it
    for several executions, neither of whole GiB nor a power of two.
    """
    memory, limit = (
        next((one for one in mapping.features if one.role is role), None)
        for role in (Role.MEMORY, Role.MEMORY_LIMIT)
    )
    if memory is None or limit is None or file_unit(limit.unit_key).unit is not Unit.BYTES:
        return None
    used, sizes = (_read_bytes(one, head) for one in (memory, limit))
    if len(set(sizes)) != 1 or not used or sizes[0] <= _MIN_HOST_RATIO * max(used):
        return None
    size = sizes[0]
    is_set = is_set_size(size)
    if is_of_docker and mapping.execution is not None and len(set(head.column(mapping.execution))) > 1:
        is_set = size % GIB == 0 or (size % MIB == 0 and math.log2(size / MIB).is_integer())
    return None if is_set else limit.column


_DIGITS = 4
"""How many digits Docker prints of a size."""
_SMALL = 64 * MIB
"""No host has less memory."""
_LIMIT_STEPS: tuple[tuple[float, tuple[float, ...]], ...] = (
    (100 * GIB, (GIB,)),
    (8 * GIB, (1000 * MIB, GIB, 1e9)),
    (GIB, (100 * MIB, 128 * MIB, 1e8)),
    (0.0, (50 * MIB, 64 * MIB, 5e7)),
)
"""From a size on, of what people's limits are multiples."""


def is_set_size(size: float) -> bool:
    """Whether a memory limit in bytes is a size that people set, as far as the printed digits tell."""
    if size < _SMALL or not math.isfinite(size):
        return True
    printed = next((unit for unit in (GIB, MIB) if size >= unit), 1.0)
    tolerance = 0.5 * printed * 10.0 ** (math.floor(math.log10(size / printed)) - _DIGITS + 1)
    steps = next(steps for least, steps in _LIMIT_STEPS if size >= least)
    return any(abs(size - step * round(size / step)) <= tolerance for step in steps)


def _read_bytes(one: MappedColumn, head: TableHead) -> list[float]:
    unit, style = file_unit(one.unit_key), find_style_of_rows(head.rows)
    found = (parse_quantity(cell, unit, style) for cell in head.column(one.column))
    return [value[0] * unit.factor for value in found if value is not None and value[0] > 0]


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
