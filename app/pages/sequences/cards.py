"""The cards of the Sequences page: prototypes, tree, matrix, and matching executions."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import dash_mantine_components as dmc
import numpy as np
from dash import html

from app.context import Choice, address, workspace
from app.figures.sequences import Node as TreeNode
from app.figures.sequences import icicle, leaving, matrix, node_link
from app.figures.theme import escaped
from app.pages.sequences.graph import drawn_states, elements, graph_view
from app.pages.sequences.query import AHEAD, STEPS, name_of, state_name, written
from app.pages.sequences.tables import MAX_PATHS, address_of, edge_grid, path_grid
from app.ui.basics import (
    Node,
    aria,
    bar,
    button,
    card,
    data,
    empty,
    icon,
    link_button,
    notice,
    opener,
    phase_badge,
    state_badge,
)
from app.ui.graph import graph
from app.ui.nothing_yet import no_model, no_traces, train_a_model
from app.ui.phases import execution_rows
from app.ui.tables import download, export_menu, menu_links
from core.errors import NotFoundError
from core.sequences import END, Warmup
from core.units import NO_NAMES, format_duration, with_phase_names

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import plotly.graph_objects as go

    from app.pages.sequences.query import State, View
    from core.sequences import DwellTimes, PhaseForecast, PrefixTree
    from core.workspace.sequences import SequenceAnalysis


_MAX_NODES, _DEEPEST, _THINNEST, _SMALL_TREE = 400, 7, 0.007, 14
_MAX_LETTERS = 14


def tree_nodes(tree: PrefixTree, names: Mapping[int, str] = NO_NAMES) -> list[TreeNode]:
    """The nodes to draw, parents first: the most frequent ones, up to a maximum depth."""
    total = max(int(tree.count[0]), 1)
    is_visible = (tree.count >= max(_THINNEST * total, 1)) & (tree.depth <= _DEEPEST)
    chosen = np.flatnonzero(is_visible)
    chosen = np.sort(chosen[np.argsort(-tree.count[chosen], kind="stable")][:_MAX_NODES])
    node_numbers, nodes = {0}, [TreeNode(0, -1, 0, (), "all", int(tree.count[0]))]
    for number in chosen.tolist():
        parent = int(tree.parent[number])
        if parent in node_numbers and number:
            element = tree.packed.symbols[tree.symbol[number]]
            node_numbers.add(number)
            nodes.append(
                TreeNode(
                    number,
                    parent,
                    int(tree.depth[number]),
                    element.phases,
                    with_phase_names(element.to_text("n"), names),
                    int(tree.count[number]),
                )
            )
    return nodes


def tree_figure(view: View) -> tuple[go.Figure, str]:
    """The tree with a note: an icicle, or nodes and links for a small tree."""
    tree = view.analysis().tree
    nodes = tree_nodes(tree, escaped(view.phase_names(), _MAX_LETTERS))
    small = len(nodes) <= _SMALL_TREE
    figure = node_link(nodes, 336) if small else icicle(nodes, 336)
    n_hidden = tree.n_nodes - len(nodes)
    note = "number of executions" if small else "share of executions"
    return figure, f"{note}; {n_hidden:,} rarer left out" if n_hidden else note


def matrix_figure(view: View) -> tuple[go.Figure, str]:
    """The transition matrix, and a note."""
    transitions = view.analysis().graph(view.memory, view.step)
    chances, counts = transitions.matrix()
    states = drawn_states(transitions)
    columns = [*transitions.phases, END]
    picks = [
        [f"edge:{written(transitions.states[s])}:{written((phase,))}" for phase in columns] for s in states
    ]
    names = escaped(view.phase_names(), _MAX_LETTERS // view.memory)
    separator = " › " if names else ""
    rows = [separator.join(name_of(phase, names) for phase in transitions.states[s]) for s in states]
    figure = matrix(rows, [name_of(p, names) for p in columns], chances[states], counts[states], picks)
    n_hidden = len(transitions.states) - len(states)
    unit = "segments" if view.step == "run" else "samples"
    return figure, f"rows sum to 1; {unit} at right" + (
        f"; {n_hidden:,} rarer rows in the table" if n_hidden else ""
    )


def execution_rows_with_counts(
    view: View, executions: Sequence[int], times: Sequence[int]
) -> list[dict[str, Any]]:
    """Rows of the Phases page's list for some executions, with the number of occurrences in each."""
    matching = []
    rows = execution_rows(view.traces, view.model, 0.0, executions)
    for row, count in zip(rows, times, strict=True):
        note = f"{count:,} times · {row['note']}" if count > 1 else row["note"]
        matching.append({**row, "execution": row["name"], "note": note, "times": count})
    return matching


