"""What tools measure, as data: columns of a table with their roles and units, its executions and times."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from core.reading.guessing import guess_mapping
from core.reading.guessing.order import (
    find_distinguishing_columns,
    get_longest_execution_cells,
    is_identity_name,
)
from core.reading.guessing.times import guess_time_unit
from core.reading.mapping import ColumnMapping, MappedColumn
from core.reading.numbers import find_style_of_rows, parse_quantity
from core.traces.model import Resampling, Role
from core.units import GIB, MIB, Unit, file_unit

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True, slots=True)
class TableHead:
    """The beginning of a table."""

    #: Its columns' names, and some rows as strings.
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    #: Whether a reader made it of a chart.
    is_chart: bool = False

    def column(self, name: str) -> tuple[str, ...]:
        """Return the cells of a column in the sample rows."""
        position = self.header.index(name)
        return tuple(row[position].strip() for row in self.rows if position < len(row))

    def find(self, pattern: str) -> str:
        """Return the first column whose whole name fits a pattern; "" without one."""
        return next((name for name in self.header if re.fullmatch(pattern, name)), "")


class ToolColumn(NamedTuple):
    """A column of a tool's table."""

    #: Matches the whole name; a group is the part of a container that it measures, such as one of its GPUs.
    pattern: str
    role: Role = Role.OTHER
    unit: str = "plain"


@dataclass(frozen=True, slots=True)
class ToolFacts:
    """What a tool's table has: columns with roles and units, executions, attributes, times."""

    #: Its name in inspections, and for people, as in “The columns look like: …”.
    name: str
    label: str
    #: Its columns; of several of one role and part the first is used, of a reader's the one with most cells.
    columns: tuple[ToolColumn, ...]
    #: Patterns of columns without which a table is another tool's; none for the table of a tool's own reader.
    requires: tuple[str, ...] = ()
    #: The patterns of columns that name an execution together; the first one that fits is taken.
    executions: tuple[str, ...] = ()
    #: The column of the machine, which names executions, too, where there are several.
    place: str = ""
    #: The columns of attributes.
    attributes: tuple[str, ...] = ()
    #: Patterns of the column of time, the first one first.
    times: tuple[str, ...] = ("timestamp",)
    #: Its unit where the reader computes it; "" where the cells tell.
    time_unit: str = ""
    #: The rule for irregular samples.
    resampling: Resampling = Resampling.HOLD
    #: Whether other columns of numbers are guessed and kept.
    guesses_others: bool = False
    #: Settles what only values tell.
    finish: Callable[[ColumnMapping, TableHead], ColumnMapping] | None = None
    #: A header for the exam of layouts, names between commas; ``*`` marks columns of texts.
    example: str = ""

    def role_of(self, name: str) -> Role:
        """Return the role of a column; `Role.OTHER` for one that the tool does not have."""
        return next((one.role for one in self.columns if re.fullmatch(one.pattern, name)), Role.OTHER)

    def map_columns(self, head: TableHead) -> ColumnMapping | None:
        """Return the mapping of a table; None if it is another tool's."""
        if not all(head.find(one) for one in self.requires):
            return None
        features = self._select_features(head)
        if not features:
            return None
        executions = tuple(name for one in self.executions if (name := head.find(one)))
        if self.place in head.header and len(set(head.column(self.place))) > 1:
            executions = (self.place, *executions)
        mapping = ColumnMapping(
            features,
            executions[0] if executions else None,
            execution_parts=executions[1:],
            attributes=tuple(name for name in self.attributes if name in head.header),
            resampling=self.resampling,
        )
        time = next((name for one in self.times if (name := head.find(one))), "")
        mapping = _with_time(mapping, head, time)
        if self.time_unit and mapping.time is not None:
            mapping = replace(mapping, time_unit=self.time_unit, assumed=())
        if self.guesses_others:
            mapping = _with_guessed(mapping, head)
        mapping = with_distinguished_executions(mapping, head) if executions else mapping
        return mapping if self.finish is None else self.finish(mapping, head)

    def _select_features(self, head: TableHead) -> tuple[MappedColumn, ...]:
        found: list[tuple[tuple[Role, str], MappedColumn]] = []
        for column in self.columns:
            for name in head.header:
                match = re.fullmatch(column.pattern, name)
                if match and (self.requires or any(head.column(name))):
                    part = name if column.role is Role.OTHER else "".join(match.groups(""))
                    found.append(((column.role, part), MappedColumn(name, column.role, column.unit)))
        best: dict[tuple[Role, str], MappedColumn] = {}
        for key, one in found:
            counts = [sum(map(bool, head.column(each.column))) for each in (one, best.setdefault(key, one))]
            if counts[0] > counts[1] and not self.requires:
                best[key] = one
        return tuple(one for key, one in found if best[key] == one)


def _with_time(mapping: ColumnMapping, head: TableHead, name: str) -> ColumnMapping:
    """Return the mapping with the time of its table; without one, rows are counted."""
    if name not in head.header:
        return replace(mapping, time=None, time_unit="none")
    own = get_longest_execution_cells(name, mapping.executions, head.header, head.rows)
    # the values decide: the files of Bitbrains say [ms] and hold seconds
    times = guess_time_unit(name.partition("[")[0], head.column(name), own)
    assumed = (*mapping.assumed, *((name,) if times.assumed else ()))
    return replace(mapping, time=name, time_unit=times.unit, assumed=assumed)


def _with_guessed(mapping: ColumnMapping, head: TableHead) -> ColumnMapping:
    """Return the mapping with what is guessed of the columns that it does not have."""
    guess = guess_mapping(head.header, head.rows)
    if guess is None:
        return mapping
    more = tuple(one for one in guess.features if one.column not in mapping.columns)
    names = {one.column for one in more}
    return replace(
        mapping,
        features=(*mapping.features, *more),
        attributes=tuple(name for name in guess.attributes if name not in mapping.columns),
        assumed=(*mapping.assumed, *(name for name in guess.assumed if name in names)),
    )


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
