"""The form that says which column of a file is what: its controls, filled in with a suggestion.

Their values, and the mapping made of them, are in `app.pages.traces.mapping_values`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import dash_mantine_components as dmc
from dash import html

from app.pages.traces.mapping_roles import roles_box
from app.pages.traces.mapping_values import NOTHING, named, suggested
from app.ui.basics import icon, scrolling, state_badge
from app.ui.forms import ORDER
from core.traces.guessing.units import list_unit_choices
from core.traces.mapping import TIME_UNITS
from core.traces.model import Resampling, Role
from core.units import FILE_UNITS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from app.ui.basics import Node
    from core.traces.mapping import ColumnMapping


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
