"""The table of the executions of a trace set."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import dash_mantine_components as dmc
from dash import ClientsideFunction, Input, Output, State, html

from app.components.basics import Node, aria, card, icon, link_button
from app.components.grid import grid
from app.components.trace_list import executions_csv, sampling
from app.context import Choice, address, workspace
from core.traces.model import Role

if TYPE_CHECKING:
    from collections.abc import Hashable

    import pandas as pd
    from dash import Dash

    from core.runtime.infos import TraceSetInfo
    from core.units import Unit

GRID = "executions-grid"
_MOST_ATTRIBUTES = 4
_SHORT = 15
_OPENING = ["phasedockTable.open(params, {0})"]


def register(app: Dash) -> None:
    """Let the box above the table filter it, in the browser."""
    app.clientside_callback(
        ClientsideFunction("tables", "filter"),
        Output("executions-count", "children"),
        Input("executions-filter", "value"),
        State(GRID, "rowData"),
        State(GRID, "id"),
        prevent_initial_call=True,
    )


def executions_card(choice: Choice) -> html.Section:
    """The executions of the chosen set, with what to do next.

    Parameters
    ----------
    choice
        The chosen set and the model that fits it, if one does.
    """
    info = choice.traces
    if info is None:
        raise AssertionError("there is a table only where there is a trace set")
    box = dmc.TextInput(
        id="executions-filter",
        placeholder="Find by name or attribute",
        leftSection=icon("search"),
        debounce=150,
        size="xs",
        className="findbox",
        **aria(label="Find executions by name or attribute"),
    )
    see = address("/phases", choice)
    first = [link_button("See phases", see, "timeline", "small")] if choice.model else []
    tools = [
        *first,
        link_button("Train a model", address("/models", Choice(info, None)), "stack-2", "small"),
        html.A(
            icon("download"),
            href=executions_csv(info.id),
            className="iconbtn",
            title="Executions as CSV",
            **aria(label="Executions as CSV"),
        ),
    ]
    count = html.Span(_count(info), id="executions-count")
    hint = html.Span([icon("arrow-right", "sm"), " A row opens its phases"], className="hint small ink3")
    head = html.Div([box, hint], className="findrow")
    return card(
        ["Executions of ", html.Span(info.name, id="executions-of")],
        head,
        _table(info, workspace().traces.summary(info.id), choice),
        note=[count, " · ", sampling(info)],
        tools=tools,
        flush=True,
        class_name="tracetable",
    )


def _count(info: TraceSetInfo) -> str:
    return f"{info.n_executions:,}"


def _unit(info: TraceSetInfo, role: Role) -> Unit | None:
    return next((feature.unit for feature in info.features if feature.role is role), None)


def _table(info: TraceSetInfo, table: pd.DataFrame, choice: Choice) -> Node:
    shown = [*_fixed(table), *_quantities(info)]
    fields = [column["field"] for column in shown]
    rows = table[fields].rename(columns=_keys(fields)).to_dict("records")
    columns = [column | {"field": key} for column, key in zip(shown, _keys(fields).values(), strict=True)]
    where = address("/phases", choice)
    event = _OPENING[0].format(f"'{where}'")
    return grid(
        GRID,
        columns,
        _rounded(rows),
        height="min(62vh, 640px)" if len(rows) > _SHORT else None,
        options={
            "suppressCellFocus": False,
            "rowClass": "opens",
            "overlayComponentParams": {"noMatchingRows": {"overlayText": "No execution of that name"}},
            "cacheQuickFilter": True,
        },
        eventListeners={
            "cellClicked": [event],
            "cellKeyDown": [event],
            "firstDataRendered": ["phasedockTable.fit(params)"],
        },
        getRowId="params.data.e",
        columnSize=None,
    )


def _keys(fields: list[str]) -> dict[str, str]:
    """Short keys: a thousand rows repeat them a thousand times."""
    return {field: "e" if field == "execution" else f"c{i}" for i, field in enumerate(fields)}


def _rounded(rows: list[dict[Hashable, Any]]) -> list[dict[str, Any]]:
    """Five digits are more than a cell shows; a missing value is an empty cell."""
    return [{str(key): _cell(value) for key, value in row.items()} for row in rows]


def _cell(value: Any) -> Any:
    if isinstance(value, float):
        return None if value != value else float(f"{value:.5g}")  # noqa: PLR0124 - NaN alone differs from itself
    return value


def _fixed(table: pd.DataFrame) -> list[dict[str, Any]]:
    known = ("samples", "start_s", "duration_s", "gaps", "cpu_mean", "cpu_peak", "memory_mean", "memory_peak")
    attributes = [name for name in table.columns if name not in ("execution", *known)][:_MOST_ATTRIBUTES]
    return [
        {
            "field": "execution",
            "headerName": "Execution",
            "pinned": "left",
            "cellClass": "strong",
            "width": _width(table["execution"], 170, 380),
            "tooltipValueGetter": {"function": "params.value"},
        },
        *({"field": name, "headerName": name, "width": _width(table[name], 110, 260)} for name in attributes),
        _quantity("samples", "Samples", "count", 90),
        _quantity("duration_s", "Duration", "duration", 112),
    ]


def _width(texts: pd.Series, least: int, most: int) -> int:
    """Room for the longest of some texts, within bounds, in pixels."""
    longest = int(texts.str.len().max()) if len(texts) else 0
    return min(max(least, 36 + round(7.1 * longest)), most)


def _quantities(info: TraceSetInfo) -> list[dict[str, Any]]:
    found = []
    for key, label, role in (("cpu", "CPU", Role.CPU), ("memory", "Memory", Role.MEMORY)):
        unit = _unit(info, role)
        if unit is not None:
            found += [
                _quantity(f"{key}_mean", f"{label} mean", unit.value, 118),
                _quantity(f"{key}_peak", f"{label} peak", unit.value, 118),
            ]
    return found


def _quantity(field: str, title: str, kind: str, width: int) -> dict[str, Any]:
    """A column of numbers; `kind` names its writer in ``assets/tables.js``."""
    return {
        "field": field,
        "headerName": title,
        "type": "rightAligned",
        "cellClass": "num ag-right-aligned-cell",
        "width": width,
        "minWidth": width,
        "flex": 1,
        "getQuickFilterText": {"function": "''"},
        "valueFormatter": {"function": f"phasedockTable.{kind}(params.value)"},
        "sortingOrder": ["desc", "asc", None],
    }
