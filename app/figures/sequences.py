"""Figures of sequences."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import plotly.graph_objects as go

from app.figures import theme
from core.units import format_duration, phase_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from core.traces.model import FloatArray, IntArray


_MAX_POINTS = 600


def leaving(times: FloatArray, left_by: FloatArray, phase: int, height: int = 128) -> go.Figure:
    """Draw P(left by t) as a step curve."""
    end = max(float(times[np.searchsorted(left_by, 0.98)]) if len(times) else 1.0, 1.0) * 1.15
    values, texts = theme.time_ticks(0, end, 6)
    layout = theme.frame(
        height,
        margin={"l": 30, "r": 10, "t": 6, "b": 24},
        hovermode="x",
        dragmode=False,
        xaxis=theme.axis(range=[0, end], tickvals=values, ticktext=texts),
        yaxis=theme.value_axis(range=[0, 1.02], tickvals=[0, 0.5, 1]),
    )
    return go.Figure(_steps(*_thinned(times, left_by, end), _fill(phase)), layout)


def _thinned(times: FloatArray, left_by: FloatArray, end: float) -> tuple[FloatArray, FloatArray]:
    """The corners to draw from 0 to `end`, at most about `_MAX_POINTS`."""
    if not len(times):
        return np.array([0.0, end]), np.zeros(2)
    inside = times <= end
    chosen = np.unique(np.linspace(0, max(int(inside.sum()) - 1, 0), _MAX_POINTS).astype(int))
    y = np.concatenate([[0.0], left_by[inside][chosen]])
    return np.concatenate([[0.0], times[inside][chosen], [end]]), np.append(y, y[-1])


def _fill(phase: int) -> str:
    if phase < 0:
        return theme.with_alpha(theme.ink("ink3"), theme.AREA_ALPHA)
    return theme.with_alpha(theme.phase_colour(phase), theme.FILL_ALPHA)


def _steps(x: FloatArray, y: FloatArray, fill: str) -> go.Scatter:
    return go.Scatter(
        x=x,
        y=y,
        mode="lines",
        name="left",
        line={"color": theme.ink("ink"), "width": 1.4, "shape": "hv"},
        fill="tozeroy",
        fillcolor=fill,
        customdata=[format_duration(float(t)) for t in x],
        hovertemplate="left within %{customdata}: %{y:.2f}<extra></extra>",
    )


_DARK_FROM = 0.55
_ON_ACCENT = theme.LABELS_ON_PHASES["light"][1]
"""White in the light scheme and black in the dark one."""


def matrix(
    rows: Sequence[str],
    columns: Sequence[str],
    chances: FloatArray,
    counts: IntArray,
    picks: Sequence[Sequence[str]],
    height: int = 336,
) -> go.Figure:
    """Draw the matrix; names that people gave to phases are at its rows and in what the pointer shows."""
    n, width = chances.shape
    layout = theme.frame(
        height,
        margin={"l": 16 + 7 * max((len(row) for row in rows), default=2), "r": 52, "t": 24, "b": 6},
        hovermode="closest",
        dragmode=False,
        meta={"picks": [list(row) for row in picks]},
        xaxis=_names_axis([name.partition(" ")[0] for name in columns], [-0.5, width - 0.5], side="top"),
        yaxis=_names_axis(rows, [n - 0.5, -0.5], ticklabelstandoff=4),
        annotations=[_total(y, total) for y, total in enumerate(counts.sum(axis=1).tolist())],
    )
    return go.Figure([_cells(rows, columns, chances, counts, picks), _numbers(chances, counts)], layout)


def _names_axis(names: Sequence[str], span: list[float], **more: Any) -> dict[str, Any]:
    return theme.name_axis(tickvals=list(range(len(names))), ticktext=list(names), range=span, **more)


def _total(y: int, total: int) -> dict[str, Any]:
    """A row's number of visits, at its right."""
    return {
        "x": 1.01,
        "xref": "paper",
        "xanchor": "left",
        "y": y,
        "yref": "y",
        "text": f"{total:,}",
        "showarrow": False,
        "font": {"size": 11, "color": theme.ink("ink3")},
    }


