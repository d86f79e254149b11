"""The form that maps a file's columns: time, executions, features, and what further features measure.

Each further feature has a row with its role and its unit; the rows follow what is chosen above them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import dash
import dash_mantine_components as dmc
from dash import html

from app.context import workspace
from app.pages.traces.mapping_values import (
    MAIN,
    NOTHING,
    answered,
    further,
    named,
    said,
    suggested,
    unmeasured,
)
from app.ui.basics import aria, icon, scrolling, state_badge
from app.ui.forms import ORDER
from core.reading.guessing.units import list_unit_choices
from core.reading.mapping import TIME_UNITS, UNKNOWN, MappedColumn
from core.traces.model import ROLE_NAMES, ROLE_UNITS, Resampling, Role
from core.units import FILE_UNITS, plural

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from app.ui.basics import Node
    from core.reading.mapping import ColumnMapping


SAID = "map-said"
"""The type in the ids of the rows' controls."""
UNIT_BOX = "map-unit-box"
"""The type in the ids of the boxes around the units' controls."""
SHOWN = ("id", "value", "data")
"""The properties of a control by which it is known whether it has to be drawn anew."""
FEW = 6
"""More rows than this are folded, so that the page stays short."""


def roles_box(features: Sequence[str]) -> html.Details:
    """The place of the rows, open while they are few."""
    summary = html.Summary([icon("chevron-right", "sm"), html.Span(id="map-roles-title")])
    heads = html.Div([html.Span("Column"), html.Span("Measures"), html.Span("Unit")], className="head")
    return html.Details(
        [summary, html.Div([heads, html.Div(id="map-roles")], className="roles")],
        id="map-roles-box",
        className="unfold wide",
        open=len(features) <= FEW,
        hidden=not features,
    )


def rows(values: Mapping[str, Any], inspection: Any) -> list[html.Div]:
    """A row per further feature."""
    taken = {role for role, field in MAIN.items() if named(values[field])}
    return [_row(one, taken) for one in further(values, inspection.mapping)]


def _row(one: MappedColumn, taken: set[str]) -> html.Div:
    name = html.Span(one.column, title=one.column, className="truncate")
    return html.Div(
        [name, _role(one, taken), html.Div(_unit(one), id={"type": UNIT_BOX, "column": one.column})]
    )


def _role(one: MappedColumn, taken: set[str]) -> dmc.Select:
    names = {role.value: name for role, name in ROLE_NAMES.items()} | {Role.OTHER.value: "Other"}
    offered = {key: name for key, name in names.items() if key not in taken}
    # a recording has its phases in a column, and nothing else has
    offered.setdefault(one.role.value, one.role.value.capitalize())
    return _select("role", one.column, offered, one.role.value, f"What “{one.column}” measures")


def _unit(one: MappedColumn) -> dmc.Select:
    """The units of the role; where it has none to choose, the unit that the file is known to have."""
    known = None if one.unit_key == UNKNOWN else one.unit_key
    has_units = one.role in ROLE_UNITS
    keys = dict.fromkeys((*(list_unit_choices(one.role) if has_units else ()), *([known] if known else ())))
    offered = {key: FILE_UNITS[key].label for key in keys}
    control = _select("unit", one.column, offered, known, f"Unit of “{one.column}”")
    control.disabled = not has_units
    return control


def _select(what: str, column: str, offered: Mapping[str, str], value: str | None, label: str) -> dmc.Select:
    return dmc.Select(
        id={"type": SAID, "what": what, "column": column},
        data=[{"value": key, "label": name} for key, name in offered.items()],
        value=value,
        placeholder="Choose",
        size="xs",
        allowDeselect=False,
        **aria(label=label),
    )


def picked(what: str, column: str, value: str, values: Mapping[str, Any], inspection: Any) -> dict[str, Any]:
    """The fields of the form that a choice in a row changes; none where it says what the form has already."""
    now = next((one for one in further(values, inspection.mapping) if one.column == column), None)
    if now is None or value == (now.role.value if what == "role" else now.unit_key):
        return {}
    if what == "unit" and value not in list_unit_choices(now.role):
        return {}  # of the role before: both selects of a row are heard when it is drawn
    if what == "role" and value == Role.OTHER:
        # as it was before anyone gave it a role
        found = next(
            (one for one in inspection.mapping.features if one.column == column), MappedColumn(column)
        )
        return said(values, unmeasured(found))
    if what == "role" and value not in MAIN and now.unit_key in list_unit_choices(Role(value)):
        return said(values, replace(now, role=Role(value)))
    return answered(what, column, value, values, inspection)


