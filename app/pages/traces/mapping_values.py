"""The values of the mapping form's fields, and the mapping made of them.

`suggested` fills the form in from what was recognised (`Inspection.mapping`); `mapping_of` turns what a
person left in it into a `ColumnMapping`. Roles and units of further features are those that were said
(``answers``, by column), else those of the suggestion, else they are plain.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import dash
import dash_mantine_components as dmc
from dash import html

from app.ui.basics import Node, aria, button, icon
from core.reading.guessing.cpu_and_memory_columns import guess_usage_role
from core.reading.guessing.units import Column, guess_unit, list_unit_choices
from core.reading.mapping import INTERVAL, TIME_UNITS, UNKNOWN, ColumnMapping, MappedColumn
from core.reading.numbers import find_style
from core.reading.questions import INTERVAL_QUESTION, Question
from core.traces.model import ROLE_NAMES, Resampling, Role
from core.units import FILE_UNITS, GIB

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


NOTHING = " "
FIELDS = (
    *("execution", "execution_parts", "time", "time_unit", "cpu", "cpu_unit", "memory", "memory_unit"),
    *("features", "attributes"),
    *("period", "resampling", "max_gap", "cores", "memory_gib"),
    "answers",
)
_MAIN = (Role.CPU, Role.MEMORY)


def suggested(mapping: ColumnMapping | None) -> dict[str, Any]:
    """The values that the form begins with; a unit that nothing tells is None."""
    if mapping is None:
        empty: dict[str, Any] = dict.fromkeys(FIELDS)
        empty |= {"execution": NOTHING, "time": NOTHING, "cpu": NOTHING, "memory": NOTHING}
        return empty | {"time_unit": "s", "cpu_unit": "cores", "memory_unit": "bytes", "features": [],
                        "attributes": [], "execution_parts": [], "resampling": "hold", "answers": {},
                        "max_gap": 3}  # fmt: skip
    cpu, memory = _of_role(mapping, Role.CPU), _of_role(mapping, Role.MEMORY)
    rest = [one for one in mapping.features if one not in (cpu, memory)]
    return {
        "execution": mapping.execution or NOTHING,
        "time": mapping.time or NOTHING,
        "execution_parts": list(mapping.execution_parts),
        "time_unit": "s" if mapping.time_unit == "none" else _known(mapping.time_unit),
        "cpu": cpu.column if cpu else NOTHING,
        "cpu_unit": _known(cpu.unit_key) if cpu else "cores",
        "memory": memory.column if memory else NOTHING,
        "memory_unit": _known(memory.unit_key) if memory else "bytes",
        "features": [one.column for one in rest],
        "attributes": list(mapping.attributes),
        "period": mapping.period,
        "resampling": mapping.resampling.value,
        "max_gap": mapping.max_gap,
        "cores": mapping.cores,
        "memory_gib": None if mapping.memory_bytes is None else round(mapping.memory_bytes / GIB, 3),
        "answers": _said_of(rest),
    }


def _said_of(columns: Sequence[MappedColumn]) -> dict[str, dict[str, str]]:
    """The roles and units of further features as if they had been said; those that are open are not."""
    return {
        one.column: {"role": one.role.value, "unit": one.unit_key}
        for one in columns
        if one.unit_key != UNKNOWN and one.role not in _MAIN
    }


def _known(unit: str) -> str | None:
    return None if unit == UNKNOWN else unit


def _of_role(mapping: ColumnMapping, role: Role) -> MappedColumn | None:
    return next((one for one in mapping.features if one.role is role), None)


def mapping_of(values: Mapping[str, Any], suggestion: ColumnMapping | None) -> ColumnMapping:
    """The mapping that the form describes.

    Raises
    ------
    InputError
        If the mapping is invalid; says which column or number.
    """
    features = []
    for key, role in (("cpu", Role.CPU), ("memory", Role.MEMORY)):
        if named(values[key]):
            features.append(MappedColumn(values[key], role, values[f"{key}_unit"] or UNKNOWN))
    features += further(values, suggestion)
    time, gib = named(values["time"]), number(values["memory_gib"])
    period, max_gap = number(values["period"]), number(values["max_gap"])
    execution = named(values["execution"])
    return ColumnMapping(
        features=tuple(features),
        execution=execution,
        execution_parts=tuple(values["execution_parts"] or ()) if execution else (),
        assumed=_still_assumed(features, time, values["time_unit"], suggestion),
        time=time,
        time_unit=(values["time_unit"] or UNKNOWN) if time else "none",
        period=period,
        resampling=Resampling(values["resampling"]),
        max_gap=3.0 if max_gap is None else max_gap,
        attributes=tuple(values["attributes"] or ()),
        cores=number(values["cores"]),
        memory_bytes=None if gib is None else gib * GIB,
        as_written=suggestion is not None and suggestion.as_written,
    )


def _still_assumed(
    features: list[MappedColumn],
    time: str | None,
    time_unit: str | None,
    suggestion: ColumnMapping | None,
) -> tuple[str, ...]:
    """The columns that keep the unit which was only assumed."""
    if suggestion is None:
        return ()
    kept = set(suggestion.features) & set(features)
    names = [one.column for one in features if one in kept and one.column in suggestion.assumed]
    if time is not None and time in suggestion.assumed and time_unit == suggestion.time_unit:
        names.insert(0, time)
    return tuple(names)


def further(values: Mapping[str, Any], suggestion: ColumnMapping | None) -> list[MappedColumn]:
    """The further features that the form names, with their roles and units."""
    known = {one.column: one for one in suggestion.features} if suggestion else {}
    answers, main = values["answers"] or {}, (values["cpu"], values["memory"])
    fields = ((Role.CPU, "cpu"), (Role.MEMORY, "memory"))
    chosen = {role for role, key in fields if named(values[key])}
    return [
        _further(known.get(name, MappedColumn(name)), answers.get(name), chosen)
        for name in values["features"] or ()
        if name not in main
    ]


def _further(found: MappedColumn, said: Mapping[str, str | None] | None, chosen: set[Role]) -> MappedColumn:
    """A further feature; the columns chosen for CPU and memory are the only ones of these roles."""
    found = unmeasured(found) if found.role in _MAIN else found
    if said is None:
        # it was asked whether this is CPU or memory, which is another column now
        settled = found.unit_key == UNKNOWN and guess_usage_role(found.column) in chosen
        return MappedColumn(found.column) if settled else found
    role = Role(said.get("role") or found.role)
    return MappedColumn(found.column, role, said.get("unit") or ("plain" if role is Role.OTHER else UNKNOWN))


def unmeasured(found: MappedColumn) -> MappedColumn:
    """The column without a role, in the unit that the file is known to have, as long as that needs none."""
    kept = found.role in (*_MAIN, Role.OTHER)
    return MappedColumn(found.column, Role.OTHER, found.unit_key if kept else "plain")


def named(value: str | None) -> str | None:
    """The column chosen in a select; None while it is empty."""
    return value if value and value != NOTHING else None


def number(value: Any) -> float | None:
    """What a number field holds; None while it is empty."""
    try:
        found = float(value)
    except (TypeError, ValueError):
        return None
    return found if math.isfinite(found) else None


def needs_machine(values: Mapping[str, Any]) -> tuple[bool, bool]:
    """Whether the number of cores and the memory of the machine would turn a share into a quantity."""

    def share(key: str) -> bool:
        unit = values[f"{key}_unit"]
        return named(values[key]) is not None and unit is not None and FILE_UNITS[unit].of_machine

    return share("cpu"), share("memory")


ASKED = "map-asked"
"""The type in the ids of the answers' controls."""
LIKELY = "map-likely"
"""The type in the ids of the buttons that give an answer at once."""
_USUAL = frozenset(
    ("cores", "millicores", "percent_of_core", "percent_of_machine", "bytes", "kib", "mib", "gib", "mb", "gb")
)
_MEASURES = (
    (Role.CPU, "cores", "CPU, cores"),
    (Role.CPU, "percent_of_core", "CPU, % (100 is one core)"),
    (Role.MEMORY, "bytes", "Memory, bytes"),
    (Role.MEMORY, "mib", "Memory, MiB"),
)
MAIN = {Role.CPU.value: "cpu", Role.MEMORY.value: "memory"}
"""The roles that have a field of their own, and these fields."""


