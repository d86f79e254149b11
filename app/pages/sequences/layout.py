"""The cards of the Sequences page in place, its controls, and the list of executions behind a pick."""

from __future__ import annotations

from typing import TYPE_CHECKING

import dash_mantine_components as dmc
from dash import html

from app.context import Choice, address
from app.pages.sequences import exports
from app.pages.sequences.address import AHEAD, HIDE, behind
from app.pages.sequences.cards import behind_rows, matrix_figure, path_table, tree_figure
from app.pages.sequences.graph import edge_table, elements, graph_view
from app.pages.sequences.next_phases import next_view
from app.ui.basics import Node, aria, button, card, empty, icon, link_button, opener
from app.ui.export import export_menu
from app.ui.graph import graph
from app.ui.grid import grid
from core.sequences import Step, Warmup

if TYPE_CHECKING:
    from app.pages.sequences.address import View

_STEPS = {Step.RUN: "per run", Step.SAMPLE: "per sample", Step.WINDOW: "last samples"}
_AHEAD = {"1": "the next phase", **{n: f"{n} phases on" for n in AHEAD[1:]}}
_MOST_BEHIND = 2000


def nothing_yet(choice: Choice) -> Node:
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


def controls(view: View) -> list[Node]:
    """Memory, steps, threshold and the export of all tables."""
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


def lead(view: View) -> str:
    """How many paths there are, and how many cover most executions."""
    analysis = view.analysis()
    paths, prototypes, n = len(analysis.paths), len(analysis.prototypes), analysis.sequences.n_executions
    return (
        f"{paths:,} distinct path{'' if paths == 1 else 's'}; {prototypes:,} of them "
        f"cover{'s' if prototypes == 1 else ''} 90% of {n:,} execution{'' if n == 1 else 's'}"
    )


def prototypes_card(view: View, choice: Choice) -> Node:
    """The prototypes and all other paths."""
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


def next_card(view: View, after: tuple[int, ...]) -> Node:
    """What comes after some phases."""
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


def graph_card(view: View) -> Node:
    """The graph, as a picture and as a table."""
    made = view.analysis().graph(view.memory, view.step)
    _, note = elements(made, view.hide)
    return card(
        "Transition graph",
        html.Div(graph_view(made, view), id="seq-picture"),
        html.Div(edge_table(made), id="seq-table", hidden=True),
        note=html.Span(graph_note(view, note), id="seq-graph-note"),
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


def graph_note(view: View, drawn: str) -> str:
    """What a step is, and how many edges are not drawn."""
    return f"{_STEPS[view.step]}; {drawn}" if drawn else _STEPS[view.step]


def tree_card(view: View) -> Node:
    """The prefix tree."""
    figure, note = tree_figure(view)
    return card(
        "Tree",
        graph("tree", figure, "Tree of packed sequences; the table of prototypes has its paths"),
        note=note,
        tools=[export_menu("tree", "tree", [("All nodes, CSV", f"{exports.addresses(view)}/tree.csv")])],
    )


def matrix_card(view: View) -> Node:
    """The transition matrix."""
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
