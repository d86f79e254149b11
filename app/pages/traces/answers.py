"""What only the person knows about a file, asked before the form, with the likely answers as buttons."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import dash
from dash import Input, Output, State, html

from app.pages.traces.mapping_form import field_id
from app.pages.traces.mapping_values import NOTHING
from app.ui.basics import Node, button, icon
from core.traces.mapping import TIME_UNITS
from core.traces.model import ROLE_UNITS
from core.traces.questions import Question
from core.units import FILE_UNITS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dash import Dash

    from core.traces.mapping import ColumnMapping

_TYPE = "map-answer"
_USUAL = frozenset(
    ("cores", "millicores", "percent_of_core", "percent_of_machine", "bytes", "kib", "mib", "gib", "mb", "gb")
)
"""The units that have a button; all others are in the form."""
_MEASURES = (
    ("cpu", "cores", "CPU, cores"),
    ("cpu", "percent_of_core", "CPU, % (100 is one core)"),
    ("memory", "bytes", "Memory, bytes"),
    ("memory", "mib", "Memory, MiB"),
)
_UNITS = ("time_unit", "cpu_unit", "memory_unit")
_CHANGED = (*_UNITS, "cpu", "memory", "features")


def open_questions(mapping: ColumnMapping, inspection: Any) -> list[Question]:
    """The questions whose answer the form still lacks."""
    known = {one.column: one for one in inspection.questions}
    return [
        known.get(name) or Question(name, name == mapping.time, f"In which unit is “{name}”?", ())
        for name in mapping.unknown
    ]


def unnamed(mapping: ColumnMapping) -> str | None:
    """The only column of numbers, if nothing tells what it measures."""
    if len(mapping.features) != 1 or mapping.features[0].role in ROLE_UNITS:
        return None
    return mapping.features[0].column


def asked(questions: Sequence[Question], mapping: ColumnMapping, values: Mapping[str, Any]) -> Node:
    """The questions, each with the answers that one click gives; nothing where all is known."""
    column = unnamed(mapping)
    if questions:
        count = len(questions)
        strong = "One question before the import." if count == 1 else f"{count} questions first."
        rows = [_row(one.sentence, _units(one, values)) for one in questions]
    elif column is not None:
        strong = f"What does “{column}” measure?"
        ways = [_answer(label, role, unit, column) for role, unit, label in _MEASURES]
        rows = [_row("Nothing in the file says it. Without an answer it is kept without a unit.", ways)]
    else:
        return None
    kind = "warn" if questions else "info"
    return html.Div(
        [
            icon("alert-triangle" if questions else "info-circle"),
            html.Div([html.B(strong), *rows], className="text"),
        ],
        className=f"notice {kind}",
        role="status",
    )


def _row(sentence: str, ways: list[Node]) -> html.Div:
    return html.Div([html.Div(sentence), html.Div(ways, className="acts")])


def _units(one: Question, values: Mapping[str, Any]) -> list[Node]:
    """A button per likely unit, where the form has a field for it."""
    places = {"time": "time_unit", "cpu": "cpu_unit", "memory": "memory_unit"}
    field = next((unit for key, unit in places.items() if values.get(key) == one.column), None)
    if field is None:
        return []
    if one.time:
        return [_answer(TIME_UNITS[key], field, key, one.column) for key in one.choices]
    keys = [key for key in one.choices if key in _USUAL]
    return [_answer(FILE_UNITS[key].label, field, key, one.column) for key in keys]


def _answer(label: str, field: str, value: str, column: str) -> Node:
    return button(label, None, "small", id={"type": _TYPE, "field": field, "value": value, "column": column})


def register(app: Dash) -> None:
    """Let an answer fill the form in."""
    app.callback(
        output={field: Output(field_id(field), "value") for field in _CHANGED},
        inputs={
            "clicks": Input(
                {"type": _TYPE, "field": dash.ALL, "value": dash.ALL, "column": dash.ALL}, "n_clicks"
            ),
            "features": State(field_id("features"), "value"),
        },
        prevent_initial_call=True,
    )(_fill)


def _fill(clicks: list[int | None], features: list[str] | None) -> dict[str, Any]:
    chosen: Any = dash.ctx.triggered_id
    if not chosen or not any(clicks):
        return dict.fromkeys(_CHANGED, dash.no_update)
    return filled(chosen["field"], chosen["value"], chosen["column"], features or [])


def filled(field: str, value: str, column: str, features: Sequence[str]) -> dict[str, Any]:
    """The fields of the form that an answer changes.

    Parameters
    ----------
    field
        The unit's field, or ``cpu`` or ``memory`` for what a column measures.
    value
        The key of the unit.
    column
        The column that was asked about.
    features
        The further features that are chosen.
    """
    made: dict[str, Any] = dict.fromkeys(_CHANGED, dash.no_update)
    if field in _UNITS:
        return made | {field: value}
    other = "memory" if field == "cpu" else "cpu"
    rest = [name for name in features if name != column]
    return made | {field: column, f"{field}_unit": value, other: NOTHING, "features": rest}
