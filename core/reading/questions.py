"""Questions to a person before an import: units and roles that neither names nor values determine."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from core.errors import InputError, format_names
from core.reading.dates import CLOCK, DAY_FIRST, YEAR_FIRST
from core.reading.guessing.cpu_and_memory_columns import (
    USAGE_NAMES,
    find_candidates,
    guess_usage_role,
    may_be_gpu_memory,
)
from core.reading.guessing.order import get_longest_execution_cells
from core.reading.guessing.times import can_be_times, guess_time_unit
from core.reading.guessing.units import Column, guess_unit, list_unit_choices
from core.reading.mapping import INTERVAL, UNKNOWN, MappedColumn
from core.reading.numbers import EMPTY, find_style_of_rows, parse_number
from core.traces.model import ROLE_NAMES, Role
from core.units import format_number

if TYPE_CHECKING:
    from collections.abc import Sequence

    from core.reading.mapping import ColumnMapping

MAX_CANDIDATES = 8


@dataclass(frozen=True, slots=True)
class Question:
    """A question about a column whose unit or role is ambiguous."""

    #: The column in question; or `INTERVAL`.
    column: str
    #: Whether the question is about the unit of time.
    time: bool
    #: The question, with an example from the file.
    sentence: str
    #: Keys of the possible units or roles, the likelier ones first.
    choices: tuple[str, ...]
    #: Whether the question is about the role of the column.
    role: bool = False
    #: The columns that may have the only role in `choices`.
    candidates: tuple[str, ...] = ()


INTERVAL_QUESTION = Question(
    INTERVAL,
    False,
    "The file has no times: how many seconds are between two rows of an execution?",
    ("1", "2", "5", "10", "15", "30", "60"),
)


def list_questions(
    mapping: ColumnMapping, header: Sequence[str], rows: Sequence[Sequence[str]]
) -> tuple[Question, ...]:
    """List the open questions of a suggested mapping."""

    def cells(name: str) -> list[str]:
        place = header.index(name)
        return [row[place].strip() for row in rows if place < len(row) and row[place].strip() not in EMPTY]

    found = []
    if mapping.time is not None and mapping.time_unit == UNKNOWN:
        execution_cells = get_longest_execution_cells(mapping.time, mapping.executions, header, rows)
        found.append(_ask_time_unit(mapping.time, cells(mapping.time), execution_cells))
    if INTERVAL in mapping.unknown:
        found.append(INTERVAL_QUESTION)
    style = find_style_of_rows(rows)
    for one in mapping.features:
        if one.unit_key == UNKNOWN:
            values = [
                number.value
                for cell in cells(one.column)
                if (number := parse_number(cell, style)) is not None
            ]
            highest = max(values, default=0.0)
            found.append(
                _ask_usage_column(one.column, mapping, highest)
                or _ask_feature(one, highest, any("%" in cell for cell in cells(one.column)))
            )
    return tuple(found)


def _ask_time_unit(name: str, cells: Sequence[str], execution_cells: Sequence[str]) -> Question:
    example, choices = cells[0] if cells else "", guess_time_unit(name, cells, execution_cells).units
    if not can_be_times(cells):
        sentence = f"“{example}” in “{name}” is not a time that can be read: count the rows instead?"
        return Question(name, True, sentence, ("none",))
    if YEAR_FIRST in choices:
        sentence = f"“{example}” in “{name}”: is the day, the month or the year first?"
    elif DAY_FIRST in choices:
        sentence = f"“{example}” in “{name}”: is the day or the month first?"
    elif CLOCK in choices:
        sentence = f"“{example}” in “{name}”: is it a time of day, or minutes and seconds?"
    else:
        second = next((cell for cell in cells if cell != example), example)
        sentence = f"In which unit is the time in “{name}”? It begins with {example} and {second}."
    return Question(name, True, sentence, choices)


def _ask_usage_column(name: str, mapping: ColumnMapping, highest: float) -> Question | None:
    """Ask which column is usage, or whether memory is a GPU's; None if another property is open."""
    role = guess_usage_role(name)
    open_ = [one.column for one in mapping.features if one.role is Role.OTHER]
    if role is None or name not in open_:
        return None
    names = [one.column for one in mapping.features]
    most = f"It is {format_number(highest)} at most in the first rows."
    roles = {one.role for one in mapping.features}
    if role is Role.MEMORY and may_be_gpu_memory(name, mapping.executions, names, roles):
        keys = (Role.MEMORY.value, Role.GPU_MEMORY.value, Role.OTHER.value)
        sentence = f"Is “{name}” memory of the containers, or of a GPU? {most}"
        return Question(name, False, sentence, keys, role=True)
    found = find_candidates(role, open_)[:MAX_CANDIDATES]
    listed = " or ".join(filter(None, (", ".join(f"“{one}”" for one in found[:-1]), f"“{found[-1]}”")))
    sentence = f"Which column is {USAGE_NAMES[role]}: {listed}?"
    return Question(name, False, sentence, (role.value,), role=True, candidates=tuple(found))