def _cells(
    rows: Sequence[str],
    columns: Sequence[str],
    chances: FloatArray,
    counts: IntArray,
    picks: Sequence[Sequence[str]],
) -> go.Heatmap:
    n, width = chances.shape
    data = [
        [[pick, int(count), row, column] for pick, count, column in zip(p, c, columns, strict=True)]
        for p, c, row in zip(picks, counts.tolist(), rows, strict=True)
    ]
    hover = "%{customdata[1]} → %{customdata[2]}: %{z:.3f}<br>%{customdata[0]:,} times<extra></extra>"
    return go.Heatmap(
        z=chances,
        x=list(range(width)),
        y=list(range(n)),
        zmin=0,
        zmax=1,
        xgap=3,
        ygap=3 if n <= 9 else 2,
        showscale=False,
        colorscale=[[0, theme.ink("sunken")], [1, theme.ink("accent")]],
        customdata=data,
        hovertemplate=hover,
    )


def _numbers(chances: FloatArray, counts: IntArray) -> go.Scatter:
    """The probabilities as text on the cells; a dot for an unseen transition."""
    n, width = chances.shape
    places = [(x, y) for y in range(n) for x in range(width)]
    colours = [_ON_ACCENT if chances[y, x] >= _DARK_FROM else theme.ink("ink") for x, y in places]
    return go.Scatter(
        x=[x for x, _ in places],
        y=[y for _, y in places],
        mode="text",
        text=[f"{chances[y, x]:.2f}" if counts[y, x] else "·" for x, y in places],
        textfont={"size": 12 if max(n, width) <= 9 else 10, "color": colours},
        hoverinfo="skip",
    )


_WIDTH, _LETTER, _ROOM = 340, 6.6, 8
"""About how wide the tree, a letter and the space around a name are, in pixels."""
_HOVER = "%{customdata[1]}<br>%{customdata[2]:,} executions, %{customdata[3]}<extra></extra>"
Place = tuple[float, float]
"""Position of a node: its column and its row."""


@dataclass(frozen=True, slots=True)
class Node:
    """A node to draw: its number and its parent's (−1 for the root), depth, phases, name and executions."""

    number: int
    parent: int
    depth: int
    phases: tuple[int, ...]
    name: str
    count: int


def icicle(nodes: Sequence[Node], height: int = 320) -> go.Figure:
    """Draw the tree from the top down, each node as wide as its share of executions; the root comes first."""
    total = max(nodes[0].count, 1)
    shares = [node.count / total for node in nodes]
    return go.Figure(
        go.Icicle(
            ids=[str(node.number) for node in nodes],
            parents=["" if node.parent < 0 else str(node.parent) for node in nodes],
            labels=[_label(node, share) for node, share in zip(nodes, shares, strict=True)],
            values=[node.count for node in nodes],
            branchvalues="total",
            sort=False,
            tiling={"orientation": "v", "pad": 1},
            pathbar={"visible": False},
            root={"color": theme.ink("sunken")},
            leaf={"opacity": 1},
            marker={
                "colors": [_colour(node) for node in nodes],
                "line": {"width": 1, "color": theme.ink("surface")},
            },
            textfont={"size": 11, "color": [_text_colour(node) for node in nodes]},
            textposition="top left",
            textinfo="label",
            customdata=[_picked(node, total) for node in nodes],
            hovertemplate=_HOVER,
        ),
        layout=theme.frame(
            height,
            margin={"l": 0, "r": 0, "t": 0, "b": 0},
            hovermode="closest",
        ),
    )


def _label(node: Node, share: float) -> str:
    if node.parent < 0:
        return f"all<br>{node.count:,}"
    fits = share * _WIDTH >= _LETTER * max(len(node.name), 3) + _ROOM
    return f"{node.name}<br>{share:.0%}" if fits else " "


def _colour(node: Node) -> str:
    return theme.phase_colour(node.phases[0]) if node.phases else theme.ink("sunken")


