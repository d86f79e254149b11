"""CPU of all jobs together over time, stacked by the list or category that their policy puts them in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import plotly.graph_objects as go

from app.figures import theme
from app.figures.runs.steps import OTHER, allowed, edges, labels, rebinned, stairs
from core.units import format_duration

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from core.traces.model import FloatArray, IntArray


_HEIGHT = 190
_WEIGHTS = ("weight1", "weight2", "weight3")


def colour_of(label: str, names: Sequence[str]) -> str:
    """The colour of a label: by its weight in its policy's order, not by hue."""
    if label == OTHER or label not in names:
        return theme.ink("line_strong")
    return theme.ink(_WEIGHTS[min(list(names).index(label), len(_WEIGHTS) - 1)])


def category_areas(
    series: Mapping[str, Any],
    parts: Mapping[str, FloatArray],
    names: Sequence[str],
    end: float,
    top: float,
    makespan: float,
) -> go.Figure:
    """Draw the CPU of each category."""
    bounds = edges(series)
    figure = go.Figure(layout=_layout(end, top, makespan))
    for name, values in parts.items():
        figure.add_trace(_area(name, *stairs(*rebinned(bounds, values)), colour_of(name, names)))
    x, y = stairs(*rebinned(bounds, allowed(series)))
    figure.add_trace(
        go.Scatter(
            x=x,
            y=y,
            mode="lines",
            name="Limit",
            line={"color": theme.ink("ink2"), "width": 1.25, "dash": "4px,3px"},
            hovertemplate="%{y:.2f} cores",
        )
    )
    return figure


def _area(name: str, x: Any, y: Any, colour: str) -> go.Scatter:
    return go.Scatter(
        x=x,
        y=y,
        mode="lines",
        name="CPU" if name == OTHER else name,
        stackgroup="cpu",
        line={"width": 0, "color": colour},
        fillcolor=colour,
        hovertemplate="%{y:.2f} cores",
    )


def _layout(end: float, top: float, makespan: float) -> go.Layout:
    late = makespan > 0.6 * end
    return theme.frame(
        _HEIGHT,
        margin={"l": 36, "r": 14, "t": 24, "b": 26},
        dragmode=False,
        xaxis=theme.time_axis(0.0, end, unifiedhovertitle={"text": "%{x:.0f} s"}) | {"fixedrange": True},
        yaxis=theme.value_axis(range=[0, top * 1.08], fixedrange=True),
        shapes=[
            {
                "type": "line",
                "x0": makespan,
                "x1": makespan,
                "y0": 0,
                "y1": 1,
                "yref": "paper",
                "line": {"color": theme.ink("ink"), "width": 1.25},
            }
        ],
        annotations=[
            theme.quantity_title("CPU, cores", yshift=4),
            theme.quantity_title(
                f"makespan {format_duration(makespan)}",
                x=makespan,
                xref="x",
                xanchor="right" if late else "left",
                xshift=0 if late else 4,
                yshift=4,
            ),
        ],
        meta={"time_axis": True, "full": [0.0, end]},
    )


_MOST = 300
_ROW_PX = 13


def label_bands(
    series: Mapping[str, Any], names: Sequence[str], jobs: Sequence[str], end: float
) -> go.Figure:
    """Draw the bands."""
    shown, places = _places(series, names, jobs)
    return go.Figure(_rows(shown, places, names, jobs), _bands_layout(jobs, end))


def _places(
    series: Mapping[str, Any], names: Sequence[str], jobs: Sequence[str]
) -> tuple[FloatArray, IntArray]:
    """The edges of what is drawn, shape (n + 1,), and the index in `names` of each job's label, (jobs, n)."""
    bounds = edges(series)
    shown = np.unique(bounds)
    if len(shown) > _MOST + 1:
        shown = np.linspace(bounds[0], bounds[-1], _MOST + 1)
    middles = (shown[:-1] + shown[1:]) / 2
    at = np.clip(np.searchsorted(bounds, middles, side="left") - 1, 0, len(bounds) - 2)
    return shown, np.array([labels(series, job, names)[at] for job in jobs]).reshape(len(jobs), len(at))


def _rows(shown: FloatArray, places: IntArray, names: Sequence[str], jobs: Sequence[str]) -> go.Heatmap:
    return go.Heatmap(
        z=np.where(places < 0, np.nan, places),
        x=shown,
        y=list(jobs),
        zmin=-0.5,
        zmax=len(names) - 0.5,
        ygap=2 if len(jobs) <= 60 else 0,
        showscale=False,
        colorscale=_scale(names),
        text=np.array([*names, ""], dtype=object)[places],
        hoverongaps=False,
        hovertemplate="%{y}: %{text}<extra></extra>",
    )


def _bands_layout(jobs: Sequence[str], end: float) -> go.Layout:
    longest = min(max((len(job) for job in jobs), default=0), 16)
    return theme.frame(
        min(max(120, 34 + _ROW_PX * len(jobs)), 520),
        margin={"l": 14 + 6 * longest, "r": 14, "t": 8, "b": 26},
        hovermode="closest",
        dragmode=False,
        xaxis=theme.time_axis(0.0, end) | {"fixedrange": True},
        yaxis=theme.axis(
            autorange="reversed",
            type="category",
            fixedrange=True,
            ticklabelstandoff=4,
            tickmode="linear",
            dtick=max(1, len(jobs) // 30),
            tickfont={"size": 10, "color": theme.ink("ink3")},
        ),
        meta={"time_axis": True, "full": [0.0, end]},
    )


def _scale(names: Sequence[str]) -> list[list[Any]]:
    nothing = [[0, theme.ink("line")], [1, theme.ink("line")]]
    return theme.flat_scale([colour_of(name, names) for name in names]) or nothing