def follow_rows(
    values: dict[str, Any], upload: dict[str, Any], roles: dict[str, list[Any]], units: dict[str, list[Any]]
) -> dict[str, Any]:
    """Show a row per further feature, with what the form has.

    Only what changes is drawn anew: the select in which something was just chosen keeps the keyboard's focus.
    """
    inspection = workspace().uploads.inspect(upload["id"], upload["as_written"])
    found = rows(values, inspection)
    kept = _as_shown([row.children[1] for row in found], roles)
    stays = len(kept) == len(roles["id"]) and all(kept)
    drawn = [row.children[2].children for row in found]
    boxes = [
        dash.no_update if same else unit for same, unit in zip(_as_shown(drawn, units), drawn, strict=True)
    ]
    return {
        "rows": dash.no_update if stays else found,
        "units": boxes if stays else [dash.no_update] * len(units["id"]),
        "hidden": not found,
        "title": f"What {plural(len(found), 'further feature')} measure{'' if len(found) > 1 else 's'}",
    }


def _as_shown(wanted: Sequence[dmc.Select], shown: Mapping[str, Sequence[Any]]) -> list[bool]:
    """Whether each select is shown in its place as it should be."""
    there = [dict(zip(shown, one, strict=True)) for one in zip(*shown.values(), strict=True)]
    return [
        place < len(there) and all(getattr(one, name) == what for name, what in there[place].items())
        for place, one in enumerate(wanted)
    ]


_MARKS = (
    ("execution", "execution"),
    ("time", "time"),
    ("cpu", "CPU"),
    ("memory", "memory"),
)


def marks(values: Mapping[str, Any]) -> dict[str, str]:
    """What each chosen column stands for, in one word."""
    found = dict.fromkeys(values["attributes"] or (), "attribute")
    found |= dict.fromkeys(values["features"] or (), "feature")
    found |= dict.fromkeys(values["execution_parts"] or (), "execution")
    return found | {values[key]: word for key, word in _MARKS if named(values[key])}


def preview(inspection: Any, values: Mapping[str, Any]) -> html.Div:
    """The file's first rows; the columns that will be read carry what they stand for."""
    chosen = marks(values)
    names = [column.name for column in inspection.columns]
    classes = ["on" if name in chosen else "off" for name in names]
    head = [
        html.Th(
            [
                state_badge(chosen[name], "accent", "check") if name in chosen else html.Span("not read"),
                html.Div(name, className="name"),
                html.Div(column.dtype, className="type"),
            ],
            className=kind,
            scope="col",
        )
        for name, kind, column in zip(names, classes, inspection.columns, strict=True)
    ]
    rows = [
        html.Tr([html.Td(row[i] if i < len(row) else "", className=kind) for i, kind in enumerate(classes)])
        for row in inspection.rows_preview
    ]
    table = html.Table(
        [html.Caption("First rows", className="sr"), html.Thead(html.Tr(head)), html.Tbody(rows)],
        className="plain preview",
    )
    return scrolling(table, "First rows", "tall")


def _format(inspection: Any) -> str:
    if inspection.mapping is None:
        return "Unknown format. "
    if inspection.layout == "generic":
        return "The columns were guessed by their names: please check. "
    if inspection.layout == "joined":
        return f"{inspection.label}. "
    return f"Recognised as {inspection.label}. "


def recognised(inspection: Any) -> html.Div:
    """What the file was taken for, and why."""
    known = inspection.mapping is not None
    # the first reason of a known layout only repeats its name
    reasons = (
        (inspection.reasons[1:] or ("Import the file once the columns are right.",))
        if known
        else inspection.reasons
    )
    return html.Div(
        [
            icon("wand" if known else "alert-triangle"),
            html.Div(
                [
                    html.B(_format(inspection)),
                    " ".join(reasons),
                ],
                className="text",
            ),
        ],
        className="notice info" if known else "notice warn",
        role="status",
    )


RESAMPLING_HELP = {
    Resampling.HOLD: "Each period takes the last value before it; suits most recorders.",
    Resampling.MEAN: "Each period takes the mean of its samples; suits samples denser than the period.",
    Resampling.NONE: "Rows are kept as recorded; suits rows that are one period apart already.",
}
_RESAMPLING = {
    Resampling.HOLD: "Hold the last value",
    Resampling.MEAN: "Mean of each period",
    Resampling.NONE: "None: as recorded",
}


def field_id(field: str) -> str:
    """The id of a field's control."""
    return f"map-{field.replace('_', '-')}"


