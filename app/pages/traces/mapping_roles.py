"""What further features measure: a row for each of them, with its role and its unit.

The rows show what the form has (`app.pages.traces.mapping_values.further`), and what is chosen in them is
kept with the answers to questions, by column. CPU and memory have fields of their own; one of these roles is
offered in a row only while its field is empty, and moves the column there.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import dash
import dash_mantine_components as dmc
from dash import html

from app.context import workspace
from app.pages.traces.mapping_questions import MAIN, answered, said
from app.pages.traces.mapping_values import further, named, unmeasured
from app.ui.basics import aria, icon
from core.traces.guessing.units import list_unit_choices
from core.traces.mapping import UNKNOWN, MappedColumn
from core.traces.model import ROLE_NAMES, ROLE_UNITS, Role
from core.units import FILE_UNITS, plural

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


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
