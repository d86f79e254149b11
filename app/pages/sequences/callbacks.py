"""The callbacks of the page: pieces that follow what is chosen; the choosing happens in the browser."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import dash
from dash import ClientsideFunction, Input, Output, State

from app.pages.sequences.behind import behind_view
from app.pages.sequences.cards import matrix_figure
from app.pages.sequences.graph import EDGES, GRAPH, edge_rows, elements
from app.pages.sequences.layout import MATRIX_LABEL, graph_note
from app.pages.sequences.next_phases import next_view
from app.pages.sequences.query import AHEAD, View, state_of
from app.ui.graph import graph, graph_id

if TYPE_CHECKING:
    from dash import Dash

    from app.ui.basics import Node


def register(app: Dash) -> None:
    """Connect the callbacks."""
    app.callback(
        Output(GRAPH, "elements"),
        Output("seq-graph-note", "children"),
        Output(EDGES, "rowData"),
        Output("seq-matrix", "children"),
        Output("seq-matrix-note", "children"),
        Input("seq-memory", "value"),
        Input("seq-step", "value"),
        Input("seq-hide", "value"),
        State("seq-of", "data"),
        prevent_initial_call=True,
    )(reshape)
    app.callback(
        Output("seq-next", "children"),
        Input("seq-after", "data"),
        Input("seq-ahead", "value"),
        State("seq-of", "data"),
        prevent_initial_call=True,
    )(foretell)
    app.callback(
        Output("behind-name", "children"),
        Output("behind-list", "children"),
        Output("seq-behind", "opened"),
        Input("seq-pick", "data"),
        State("seq-memory", "value"),
        State("seq-step", "value"),
        State("seq-of", "data"),
    )(list_behind)
    _register_clicks(app)
    _register_address(app)
    _register_graph_tools(app)


def _view_of(of: dict[str, str], **more: str) -> View:
    return View.read(of["traces"], of["model"], {**of, **more})


def reshape(memory: str, step: str, hide: str, of: dict[str, str]) -> tuple[Any, ...]:
    """Draw graph and matrix for another memory or step; the threshold changes the graph alone."""
    view = _view_of(of, memory=memory, step=step, hide=hide)
    made = view.analysis().graph(view.memory, view.step)
    drawn, note = elements(made, view.hide)
    if dash.ctx.triggered_id == "seq-hide":
        same = dash.no_update
        return drawn, graph_note(view, note), same, same, same
    figure, matrix_note = matrix_figure(view)
    return drawn, graph_note(view, note), edge_rows(made), graph("matrix", figure, MATRIX_LABEL), matrix_note


def foretell(after: str, ahead: str, of: dict[str, str]) -> Node:
    """Forecast what comes after other phases, or further ahead."""
    view = replace(_view_of(of), ahead=int(ahead) if ahead in AHEAD else 1)
    return next_view(view, state_of(after))


def list_behind(pick: str | None, memory: str, step: str, of: dict[str, str]) -> tuple[Any, ...]:
    """List the executions behind what was picked."""
    if not pick:
        return dash.no_update, dash.no_update, False
    title, body = behind_view(_view_of(of, memory=memory, step=step), pick)
    return title, body, True


def _register_clicks(app: Dash) -> None:
    """What is clicked in the graph, the tree and the matrix is picked."""
    app.clientside_callback(
        ClientsideFunction("sequences", "tapped"),
        Output("seq-nothing", "data"),
        Input(GRAPH, "tapNodeData"),
        Input(GRAPH, "tapEdgeData"),
        prevent_initial_call=True,
    )
    for name in ("tree", "matrix"):
        app.clientside_callback(
            ClientsideFunction("sequences", "clicked"),
            Output("seq-nothing", "data", allow_duplicate=True),
            Input(graph_id(name), "clickData"),
            State(graph_id(name), "figure"),
            prevent_initial_call=True,
        )


def _register_address(app: Dash) -> None:
    """What is chosen is kept in the address; a list that is closed is no longer picked."""
    app.clientside_callback(
        ClientsideFunction("sequences", "remember"),
        Output("seq-nothing", "data", allow_duplicate=True),
        Input("seq-memory", "value"),
        Input("seq-step", "value"),
        Input("seq-hide", "value"),
        Input("seq-ahead", "value"),
        Input("seq-after", "data"),
        Input("seq-pick", "data"),
        prevent_initial_call=True,
    )
    app.clientside_callback(
        ClientsideFunction("sequences", "closed"),
        Output("seq-pick", "data", allow_duplicate=True),
        Input("seq-behind", "opened"),
        State("seq-pick", "data"),
        prevent_initial_call=True,
    )


def _register_graph_tools(app: Dash) -> None:
    """The graph in the colours of the scheme, as a table, and as an image to download."""
    app.clientside_callback(
        ClientsideFunction("sequences", "style"),
        Output(GRAPH, "stylesheet"),
        Input("scheme", "data"),
        Input(GRAPH, "elements"),
    )
    app.clientside_callback(
        ClientsideFunction("sequences", "asTable"),
        Output("seq-picture", "hidden"),
        Output("seq-table", "hidden"),
        Output("seq-as-table", "aria-pressed"),
        Input("seq-as-table", "n_clicks"),
        prevent_initial_call=True,
    )
    app.clientside_callback(
        ClientsideFunction("sequences", "picture"),
        Output("seq-nothing", "data", allow_duplicate=True),
        Input("seq-png", "n_clicks"),
        Input("seq-svg", "n_clicks"),
        prevent_initial_call=True,
    )
