"""Which list or category each job is in over time: one row of a heat map per job."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import plotly.graph_objects as go

from app.figures import theme
from app.figures.runs.areas import colour_of
from app.figures.runs.steps import edges, labels

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from core.traces.model import FloatArray, IntArray
_MOST = 300
_ROW_PX = 13


def label_bands(
    series: Mapping[str, Any], names: Sequence[str], jobs: Sequence[str], end: float
) -> go.Figure:
    """Draw the bands."""
    shown, places = _places(series, names, jobs)
    return go.Figure(_rows(shown, places, names, jobs), _layout(jobs, end))


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


def _layout(jobs: Sequence[str], end: float) -> go.Layout:
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
