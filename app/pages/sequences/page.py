"""The sequences of phases: prototypes, what comes next, the graph, the tree and the matrix.

Everything that is clicked lists the executions behind it, and each of those opens on Phases. What is
chosen lives in stores of the page and in its address; the browser keeps the two together.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import dash
import dash_mantine_components as dmc
from dash import ClientsideFunction, Input, Output, State, dcc, html

from app.context import address, find_choice
from app.pages.sequences import tables
from app.pages.sequences.cards import (
    MATRIX_LABEL,
    execution_rows_with_counts,
    graph_card,
    graph_note,
    lead,
    matrix_card,
    matrix_figure,
    next_card,
    next_view,
    nothing_yet,
    prototypes_card,
    too_short,
    tree_card,
)
from app.pages.sequences.graph import GRAPH, elements
from app.pages.sequences.query import (
    AHEAD,
    HIDE,
    STEPS,
    View,
    default_after,
    matching_executions,
    state_of,
    written,
)
from app.pages.sequences.tables import EDGES, FILES, address_of, edge_rows
from app.ui.basics import Node, aria, empty, page_head
from app.ui.graph import graph, graph_id
from app.ui.nothing_yet import drift_notice, misfit
from app.ui.page import Page, Room, safe_page
from app.ui.tables import download, grid, page_export

if TYPE_CHECKING:
    from dash import Dash

    from app.pages.sequences.query import MatchingExecutions


_MAX_BEHIND = 2000


def executions_drawer() -> Node:
    """The drawer that lists the executions behind a selection."""
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


def executions_view(view: View, pick: str) -> tuple[Node, Node]:
    """The title of a selection, and its executions."""
    selection = matching_executions(view, pick)
    note = html.Span([selection.note, ". Click a row to open its phases."], className="ink3 small")
    file = download("these executions", address_of(view, "behind"))
    return selection.title, [
        html.Div([note, file], className="row between"),
        html.Div(_list(view, selection), className="behindlist executions-like"),
    ]


def _list(view: View, selection: MatchingExecutions) -> Node:
    executions, times = selection.executions[:_MAX_BEHIND].tolist(), selection.times[:_MAX_BEHIND].tolist()
    if not executions:
        return empty("sitemap", "No execution", "This does not occur in these traces.")
    phases = address("/phases", traces=view.traces, model=view.model)
    event = [f"phasedockTable.open(params, '{phases}')"]
    return grid(
        "seq-behind-grid",
        [{"field": "name", "headerName": "Execution", "cellRenderer": "ExecutionCell", "flex": 1}],
        execution_rows_with_counts(view, executions, times),
        height="100%",
        options={"rowHeight": 58, "headerHeight": 0, "suppressCellFocus": False},
        eventListeners={"cellClicked": event, "cellKeyDown": event},
        columnSize=None,
        getRowId="params.data.execution",
    )


def controls(view: View) -> list[Node]:
    """Memory, steps, threshold and the export of all tables."""
    steps = [(step.value, name) for step, name in STEPS.items()]
    return [
        _memory(view.memory),
        _select("seq-step", "Steps", steps, view.step.value, 112),
        _select("seq-hide", "Hide below", [(value, value) for value in HIDE], _hide_of(view), 78),
        page_export([(f"{label}, CSV", address_of(view, name)) for name, label in FILES.items()]),
    ]


def _memory(memory: int) -> html.Div:
    choice = dmc.SegmentedControl(
        id="seq-memory",
        data=["1", "2", "3"],
        value=str(memory),
        size="xs",
        **aria(labelledby="memory-label"),
    )
    label = html.Span("Markov order", className="ink3", id="memory-label")
    return html.Div([label, choice], className="control")


def _hide_of(view: View) -> str:
    return next((value for value in HIDE if float(value) == view.hide), HIDE[3])


def _select(name: str, label: str, options: list[tuple[str, str]], value: str, width: int) -> Node:
    return html.Div(
        [
            html.Label(label, htmlFor=name, className="ink3"),
            dmc.Select(
                id=name,
                data=[{"value": key, "label": text} for key, text in options],
                value=value,
                allowDeselect=False,
                size="xs",
                w=width,
                **aria(label=label),
            ),
        ],
        className="control",
    )


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
    )(forecast_next)
    app.callback(
        Output("behind-name", "children"),
        Output("behind-list", "children"),
        Output("seq-behind", "opened"),
        Input("seq-pick", "data"),
        State("seq-memory", "value"),
        State("seq-step", "value"),
        State("seq-of", "data"),
    )(list_executions)
    _register_clicks(app)
    _register_address(app)
    _register_graph_tools(app)


def _view_of(choice: dict[str, str], **more: str) -> View:
    return View.of(choice["traces"], choice["model"], {**choice, **more})


def reshape(memory: str, step: str, hide: str, choice: dict[str, str]) -> tuple[Any, ...]:
    """Draw graph and matrix for another memory or step; the threshold changes the graph alone."""
    view = _view_of(choice, memory=memory, step=step, hide=hide)
    transitions = view.analysis().graph(view.memory, view.step)
    names = view.phase_names()
    graph_elements, note = elements(transitions, view.hide, names)
    if dash.ctx.triggered_id == "seq-hide":
        same = dash.no_update
        return graph_elements, graph_note(view, note), same, same, same
    figure, matrix_note = matrix_figure(view)
    return (
        graph_elements,
        graph_note(view, note),
        edge_rows(transitions, names),
        graph("matrix", figure, MATRIX_LABEL),
        matrix_note,
    )


def forecast_next(after: str, ahead: str, choice: dict[str, str]) -> Node:
    """Forecast what follows other phases, or further ahead."""
    view = replace(_view_of(choice), ahead=int(ahead) if ahead in AHEAD else 1)
    return next_view(view, state_of(after))


def list_executions(pick: str | None, memory: str, step: str, choice: dict[str, str]) -> tuple[Any, ...]:
    """List the executions behind a selection."""
    if not pick:
        return dash.no_update, dash.no_update, False
    title, body = executions_view(_view_of(choice, memory=memory, step=step), pick)
    return title, body, True


def _register_clicks(app: Dash) -> None:
    """Select what is clicked in the graph, the tree and the matrix."""
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
    """Write the choices to the address; closing the list clears the selection."""
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
    """Draw the graph in the scheme's colours, as a table, and as an image to download."""
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


