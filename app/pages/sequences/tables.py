"""The tables of the Sequences page, as grids and as files: paths, transitions, forecasts, executions."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from flask import Blueprint, request

from app.context import cached, workspace
from app.pages.sequences.query import (
    View,
    matching_executions,
    name_of,
    state_name,
    state_of,
    written,
    written_path,
)
from app.ui.phases import strips
from app.ui.tables import grid_rows, table_grid, table_route
from core.errors import InputError
from core.tables import Column, Table
from core.units import NO_NAMES, format_count, format_duration, format_number, format_share, with_phase_names

if TYPE_CHECKING:
    from collections.abc import Mapping

    from app.pages.sequences.query import State
    from app.ui.basics import Node
    from core.sequences import TransitionGraph, TreePath

PATHS, EDGES = "sequence-paths", "sequence-edges"
MAX_PATHS = 600
GRAPH_HEIGHT = 336
_MAX_ELEMENTS = 14

blueprint = Blueprint("sequences", __name__)
_BASE = "/api/traces/<trace_set_id>/sequences/<model_id>"
FILES = {
    "paths": "Paths and prototypes",
    "executions": "Packed sequence of every execution",
    "transitions": "Transitions",
    "tree": "Tree",
    "next": "What comes next",
}


def address_of(view: View, table: str) -> str:
    """The address of a table of a view; the browser adds the page's state (``sequences.js``)."""
    return f"/api/traces/{view.traces}/sequences/{view.model}/{table}.csv"


def _view(trace_set_id: str, model_id: str) -> View:
    return View.of(trace_set_id, model_id, request.args.to_dict())


def _name(view: View, table: str) -> str:
    return f"{workspace().traces.get(view.traces).name}-{table}"


# Paths.


class _PathRow(NamedTuple):
    number: int
    path: TreePath
    example: str
    prototype: bool
    names: Mapping[int, str]


_PATH_COLUMNS = (
    Column("number", "No.", lambda number: f"P{number}", right=False),
    Column("path", "Packed sequence", value=lambda row: written_path(row.path.elements, row.names)),
    Column("example", "Example"),
    Column("median_s", "Length", format_duration, lambda row: row.path.seconds),
    Column("executions", "Executions", format_count, lambda row: row.path.count),
    Column("share", "Share", format_share, lambda row: row.path.share),
    Column("covered", "Covers", partial(format_share, digits=0), lambda row: row.path.covered),
    Column("prototype"),
)


@table_route(blueprint, f"{_BASE}/paths.csv")
def paths(trace_set_id: str, model_id: str) -> Table:
    """All paths, the most frequent first."""
    return paths_table(_view(trace_set_id, model_id))


def paths_table(view: View, max_paths: int | None = None) -> Table:
    """The paths of a view, all or the most frequent ones."""
    analysis = view.analysis()
    ids, prototypes, names = analysis.sequences.ids, len(analysis.prototypes), view.phase_names()
    rows = [
        _PathRow(number, path, ids[path.example], number <= prototypes, names)
        for number, path in enumerate(analysis.paths[:max_paths], 1)
    ]
    return Table(_name(view, "paths"), _PATH_COLUMNS, rows)


def path_rows(view: View) -> list[dict[str, Any]]:
    """One row per path for the grid, the most frequent first."""
    return cached(lambda: _path_rows(view), "paths", view.warmup, str(view.phase_names()), *view.prints())


def _path_rows(view: View) -> list[dict[str, Any]]:
    top_paths = view.analysis().paths[:MAX_PATHS]
    largest = top_paths[0].count if top_paths else 1
    examples = strips(workspace().labels.get(view.traces, view.model), [path.example for path in top_paths])

    def parts(row: _PathRow) -> dict[str, Any]:
        elements = row.path.elements
        return {
            "pick": f"path:{row.path.node}",
            "elements": [[*each.phases] for each in elements[:_MAX_ELEMENTS]],
            "more": max(len(elements) - _MAX_ELEMENTS, 0),
            "strip": examples[row.number - 1],
            "width": row.path.count / largest,
        }

    return grid_rows(paths_table(view, MAX_PATHS), parts)