def _ask_feature(one: MappedColumn, highest: float, percent: bool) -> Question:
    role_name = ROLE_NAMES.get(one.role, "It")
    most = f"It is {format_number(highest)} at most in the first rows."
    if one.role is Role.OTHER:
        roles = (*(role.value for role in ROLE_NAMES), Role.OTHER.value)
        return Question(one.column, False, f"What does “{one.column}” measure? {most}", roles, role=True)
    keys = list_unit_choices(one.role)
    # values up to 1 may be shares under the name of a percentage
    if percent or (
        highest > 1
        and one.role is Role.CPU
        and any(word in one.column.lower() for word in ("%", "percent", "pct"))
    ):
        shares = [key for key in keys if key.startswith("percent")]
        return Question(
            one.column, False, f"{role_name} in “{one.column}” is in percent: of what? {most}", tuple(shares)
        )
    return Question(one.column, False, f"In which unit is {role_name} in “{one.column}”? {most}", keys)


PLACES = ("time", "execution", "attribute", "ignore")
"""The answers beside roles."""


def list_answers(question: Question) -> tuple[str, ...]:
    """List the answers to a question as `set_column` takes them: ``memory:mib``, ``gpu``, ``time:ms``."""
    if question.time:
        return (
            ("ignore",) if question.choices == ("none",) else tuple(f"time:{one}" for one in question.choices)
        )
    return question.choices


def _read_interval(text: str) -> float:
    try:
        return float(text.removesuffix("s"))
    except ValueError:
        raise InputError(f"“{text}” is not a number of seconds.", "Give one such as 15.") from None


def set_column(
    mapping: ColumnMapping,
    column: str,
    answer: str,
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
) -> ColumnMapping:
    """Return the mapping with another meaning of a column: ``cpu:millicores``, ``time:ms``, ``execution``.

    Without a unit the one that the name and the first rows tell is taken, which may leave it open. `INTERVAL`
    takes the seconds between two rows.

    Raises InputError if the table has no such column, or the answer is none of a role, a role and its unit,
    and `PLACES`.
    """
    if column == INTERVAL and mapping.time is None:
        return replace(mapping, period=_read_interval(answer))
    if column not in header:
        raise InputError(f"The file has no column “{column}”.", f"It has: {format_names(header)}.")
    what, _, unit = answer.partition(":")
    place = header.index(column)
    cells = tuple(row[place].strip() for row in rows if place < len(row))
    others = tuple(one for one in mapping.features if one.column != column)
    bare: dict[str, Any] = {
        "features": others,
        "execution": None if mapping.execution == column else mapping.execution,
        "execution_parts": tuple(name for name in mapping.execution_parts if name != column),
        "attributes": tuple(name for name in mapping.attributes if name != column),
        "assumed": tuple(name for name in mapping.assumed if name != column),
    }
    if mapping.time == column:
        bare |= {"time": None, "time_unit": "none"}
    if what == "time":
        time_unit = unit or guess_time_unit(column, cells).unit
        return replace(mapping, **bare | {"time": column, "time_unit": time_unit, "period": None})
    if what == "execution":
        return replace(mapping, **bare | {"execution": column, "execution_parts": ()})
    if what in ("attribute", "ignore"):
        bare["attributes"] += (column,) if what == "attribute" else ()
        return replace(mapping, **bare)
    roles = (*(one.value for one in ROLE_NAMES), Role.OTHER.value)
    if what not in roles:
        raise InputError(f"“{what}” is no role of a column.", f"Use one of: {', '.join((*roles, *PLACES))}.")
    role = Role(what)
    allowed = (*list_unit_choices(role), "plain") if role is Role.OTHER else list_unit_choices(role)
    if unit and unit not in allowed:
        raise InputError(f"“{unit}” is no unit of {ROLE_NAMES[role]}.", f"Use one of: {', '.join(allowed)}.")
    guessed = guess_unit(Column(column, cells, find_style_of_rows(rows)), role).key
    if role in USAGE_NAMES:  # there is one CPU and one memory
        others = tuple(replace(one, role=Role.OTHER) if one.role is role else one for one in others)
    mapped = MappedColumn(column, role, unit or guessed)
    return replace(mapping, **bare | {"features": (*others, mapped)})
