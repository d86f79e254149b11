"""The chance that a phase has been left, over the seconds since it was entered."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import plotly.graph_objects as go

from app.figures import theme
from core.units import format_duration

if TYPE_CHECKING:
    from core.traces.model import FloatArray

_MOST_POINTS = 600


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
    """The corners to draw from 0 to `end`, at most about `_MOST_POINTS`."""
    if not len(times):
        return np.array([0.0, end]), np.zeros(2)
    inside = times <= end
    chosen = np.unique(np.linspace(0, max(int(inside.sum()) - 1, 0), _MOST_POINTS).astype(int))
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
