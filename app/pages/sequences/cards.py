"""The cards of the Sequences page: prototypes, tree, matrix, executions behind a pick."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import orjson

from app.context import cached, workspace
from app.figures.sequences import Node as TreeNode
from app.figures.sequences import icicle, matrix, node_link
from app.pages.sequences.graph import drawn_states
from app.pages.sequences.query import name_of, written, written_path
from app.ui.phases import execution_rows, strips
from app.ui.tables import grid
from core.sequences import END

if TYPE_CHECKING:
    from collections.abc import Sequence

    import plotly.graph_objects as go

    from app.pages.sequences.query import View
    from app.ui.basics import Node
    from core.sequences import PrefixTree

PATHS = "sequence-paths"
_MOST_PATHS = 600
_MOST_ELEMENTS = 14
_MOST_NODES, _DEEPEST, _THINNEST, _SMALL_TREE = 400, 7, 0.007, 14


def path_rows(view: View) -> list[dict[str, Any]]:
    """One row per path for the table of prototypes, the most frequent first."""
    return cached(lambda: _path_rows(view), "paths", *view.prints())


def _path_rows(view: View) -> list[dict[str, Any]]:
    analysis = view.analysis()
    shown = analysis.paths[:_MOST_PATHS]
    largest = shown[0].count if shown else 1
    prototypes = len(analysis.prototypes)
    labelling = workspace().labels.get(view.traces, view.model)
    examples = strips(labelling, [path.example for path in shown])
    rows = []
    for number, (path, strip) in enumerate(zip(shown, examples, strict=True), 1):
        elements = path.elements
        rows.append(
            {
                "number": number,
                "pick": f"path:{path.node}",
                "text": written_path(elements),
                "elements": [[*each.phases] for each in elements[:_MOST_ELEMENTS]],
                "more": max(len(elements) - _MOST_ELEMENTS, 0),
                "strip": strip,
                "example": labelling.ids[path.example],
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
    clicked = ["phasedockSequences.row(params)"]
    return grid(
        PATHS,
        _columns(),
        path_rows(view),
        height="100%",
        options={
            "suppressCellFocus": False,
            "rowClassRules": {"rare": "params.data && !params.data.prototype"},
        },
        eventListeners={"cellClicked": clicked, "cellKeyDown": clicked},
        columnSize=None,
        getRowId="params.data.pick",
    )


def _columns() -> list[dict[str, Any]]:
    return [
        {
            "field": "number",
            "headerName": "No.",
            "width": 56,
            "minWidth": 56,
            "valueFormatter": {"function": "'P' + params.value"},
        },
        {
            "field": "text",
            "headerName": "Packed sequence",
            "cellRenderer": "PathCell",
            "flex": 5,
            "minWidth": 142,
            "tooltipField": "text",
        },
        _example(),
        _right("seconds", "Length", "phasedockTable.duration(params.value)", 112),
        {
            "field": "count",
            "headerName": "Executions",
            "cellRenderer": "CountBarCell",
            "width": 108,
            "sortingOrder": ["desc", "asc", None],
        },
        _right("share", "Share", "phasedockTable.share(params.value)", 76),
        _right("covered", "Covers", "Math.round(params.value * 100) + '%'", 72),
    ]


def _example() -> dict[str, Any]:
    return {
        "field": "strip",
        "headerName": "Example",
        "headerTooltip": "The execution whose length is nearest the median of its path",
        "cellRenderer": "StripCell",
        "cellClass": "middle",
        "flex": 2,
        "minWidth": 92,
        "sortable": False,
        "tooltipField": "example",
    }


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
                    element.to_text("n"),
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
    return figure, f"{note}; {left:,} rarer left out" if left else note


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
    seen = "segments" if view.step == "run" else "samples"
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
