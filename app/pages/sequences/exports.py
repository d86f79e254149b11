"""The tables of the Sequences page as CSV: paths, transitions, what comes next, and every execution."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dash import html
from flask import Blueprint, Response, request

from app.context import workspace
from app.pages.sequences.query import View, behind, name_of, named, state_of, written_path
from app.ui.basics import aria, icon
from app.ui.tables import file_answer
from core.errors import InputError
from core.tables import csv_lines

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


def file_button(label: str, href: str) -> html.A:
    """A table as an icon at the right of a card's title."""
    return html.A(
        icon("download"),
        href=href,
        className="iconbtn seqfile",
        download="",
        title=label,
        **aria(label=label),
    )


def menu_item(label: str, href: str) -> html.A:
    """A table as an entry of a menu."""
    return html.A(
        [icon("table", "sm"), label], href=href, className="btn quiet small menu seqfile", download=""
    )


blueprint = Blueprint("sequences", __name__)
_BASE = "/api/traces/<trace_set_id>/sequences/<model_id>"


def addresses(view: View) -> str:
    """Where the tables of a view are, without their names."""
    return f"/api/traces/{view.traces}/sequences/{view.model}"


def _view(trace_set_id: str, model_id: str) -> View:
    return View.read(trace_set_id, model_id, request.args.to_dict())


def _answer(view: View, what: str, head: Sequence[str], rows: Iterable[Sequence[object]]) -> Response:
    name = f"{workspace().traces.get(view.traces).name}-{what}.csv"
    return file_answer(csv_lines(head, rows), name)


@blueprint.get(f"{_BASE}/paths.csv")
def export_paths(trace_set_id: str, model_id: str) -> Response:
    """All paths, the most frequent first."""
    view = _view(trace_set_id, model_id)
    analysis = view.analysis()
    prototypes, ids = len(analysis.prototypes), analysis.sequences.ids
    head = ("number", "path", "prototype", "executions", "share", "covered", "median_s", "example")
    rows = (
        (
            *(number, written_path(path.elements), number <= prototypes),
            *(path.count, path.share, path.covered, path.seconds, ids[path.example]),
        )
        for number, path in enumerate(analysis.paths, 1)
    )
    return _answer(view, "paths", head, rows)


@blueprint.get(f"{_BASE}/executions.csv")
def export_packed(trace_set_id: str, model_id: str) -> Response:
    """Every execution's packed sequence, with its repetitions."""
    view = _view(trace_set_id, model_id)
    analysis = view.analysis()
    sequences, packed = analysis.sequences, analysis.packed
    rows = (
        (
            name,
            sequences.durations[i],
            len(sequences.runs_of(i)),
            " ".join(str(each) for each in packed.elements_of(i)),
        )
        for i, name in enumerate(sequences.ids)
    )
    return _answer(view, "packed", ("execution", "duration_s", "runs", "packed"), rows)


@blueprint.get(f"{_BASE}/transitions.csv")
def export_transitions(trace_set_id: str, model_id: str) -> Response:
    """Every edge of the graph, and with it the matrix."""
    view = _view(trace_set_id, model_id)
    graph = view.analysis().graph(view.memory, view.step)
    edges = zip(graph.source.tolist(), graph.target.tolist(), graph.count, graph.probability, strict=True)
    rows = (
        (named(graph.name(s)), named(graph.name(t)), name_of(int(graph.last[t])), int(n), float(p))
        for s, t, n, p in edges
    )
    return _answer(
        view, f"transitions-{view.memory}", ("from", "to", "next_phase", "count", "probability"), rows
    )


@blueprint.get(f"{_BASE}/tree.csv")
def export_tree(trace_set_id: str, model_id: str) -> Response:
    """Every node of the prefix tree."""
    view = _view(trace_set_id, model_id)
    tree = view.analysis().tree
    n = max(int(tree.count[0]), 1)
    rows = (
        (
            *(node, int(tree.parent[node]), int(tree.depth[node])),
            tree.packed.symbols[tree.symbol[node]].to_text("n") if node else "all",
            *(int(tree.count[node]), int(tree.count[node]) / n, int(tree.ends[node])),
        )
        for node in range(tree.n_nodes)
    )
    head = ("node", "parent", "depth", "element", "executions", "share", "paths_end_here")
    return _answer(view, "tree", head, rows)


@blueprint.get(f"{_BASE}/next.csv")
def export_next(trace_set_id: str, model_id: str) -> Response:
    """What comes after some phases, and the curve of leaving."""
    view, after = _view(trace_set_id, model_id), state_of(request.args.get("after"))
    if not after:
        raise InputError(
            "No phases are named to start from.", "Give them as after=2.4, the present one last."
        )
    analysis = view.analysis()
    outlook = analysis.forecaster.forecast(after, view.ahead)
    stays = analysis.dwell_times(outlook.used)
    rows: list[tuple[object, ...]] = [
        ("next", name_of(each.phase), "", each.probability, each.count) for each in outlook.phases
    ]
    rows += [
        ("left by", named(outlook.used), float(t), float(p), int(n))
        for t, p, n in zip(stays.times, stays.share_left_by, stays.counts, strict=True)
    ]
    return _answer(view, "next", ("what", "phase", "seconds", "probability", "count"), rows)


@blueprint.get(f"{_BASE}/behind.csv")
def export_behind(trace_set_id: str, model_id: str) -> Response:
    """The executions behind what was picked."""
    view = _view(trace_set_id, model_id)
    found = behind(view, request.args.get("pick", ""))
    ids = view.analysis().sequences.ids
    rows = (
        (ids[who], times) for who, times in zip(found.executions.tolist(), found.times.tolist(), strict=True)
    )
    return _answer(view, "behind", ("execution", "times"), rows)
