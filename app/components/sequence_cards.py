"""The cards of the Sequences page: prototypes, what comes next, tree, matrix, executions behind a pick."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import dash_mantine_components as dmc
import numpy as np
import orjson
from dash import html

from app.cache import cached
from app.components.basics import Node, aria, bar, data, icon, notice, opener, phase_badge, state_badge
from app.components.graph import graph
from app.components.grid import grid
from app.components.phase_views import execution_rows
from app.components.sequence_graph import drawn_states
from app.components.sequence_view import name_of, named, written, written_path
from app.context import workspace
from app.figures.hazard import leaving
from app.figures.transitions import matrix
from app.figures.tree import Node as TreeNode
from app.figures.tree import icicle, node_link
from core.errors import NotFoundError
from core.sequences import END
from core.units import format_duration

if TYPE_CHECKING:
    from collections.abc import Sequence

    import plotly.graph_objects as go

    from app.components.sequence_view import State, View
    from core.runtime.sequences import SequenceAnalysis
    from core.sequences import Outlook, PrefixTree, Stays

PATHS = "sequence-paths"
WITHIN = (30.0, 60.0, 120.0, 300.0)
_MOST_PATHS = 600
_MOST_ELEMENTS = 14
_MOST_NODES, _DEEPEST, _THINNEST, _SMALL_TREE = 400, 7, 0.007, 14
_OFFERED = 12


def badge(phase: int) -> Node:
    """A phase's badge, or that of the end."""
    return state_badge("end") if phase == END else phase_badge(phase)


def state_badges(state: Sequence[int]) -> Node:
    """The badges of a state with arrows between them."""
    parts: list[Node] = []
    for place, phase in enumerate(state):
        parts += [html.Span("›", className="ink3")] if place else []
        parts.append(badge(phase))
    return html.Span(parts, className="states")


def path_rows(view: View) -> list[dict[str, Any]]:
    """One row per path for the table of prototypes, the most frequent first."""
    return cached(lambda: _path_rows(view), "paths", *view.prints())


def _path_rows(view: View) -> list[dict[str, Any]]:
    analysis = view.analysis()
    executions = {row["place"]: row for row in orjson.loads(execution_rows(view.traces, view.model))}
    largest = analysis.paths[0].count if analysis.paths else 1
    prototypes = len(analysis.prototypes)
    rows = []
    for number, path in enumerate(analysis.paths[:_MOST_PATHS], 1):
        elements = path.elements
        rows.append(
            {
                "number": number,
                "pick": f"path:{path.node}",
                "text": written_path(elements),
                "elements": [[*each.phases] for each in elements[:_MOST_ELEMENTS]],
                "more": max(len(elements) - _MOST_ELEMENTS, 0),
                "strip": executions[path.example]["strip"],
                "example": executions[path.example]["name"],
                "seconds": path.seconds,
                "count": path.count,
                "width": path.count / largest,
                "share": path.share,
                "covered": path.covered,
                "prototype": number <= prototypes,
            }
        )
    return rows


def _right(field: str, title: str, writer: str, width: int, **more: Any) -> dict[str, Any]:
    return {
        "field": field,
        "headerName": title,
        "type": "rightAligned",
        "cellClass": "num ag-right-aligned-cell",
        "width": width,
        "valueFormatter": {"function": writer},
        "sortingOrder": ["desc", "asc", None],
        **more,
    }


