"""The table of the executions of a trace set."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import dash_mantine_components as dmc
import numpy as np
from dash import ClientsideFunction, Input, Output, State, dcc, html

from app.context import Choice, address, workspace
from app.pages.traces.listing import executions_csv, sampling
from app.ui.basics import Node, aria, card, icon, link_button
from app.ui.grid import grid
from core.traces.model import Role

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd
    from dash import Dash

    from core.units import Unit
    from core.workspace.records import TraceSetInfo

GRID = "executions-grid"
_MOST_ATTRIBUTES = 4
_SHORT = 15
_LARGE = 1e7
_DATA = "executions-data"
_OPENING = "phasedockTable.open(params, '{}')"


def register(app: Dash) -> None:
    """Let the box above the table filter it, in the browser."""
    app.clientside_callback(
        ClientsideFunction("tables", "rows"), Output(GRID, "rowData"), Input(_DATA, "data"), State(GRID, "id")
    )
    app.clientside_callback(
        ClientsideFunction("tables", "filter"),
        Output("executions-count", "children"),
        Input("executions-filter", "value"),
        State(GRID, "rowData"),
        State(GRID, "id"),
        prevent_initial_call=True,
    )


def executions_card(choice: Choice) -> html.Section:
    """The executions of the chosen set, with what to do next."""
    info = choice.traces
    if info is None:
        raise AssertionError("there is a table only where there is a trace set")
    hint = html.Span(
        [icon("arrow-right", "sm"), " Click a row to open its phases"], className="hint small ink3"
    )
    return card(
        ["Executions of ", html.Span(info.name, id="executions-of")],
        html.Div([_find(), hint], className="findrow"),
        *_table(info, workspace().traces.summary(info.id), choice),
        note=[html.Span(_count(info), id="executions-count"), " · ", sampling(info)],
        tools=_tools(info, choice),
        flush=True,
        class_name="tracetable",
    )


def _find() -> dmc.TextInput:
    return dmc.TextInput(
        id="executions-filter",
        placeholder="Find by name or attribute",
        leftSection=icon("search"),
        debounce=150,
        size="xs",
        className="findbox",
        **aria(label="Find executions by name or attribute"),
    )


def _tools(info: TraceSetInfo, choice: Choice) -> list[Node]:
    """What to do with the set: see its phases where a model fits, train one, download the table."""
    see = link_button("See phases", address("/phases", choice), "timeline", "small")
    training = address("/models", Choice(info, None), view="train")
    return [
        *([see] if choice.model else []),
        link_button("Train a model", training, "stack-2", "small"),
        html.A(
            icon("download"),
            href=executions_csv(info.id),
            className="iconbtn",
            title="Executions as CSV",
            **aria(label="Executions as CSV"),
        ),
    ]


def _count(info: TraceSetInfo) -> str:
    return f"{info.n_executions:,}"


def _unit(info: TraceSetInfo, role: Role) -> Unit | None:
    return next((feature.unit for feature in info.features if feature.role is role), None)


def _table(info: TraceSetInfo, table: pd.DataFrame, choice: Choice) -> list[Node]:
    columns = [*_fixed(table), *_quantities(info)]
    event = _OPENING.format(address("/phases", choice))
    made = grid(
        GRID,
        columns,
        [],
        height="min(62vh, 640px)" if len(table) > _SHORT else None,
        options={
            "suppressCellFocus": False,
            "suppressNoRowsOverlay": True,
            "overlayComponentParams": {"noMatchingRows": {"overlayText": "No matching execution"}},
            "cacheQuickFilter": True,
        },
        eventListeners={"cellClicked": [event], "cellKeyDown": [event]},
        getRowId="params.data.execution",
        columnSize=None,
    )
    return [dcc.Store(id=_DATA, data=packed(table, [column["field"] for column in columns])), made]


def packed(table: pd.DataFrame, fields: Sequence[str]) -> dict[str, list[Any]]:
    """The table column by column, which is half the size of rows and ten times as quick to write."""
    return {field: _plain(table[field]) for field in fields}


def _plain(values: pd.Series) -> list[Any]:
    if values.dtype.kind != "f":
        found: list[Any] = values.tolist()
        return found
    numbers = np.round(values.to_numpy(), 4)
    if np.isnan(numbers).any():
        return [None if number != number else number for number in numbers.tolist()]  # noqa: PLR0124 - NaN
    large = len(numbers) > 0 and np.abs(numbers).max() > _LARGE
    return list(np.rint(numbers).astype(np.int64).tolist() if large else numbers.tolist())


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
    """A column of numbers; `kind` names its writer in ``assets/js/tables.js``."""
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
