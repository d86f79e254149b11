"""CPU over time in small rows, one per job or worker, with its limit (FlowCon, Figures 6.5 to 6.14).

Where threads follow cores, both are steps: the cores that a job is given in the accent, its threads dotted.
"""

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
_IDLE = ("waiting", "paused")


@dataclass(frozen=True, slots=True)
class Row:
    """One row: its name, and cores used and allowed in each interval, shape (n,); None without limits.

    `threads` are those that it computes with, shape (n,), or None where they are not known or not drawn.
    """

    name: str
    used: FloatArray
    limit: FloatArray | None
    threads: FloatArray | None = None


def job_rows(series: Mapping[str, Any], jobs: Sequence[str]) -> list[Row]:
    """CPU and limit of jobs; a limit is drawn from when it is first set."""
    made = []
    for job in jobs:
        limit = line(series, job, "limit") if job in series["jobs"] else np.array([np.nan])
        used = line(series, job, "cpu") if job in series["jobs"] else np.zeros(len(series["time"]))
        made.append(Row(job, used, None if np.isnan(limit).all() else limit))
    return made


def core_rows(series: Mapping[str, Any], jobs: Sequence[str]) -> list[Row]:
    """Cores used, given and threads of jobs while they run; series of earlier releases have no threads."""
    made = []
    for row in job_rows(series, jobs):
        lines = series["jobs"].get(row.name)
        if lines is None:
            made.append(row)
            continue
        off = np.ones(len(series["time"]), dtype=bool)
        states = np.array(lines["state"])
        off[lines["first"] : lines["first"] + len(states)] = np.isin(states, _IDLE)
        off[lines["first"]] = True  # what it is when it is seen first belongs to no interval
        threads = line(series, row.name, "threads") if "threads" in lines else np.array([np.nan])
        known = None if np.isnan(threads).all() else np.where(off, np.nan, threads)
        limit = None if row.limit is None else np.where(off, np.nan, row.limit)
        made.append(Row(row.name, row.used, limit, known))
    return made


def highest(rows: Sequence[Row]) -> float:
    """The most cores or threads of some rows; 1 where there are none."""
    lines = [line for row in rows for line in (row.used, row.limit, row.threads) if line is not None]
    return max((float(np.nanmax(each, initial=0.0)) for each in lines), default=1.0) or 1.0


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


def cpu_rows(
    series: Mapping[str, Any],
    rows: Sequence[Row],
    end: float,
    top: float,
    moment: float | None = None,
    start: float = 0.0,
) -> go.Figure:
    """Draw rows under each other on one time axis."""
    n, bounds = max(len(rows), 1), edges(series)
    height = 34 + _ROW_PX * n
    figure = go.Figure(layout=_layout(height, start, end, n))
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
        for trace in _traces(*_within(row, bounds, start, end), f"y{suffix}"):
            figure.add_trace(trace)
    figure.update_xaxes(anchor=f"y{'' if n == 1 else n}")
    return figure if moment is None else figure.update_layout(shapes=[theme.moment_line(moment)])


def job_moment(series: Mapping[str, Any], job: str, time: float) -> go.Figure:
    """CPU and limit of one job, with a line at one moment."""
    rows = job_rows(series, [job])
    return cpu_rows(series, rows, float(edges(series)[-1]) or 1.0, highest(rows), time)


def coarse(series: Mapping[str, Any], values: Sequence[FloatArray]) -> tuple[FloatArray, list[FloatArray]]:
    """Many lines averaged over a few common intervals, for a heat map: the edges, and each line's means."""
    bounds = edges(series)
    made = [rebinned(bounds, each, 300) for each in values]
    return (made[0][0] if made else bounds), [each for _, each in made]


def _within(row: Row, bounds: FloatArray, start: float, end: float) -> tuple[Row, FloatArray]:
    """The part of a row that is seen, so that thinning leaves it its detail."""
    first = max(int(np.searchsorted(bounds, start, side="right")) - 1, 0)
    last = min(int(np.searchsorted(bounds, end, side="left")), len(bounds) - 1)
    if first == 0 and last == len(bounds) - 1:
        return row, bounds
    kept = slice(first, max(last, first + 1))
    limit, threads = (None if line is None else line[kept] for line in (row.limit, row.threads))
    return Row(row.name, row.used[kept], limit, threads), bounds[first : kept.stop + 1]


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
    strong = {"color": theme.ink("line_strong"), "width": 1.25, "dash": "4px,3px"}
    if row.limit is not None and row.threads is None:
        traces.append(_steps(bounds, row.limit, f"{row.name}, limit", strong, "%{y:.2f} cores", axis))
    elif row.limit is not None:
        given = {"color": theme.ink("accent"), "width": 1.5}
        traces.append(_steps(bounds, row.limit, f"{row.name}, given", given, "%{y:.2f} cores", axis))
    if row.threads is not None:
        dotted = {"color": theme.ink("ink"), "width": 1.5, "dash": "1.5px,3px"}
        traces.append(_steps(bounds, row.threads, f"{row.name}, threads", dotted, "%{y:.0f} threads", axis))
    return traces


def _steps(
    bounds: FloatArray, values: FloatArray, name: str, look: dict[str, Any], said: str, axis: str
) -> go.Scatter:
    x, y = _thinned(bounds, values)
    return go.Scatter(
        x=x,
        y=y,
        yaxis=axis,
        mode="lines",
        name=name,
        line=look,
        hovertemplate=said,
        connectgaps=False,
    )


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


def _layout(height: int, start: float, end: float, n: int) -> go.Layout:
    return theme.frame(
        height,
        margin={"l": 36, "r": 14, "t": 8, "b": 26},
        dragmode=False,
        xaxis=theme.time_axis(start, end, unifiedhovertitle={"text": "%{x:.0f} s"}, domain=[0, 1])
        | {"fixedrange": True},
        hoversubplots="axis" if n > 1 else "overlaying",
        meta={"time_axis": True, "full": [start, end]},
    )