LEAVE_WITHIN = (30.0, 60.0, 120.0, 300.0)
_OFFERED = 12


def badge(phase: int, names: Mapping[int, str]) -> Node:
    """A phase's badge, or that of the end."""
    return state_badge("end") if phase == END else phase_badge(phase, names.get(phase, ""))


def state_badges(state: Sequence[int], names: Mapping[int, str]) -> Node:
    """The badges of a state with arrows between them."""
    parts: list[Node] = []
    for place, phase in enumerate(state):
        parts += [html.Span("›", className="ink3")] if place else []
        parts.append(badge(phase, names))
    return html.Span(parts, className="states")


def after_menu(view: View, after: State) -> Node:
    """The menu of states to start from, the most frequent first, by memory."""
    analysis, names = view.analysis(), view.phase_names()
    groups: list[Node] = []
    for memory in (1, 2, 3):
        transitions = analysis.graph(memory)
        counted = zip(transitions.states, transitions.visits.tolist(), strict=True)
        full = [(state, visits) for state, visits in counted if len(state) == memory]
        chosen = sorted(full, key=lambda each: -each[1])[:_OFFERED]
        if not chosen:
            continue
        groups.append(
            html.Div(f"Last {memory} phase{'' if memory == 1 else 's'}", className="ink3 small grouphead")
        )
        groups.append(
            html.Div(
                [
                    html.Button(
                        state_badges(state, names),
                        type="button",
                        className=f"btn quiet small{' on' if state == after else ''}",
                        title=f"{state_name(state, names)}: seen {visits:,} times",
                        **data(after=written(state)),
                    )
                    for state, visits in chosen
                ],
                className="offers",
            )
        )
    return dmc.Popover(
        [
            dmc.PopoverTarget(
                html.Span([icon("chevron-down", "sm"), " Change"]),
                boxWrapperProps=opener("Change the phases to start from") | {"className": "btn quiet small"},
            ),
            dmc.PopoverDropdown(groups, p=8),
        ],
        position="bottom",
        width=340,
    )


def next_view(view: View, after: State) -> Node:
    """The next phases after a state: probabilities, counts, and when the present phase ends."""
    analysis, names = view.analysis(), view.phase_names()
    try:
        outlook = analysis.forecaster.forecast(after, view.ahead)
    except NotFoundError as error:
        return [_after_line(view, after, ""), notice("info", error.hint, strong=error.message)]
    descriptions = {
        each.phase: each.description for each in workspace().labels.get(view.traces, view.model).statistics
    }
    descriptions[END] = "The execution ends"
    stays = analysis.dwell_times(outlook.used)
    parts: list[Node] = [
        _after_line(view, after, f"seen {outlook.count:,} time{'' if outlook.count == 1 else 's'}")
    ]
    if outlook.used != after:
        parts.append(
            notice(
                "info",
                f"This sequence is too rare, so the forecast is for {state_name(outlook.used, names)}.",
            )
        )
    rows = [_next_row(analysis, outlook, place, descriptions, names) for place in range(len(outlook.phases))]
    parts.append(
        html.Div(rows, className="nextlist", tabIndex="0", role="region", **aria(label="What comes next"))
    )
    return [*parts, *_leave(name_of(outlook.used[-1], names), outlook.used[-1], stays)]