@safe_page("Sequences")
def layout(traces: str | None = None, model: str | None = None, **query: str) -> Node:
    """Lay the page out for what the address names."""
    choice = find_choice(traces, model)
    pair = choice.pair()
    if pair is None:
        return [page_head("Sequences"), nothing_yet(choice)]
    wrong = misfit(choice, "/sequences")
    if wrong is not None:
        return [page_head("Sequences"), wrong]
    view = View.of(pair[0].id, pair[1].id, query)
    if not view.analysis().sequences.n_runs:
        return [page_head("Sequences"), too_short(choice, view.analysis().sequences.n_executions)]
    after = _after_state(view)
    cards = [
        prototypes_card(view, choice),
        next_card(view, after),
        graph_card(view),
        tree_card(view),
        matrix_card(view),
    ]
    return [
        dcc.Store(id="seq-of", data={**choice.query(), **view.depends()}),
        dcc.Store(id="seq-after", data=written(after)),
        dcc.Store(id="seq-pick", data=view.pick),
        dcc.Store(id="seq-nothing"),
        page_head("Sequences", lead(view), controls(view)),
        html.Div(drift_notice(*pair), className="far"),
        html.Div(cards, className="sequences"),
        executions_drawer(),
    ]


def _after_state(view: View) -> tuple[int, ...]:
    """The state of the address if its phases occur; else the one seen most often."""
    after, analysis = state_of(view.after), view.analysis()
    occurs = after and set(after) <= set(analysis.sequences.phases)
    return after if occurs else default_after(analysis, view.memory)


PAGE = Page(
    "/sequences",
    "Sequences",
    "sitemap",
    1,
    layout,
    register,
    routes=(tables.blueprint,),
    outline=(Room((420, 420), "grid cols-main"), Room((340,) * 3, "grid cols-3")),
)
