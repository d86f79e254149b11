"""The cards of the Sequences page in place, and what stands there while there is nothing to show."""

from __future__ import annotations

from typing import TYPE_CHECKING

import dash_mantine_components as dmc
from dash import html

from app.context import Choice, address, workspace
from app.pages.sequences import exports
from app.pages.sequences.cards import matrix_figure, path_table, tree_figure
from app.pages.sequences.exports import file_button, menu_item
from app.pages.sequences.graph import edge_table, elements, graph_view
from app.pages.sequences.next_phases import next_view
from app.pages.sequences.query import AHEAD, STEPS
from app.ui.basics import Node, aria, button, card, empty, icon, link_button, opener
from app.ui.export import export_menu
from app.ui.graph import graph
from app.ui.nothing_yet import no_model, no_traces, train_a_model
from core.sequences import Warmup
from core.units import format_duration

if TYPE_CHECKING:
    from app.pages.sequences.query import View

_AHEAD = {"1": "the next phase", **{n: f"{n} phases on" for n in AHEAD[1:]}}
MATRIX_LABEL = "Transition matrix; the table of the graph has its numbers"


def nothing_yet(choice: Choice) -> Node:
    """What to do while there are no traces, or no model that fits them."""
    if choice.traces is None:
        text = "Sequences of phases are found in traces of containers: CPU and memory over time."
        return no_traces("sitemap", text)
    return no_model(choice, choice.traces, "sitemap", "No sequences yet")


def too_short(choice: Choice, executions: int) -> Node:
    """What to do where the model's warm-up is longer than every execution."""
    text = (
        f"None of the {executions:,} executions is longer than the warm-up of this "
        "model. Train one with a shorter history."
    )
    return card(None, empty("sitemap", "Too short for sequences", text, [train_a_model(choice)]))


def lead(view: View) -> str:
    """How many paths there are, and how many cover most executions."""
    analysis = view.analysis()
    paths, prototypes, n = len(analysis.paths), len(analysis.prototypes), analysis.sequences.n_executions
    return (
        f"{paths:,} distinct path{'' if paths == 1 else 's'}; {prototypes:,} of them "
        f"cover{'s' if prototypes == 1 else ''} 90% of {n:,} execution{'' if n == 1 else 's'}"
        + (f"; segments shorter than {format_duration(view.dwell)} merged" if view.dwell else "")
    )


def _other_dwell(view: View, choice: Choice) -> list[Node]:
    """The way to phases as labelled, or to those without flicker; nothing where they do not flicker."""
    usual = workspace().labels.get(view.traces, view.model).suggested_dwell
    if not (view.dwell or usual):
        return []
    name = "As labelled" if view.dwell else f"Merge segments under {format_duration(usual)}"
    warmup = view.warmup.value if view.warmup is Warmup.OWN else None
    there = address("/sequences", choice, warmup=warmup, dwell="0" if view.dwell else f"{usual:g}")
    return [link_button(name, there, None, "small quiet")]


def prototypes_card(view: View, choice: Choice) -> Node:
    """The prototypes and all other paths."""
    own = view.warmup is Warmup.OWN
    dwell = f"{view.dwell:g}"
    other = address("/sequences", choice, warmup=None if own else Warmup.OWN.value, dwell=dwell)
    paths = len(view.analysis().paths)
    note = "the most frequent packed sequences"
    return card(
        "Prototypes",
        html.Div(path_table(view), className="grow"),
        note=note if paths <= 600 else f"{note}; the first 600 paths, all in the CSV",
        tools=[
            *_other_dwell(view, choice),
            link_button("Skip warm-up" if own else "Count warm-up", other, None, "small quiet"),
            file_button("Paths as CSV", f"{exports.addresses(view)}/paths.csv"),
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
            _graph_export(view),
        ],
    )


def _graph_export(view: View) -> dmc.Popover:
    """The menu of the graph's pictures, which the browser makes, and of its table."""
    pictures = [
        html.Button(
            [icon("download", "sm"), f"Picture, {kind.upper()}"],
            id=f"seq-{kind}",
            type="button",
            className="btn quiet small menu",
        )
        for kind in ("png", "svg")
    ]
    file = menu_item("Transitions, CSV", f"{exports.addresses(view)}/transitions.csv")
    target = dmc.PopoverTarget(icon("download"), boxWrapperProps=opener("Export the graph"))
    return dmc.Popover([target, dmc.PopoverDropdown([*pictures, file], p=4)], position="bottom-end")


def graph_note(view: View, drawn: str) -> str:
    """How many edges are not drawn; else what a step is, which the head of the page says as well."""
    return drawn or STEPS[view.step]


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
            graph("matrix", figure, MATRIX_LABEL),
            id="seq-matrix",
        ),
        note=html.Span(note, id="seq-matrix-note"),
        tools=[export_menu("matrix", "transition matrix", files)],
    )