def _text_colour(node: Node) -> str:
    return theme.label_colour(node.phases[0]) if node.phases else theme.ink("ink")


def node_link(nodes: Sequence[Node], height: int = 320) -> go.Figure:
    """Draw the tree from left to right as circles joined by lines, thicker for more executions."""
    places, total = _places(nodes), max(nodes[0].count, 1)
    at = [places[node.number] for node in nodes]
    links = [
        _link(places[node.parent], places[node.number], node.count / total)
        for node in nodes
        if node.parent >= 0
    ]
    rows = max(y for _, y in at) + 1
    layout = theme.frame(
        height,
        margin={"l": 8, "r": 8, "t": 8, "b": 8},
        hovermode="closest",
        dragmode=False,
        xaxis=theme.axis(showticklabels=False, range=[-0.4, max(node.depth for node in nodes) + 0.4]),
        yaxis=theme.axis(showticklabels=False, range=[rows - 0.3, -0.7]),
    )
    return go.Figure([*links, _dots(nodes, at, total), _node_names(nodes, at)], layout)


def _link(start: Place, end: Place, share: float) -> go.Scatter:
    return go.Scatter(
        x=[start[0], end[0]],
        y=[start[1], end[1]],
        mode="lines",
        line={"color": theme.ink("line_strong"), "width": 1 + 6 * share},
        hoverinfo="skip",
    )


def _dots(nodes: Sequence[Node], at: Sequence[Place], total: int) -> go.Scatter:
    """The circles, each with the name that people gave to its phase and its number of executions below."""
    return go.Scatter(
        x=[x for x, _ in at],
        y=[y for _, y in at],
        mode="markers+text",
        marker={
            "size": [26 if len(node.phases) < 2 else 34 for node in nodes],
            "color": [_colour(node) for node in nodes],
            "line": {"width": 1, "color": theme.ink("surface")},
            "opacity": 1,
        },
        text=[" ".join([*_given_name(node), f"{node.count:,}"]) for node in nodes],
        textposition="bottom center",
        textfont={"size": 11, "color": theme.ink("ink2")},
        customdata=[_picked(node, total) for node in nodes],
        hovertemplate=_HOVER,
    )


def _node_names(nodes: Sequence[Node], at: Sequence[Place]) -> go.Scatter:
    """The names on the circles; one that is too long becomes its number of phases."""
    return go.Scatter(
        x=[x for x, _ in at],
        y=[y for _, y in at],
        mode="text",
        text=[_short_name(node) for node in nodes],
        textfont={"size": 10, "color": [_text_colour(node) for node in nodes]},
        hoverinfo="skip",
    )


def _short_name(node: Node) -> str:
    """A node's phase, or its number of phases where its name is too long for a circle."""
    if len(node.phases) == 1:
        return phase_name(node.phases[0])
    return node.name if len(node.name) <= 5 else f"{len(node.phases)}×n"


def _given_name(node: Node) -> list[str]:
    """The name that people gave to a node's only phase, if any."""
    return [node.name.partition(" ")[2]] if len(node.phases) == 1 and " " in node.name else []


def _picked(node: Node, total: int) -> list[Any]:
    """The address value that a click on a node selects, and its hover text."""
    return [f"tree:{node.number}", node.name, node.count, f"{node.count / total:.1%}"]


def _places(nodes: Sequence[Node]) -> dict[int, Place]:
    """Depth, and a row: leaves one below the other, a parent in the middle of its children."""
    children: dict[int, list[Node]] = {}
    for node in nodes:
        children.setdefault(node.parent, []).append(node)
    rows: dict[int, float] = {}
    order, waiting = [], [nodes[0]]
    while waiting:
        node = waiting.pop()
        order.append(node)
        waiting += reversed(children.get(node.number, []))
    leaves = [node for node in order if node.number not in children]
    rows = {node.number: float(row) for row, node in enumerate(leaves)}
    for node in reversed(order):
        below = children.get(node.number)
        if below:
            rows[node.number] = (rows[below[0].number] + rows[below[-1].number]) / 2
    return {node.number: (float(node.depth), rows[node.number]) for node in nodes}
