"""The table of the executions of a trace set."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import dash_mantine_components as dmc
import numpy as np
from dash import ClientsideFunction, Input, Output, State, dcc, html
from flask import Blueprint

from app.context import Choice, address, workspace
from app.pages.traces.listing import executions_csv, sampling
from app.ui.basics import Node, aria, card, icon, link_button
from app.ui.tables import column_definitions, grid, table_route
from core.tables import Column, Table
from core.traces.model import Role
from core.units import format_count, format_duration, unit_writer

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import pandas as pd
    from dash import Dash

    from core.units import Unit
    from core.workspace.records import TraceSetInfo

blueprint = Blueprint("traces", __name__)

GRID = "executions-grid"
_MAX_ATTRIBUTES = 4
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
    """The executions of the chosen set, with links to the next steps."""
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
    """The links of the set: its phases if a model fits, training, the table as a file."""
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


# The table in the browser has the columns that fit a screen, the file has all of the summary.
_QUANTITIES: dict[str, tuple[str, int, Callable[[float], str] | Role]] = {
    "samples": ("Samples", 90, format_count),
    "duration_s": ("Duration", 112, format_duration),
    "cpu_mean": ("CPU mean", 118, Role.CPU),
    "cpu_peak": ("CPU peak", 118, Role.CPU),
    "memory_mean": ("Memory mean", 118, Role.MEMORY),
    "memory_peak": ("Memory peak", 118, Role.MEMORY),
}
_FILE_ONLY = ("start_s", "gaps")


@table_route(blueprint, "/api/traces/<trace_set_id>/executions.csv")
def executions_table(trace_set_id: str) -> Table:
    """The executions of a trace set with the usage of each."""
    traces = workspace().traces
    info, summary = traces.get(trace_set_id), traces.summary(trace_set_id)
    units = {feature.role: feature.unit for feature in reversed(info.features)}
    attributes = [name for name in summary.columns if name not in ("execution", *_QUANTITIES, *_FILE_ONLY)]
    columns = [
        _column(name, units, titled=name in {"execution", *attributes[:_MAX_ATTRIBUTES]})
        for name in summary.columns
    ]
    return Table(info.name, columns, summary.itertuples(index=False, name=None))


def _column(name: str, units: Mapping[Role, Unit], *, titled: bool) -> Column:
    if name not in _QUANTITIES:
        title = "Execution" if name == "execution" else name
        return Column(name, title if titled else "")
    title, _, show = _QUANTITIES[name]
    if isinstance(show, Role):
        return Column(name, title, unit_writer(units[show])) if show in units else Column(name)
    return Column(name, title, show)


def _table(info: TraceSetInfo, summary: pd.DataFrame, choice: Choice) -> list[Node]:
    table, event = executions_table(info.id), _OPENING.format(address("/phases", choice))
    rendered = grid(
        GRID,
        _definitions(table, summary),
        [],
        height="min(62vh, 640px)" if len(summary) > _SHORT else None,
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
    return [dcc.Store(id=_DATA, data=packed(summary, [column.key for column in table.titled])), rendered]


def _definitions(table: Table, summary: pd.DataFrame) -> list[dict[str, Any]]:
    """The grid's columns, as wide as their texts, names and attributes first."""
    added: dict[str, dict[str, Any]] = {
        "execution": {
            "pinned": "left",
            "cellClass": "strong",
            "width": _width(summary["execution"], 170, 380),
            "tooltipValueGetter": {"function": "params.value"},
        }
    }
    for column in table.titled:
        if column.key in _QUANTITIES:
            width = _QUANTITIES[column.key][1]
            quiet = {"getQuickFilterText": {"function": "''"}}
            added[column.key] = {"width": width, "minWidth": width, "flex": 1, **quiet}
        elif column.key != "execution":
            added[column.key] = {"width": _width(summary[column.key], 110, 260)}
    return sorted(column_definitions(table, added), key=lambda each: each["field"] in _QUANTITIES)


def _width(texts: pd.Series, min_width: int, max_width: int) -> int:
    """The width of a column for the longest of its texts, within bounds, in pixels."""
    longest = int(texts.str.len().max()) if len(texts) else 0
    return min(max(min_width, 36 + round(7.1 * longest)), max_width)


def packed(table: pd.DataFrame, fields: Sequence[str]) -> dict[str, list[Any]]:
    """The table column by column, which is half the size of rows and ten times as quick to write."""
    return {field: _plain(table[field]) for field in fields}


def _plain(values: pd.Series) -> list[Any]:
    if values.dtype.kind != "f":
        plain: list[Any] = values.tolist()
        return plain
    numbers = np.round(values.to_numpy(), 4)
    if np.isnan(numbers).any():
        return [None if number != number else number for number in numbers.tolist()]  # noqa: PLR0124 - NaN
    large = len(numbers) > 0 and np.abs(numbers).max() > _LARGE
    return list(np.rint(numbers).astype(np.int64).tolist() if large else numbers.tolist())