def path_grid(view: View) -> Node:
    """The table of prototypes; a row lists the executions that follow the path."""
    clicked = ["phasedockSequences.row(params)"]
    columns: dict[str, dict[str, Any]] = {
        "number": {"width": 56, "minWidth": 56},
        "path": {"cellRenderer": "PathCell", "flex": 5, "minWidth": 142, "tooltipField": "path"},
        "example": {
            "valueGetter": {"function": "params.data.strip"},
            "headerTooltip": "The execution whose length is nearest the median of its path",
            "cellRenderer": "StripCell",
            "cellClass": "middle",
            "flex": 2,
            "minWidth": 92,
            "sortable": False,
            "tooltipField": "example",
        },
        "median_s": {"width": 112},
        "executions": {"cellRenderer": "CountBarCell", "cellClass": "", "type": None, "width": 108},
        "share": {"width": 76},
        "covered": {"width": 72},
    }
    return table_grid(
        PATHS,
        paths_table(view, 0),
        rows=path_rows(view),
        columns=columns,
        height="100%",
        options={
            "suppressCellFocus": False,
            "context": {"names": browser_names(view)},
            "rowClassRules": {"rare": "params.data && !params.data.prototype"},
        },
        eventListeners={"cellClicked": clicked, "cellKeyDown": clicked},
        columnSize=None,
        getRowId="params.data.pick",
    )


# Transitions: the edges of the graph, and with them the matrix.


class _Edge(NamedTuple):
    source: State
    target: State
    phase: int
    probability: float
    times: int
    names: Mapping[int, str]


_EDGE_COLUMNS = (
    Column("from", "From", value=lambda edge: state_name(edge.source, edge.names)),
    Column("next_phase", "To", value=lambda edge: name_of(edge.phase, edge.names)),
    Column("probability", "Probability", partial(format_number, digits=3)),
    Column("count", "Times", format_count, lambda edge: edge.times),
    Column("to", value=lambda edge: state_name(edge.target, edge.names)),
)


@table_route(blueprint, f"{_BASE}/transitions.csv")
def transitions(trace_set_id: str, model_id: str) -> Table:
    """Every edge of the graph, the most frequent first."""
    view = _view(trace_set_id, model_id)
    graph = view.analysis().graph(view.memory, view.step)
    return Table(_name(view, f"transitions-{view.memory}"), _EDGE_COLUMNS, _edges(graph, view.phase_names()))


def _edges(graph: TransitionGraph, names: Mapping[int, str]) -> list[_Edge]:
    columns = (graph.source.tolist(), graph.target.tolist(), graph.count.tolist(), graph.probability.tolist())
    edges = [
        _Edge(graph.states[source], graph.name(target), int(graph.last[target]), probability, count, names)
        for source, target, count, probability in zip(*columns, strict=True)
    ]
    return sorted(edges, key=lambda edge: -edge.times)


def _edge_parts(edge: _Edge) -> dict[str, Any]:
    pick = f"edge:{written(edge.source)}:{written((edge.phase,))}"
    return {"from": list(edge.source), "next_phase": edge.phase, "pick": pick}


def edge_rows(graph: TransitionGraph, names: Mapping[int, str] = NO_NAMES) -> list[dict[str, Any]]:
    """One row per edge for the grid."""
    return grid_rows(Table("edges", _EDGE_COLUMNS, _edges(graph, names)), _edge_parts)


def browser_names(view: View) -> dict[str, str]:
    """The names that people gave to phases, for the cells that the browser draws."""
    return {str(phase): name for phase, name in view.phase_names().items()}


