"""Totals over time: demand and allocation of all held-out containers (AI4DL, Figure 4)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import plotly.graph_objects as go

from app.figures import theme
from core.traces.model import unit_scale

if TYPE_CHECKING:
    from collections.abc import Sequence

    from core.traces.model import FloatArray
    from core.units import Unit

_HEIGHT = 250
OURS, RIVAL, STATIC = "ours", "rival", "static"
PAPER, DASHED, ORACLE, DOTTED = "paper", "dashed", "oracle", "dotted"
_LINES = {
    OURS: ("accent", 2.2, "solid"),
    PAPER: ("ink", 1.6, "9px,3px,2px,3px"),
    RIVAL: ("ink3", 1.4, "solid"),
    DASHED: ("ink3", 1.4, "6px,3px"),
    ORACLE: ("line_strong", 1.2, "4px,3px"),
    DOTTED: ("line_strong", 1.2, "1px,3px"),
    STATIC: ("line_strong", 1.25, "4px,3px"),
}
"""Colour, width and dash of each way to draw a line."""


@dataclass(frozen=True, slots=True)
class AllocationTotal:
    """Total allocation of one policy over time, shape (n,): its title, its style, and its identifier."""

    name: str
    part: str
    values: FloatArray
    policy: str = ""


def _line(part: str) -> dict[str, Any]:
    colour, width, dash = _LINES.get(part, _LINES[STATIC])
    return {"color": theme.ink(colour), "width": width, "dash": dash}


def totals(
    age: FloatArray, demand: FloatArray, allocations: Sequence[AllocationTotal], unit: Unit, quantity: str
) -> go.Figure:
    """Draw totals over the containers' age."""
    scale, label = unit_scale(unit, demand)
    hover = f"%{{y:,.2f}} {label}"
    title = f"{quantity}, {label}" if label else quantity
    lines = [
        _allocation_line(age, each, scale, hover)
        for each in sorted(allocations, key=lambda one: one.part == OURS)
    ]
    layout = _layout(float(age[-1]) if len(age) else 1.0, _highest(demand, allocations) / scale, title)
    return go.Figure([*lines, _demand(age, demand / scale, hover)], layout)


def _layout(end: float, highest: float, title: str) -> go.Layout:
    ages = theme.time_axis(0.0, end or 1.0, unifiedhovertitle={"text": "%{x:.0f} s"}, minallowed=0.0)
    return theme.frame(
        _HEIGHT,
        margin={"l": 44, "r": 14, "t": 24, "b": 26},
        xaxis=ages | {"fixedrange": True},
        yaxis=theme.value_axis(range=[0, highest]),
        dragmode=False,
        annotations=[theme.quantity_title(title, yshift=4)],
        meta={"time_axis": True, "full": [0.0, end]},
    )


def _allocation_line(age: FloatArray, allocation: AllocationTotal, scale: float, hover: str) -> go.Scatter:
    return go.Scatter(
        x=age,
        y=allocation.values / scale,
        mode="lines",
        name=allocation.name,
        line=_line(allocation.part),
        hovertemplate=hover,
    )


def _demand(age: FloatArray, values: FloatArray, hover: str) -> go.Scatter:
    return go.Scatter(
        x=age,
        y=values,
        mode="lines",
        name="Demand",
        line={"color": theme.ink("ink"), "width": 1.4},
        fill="tozeroy",
        fillcolor=theme.with_alpha(theme.ink("ink3"), theme.AREA_ALPHA),
        hovertemplate=hover,
    )


def _highest(demand: FloatArray, allocations: Sequence[AllocationTotal]) -> float:
    """The upper end of the axis; a static line far above all else may be cut off."""
    moving = [each.values for each in allocations if each.part != STATIC]
    fixed = [each.values for each in allocations if each.part == STATIC]
    top = theme.extent(np.concatenate([demand, *moving]))
    return min(max(top, theme.extent(np.concatenate([demand, *fixed]))), 1.6 * top)
