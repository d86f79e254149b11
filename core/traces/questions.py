"""What a person has to say before a file can be imported: units and roles that nothing tells."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from core.traces.cells.dates import CLOCK, DAY_FIRST, YEAR_FIRST
from core.traces.cells.numbers import EMPTY, read, style_of_rows
from core.traces.guessing.cpu_and_memory_columns import WHAT, about_gpus, asked_for, candidates
from core.traces.guessing.order import cells_of_longest
from core.traces.guessing.times import time_units
from core.traces.guessing.units import choices as units_of
from core.traces.mapping import UNKNOWN
from core.traces.model import ROLE_NAMES, Role
from core.units import format_number

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from core.traces.mapping import ColumnMapping, MappedColumn

MOST_CANDIDATES = 8


@dataclass(frozen=True, slots=True)
class Question:
    """Something that only a person knows."""

    #: The column that it is about.
    column: str
    #: Whether it is about the unit of time, and not of a feature.
    time: bool
    #: The question, with what the file shows.
    sentence: str
    #: The keys of the units, or of the roles, to choose from, the likelier ones first.
    choices: tuple[str, ...]
    #: Whether it is about what the column measures.
    role: bool = False
    #: The columns of which one may be what is asked for, which is the only one of the choices.
    candidates: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """The question as JSON holds it."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Question:
        """The question that `to_dict` wrote."""
        return cls(
            data["column"],
            data["time"],
            data["sentence"],
            tuple(data["choices"]),
            data.get("role", False),
            tuple(data.get("candidates", ())),
        )


def questions(
    mapping: ColumnMapping, header: Sequence[str], rows: Sequence[Sequence[str]]
) -> tuple[Question, ...]:
    """The questions that a suggested mapping leaves open."""

    def cells(name: str) -> list[str]:
        place = header.index(name)
        return [row[place].strip() for row in rows if place < len(row) and row[place].strip() not in EMPTY]

    found = []
    if mapping.time is not None and mapping.time_unit == UNKNOWN:
        own = cells_of_longest(mapping.time, mapping.executions, header, rows)
        found.append(_of_time(mapping.time, cells(mapping.time), own))
    style = style_of_rows(rows)
    for one in mapping.features:
        if one.unit_key == UNKNOWN:
            values = [number.value for cell in cells(one.column) if (number := read(cell, style)) is not None]
            highest = max(values, default=0.0)
            found.append(
                _of_usage(one.column, mapping, highest)
                or _of_feature(one, highest, any("%" in cell for cell in cells(one.column)))
            )
    return tuple(found)


def _of_time(name: str, cells: Sequence[str], own: Sequence[str]) -> Question:
    shown, choices = cells[0] if cells else "", time_units(name, cells, own)
    if YEAR_FIRST in choices:
        sentence = f"“{shown}” in “{name}”: is the day, the month or the year first?"
    elif DAY_FIRST in choices:
        sentence = f"“{shown}” in “{name}”: is the day or the month first?"
    elif CLOCK in choices:
        sentence = f"“{shown}” in “{name}”: is it a time of day, or minutes and seconds?"
    else:
        apart = next((cell for cell in cells if cell != shown), shown)
        sentence = f"In which unit is the time in “{name}”? It begins with {shown} and {apart}."
    return Question(name, True, sentence, choices)


def _of_usage(name: str, mapping: ColumnMapping, highest: float) -> Question | None:
    """Which column is usage, or whose memory it is; None where that is not what is open."""
    role = asked_for(name)
    open_ = [one.column for one in mapping.features if one.role is Role.OTHER]
    if role is None or name not in open_:
        return None
    names = [one.column for one in mapping.features]
    most = f"It is {format_number(highest)} at most in the first rows."
    roles = {one.role for one in mapping.features}
    if role is Role.MEMORY and about_gpus(name, mapping.executions, names, roles):
        keys = (Role.MEMORY.value, Role.GPU_MEMORY.value, Role.OTHER.value)
        sentence = f"Is “{name}” memory of the containers, or of a GPU? {most}"
        return Question(name, False, sentence, keys, role=True)
    found = candidates(role, open_)[:MOST_CANDIDATES]
    listed = " or ".join(filter(None, (", ".join(f"“{one}”" for one in found[:-1]), f"“{found[-1]}”")))
    sentence = f"Which column is {WHAT[role]}: {listed}?"
    return Question(name, False, sentence, (role.value,), role=True, candidates=tuple(found))


def _of_feature(one: MappedColumn, highest: float, percent: bool) -> Question:
    what = ROLE_NAMES.get(one.role, "It")
    most = f"It is {format_number(highest)} at most in the first rows."
    if one.role is Role.OTHER:
        roles = (*(role.value for role in ROLE_NAMES), Role.OTHER.value)
        return Question(one.column, False, f"What does “{one.column}” measure? {most}", roles, role=True)
    keys = units_of(one.role)
    # what is never above 1 may be a share of one under the name of a percentage
    if percent or (
        highest > 1
        and one.role is Role.CPU
        and any(word in one.column.lower() for word in ("%", "percent", "pct"))
    ):
        shares = [key for key in keys if key.startswith("percent")]
        return Question(
            one.column, False, f"{what} in “{one.column}” is in percent: of what? {most}", tuple(shares)
        )
    return Question(one.column, False, f"In which unit is {what} in “{one.column}”? {most}", keys)
