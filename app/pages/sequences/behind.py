"""The list of the executions behind what was picked, and each one's way to its phases."""

from __future__ import annotations

from typing import TYPE_CHECKING

import dash_mantine_components as dmc
from dash import html

from app.context import address
from app.pages.sequences import exports
from app.pages.sequences.cards import behind_rows
from app.pages.sequences.files import file_button
from app.pages.sequences.query import behind
from app.ui.basics import Node, empty
from app.ui.grid import grid

if TYPE_CHECKING:
    from app.pages.sequences.query import Behind, View

_MOST_BEHIND = 2000


def behind_drawer() -> Node:
    """Where the executions behind a pick are listed."""
    return dmc.Drawer(
        id="seq-behind",
        position="right",
        size=400,
        withOverlay=False,
        lockScroll=False,
        title=html.Span("Executions", id="behind-name"),
        closeButtonProps={"aria-label": "Close the list of executions"},
        children=html.Div(id="behind-list"),
        className="behind",
    )


def behind_view(view: View, pick: str) -> tuple[Node, Node]:
    """The name of what was picked, and the executions behind it."""
    found = behind(view, pick)
    note = html.Span([found.note, ". Click a row to open its phases."], className="ink3 small")
    file = file_button("These executions as CSV", f"{exports.addresses(view)}/behind.csv")
    return found.title, [
        html.Div([note, file], className="row between"),
        html.Div(_list(view, found), className="behindlist executions-like"),
    ]


def _list(view: View, found: Behind) -> Node:
    executions, times = found.executions[:_MOST_BEHIND].tolist(), found.times[:_MOST_BEHIND].tolist()
    if not executions:
        return empty("sitemap", "No execution", "This does not occur in these traces.")
    phases = address("/phases", traces=view.traces, model=view.model)
    event = [f"phasedockTable.open(params, '{phases}')"]
    return grid(
        "seq-behind-grid",
        [{"field": "name", "headerName": "Execution", "cellRenderer": "ExecutionCell", "flex": 1}],
        behind_rows(view, executions, times),
        height="100%",
        options={"rowHeight": 58, "headerHeight": 0, "suppressCellFocus": False},
        eventListeners={"cellClicked": event, "cellKeyDown": event},
        columnSize=None,
        getRowId="params.data.execution",
    )
