"""The sequences of phases: prototypes, what comes next, the graph, the tree and the matrix.

Everything that is clicked lists the executions behind it, and each of those opens on Phases. What is
chosen lives in stores of the page and in its address; the browser keeps the two together.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import dash
from dash import ClientsideFunction, Input, Output, State, dcc, html

from app.context import address, chosen
from app.pages.sequences import exports
from app.pages.sequences.address import AHEAD, View, default_after, state_of, written
from app.pages.sequences.cards import matrix_figure
from app.pages.sequences.graph import EDGES, GRAPH, edge_rows, elements
from app.pages.sequences.layout import (
    behind_drawer,
    behind_view,
    controls,
    graph_card,
    graph_note,
    lead,
    matrix_card,
    next_card,
    nothing_yet,
    prototypes_card,
    tree_card,
)
from app.pages.sequences.next_phases import next_view
from app.ui.basics import Node, card, empty, link_button, page_head
from app.ui.errors import safe_page
from app.ui.graph import graph, graph_id
from app.ui.misfit import misfit
from app.ui.page import Page

if TYPE_CHECKING:
    from dash import Dash


@safe_page("Sequences")
def layout(traces: str | None = None, model: str | None = None, **query: str) -> Node:
    """Lay the page out for what the address names."""
    choice = chosen(traces, model)
    pair = choice.pair()
    if pair is None:
        return [page_head("Sequences"), nothing_yet(choice)]
    wrong = misfit(choice, "/sequences")
    if wrong is not None:
        return [page_head("Sequences"), wrong]
    view = View.read(pair[0].id, pair[1].id, query)
    analysis = view.analysis()
    if not analysis.sequences.n_runs:
        text = (
            f"None of the {analysis.sequences.n_executions:,} executions is longer than the warm-up of this "
            "model. Train one with a shorter history."
        )
        train = link_button(
            "Train a model", address("/models", choice, view="train"), "player-play", "primary"
        )
        return [
            page_head("Sequences"),
            card(None, empty("sitemap", "Too short for sequences", text, [train])),
        ]
    after = state_of(query.get("after"))
    if not after or not set(after) <= set(analysis.sequences.phases):
        after = default_after(analysis, view.memory)
    return [
        dcc.Store(id="seq-of", data={**choice.query(), "warmup": view.warmup.value}),
        dcc.Store(id="seq-after", data=written(after)),
        dcc.Store(id="seq-pick", data=query.get("pick")),
        dcc.Store(id="seq-nothing"),
        page_head("Sequences", lead(view), controls(view)),
        html.Div(
            [
                prototypes_card(view, choice),
                next_card(view, after),
                graph_card(view),
                tree_card(view),
                matrix_card(view),
            ],
            className="sequences",
        ),
        behind_drawer(),
    ]


def _view_of(of: dict[str, str], **more: str) -> View:
    return View.read(of["traces"], of["model"], {**of, **more})


def register(app: Dash) -> None:
    """Connect the callbacks."""

    @app.callback(
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
    )
    def reshape(memory: str, step: str, hide: str, of: dict[str, str]) -> tuple[Any, ...]:
        view = _view_of(of, memory=memory, step=step, hide=hide)
        made = view.analysis().graph(view.memory, view.step)
        drawn, note = elements(made, view.hide)
        if dash.ctx.triggered_id == "seq-hide":
            same = dash.no_update
            return drawn, graph_note(view, note), same, same, same
        figure, matrix_note = matrix_figure(view)
        label = "Transition matrix; the table of the graph has its numbers"
        return drawn, graph_note(view, note), edge_rows(made), graph("matrix", figure, label), matrix_note

    @app.callback(
        Output("seq-next", "children"),
        Input("seq-after", "data"),
        Input("seq-ahead", "value"),
        State("seq-of", "data"),
        prevent_initial_call=True,
    )
    def foretell(after: str, ahead: str, of: dict[str, str]) -> Node:
        view = replace(_view_of(of), ahead=int(ahead) if ahead in AHEAD else 1)
        return next_view(view, state_of(after))

    @app.callback(
        Output("behind-name", "children"),
        Output("behind-list", "children"),
        Output("seq-behind", "opened"),
        Input("seq-pick", "data"),
        State("seq-memory", "value"),
        State("seq-step", "value"),
        State("seq-of", "data"),
    )
    def list_behind(pick: str | None, memory: str, step: str, of: dict[str, str]) -> tuple[Any, ...]:
        if not pick:
            return dash.no_update, dash.no_update, False
        title, body = behind_view(_view_of(of, memory=memory, step=step), pick)
        return title, body, True

    _register_browser_side(app)


def _register_browser_side(app: Dash) -> None:
    app.clientside_callback(
        ClientsideFunction("sequences", "style"),
        Output(GRAPH, "stylesheet"),
        Input("scheme", "data"),
        Input(GRAPH, "elements"),
    )
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


PAGE = Page(
    "/sequences",
    "Sequences",
    "sitemap",
    1,
    layout,
    register,
    routes=(exports.blueprint,),
)
