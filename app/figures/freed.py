"""What steering would have freed over time, or did: cores, and gibibytes where memory is steered, too."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import plotly.graph_objects as go

from app.figures.theme import AREA_ALPHA, axis, frame, ink, quantity_title, time_ticks, value_axis, with_alpha
from core.units import GIB

if TYPE_CHECKING:
    from collections.abc import Sequence

_HEIGHT = 116


def freed_figure(course: Sequence[tuple[float, float, float, float]], *, memory: bool = False) -> go.Figure:
    """Draw what was free at each moment; below zero where more was needed."""
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
    return go.Figure([line], frame(_HEIGHT, **layout))
