"""The table of containers: use against limit as bars with a tick, sparklines, badges, and what can be done.

Its rows are filled in the browser at every tick (``live_table.js``); sorting by a quantity that moves
goes by its mean over the last quarter minute, so that rows do not jump under the pointer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import dash_mantine_components as dmc
from dash import html

from app.ui.basics import Node, aria, card, data, icon, icon_button
from app.ui.grid import grid

if TYPE_CHECKING:
    from collections.abc import Mapping

GRID = "live-grid"
_JS = "phasedockLive."


def _function(name: str) -> dict[str, str]:
    return {"function": f"{_JS}{name}(params)"}


def _sorted_by(name: str) -> dict[str, Any]:
    return {"comparator": {"function": f"{_JS}{name}"}, "sortingOrder": ["desc", "asc"]}


_UNSEARCHED: Mapping[str, Any] = {"cellDataType": False, "getQuickFilterText": _function("nothing")}
"""What all columns have whose values move: the filter does not look at them."""


def columns() -> list[dict[str, Any]]:
    """The columns of the table."""
    return [
        _name(),
        {"field": "list", "headerName": "List", "cellRenderer": "LiveListCell", "width": 88, "minWidth": 58},
        {"field": "phase", "headerName": "Phase", "cellRenderer": "LivePhaseCell", "width": 64,
         "minWidth": 60},
        _bar("cpu", "CPU use and limit", "byCpu", sort="desc"),
        _line("cpuLine"),
        _bar("memory", "Memory use and limit", "byMemory"),
        _loss(),
        _line("lossLine"),
        _buttons(),
    ]  # fmt: skip


def _name() -> dict[str, Any]:
    return {
        "field": "name",
        "headerName": "Container",
        "cellRenderer": "LiveNameCell",
        "minWidth": 118,
        "flex": 4,
        "tooltipField": "image",
    }


def _bar(field: str, title: str, order: str, **more: Any) -> dict[str, Any]:
    """A column of bars with a tick at the limit."""
    return {
        **_UNSEARCHED,
        **_sorted_by(order),
        "field": field,
        "headerName": title,
        "cellRenderer": "LiveBarCell",
        "minWidth": 178,
        "flex": 4,
        **more,
    }


def _line(field: str) -> dict[str, Any]:
    """A column of sparklines."""
    return {
        **_UNSEARCHED,
        "sortable": False,
        "headerValueGetter": _function("span"),
        "field": field,
        "colId": field,
        "cellRenderer": "LiveLineCell",
        "width": 80,
        "minWidth": 66,
    }


def _loss() -> dict[str, Any]:
    return {
        **_UNSEARCHED,
        **_sorted_by("byLoss"),
        "field": "loss",
        "headerName": "Loss",
        "cellRenderer": "LiveLossCell",
        "type": "rightAligned",
        "width": 66,
        "minWidth": 62,
    }


def _buttons() -> dict[str, Any]:
    """The column of action buttons, always in sight."""
    return {
        **_UNSEARCHED,
        "field": "acts",
        "headerName": "Actions",
        "headerClass": "acts-head",
        "cellRenderer": "LiveActsCell",
        "cellClass": "acts-cell",
        "sortable": False,
        "resizable": False,
        "pinned": "right",
        "width": 62,
        "minWidth": 62,
        "maxWidth": 62,
    }


def table_card(text: str) -> html.Section:
    """The card with the table on wide screens and with one card per container on a phone."""
    search = dmc.TextInput(
        id="live-filter",
        value=text,
        placeholder="Filter",
        size="xs",
        leftSection=icon("search", "sm"),
        **aria(label="Filter containers"),
    )
    export = icon_button("download", "Export the table, CSV", **data(live="csv"))
    note: Node = [html.Span("bar: use; tick: limit", className="only-desktop"), html.Span(id="live-count")]
    return card(
        "Containers",
        html.Div(_table(), className="live-table only-desktop-block", id="live-table"),
        html.Div(id="live-cards", className="live-cards"),
        note=note,
        tools=[search, export],
        flush=True,
        class_name="containers",
    )


def _table() -> Node:
    options = {
        "suppressModelUpdateAfterUpdateTransaction": True,
        "suppressCellFocus": False,
        "enableCellTextSelection": False,
        "rowBuffer": 4,
        "localeText": {"noRowsToShow": "No matching container"},
        "cellFlashDuration": 0,
    }
    return grid(
        GRID,
        columns(),
        [],
        height="404px",
        options=options,
        getRowId="params.data.id",
        eventListeners={"cellKeyDown": [f"{_JS}key(params)"]},
        columnSize=None,
    )
