"""The transition graph as a picture and as a table.

States lie on a circle, the first phase on top and the end at the bottom; an edge is as wide as it is
probable. The browser, which knows the scheme, gives the colours, and lays longer states out in layers with
dagre (``sequences.js``): cytoscape's own bundle of layouts needs ``eval``, which pages forbid.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import dash_cytoscape as cyto
from dash import html

from app.figures.theme import shortened
from app.pages.sequences.query import state_name, written
from app.pages.sequences.tables import GRAPH_HEIGHT
from app.ui.basics import Node, aria
from core.sequences import END
from core.units import NO_NAMES, plural

if TYPE_CHECKING:
    from collections.abc import Mapping

    from app.pages.sequences.query import View
    from core.sequences import TransitionGraph

GRAPH = "sequence-graph"
MAX_STATES = 14
_MANY_EDGES = 26
_RADIUS, _WIDER = 150.0, 1.3
_MAX_LETTERS = 14


def drawn_states(graph: TransitionGraph) -> list[int]:
    """The states to draw in their order: all, or the most frequent ones."""
    numbers = sorted(range(len(graph.states)), key=lambda number: (-int(graph.visits[number]), number))
    chosen = sorted(numbers[:MAX_STATES])
    return sorted(chosen, key=lambda number: tuple(reversed(graph.states[number])))


def _class_of(phase: int) -> str:
    if phase == END:
        return "end"
    return "p0" if phase < 0 else f"p{phase % 8 + 1}"


def _angle(place: int, n: int) -> float:
    """The angle of a state, anticlockwise from the top; the bottom is reserved for the end."""
    bottom = (n + 1) // 2
    slot = place if place < bottom else place + 1
    return -math.pi / 2 - 2 * math.pi * slot / (n + 1)


def elements(
    graph: TransitionGraph, hide: float, names: Mapping[int, str] = NO_NAMES
) -> tuple[list[dict[str, Any]], str]:
    """The nodes and edges to draw, and a note on the hidden ones."""
    states = drawn_states(graph)
    n = len(states)
    if not n:
        return [], ""
    nodes = [_node(graph, number, _angle(place, n), names) for place, number in enumerate(states)]
    bottom = -math.pi / 2 - 2 * math.pi * ((n + 1) // 2) / (n + 1)
    nodes.append(_placed({"id": "end", "label": "end", "pick": "node:end"}, "end", bottom))
    edges: list[dict[str, Any]] = []
    drawn_targets, n_hidden = {*states, graph.end}, 0
    for source, target, count, p in zip(
        graph.source.tolist(), graph.target.tolist(), graph.count.tolist(), graph.probability, strict=True
    ):
        if source in drawn_targets and target in drawn_targets and p >= hide:
            edges.append(_edge(graph, source, target, count, float(p)))
        else:
            n_hidden += 1
    if len(edges) > _MANY_EDGES:
        edges = [{**edge, "classes": f"{edge['classes']} quiet"} for edge in edges]
    return [*nodes, *edges], plural(n_hidden, "edge") + " hidden" if n_hidden else ""


def _placed(data: dict[str, Any], classes: str, angle: float) -> dict[str, Any]:
    wide = _WIDER if "long" in classes or "named" in classes else 1.0
    position = {"x": round(wide * _RADIUS * math.cos(angle), 1), "y": round(_RADIUS * math.sin(angle), 1)}
    return {"data": data, "classes": classes, "position": position, "grabbable": False}


def _node(graph: TransitionGraph, number: int, angle: float, names: Mapping[int, str]) -> dict[str, Any]:
    state = graph.states[number]
    short = {phase: shortened(name, _MAX_LETTERS // graph.memory) for phase, name in names.items()}
    is_named = any(phase in names for phase in state)
    text = state_name(state, short) if is_named else state_name(state).replace(" › ", "")
    width = 14 + (7 * len(text) if is_named else 17 * len(state))
    data: dict[str, Any] = {"id": str(number), "width": width, "label": text}
    data |= {"pick": f"node:{written(state)}", "after": written(state)}
    shape = "long" if graph.memory > 1 else "named" if is_named else ""
    return _placed(data, f"{_class_of(state[-1])} {shape}".strip(), angle)


def _edge(graph: TransitionGraph, source: int, target: int, count: int, p: float) -> dict[str, Any]:
    to = int(graph.last[target])
    state = graph.states[source]
    data = {
        "id": f"{source}-{target}",
        "source": str(source),
        "target": "end" if target == graph.end else str(target),
        "p": round(p, 4),
        "label": f"{p:.2f}".lstrip("0") if p < 0.995 else "1",
        "count": count,
        "pick": f"edge:{written(state)}:{written((to,))}",
    }
    kind = "ending" if target == graph.end else "loop" if source == target else "going"
    return {"data": data, "classes": kind}


def graph_view(graph: TransitionGraph, view: View) -> Node:
    """The picture; a table next to it has the same numbers for screen readers."""
    drawn_elements, _ = elements(graph, view.hide, view.phase_names())
    return html.Div(
        cyto.Cytoscape(
            id=GRAPH,
            elements=drawn_elements,
            layout={"name": "preset", "fit": True, "padding": 26},
            stylesheet=[],
            style={"width": "100%", "height": f"{GRAPH_HEIGHT}px"},
            userZoomingEnabled=False,
            userPanningEnabled=False,
            boxSelectionEnabled=False,
            autoungrabify=True,
            # both act a while after a change, on a graph that may be removed by then, which throws
            autoRefreshLayout=False,
            responsive=False,
        ),
        className="graphbox",
        role="img",
        **aria(label="Graph of transitions between phases; its table has the same numbers"),
    )
