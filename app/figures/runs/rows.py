"""CPU over time in small rows, one per job or worker, with its limit (FlowCon, Figures 6.5 to 6.14)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import plotly.graph_objects as go

from app.figures import theme
from app.figures.runs.steps import edges, line, rebinned, stairs

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from core.traces.model import FloatArray

_ROW_PX = 66
_MOST = 400


@dataclass(frozen=True, slots=True)
class Row:
    """One row: its name, and cores used and allowed in each interval, shape (n,); None without limits."""

    name: str
    used: FloatArray
    limit: FloatArray | None


def job_rows(series: Mapping[str, Any], jobs: Sequence[str]) -> list[Row]:
    """CPU and limit of jobs; a limit is drawn from when it is first set."""
    made = []
    for job in jobs:
        limit = line(series, job, "limit") if job in series["jobs"] else np.array([np.nan])
        used = line(series, job, "cpu") if job in series["jobs"] else np.zeros(len(series["time"]))
        made.append(Row(job, used, None if np.isnan(limit).all() else limit))
    return made


def worker_rows(series: Mapping[str, Any]) -> list[Row]:
    """CPU of workers, with their cores as the limit."""
    return [
        Row(
            name,
            np.asarray(lines["cpu"], dtype=float),
            np.full(len(lines["cpu"]), float(lines["capacity"])),
        )
        for name, lines in series["workers"].items()
    ]


def cpu_rows(series: Mapping[str, Any], rows: Sequence[Row], end: float, top: float) -> go.Figure:
    """Draw rows under each other on one time axis.

    Parameters
    ----------
    series
        A run's time series, for its times.
    rows
        What to draw.
    end, top
        The ends of all axes, seconds and cores.
    """
    n, bounds = max(len(rows), 1), edges(series)
    height = 34 + _ROW_PX * n
    figure = go.Figure(layout=_layout(height, end, n))
    for at, row in enumerate(rows):
        suffix = "" if at == 0 else str(at + 1)
        share = 1 / n
        bottom, top_at = 1 - (at + 1) * share, 1 - at * share - 0.3 * share
        figure.layout[f"yaxis{suffix}"] = theme.value_axis(
            domain=[max(bottom, 0.0), top_at],
            range=[0, top * 1.06],
            nticks=3,
            fixedrange=True,
        )
        title = theme.quantity_title(f"<b>{row.name}</b>, cores", y=top_at)
        figure.add_annotation(title | {"yanchor": "bottom", "font": {"size": 11, "color": theme.ink("ink2")}})
        for trace in _traces(row, bounds, f"y{suffix}"):
            figure.add_trace(trace)
    figure.update_xaxes(anchor=f"y{'' if n == 1 else n}")
    return figure


def job_moment(series: Mapping[str, Any], job: str, time: float) -> go.Figure:
    """CPU and limit of one job, with a line at one moment.

    Parameters
    ----------
    series
        A run's time series.
    job
        One of its jobs.
    time
        The moment, seconds.
    """
    rows = job_rows(series, [job])
    values = np.concatenate([rows[0].used, [] if rows[0].limit is None else rows[0].limit])
    top = float(np.nanmax(values, initial=0.0)) or 1.0
    figure = cpu_rows(series, rows, float(edges(series)[-1]) or 1.0, top)
    figure.add_vline(time, line={"color": theme.ink("accent"), "width": 1.5})
    return figure


def coarse(series: Mapping[str, Any], values: Sequence[FloatArray]) -> tuple[FloatArray, list[FloatArray]]:
    """Many lines averaged over a few common intervals, for a heat map: the edges, and each line's means."""
    bounds = edges(series)
    made = [rebinned(bounds, each, 300) for each in values]
    return (made[0][0] if made else bounds), [each for _, each in made]


def _traces(row: Row, bounds: FloatArray, axis: str) -> list[go.Scatter]:
    x, y = stairs(*rebinned(bounds, np.nan_to_num(row.used), _MOST))
    traces = [
        go.Scatter(
            x=x,
            y=y,
            yaxis=axis,
            mode="lines",
            name=row.name,
            line={"color": theme.ink("ink"), "width": 1.2},
            fill="tozeroy",
            fillcolor=theme.with_alpha(theme.ink("ink3"), theme.AREA_ALPHA),
            hovertemplate="%{y:.2f} cores",
        )
    ]
    if row.limit is not None:
        known = _thinned(bounds, row.limit)
        traces.append(
            go.Scatter(
                x=known[0],
                y=known[1],
                yaxis=axis,
                mode="lines",
                name=f"{row.name}, limit",
                line={"color": theme.ink("line_strong"), "width": 1.25, "dash": "4px,3px"},
                hovertemplate="%{y:.2f} cores",
                connectgaps=False,
            )
        )
    return traces


def _thinned(bounds: FloatArray, values: FloatArray) -> tuple[Any, Any]:
    """Corners of a line with gaps; only those where it changes."""
    change = np.concatenate([[True], ~_same(values[1:], values[:-1])])
    last = np.concatenate([change[1:], [True]])
    kept = np.nonzero(change | last)[0]
    x = np.stack([bounds[kept], bounds[kept + 1]], axis=1).ravel()
    y = np.repeat(values[kept], 2)
    return x, [None if np.isnan(value) else float(value) for value in y]


def _same(a: FloatArray, b: FloatArray) -> Any:
    return (a == b) | (np.isnan(a) & np.isnan(b))


def _layout(height: int, end: float, n: int) -> go.Layout:
    return theme.frame(
        height,
        margin={"l": 36, "r": 14, "t": 8, "b": 26},
        dragmode=False,
        xaxis=theme.time_axis(0.0, end, unifiedhovertitle={"text": "%{x:.0f} s"}, domain=[0, 1])
        | {"fixedrange": True},
        hoversubplots="axis" if n > 1 else "overlaying",
        meta={"time_axis": True, "full": [0.0, end]},
    )
