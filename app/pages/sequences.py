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

from app.components import sequence_exports as exports
from app.components.basics import (
    Node,
    aria,
    button,
    card,
    empty,
    icon,
    link_button,
    opener,
    page_head,
)
from app.components.export import export_menu
from app.components.graph import graph, graph_id
from app.components.grid import grid
from app.components.sequence_cards import (
    behind_rows,
    matrix_figure,
    next_view,
    path_table,
    tree_figure,
)
from app.components.sequence_graph import EDGES, GRAPH, edge_rows, edge_table, elements, graph_view
from app.components.sequence_view import AHEAD, HIDE, View, behind, default_after, state_of, written
from app.context import Choice, address, chosen
from app.errors import safe_page
from core.sequences import Step, Warmup

if TYPE_CHECKING:
    from dash import Dash

_STEPS = {Step.RUN: "per run", Step.SAMPLE: "per sample", Step.WINDOW: "last samples"}
_AHEAD = {"1": "the next phase", **{n: f"{n} phases on" for n in AHEAD[1:]}}
_MOST_BEHIND = 2000


def _nothing_yet(choice: Choice) -> Node:
    """What to do while there are no traces, or no model that fits them."""
    if choice.traces is None:
        text = "Sequences of phases are found in traces of containers: CPU and memory over time."
        actions = [
            link_button("Add traces", address("/traces"), "upload", "primary"),
            link_button("Load the samples", address("/"), "player-play"),
        ]
        return card(None, empty("sitemap", "No traces yet", text, actions))
    text = (
        f"A model is needed to label the {choice.traces.n_executions:,} executions of "
        f"{choice.traces.name}. Training takes well under a minute for most sets."
    )
    train = link_button("Train a model", address("/models", choice, view="train"), "player-play", "primary")
    return card(None, empty("sitemap", "No sequences yet", text, [train]))


def _controls(view: View) -> list[Node]:
    return [
        html.Div(
            [
                html.Span("Memory", className="ink3", id="memory-label"),
                dmc.SegmentedControl(
                    id="seq-memory",
                    data=["1", "2", "3"],
                    value=str(view.memory),
                    size="xs",
                    **aria(labelledby="memory-label"),
                ),
            ],
            className="control",
        ),
        _select(
            "seq-step", "Steps", [(step.value, name) for step, name in _STEPS.items()], view.step.value, 112
        ),
        _select("seq-hide", "Hide below", [(value, value) for value in HIDE], _hide_of(view), 78),
        _export_all(view),
    ]


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
            ),
        ],
        className="control",
    )


def _export_all(view: View) -> Node:
    base = exports.addresses(view)
    files = [
        ("Paths and prototypes", "paths"),
        ("Packed sequence of every execution", "executions"),
        ("Transitions", "transitions"),
        ("Tree", "tree"),
        ("What comes next", "next"),
    ]
    return dmc.Popover(
        [
            dmc.PopoverTarget(
                html.Span([icon("download"), " Export"]),
                boxWrapperProps=opener("Export tables") | {"className": "btn"},
            ),
            dmc.PopoverDropdown(
                [
                    html.A(
                        [icon("table", "sm"), f"{label}, CSV"],
                        href=f"{base}/{name}.csv",
                        className="btn quiet small menu seqfile",
                        download="",
                    )
                    for label, name in files
                ],
                p=4,
            ),
        ],
        position="bottom-end",
    )


def _lead(view: View) -> str:
    analysis = view.analysis()
    paths, prototypes, n = len(analysis.paths), len(analysis.prototypes), analysis.sequences.n_executions
    return (
        f"{paths:,} distinct path{'' if paths == 1 else 's'}; {prototypes:,} of them "
        f"cover{'s' if prototypes == 1 else ''} 90% of {n:,} execution{'' if n == 1 else 's'}"
    )


def _prototypes_card(view: View, choice: Choice) -> Node:
    own = view.warmup is Warmup.OWN
    other = address("/sequences", choice, warmup=None if own else Warmup.OWN.value)
    paths = len(view.analysis().paths)
    note = "the most frequent packed sequences"
    return card(
        "Prototypes",
        html.Div(path_table(view), className="grow"),
        note=note if paths <= 600 else f"{note}; the first 600 paths, all in the CSV",
        tools=[
            link_button("Skip warm-up" if own else "Count warm-up", other, None, "small quiet"),
            html.A(
                icon("download"),
                href=f"{exports.addresses(view)}/paths.csv",
                className="iconbtn seqfile",
                download="",
                title="Paths as CSV",
                **aria(label="Paths as CSV"),
            ),
        ],
        flush=True,
        class_name="prototypes",
    )


def _next_card(view: View, after: tuple[int, ...]) -> Node:
    return card(
        "What comes next",
        html.Div(next_view(view, after), id="seq-next", className="stack close"),
        tools=[
            dmc.Select(
                id="seq-ahead",
                data=[{"value": key, "label": text} for key, text in _AHEAD.items()],
                value=str(view.ahead),
                allowDeselect=False,
                size="xs",
                w=124,
                **aria(label="How far ahead"),
            ),
            export_menu(
                "leaving", "chance to leave", [("Table, CSV", f"{exports.addresses(view)}/next.csv")]
            ),
        ],
        class_name="comesnext",
    )