def form(inspection: Any, mapping: ColumnMapping | None, joined: bool = False) -> Node:
    """The controls, filled in with what is suggested, or was chosen for the last file of this shape."""
    values, names = suggested(mapping), [column.name for column in inspection.columns]
    return html.Div(
        [_columns(names, values, joined), html.Div(className="rule"), _sampling(values)], className="mapform"
    )


def _columns(names: Sequence[str], values: Mapping[str, Any], joined: bool) -> html.Div:
    """Which column is what, and in which unit."""
    naming = [values["execution"]] if joined else names
    execution = _column("execution", "Execution", naming, values, "None: the file is one execution")
    text = "One text per execution, such as its workload."
    attributes = _many("attributes", "Attributes", names, values, text)
    further = _many("features", "Further features", names, values, "Numbers that a model may also read.")
    return html.Div(
        [
            execution,
            _many(
                "execution_parts",
                "and also by",
                () if joined else names,
                values,
                "Such as the container of a pod.",
            ),
            _column(
                "time", "Time", [values["time"]] if joined else names, values, "None: row number × period"
            ),
            _choice("time_unit", "Unit of time", _time_units(), values),
            _column("cpu", "CPU", names, values, "None"),
            _choice("cpu_unit", "Unit of CPU", _units(Role.CPU), values),
            _column("memory", "Memory", names, values, "None"),
            _choice("memory_unit", "Unit of memory", _units(Role.MEMORY), values),
            attributes,
            further,
            roles_box(values["features"]),
        ],
        className="mapgrid",
    )


def _sampling(values: Mapping[str, Any]) -> html.Div:
    """When samples were taken, and what the machine has."""
    period, cores = "Leave empty to detect it from the file.", "Turns shares into cores."
    gap, memory = "A longer one splits the execution there.", "Turns shares into GiB."
    return html.Div(
        [
            _number("period", "Sampling period", values, " s", period, "auto"),
            _choice("resampling", "Irregular samples", _resamplings(), values, " "),
            _number("max_gap", "Longest gap", values, " periods", gap),
            _number("cores", "Cores of the machine", values, " cores", cores, "unknown"),
            _number("memory_gib", "Memory of the machine", values, " GiB", memory, "unknown"),
        ],
        className="mapgrid one",
    )


def _options(names: Sequence[str], none: str) -> list[dict[str, str]]:
    return [{"value": NOTHING, "label": none}, *({"value": name, "label": name} for name in names)]


def _units(role: Role) -> list[dict[str, str]]:
    return [{"value": key, "label": FILE_UNITS[key].label} for key in list_unit_choices(role)]


def _time_units() -> list[dict[str, str]]:
    return [{"value": key, "label": label} for key, label in TIME_UNITS.items() if key != "none"]


def _resamplings() -> list[dict[str, str]]:
    return [{"value": rule.value, "label": label} for rule, label in _RESAMPLING.items()]


def _column(field: str, label: str, names: Sequence[str], values: Mapping[str, Any], none: str) -> dmc.Select:
    return dmc.Select(
        id=field_id(field),
        label=label,
        data=_options(names, none),
        value=values[field],
        allowDeselect=False,
        searchable=len(names) > 8,
        nothingFoundMessage="No matching column",
    )


def _choice(
    field: str, label: str, data: list[dict[str, str]], values: Mapping[str, Any], text: str | None = None
) -> dmc.Select:
    return dmc.Select(
        id=field_id(field),
        label=label,
        data=data,
        value=values[field],
        allowDeselect=False,
        description=text,
        inputWrapperOrder=ORDER,
        placeholder="Choose",
    )


def _many(
    field: str, label: str, names: Sequence[str], values: Mapping[str, Any], text: str
) -> dmc.MultiSelect:
    return dmc.MultiSelect(
        id=field_id(field),
        label=label,
        data=list(names),
        value=values[field],
        searchable=True,
        clearable=True,
        hidePickedOptions=True,
        description=text,
        inputWrapperOrder=ORDER,
        nothingFoundMessage="No matching column",
    )


def _number(
    field: str, label: str, values: Mapping[str, Any], unit: str, text: str, placeholder: str = ""
) -> html.Div:
    """A number with its unit; in a box of its own, so that it can be hidden where it means nothing."""
    control = dmc.NumberInput(
        id=field_id(field),
        label=label,
        value=values[field] if values[field] is not None else "",
        suffix=unit,
        min=0,
        allowNegative=False,
        hideControls=True,
        placeholder=placeholder,
        description=text,
        inputWrapperOrder=ORDER,
        debounce=250,
    )
    return html.Div(control, id=f"{field_id(field)}-box")