def open_questions(mapping: ColumnMapping, inspection: Any) -> list[Question]:
    """The questions whose answer the form still lacks.

    A further column that a person gave a role is not asked about: its row shows that a unit is missing, and
    would be pushed away by a question above it.
    """
    asked_of = {one.column for one in inspection.questions}
    roles = {one.column: one.role for one in mapping.features}
    known = {(one.column, one.role): one for one in inspection.questions}
    found = []
    for name in mapping.unknown:
        if name == INTERVAL:
            found.append(INTERVAL_QUESTION)
            continue
        role = roles.get(name)
        if role is not None and role not in MAIN and name not in asked_of:
            continue
        what = ROLE_NAMES.get(role, name) if role else name
        unit = Question(
            name,
            name == mapping.time,
            f"In which unit is {what} in “{name}”?",
            list_unit_choices(role or Role.OTHER),
        )
        found.append(known.get((name, role is Role.OTHER)) or unit)
    return found


def asked(questions: Sequence[Question], values: Mapping[str, Any]) -> Node:
    """The questions with their controls."""
    if not questions:
        return None
    strong = (
        "One question before the import." if len(questions) == 1 else f"{len(questions)} questions first."
    )
    rows = [
        html.Div(
            [
                html.Span(one.sentence),
                html.Div([*_likely(one, values), _control(one, values)], className="acts"),
            ],
            className="question",
        )
        for one in questions
    ]
    return html.Div(
        [icon("alert-triangle"), html.Div([html.B(strong), *rows], className="text")],
        className="notice warn",
        role="status",
    )