def path_table(view: View) -> Node:
    """The table of prototypes; a row lists the executions that follow the path."""
    columns = [
        {
            "field": "number",
            "headerName": "No.",
            "width": 58,
            "valueFormatter": {"function": "'P' + params.value"},
        },
        {
            "field": "text",
            "headerName": "Packed sequence",
            "cellRenderer": "PathCell",
            "flex": 2,
            "minWidth": 150,
            "tooltipField": "text",
        },
        {
            "field": "strip",
            "headerName": "Example",
            "headerTooltip": "The execution whose length is nearest the median of its path",
            "cellRenderer": "StripCell",
            "cellClass": "middle",
            "flex": 1,
            "minWidth": 110,
            "sortable": False,
            "tooltipField": "example",
        },
        _right("seconds", "Length", "phasedockTable.duration(params.value)", 100),
        {
            "field": "count",
            "headerName": "Executions",
            "cellRenderer": "CountBarCell",
            "width": 112,
            "sortingOrder": ["desc", "asc", None],
        },
        _right("share", "Share", "phasedockTable.share(params.value)", 72),
        _right("covered", "Covers", "Math.round(params.value * 100) + '%'", 72),
    ]
    return grid(
        PATHS,
        columns,
        path_rows(view),
        height="100%",
        options={
            "suppressCellFocus": False,
            "rowClassRules": {"rare": "params.data && !params.data.prototype"},
        },
        eventListeners={
            "cellClicked": ["phasedockSequences.row(params)"],
            "cellKeyDown": ["phasedockSequences.row(params)"],
        },
        columnSize=None,
        getRowId="params.data.pick",
    )