def edge_grid(graph: TransitionGraph, view: View) -> Node:
    """The edges in a sortable table; a row lists the executions behind it."""
    clicked = ["phasedockSequences.row(params)"]
    columns: dict[str, dict[str, Any]] = {
        "from": {"cellRenderer": "StateCell", "flex": 1, "sortable": False},
        "next_phase": {"cellRenderer": "StateCell", "width": 84},
        "probability": {"width": 104},
        "count": {"width": 90},
    }
    return table_grid(
        EDGES,
        Table("edges", _EDGE_COLUMNS, ()),
        rows=edge_rows(graph, view.phase_names()),
        columns=columns,
        height=f"{GRAPH_HEIGHT}px",
        options={"suppressCellFocus": False, "context": {"names": browser_names(view)}},
        eventListeners={"cellClicked": clicked, "cellKeyDown": clicked},
        columnSize=None,
    )


# Tables for files only, or drawn as a figure.


@table_route(blueprint, f"{_BASE}/executions.csv")
def packed(trace_set_id: str, model_id: str) -> Table:
    """Every execution's packed sequence, with its repetitions."""
    view = _view(trace_set_id, model_id)
    analysis = view.analysis()
    sequences, packs, names = analysis.sequences, analysis.packed, view.phase_names()
    rows = (
        (
            name,
            sequences.durations[i],
            len(sequences.runs_of(i)),
            with_phase_names(" ".join(str(each) for each in packs.elements_of(i)), names),
        )
        for i, name in enumerate(sequences.ids)
    )
    return Table.file_only(_name(view, "packed"), ("execution", "duration_s", "runs", "packed"), rows)


@table_route(blueprint, f"{_BASE}/tree.csv")
def tree(trace_set_id: str, model_id: str) -> Table:
    """Every node of the prefix tree."""
    view = _view(trace_set_id, model_id)
    prefix_tree = view.analysis().tree
    n, names = max(int(prefix_tree.count[0]), 1), view.phase_names()
    rows = (
        (
            *(node, int(prefix_tree.parent[node]), int(prefix_tree.depth[node])),
            (
                with_phase_names(prefix_tree.packed.symbols[prefix_tree.symbol[node]].to_text("n"), names)
                if node
                else "all"
            ),
            *(int(prefix_tree.count[node]), int(prefix_tree.count[node]) / n, int(prefix_tree.ends[node])),
        )
        for node in range(prefix_tree.n_nodes)
    )
    keys = ("node", "parent", "depth", "element", "executions", "share", "paths_end_here")
    return Table.file_only(_name(view, "tree"), keys, rows)


@table_route(blueprint, f"{_BASE}/next.csv")
def next_phases(trace_set_id: str, model_id: str) -> Table:
    """The next phases after a state, and the survival curve."""
    view = _view(trace_set_id, model_id)
    after = state_of(view.after)
    if not after:
        raise InputError(
            "No phases are named to start from.", "Give them as after=2.4, the present one last."
        )
    analysis = view.analysis()
    outlook, names = analysis.forecaster.forecast(after, view.ahead), view.phase_names()
    stays = analysis.dwell_times(outlook.used)
    rows: list[tuple[object, ...]] = [
        ("next", name_of(each.phase, names), "", each.probability, each.count) for each in outlook.phases
    ]
    rows += [
        ("left by", state_name(outlook.used, names), float(t), float(p), int(n))
        for t, p, n in zip(stays.times, stays.share_ended_by, stays.counts, strict=True)
    ]
    return Table.file_only(_name(view, "next"), ("what", "phase", "seconds", "probability", "count"), rows)


@table_route(blueprint, f"{_BASE}/behind.csv")
def executions_behind(trace_set_id: str, model_id: str) -> Table:
    """The executions behind a selection."""
    view = _view(trace_set_id, model_id)
    selection = matching_executions(view, view.pick or "")
    ids = view.analysis().sequences.ids
    pairs = zip(selection.executions.tolist(), selection.times.tolist(), strict=True)
    rows = [(ids[place], times) for place, times in pairs]
    return Table.file_only(_name(view, "behind"), ("execution", "times"), rows)