def _likely(question: Question, values: Mapping[str, Any]) -> list[Node]:
    """A button per likely answer, which a click gives; all others are in the list beside them."""
    if question.candidates:
        ways = [("which", *one) for one in _which(question)]
    elif question.role and len(question.choices) < len(_MEASURES):
        ways = [("role", *one) for one in _offered(question, values)]
    elif question.role:
        ways = [("measure", f"{role.value}:{unit}", label) for role, unit, label in _MEASURES]
    elif question.column == INTERVAL:
        ways = [("interval", key, f"{key} s") for key in question.choices]
    elif question.time:
        ways = [("time", key, TIME_UNITS[key]) for key in question.choices]
    else:
        ways = [("unit", key, FILE_UNITS[key].label) for key in question.choices if key in _USUAL]
    return [
        button(
            label,
            None,
            "small",
            id={"type": LIKELY, "what": what, "column": question.column, "value": value},
        )
        for what, value, label in ways
    ]


def _control(question: Question, values: Mapping[str, Any]) -> dmc.Select:
    of = "time" if question.time else "unit"
    what = "which" if question.candidates else "role" if question.role else of
    if question.column == INTERVAL:
        what = "interval"
    return dmc.Select(
        id={"type": ASKED, "what": what, "column": question.column},
        data=[{"value": key, "label": label} for key, label in _offered(question, values)],
        placeholder="Another",
        size="xs",
        allowDeselect=False,
        **aria(label=question.sentence),
    )


def _which(question: Question) -> list[tuple[str, str]]:
    """The columns of which one may be CPU or memory, and that none of them is."""
    names = [*((name, name) for name in question.candidates), ("", "None of them")]
    return [(f"{question.choices[0]}:{name}", label) for name, label in names]


def _offered(question: Question, values: Mapping[str, Any]) -> list[tuple[str, str]]:
    if question.candidates:
        return _which(question)
    if question.role:
        names = {role.value: name for role, name in ROLE_NAMES.items()} | {Role.OTHER.value: "Something else"}
        taken = {role for role, field in MAIN.items() if named(values[field])}
        return [(key, names[key]) for key in question.choices if key not in taken]
    if question.column == INTERVAL:
        return [(key, f"{key} s") for key in question.choices]
    labels = TIME_UNITS if question.time else {key: unit.label for key, unit in FILE_UNITS.items()}
    keys = question.choices or (tuple(key for key in TIME_UNITS if key != "none") if question.time else ())
    return [(key, labels[key]) for key in keys]


def answered(
    what: str, column: str, value: str, values: Mapping[str, Any], inspection: Any
) -> dict[str, Any]:
    """The fields of the form that an answer changes, with their new values."""
    if what in ("time", "interval"):
        return {"time_unit": value} if what == "time" else {"period": float(value)}
    if what == "which":
        role, _, chosen = value.partition(":")
        what, column, value = "role", chosen or column, role if chosen else Role.OTHER.value
    if what == "measure":
        role, _, unit = value.partition(":")
        measured = answered("role", column, role, values, inspection)
        return measured | answered("unit", column, unit, {**values, **measured}, inspection)
    main = next((field for field in MAIN.values() if values[field] == column), None)
    if what == "unit" and main:
        return {f"{main}_unit": value}
    answers = dict(values["answers"] or {})
    if what == "unit":
        return {"answers": answers | {column: answers.get(column, {}) | {"unit": value}}}
    if value in MAIN:
        field = MAIN[value]
        rest = [name for name in values["features"] or () if name != column]
        return {field: column, f"{field}_unit": _unit(column, Role(value), inspection), "features": rest}
    shown = _unit(column, Role(value), inspection)
    return said(values, MappedColumn(column, Role(value), shown or UNKNOWN))


def said(values: Mapping[str, Any], one: MappedColumn) -> dict[str, Any]:
    """The answers with what one column measures."""
    said_now = {"role": one.role.value, "unit": None if one.unit_key == UNKNOWN else one.unit_key}
    return {"answers": {**(values["answers"] or {}), one.column: said_now}}


def _unit(column: str, role: Role, inspection: Any) -> str | None:
    """The unit that the first rows show for a role; None where they leave it open."""
    place = [one.name for one in inspection.columns].index(column)
    cells = tuple(row[place] for row in inspection.rows_preview if place < len(row))
    style = find_style(cell for row in inspection.rows_preview for cell in row)
    found = guess_unit(Column(column, cells, style), role)
    return None if found.key == UNKNOWN or found.assumed else found.key


def fields(answer: Mapping[str, Any], names: Sequence[str]) -> list[Any]:
    """The new values of some fields in their order; those that stay are not touched."""
    return [answer.get(name, dash.no_update) for name in names]