def _after_line(view: View, after: State, note: str) -> Node:
    return html.Div(
        [
            html.Span("After", className="ink3"),
            state_badges(after, view.phase_names()),
            after_menu(view, after),
            html.Span(note, className="ink3 seen"),
        ],
        className="afterline",
    )


def _next_row(
    analysis: SequenceAnalysis,
    outlook: PhaseForecast,
    place: int,
    texts: Mapping[int, str],
    names: Mapping[int, str],
) -> Node:
    each = outlook.phases[place]
    one, given = outlook.steps == 1, names.get(each.phase)
    count = f"{each.count:,} segment{'' if each.count == 1 else 's'}" if one else ""
    typical = (
        "" if each.phase == END else _stay(analysis, (*outlook.used, each.phase) if one else (each.phase,))
    )
    return html.Button(
        [
            badge(each.phase, NO_NAMES),
            html.Span(
                [html.B(given), " ", html.Span(texts.get(each.phase), className="ink3")]
                if given
                else texts.get(each.phase) or name_of(each.phase),
                className="truncate",
                title=texts.get(each.phase),
            ),
            bar(each.probability, label=f"probability of {name_of(each.phase, names)}"),
            html.B(f"{each.probability:.2f}", className="num"),
            html.Span(
                [html.Span(count), html.Span(typical, className="small", title="dwell time")],
                className="ink3 num seen",
            ),
        ],
        type="button",
        className="nextrow",
        **data(
            pick=f"edge:{written(outlook.used)}:{written((each.phase,))}"
            if one
            else f"node:{written((each.phase,))}"
        ),
    )


def _stay(analysis: SequenceAnalysis, after: State) -> str:
    stays = analysis.dwell_times(after[-3:])
    return f"median {format_duration(stays.median)}" if stays.n_runs else ""


def _leave(name: str, phase: int, stays: DwellTimes) -> list[Node]:
    chances = [(seconds, stays.leave_within(seconds)) for seconds in LEAVE_WITHIN]
    typical = f"; dwell time: median {format_duration(stays.median)}, mean {format_duration(stays.mean)}"
    figure = leaving(stays.times, stays.share_ended_by, phase)
    return [
        html.Hr(className="rule"),
        html.Div([f"Chance of leaving {name}", html.Span(typical)], className="ink3 small"),
        html.Div(
            [
                html.Div(
                    [
                        html.Span(f"within {seconds:.0f} s", className="ink3 small"),
                        html.B("–" if math.isnan(chance) else f"{chance:.2f}", className="num"),
                    ]
                )
                for seconds, chance in chances
            ],
            className="chances",
        ),
        graph("leaving", figure, f"Chance of having left {name}, by seconds since it began"),
    ]


_AHEAD = {"1": "the next phase", **{n: f"{n} phases on" for n in AHEAD[1:]}}
MATRIX_LABEL = "Transition matrix; the table of the graph has its numbers"


def nothing_yet(choice: Choice) -> Node:
    """The empty state without traces, or without a model that fits them."""
    if choice.traces is None:
        text = "Sequences of phases are found in traces of containers: CPU and memory over time."
        return no_traces("sitemap", text)
    return no_model(choice, choice.traces, "sitemap", "No sequences yet")


def too_short(choice: Choice, executions: int) -> Node:
    """The empty state if the model's warm-up is longer than every execution."""
    text = (
        f"None of the {executions:,} executions is longer than the warm-up of this "
        "model. Train one with a shorter history."
    )
    return card(None, empty("sitemap", "Too short for sequences", text, [train_a_model(choice)]))


