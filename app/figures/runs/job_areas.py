"""CPU of every job of a run in one chart, stacked (the thesis' figures 6.5, 6.6, 6.8, 6.9, 6.13 and 6.14).

The thesis draws lines; without a policy all jobs have equal shares and their lines lie over each other, so
here the height of a job's band is its share. Bands are named where they are high enough for longest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import plotly.graph_objects as go

from app.figures import theme
from app.figures.runs.steps import edges, line, rebinned, stairs

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_HEIGHT = 220
_MOST = 160
_SHADES = ("weight1", "weight3", "weight2")
_LEAST_PX, _LEAST_SHARE = 12.0, 0.05
_LETTER = 5.6 / 440  # of the narrowest usual chart


def job_areas(
    series: Mapping[str, Any], jobs: Sequence[str], end: float, top: float, lit: str | None = None
) -> go.Figure:
    """Draw the bands."""
    bounds = edges(series)
    layout = _layout(end, top)
    traces, names = [], list(layout.annotations)
    below: Any = 0.0
    for at, job in enumerate(jobs):
        if job not in series["jobs"]:
            continue
        coarse, cores = rebinned(bounds, np.nan_to_num(line(series, job, "cpu")), _MOST)
        x, y = stairs(coarse, cores)
        colour = theme.ink("accent" if job == lit else _SHADES[at % len(_SHADES)])
        traces.append(
            go.Scatter(
                x=x,
                y=y,
                mode="lines",
                name=job,
                stackgroup="cpu",
                line={"width": 0.5, "color": theme.ink("surface")},
                fillcolor=colour,
                hovertemplate="%{y:.2f} cores",
            )
        )
        named = _name(job, coarse, cores, below, end, top)
        if named is not None:
            dark = job == lit or _SHADES[at % len(_SHADES)] == "weight1"
            names.append(named | {"font": {"size": 10, "color": theme.ink("surface" if dark else "ink")}})
        below = below + cores
    return go.Figure(traces, layout.update(annotations=names))


def _name(job: str, bounds: Any, cores: Any, below: Any, end: float, top: float) -> dict[str, Any] | None:
    """A job's name in the longest stretch in which its band is high enough for it, or None."""
    need = top / (_HEIGHT - 50) * _LEAST_PX
    best, start = (0.0, 0, 0), None
    under = np.broadcast_to(below, cores.shape)
    for at in range(len(cores) + 1):
        if at < len(cores) and cores[at] >= need:
            start = at if start is None else start
        elif start is not None:
            best = max(best, (float(bounds[at] - bounds[start]), start, at))
            start = None
    if best[0] < max(_LEAST_SHARE, _LETTER * len(job)) * end:
        return None
    middle = (bounds[best[1]] + bounds[best[2]]) / 2
    at = int(np.clip(np.searchsorted(bounds, middle) - 1, best[1], best[2] - 1))
    return {"text": job, "x": float(middle), "y": float(under[at] + cores[at] / 2), "showarrow": False}


def _layout(end: float, top: float) -> go.Layout:
    return theme.frame(
        _HEIGHT,
        margin={"l": 36, "r": 14, "t": 24, "b": 26},
        dragmode=False,
        xaxis=theme.time_axis(0.0, end, unifiedhovertitle={"text": "%{x:.0f} s"}) | {"fixedrange": True},
        yaxis=theme.value_axis(range=[0, top * 1.02], fixedrange=True),
        annotations=[theme.quantity_title("CPU, cores", yshift=4)],
        meta={"time_axis": True, "full": [0.0, end]},
    )