def _graph_card(view: View) -> Node:
    made = view.analysis().graph(view.memory, view.step)
    _, note = elements(made, view.hide)
    return card(
        "Transition graph",
        html.Div(graph_view(made, view), id="seq-picture"),
        html.Div(edge_table(made), id="seq-table", hidden=True),
        note=html.Span(_graph_note(view, note), id="seq-graph-note"),
        tools=[
            button("As table", "table", "small quiet", id="seq-as-table", **aria(pressed="false")),
            dmc.Popover(
                [
                    dmc.PopoverTarget(icon("download"), boxWrapperProps=opener("Export the graph")),
                    dmc.PopoverDropdown(
                        [
                            html.Button(
                                [icon("download", "sm"), f"Picture, {kind.upper()}"],
                                id=f"seq-{kind}",
                                type="button",
                                className="btn quiet small menu",
                            )
                            for kind in ("png", "svg")
                        ]
                        + [
                            html.A(
                                [icon("table", "sm"), "Transitions, CSV"],
                                href=f"{exports.addresses(view)}/transitions.csv",
                                className="btn quiet small menu seqfile",
                                download="",
                            )
                        ],
                        p=4,
                    ),
                ],
                position="bottom-end",
            ),
        ],
    )


def _graph_note(view: View, drawn: str) -> str:
    return f"{_STEPS[view.step]}; {drawn}" if drawn else _STEPS[view.step]


def _tree_card(view: View) -> Node:
    figure, note = tree_figure(view)
    return card(
        "Tree",
        graph("tree", figure, "Tree of packed sequences; the table of prototypes has its paths"),
        note=note,
        tools=[export_menu("tree", "tree", [("All nodes, CSV", f"{exports.addresses(view)}/tree.csv")])],
    )


def _matrix_card(view: View) -> Node:
    figure, note = matrix_figure(view)
    files = [("Transitions, CSV", f"{exports.addresses(view)}/transitions.csv")]
    return card(
        "Transition matrix",
        html.Div(
            graph("matrix", figure, "Transition matrix; the table of the graph has its numbers"),
            id="seq-matrix",
        ),
        note=html.Span(note, id="seq-matrix-note"),
        tools=[export_menu("matrix", "transition matrix", files)],
    )


def _behind_drawer() -> Node:
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


def _behind_view(view: View, pick: str) -> tuple[Node, Node]:
    found = behind(view, pick)
    executions, times = found.executions[:_MOST_BEHIND].tolist(), found.times[:_MOST_BEHIND].tolist()
    event = f"phasedockTable.open(params, '{address('/phases', traces=view.traces, model=view.model)}')"
    columns = [{"field": "name", "cellRenderer": "ExecutionCell", "flex": 1}]
    body = [
        html.Div(
            [
                html.Span([found.note, ". A row opens its phases."], className="ink3 small"),
                html.A(
                    icon("download"),
                    href=f"{exports.addresses(view)}/behind.csv",
                    className="iconbtn seqfile",
                    download="",
                    title="These executions as CSV",
                    **aria(label="These executions as CSV"),
                ),
            ],
            className="row between",
        ),
        html.Div(
            grid(
                "seq-behind-grid",
                columns,
                behind_rows(view, executions, times),
                height="100%",
                options={"rowHeight": 58, "headerHeight": 0, "suppressCellFocus": False},
                eventListeners={"cellClicked": [event], "cellKeyDown": [event]},
                columnSize=None,
                getRowId="params.data.execution",
            )
            if executions
            else empty("sitemap", "No execution", "Nothing in these traces did this."),
            className="behindlist executions-like",
        ),
    ]
    return found.title, body


@safe_page("Sequences")
def layout(traces: str | None = None, model: str | None = None, **query: str) -> Node:
    """Lay the page out for what the address names."""
    choice = chosen(traces, model)
    pair = choice.pair()
    if pair is None:
        return [page_head("Sequences"), _nothing_yet(choice)]
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
        page_head("Sequences", _lead(view), _controls(view)),
        html.Div(
            [
                _prototypes_card(view, choice),
                _next_card(view, after),
                _graph_card(view),
                _tree_card(view),
                _matrix_card(view),
            ],
            className="sequences",
        ),
        _behind_drawer(),
    ]


def _view_of(of: dict[str, str], **more: str) -> View:
    return View.read(of["traces"], of["model"], {**of, **more})


def register(app: Dash) -> None:
    """Put the page into the application."""
    dash.register_page(
        __name__, path="/sequences", name="Sequences", title="Sequences · PhaseDock", layout=layout
    )

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
            return drawn, _graph_note(view, note), same, same, same
        figure, matrix_note = matrix_figure(view)
        label = "Transition matrix; the table of the graph has its numbers"
        return drawn, _graph_note(view, note), edge_rows(made), graph("matrix", figure, label), matrix_note

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
        title, body = _behind_view(_view_of(of, memory=memory, step=step), pick)
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