def lead(view: View) -> str:
    """The number of paths, and how many cover most executions."""
    analysis = view.analysis()
    paths, prototypes, n = len(analysis.paths), len(analysis.prototypes), analysis.sequences.n_executions
    return (
        f"{paths:,} distinct path{'' if paths == 1 else 's'}; {prototypes:,} of them "
        f"cover{'s' if prototypes == 1 else ''} 90% of {n:,} execution{'' if n == 1 else 's'}"
        + (f"; segments shorter than {format_duration(view.dwell)} merged" if view.dwell else "")
    )


def _other_dwell(view: View, choice: Choice) -> list[Node]:
    """A link to phases as labelled, or to smoothed ones; empty if they do not flicker."""
    suggested = workspace().labels.get(view.traces, view.model).suggested_dwell
    if not (view.dwell or suggested):
        return []
    name = "As labelled" if view.dwell else f"Merge segments under {format_duration(suggested)}"
    warmup = view.warmup.value if view.warmup is Warmup.OWN else None
    other_address = address(
        "/sequences", choice, warmup=warmup, dwell="0" if view.dwell else f"{suggested:g}"
    )
    return [link_button(name, other_address, None, "small quiet")]


def prototypes_card(view: View, choice: Choice) -> Node:
    """The card of prototypes and all other paths."""
    counts_warmup = view.warmup is Warmup.OWN
    dwell = f"{view.dwell:g}"
    other = address("/sequences", choice, warmup=None if counts_warmup else Warmup.OWN.value, dwell=dwell)
    paths = len(view.analysis().paths)
    note = "the most frequent packed sequences"
    return card(
        "Prototypes",
        html.Div(path_grid(view), className="grow"),
        note=note if paths <= MAX_PATHS else f"{note}; the first {MAX_PATHS} paths, all in the CSV",
        tools=[
            *_other_dwell(view, choice),
            link_button("Skip warm-up" if counts_warmup else "Count warm-up", other, None, "small quiet"),
            download("paths", address_of(view, "paths")),
        ],
        flush=True,
        class_name="prototypes",
    )


def next_card(view: View, after: tuple[int, ...]) -> Node:
    """The card of the next phases after a state."""
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
            export_menu("leaving", "chance to leave", [("Table, CSV", address_of(view, "next"))]),
        ],
        class_name="comesnext",
    )


def graph_card(view: View) -> Node:
    """The card of the transition graph, as a picture and as a table."""
    transitions = view.analysis().graph(view.memory, view.step)
    _, note = elements(transitions, view.hide, view.phase_names())
    return card(
        "Transition graph",
        html.Div(graph_view(transitions, view), id="seq-picture"),
        html.Div(edge_grid(transitions, view), id="seq-table", hidden=True),
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
    file = menu_links([("Transitions, CSV", address_of(view, "transitions"))])
    target = dmc.PopoverTarget(icon("download"), boxWrapperProps=opener("Export the graph"))
    return dmc.Popover([target, dmc.PopoverDropdown([*pictures, *file], p=4)], position="bottom-end")


def graph_note(view: View, hidden_edges: str) -> str:
    """The number of hidden edges, else the definition of a step."""
    return hidden_edges or STEPS[view.step]


def tree_card(view: View) -> Node:
    """The card of the prefix tree."""
    figure, note = tree_figure(view)
    return card(
        "Tree",
        graph("tree", figure, "Tree of packed sequences; the table of prototypes has its paths"),
        note=note,
        tools=[export_menu("tree", "tree", [("All nodes, CSV", address_of(view, "tree"))])],
    )


def matrix_card(view: View) -> Node:
    """The card of the transition matrix."""
    figure, note = matrix_figure(view)
    files = [("Transitions, CSV", address_of(view, "transitions"))]
    return card(
        "Transition matrix",
        html.Div(
            graph("matrix", figure, MATRIX_LABEL),
            id="seq-matrix",
        ),
        note=html.Span(note, id="seq-matrix-note"),
        tools=[export_menu("matrix", "transition matrix", files)],
    )
