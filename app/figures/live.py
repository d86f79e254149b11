"""Freed cores over time, possible or actual, and gibibytes if memory is steered, too."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import plotly.graph_objects as go

from app.figures.theme import (
    AREA_ALPHA,
    axis,
    extent,
    frame,
    ink,
    quantity_title,
    time_ticks,
    value_axis,
    with_alpha,
)
from core.units import GIB, MIB, MINUS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from core.sampling.values import History


_FREED_HEIGHT = 116


def freed_figure(course: Sequence[tuple[float, float, float, float]], *, memory: bool = False) -> go.Figure:
    """Draw the freed amount over time; below zero where the policy allocates more than before."""
    values = np.array(course, np.float64).reshape(-1, 4)
    freed = values[:, 2] / GIB if memory else values[:, 1]
    since = values[:, 0] - values[0, 0] if len(values) else values[:, 0]
    last = float(since[-1]) if len(since) else 0.0
    places, texts = time_ticks(0.0, max(last, 60.0), about=4)
    low, high = (float(freed.min()), float(freed.max())) if len(freed) else (0.0, 0.0)
    title = "GiB freed" if memory else "Cores freed"
    layout: dict[str, Any] = {
        "margin": {"l": 34, "r": 6, "t": 18, "b": 20},
        "annotations": [quantity_title(title)],
        "xaxis": axis(range=[0, max(last, 60.0)], tickvals=places, ticktext=texts),
        "yaxis": value_axis(range=[min(low, 0.0) * 1.1, max(high, 0.0) * 1.1 or 1.0], nticks=3),
        "showlegend": False,
    }
    colour = ink("accent")
    line = go.Scatter(
        x=since.tolist(),
        y=np.round(freed, 4).tolist(),
        mode="lines",
        line={"color": colour, "width": 1.5, "shape": "hv"},
        fill="tozeroy",
        fillcolor=with_alpha(colour, AREA_ALPHA),
        hovertemplate=f"%{{y:.2f}} {'GiB' if memory else 'cores'}<extra></extra>",
    )
    return go.Figure([line], frame(_FREED_HEIGHT, **layout))


_HEIGHT = 400
_DOMAINS = ((0.70, 1.0), (0.35, 0.63), (0.0, 0.28))
_TALL = 4.0


def history_figure(history: History, name: str) -> go.Figure:
    """Draw CPU, memory and loss in three rows over the same minutes."""
    ago = history.time - history.time[-1] if len(history.time) else history.time
    traces: list[go.Scatter] = []
    layout: dict[str, Any] = {"annotations": [], "meta": {"name": name}}
    for row, (title, line, unit) in enumerate((("CPU, cores", "cpu", 1.0), _memory(history)), 1):
        usage, limit = getattr(history, line) / unit, getattr(history, f"{line}_limit") / unit
        top = _top(usage, limit)
        traces += [_used(ago, usage, row, line), _limit(ago, limit, row)]
        layout |= _axes(row, title, layout, [0, top])
    loss = history.loss
    traces.append(_loss(ago, loss))
    finite = loss[np.isfinite(loss)]
    low = min(float(finite.min()), 0.0) if len(finite) else 0.0
    layout |= _axes(3, "Loss", layout, [low, low + extent(finite - low)])
    start = float(min(ago[0], -60.0)) if len(ago) else -60.0
    values, texts = _ticks(start)
    layout["xaxis"] = axis(range=[start, 0], tickvals=values, ticktext=texts, anchor="y3", domain=[0, 1])
    return go.Figure(traces, frame(_HEIGHT, **layout))


def _memory(history: History) -> tuple[str, str, float]:
    """The row of memory in GiB, or in MiB where all of it is below one."""
    values = np.concatenate([history.memory, history.memory_limit])
    finite = values[np.isfinite(values)]
    return (
        ("Memory, GiB", "memory", GIB)
        if len(finite) and finite.max() >= GIB
        else ("Memory, MiB", "memory", MIB)
    )


def _ticks(start: float) -> tuple[list[float], list[str]]:
    values, texts = time_ticks(0.0, -start, about=6)
    return [-value for value in values], [
        "now" if value == 0 else f"{MINUS}{text}" for value, text in zip(values, texts, strict=True)
    ]


def _top(usage: Any, limit: Any) -> float:
    """The upper end of an axis: it includes all limits but those that are far above the usage."""
    finite, allowed = usage[np.isfinite(usage)], limit[np.isfinite(limit)]
    peak = float(finite.max()) if len(finite) else 0.0
    near_limits = allowed[allowed <= _TALL * peak] if peak else allowed
    return max(peak, float(near_limits.max()) if len(near_limits) else 0.0) * 1.1 or 1.0


def _axes(row: int, title: str, layout: dict[str, Any], span: list[float]) -> dict[str, Any]:
    layout["annotations"].append(quantity_title(title, y=_DOMAINS[row - 1][1]))
    name = f"yaxis{row if row > 1 else ''}"
    return {name: value_axis(range=span, domain=list(_DOMAINS[row - 1]), anchor="x", nticks=4)}


def _used(ago: Any, values: Any, row: int, name: str) -> go.Scatter:
    return go.Scatter(
        x=ago,
        y=values,
        yaxis=f"y{row if row > 1 else ''}",
        mode="lines",
        line={"color": ink("ink"), "width": 1.4},
        fill="tozeroy",
        fillcolor=with_alpha(ink("ink3"), AREA_ALPHA),
        name="CPU" if name == "cpu" else "Memory",
        hovertemplate="%{y:.2f}",
    )


def _limit(ago: Any, values: Any, row: int) -> go.Scatter:
    return go.Scatter(
        x=ago,
        y=values,
        yaxis=f"y{row if row > 1 else ''}",
        mode="lines",
        line={"color": ink("accent"), "width": 1.5, "shape": "hv"},
        name="limit",
        hovertemplate="%{y:.2f}",
    )


def _loss(ago: Any, values: Any) -> go.Scatter:
    return go.Scatter(
        x=ago,
        y=values,
        yaxis="y3",
        mode="lines",
        connectgaps=True,
        line={"color": ink("ink2"), "width": 1.4},
        name="loss",
        hovertemplate="%{y:.3g}",
    )