def after_menu(view: View, after: State) -> Node:
    """The states to ask about, those seen most often first, by their memory."""
    analysis = view.analysis()
    groups: list[Node] = []
    for memory in (1, 2, 3):
        made = analysis.graph(memory)
        full = [number for number, state in enumerate(made.states) if len(state) == memory]
        chosen = sorted(full, key=lambda number: -int(made.visits[number]))[:_OFFERED]
        if not chosen:
            continue
        groups.append(
            html.Div(f"Last {memory} phase{'' if memory == 1 else 's'}", className="ink3 small grouphead")
        )
        groups.append(
            html.Div(
                [
                    html.Button(
                        state_badges(made.states[number]),
                        type="button",
                        className=f"btn quiet small{' on' if made.states[number] == after else ''}",
                        title=f"{named(made.states[number])}: seen {int(made.visits[number]):,} times",
                        **data(after=written(made.states[number])),
                    )
                    for number in chosen
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
    """What comes after some phases: probabilities, counts, and when the present one is left."""
    analysis = view.analysis()
    try:
        outlook = analysis.forecaster.ahead(after, view.ahead)
    except NotFoundError as error:
        return [_after_line(view, after, ""), notice("info", error.hint, strong=error.message)]
    descriptions = {
        each.phase: each.description for each in workspace().labels.get(view.traces, view.model).statistics
    }
    descriptions[END] = "The execution ends"
    stays = analysis.stays(outlook.used)
    parts: list[Node] = [
        _after_line(view, after, f"seen {outlook.seen:,} time{'' if outlook.seen == 1 else 's'}")
    ]
    if outlook.used != after:
        parts.append(
            notice("info", f"Seen too rarely together: what followed {named(outlook.used)} is used instead.")
        )
    rows = [_next_row(analysis, outlook, place, descriptions) for place in range(len(outlook.phases))]
    parts.append(
        html.Div(rows, className="nextlist", tabIndex="0", role="region", **aria(label="What comes next"))
    )
    return [*parts, *_leave(outlook.used, stays)]


def _after_line(view: View, after: State, seen: str) -> Node:
    return html.Div(
        [
            html.Span("After", className="ink3"),
            state_badges(after),
            after_menu(view, after),
            html.Span(seen, className="ink3 seen"),
        ],
        className="afterline",
    )


def _next_row(analysis: SequenceAnalysis, outlook: Outlook, place: int, texts: dict[int, str]) -> Node:
    each = outlook.phases[place]
    one = outlook.steps == 1
    count = f"{each.count:,} run{'' if each.count == 1 else 's'}" if one else ""
    typical = (
        "" if each.phase == END else _stay(analysis, (*outlook.used, each.phase) if one else (each.phase,))
    )
    return html.Button(
        [
            badge(each.phase),
            html.Span(
                texts.get(each.phase) or name_of(each.phase),
                className="truncate",
                title=texts.get(each.phase),
            ),
            bar(each.probability, label=f"probability of {name_of(each.phase)}"),
            html.B(f"{each.probability:.2f}", className="num"),
            html.Span([html.Span(count), html.Span(typical, className="small")], className="ink3 num seen"),
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
    stays = analysis.stays(after[-3:])
    return f"stays {format_duration(stays.median)}" if stays.n_runs else ""


def _leave(used: State, stays: Stays) -> list[Node]:
    name = name_of(used[-1])
    chances = [(seconds, stays.leave_within(seconds)) for seconds in WITHIN]
    typical = f"; typically after {format_duration(stays.median)}, {format_duration(stays.mean)} on average"
    figure = leaving(stays.times, stays.left_by, used[-1])
    return [
        html.Hr(className="rule"),
        html.Div([f"Chance that {name} is left", html.Span(typical)], className="ink3 small"),
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
        graph("leaving", figure, f"Chance that {name} has been left, by seconds since it began"),
    ]


def tree_nodes(tree: PrefixTree) -> list[TreeNode]:
    """The nodes to draw, parents first: the most frequent ones down to some depth."""
    total = max(int(tree.count[0]), 1)
    wide = (tree.count >= max(_THINNEST * total, 1)) & (tree.depth <= _DEEPEST)
    chosen = np.flatnonzero(wide)
    chosen = np.sort(chosen[np.argsort(-tree.count[chosen], kind="stable")][:_MOST_NODES])
    kept, made = {0}, [TreeNode(0, -1, 0, (), "all", int(tree.count[0]))]
    for number in chosen.tolist():
        parent = int(tree.parent[number])
        if parent in kept and number:
            element = tree.packed.symbols[tree.symbol[number]]
            kept.add(number)
            made.append(
                TreeNode(
                    number,
                    parent,
                    int(tree.depth[number]),
                    element.phases,
                    element.written("n"),
                    int(tree.count[number]),
                )
            )
    return made


def tree_figure(view: View) -> tuple[go.Figure, str]:
    """The tree, and a note: an icicle, or nodes and links where there are few."""
    tree = view.analysis().tree
    nodes = tree_nodes(tree)
    small = len(nodes) <= _SMALL_TREE
    figure = node_link(nodes, 336) if small else icicle(nodes, 336)
    left = tree.n_nodes - len(nodes)
    note = "number of executions" if small else "share of executions"
    return figure, f"{note}; {left:,} rarer nodes not drawn" if left else note


def matrix_figure(view: View) -> tuple[go.Figure, str]:
    """The transition matrix, and a note."""
    made = view.analysis().graph(view.memory, view.step)
    chances, counts = made.matrix()
    states = drawn_states(made)
    columns = [*made.phases, END]
    picks = [[f"edge:{written(made.states[s])}:{written((phase,))}" for phase in columns] for s in states]
    rows = ["".join(name_of(phase) for phase in made.states[s]) for s in states]
    figure = matrix(rows, [name_of(p) for p in columns], chances[states], counts[states], picks)
    left = len(made.states) - len(states)
    seen = "runs" if view.step == "run" else "samples"
    return figure, f"rows sum to 1; {seen} at right" + (f"; {left:,} rarer rows in the table" if left else "")


def behind_rows(view: View, executions: Sequence[int], times: Sequence[int]) -> list[dict[str, Any]]:
    """Executions as the list of the Phases page has them, with how often each did what was picked."""
    rows = {row["place"]: row for row in orjson.loads(execution_rows(view.traces, view.model))}
    found = []
    for place, count in zip(executions, times, strict=True):
        row = rows[place]
        note = f"{count:,} times · {row['note']}" if count > 1 else row["note"]
        found.append({**row, "execution": row["name"], "note": note, "times": count})
    return found
