"""What only the person knows, asked above the form and answered in place.

An answer fills the form in, so that it can be changed there; what columns measure that are neither CPU nor
memory is kept beside it, by column: ``{"value": {"role": "gpu", "unit": "percent"}}``. Their rows in the form
(`app.pages.traces.mapping_roles`) show it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import dash
import dash_mantine_components as dmc
from dash import html

from app.pages.traces.mapping_values import named
from app.ui.basics import Node, aria, button, icon
from core.traces.cells.numbers import find_style
from core.traces.guessing.units import Column, guess_unit, list_unit_choices
from core.traces.mapping import TIME_UNITS, UNKNOWN, MappedColumn
from core.traces.model import ROLE_NAMES, Role
from core.traces.questions import Question
from core.units import FILE_UNITS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from core.traces.mapping import ColumnMapping

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
    labels = TIME_UNITS if question.time else {key: unit.label for key, unit in FILE_UNITS.items()}
    keys = question.choices or (tuple(key for key in TIME_UNITS if key != "none") if question.time else ())
    return [(key, labels[key]) for key in keys]


def answered(
    what: str, column: str, value: str, values: Mapping[str, Any], inspection: Any
) -> dict[str, Any]:
    """The fields of the form that an answer changes, with their new values."""
    if what == "time":
        return {"time_unit": value}
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
