"""CPU of a run over time: of all jobs stacked, by job or by list, and in rows of one job or worker each.

The thesis draws a line for each job (figures 6.5 to 6.9, 6.13, 6.14); without a policy all jobs have equal
shares and their lines lie over each other, so here the height of a job's band is its share.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import plotly.graph_objects as go

from app.figures import theme
from app.figures.runs.series import OTHER, edges, line, rebin, stairs, total_limits
from core.scheduling.actions import list_word
from core.units import format_duration

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from core.traces.model import FloatArray


def time_frame(height: int, end: float, *, start: float = 0.0, **more: Any) -> go.Layout:
    """The layout of a figure over a run's clock, which is read and not zoomed."""
    axis = theme.time_axis(start, end, unifiedhovertitle={"text": "%{x:.0f} s"}) | {"fixedrange": True}
    defaults = {
        "margin": {"l": 36, "r": 14, "t": 8, "b": 26},
        "dragmode": False,
        "xaxis": axis | more.pop("xaxis", {}),
        "meta": {"time_axis": True, "full": [start, end]},
    }
    return theme.frame(height, **defaults | more)


def row_axes(figure: go.Figure, titles: Sequence[str], top: float, gap: float = 0.26) -> list[str]:
    """Give a figure a row for each title, all from 0 to `top`; returns the names of their vertical axes.

    `gap` is the share of a row that its title takes.
    """
    n, names = max(len(titles), 1), []
    for at, title in enumerate(titles):
        suffix = "" if at == 0 else str(at + 1)
        bottom, upper = 1 - (at + 1) / n, 1 - (at + gap) / n
        figure.layout[f"yaxis{suffix}"] = theme.value_axis(
            domain=[max(bottom, 0.0), upper], range=[0, top], nticks=3, fixedrange=True
        )
        figure.add_annotation(
            theme.quantity_title(title, y=upper) | {"font": {"size": 11, "color": theme.ink("ink2")}}
        )
        names.append(f"y{suffix}")
    figure.update_xaxes(anchor=f"y{'' if n == 1 else n}")
    figure.update_layout(hoversubplots="axis" if n > 1 else "overlaying")
    return names


# Stacked by the list or category that the policy puts jobs in.


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
    """CPU of all jobs together, stacked by category, with the sum of their limits."""
    bounds = edges(series)
    line_ = theme.moment_line(makespan) | {"line": {"color": theme.ink("ink"), "width": 1.25}}
    figure = go.Figure(layout=_stack_layout(190, end, top * 1.08).update(shapes=[line_]))
    figure.add_annotation(_makespan(makespan, end))
    for name, values in parts.items():
        figure.add_trace(_area(name, *stairs(*rebin(bounds, values)), colour_of(name, names)))
    x, y = stairs(*rebin(bounds, total_limits(series)))
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
        name="CPU" if name == OTHER else list_word(name),
        stackgroup="cpu",
        line={"width": 0, "color": colour},
        fillcolor=colour,
        hovertemplate="%{y:.2f} cores",
    )


def _makespan(at: float, end: float) -> dict[str, Any]:
    late = at > 0.6 * end
    anchor: dict[str, Any] = {"xanchor": "right", "xshift": 0} if late else {"xanchor": "left", "xshift": 4}
    return theme.quantity_title(f"makespan {format_duration(at)}", x=at, xref="x", yshift=4, **anchor)


# Stacked by job; a band is named where it is high enough for longest.

_AREA_SHADES = ("weight1", "weight3", "weight2")
_MIN_PX, _MIN_SHARE = 12.0, 0.05
_STACK_PX, _MAX_STEPS = 220, 160
_LETTER = 5.6 / 440  # of the narrowest usual chart


def job_areas(
    series: Mapping[str, Any], jobs: Sequence[str], end: float, top: float, highlighted: str | None = None
) -> go.Figure:
    """CPU of every job of a run in one chart, a band each; `highlighted` is in the accent."""
    bounds = edges(series)
    layout = _stack_layout(_STACK_PX, end, top * 1.02)
    traces, names = [], list(layout.annotations)
    below: Any = 0.0
    for at, job in enumerate(jobs):
        if job not in series["jobs"]:
            continue
        edges_, cores = rebin(bounds, np.nan_to_num(line(series, job, "cpu")), _MAX_STEPS)
        x, y = stairs(edges_, cores)
        colour = theme.ink("accent" if job == highlighted else _AREA_SHADES[at % len(_AREA_SHADES)])
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
        label = _band_name(job, edges_, cores, below, end, top)
        if label is not None:
            dark = job == highlighted or _AREA_SHADES[at % len(_AREA_SHADES)] == "weight1"
            names.append(label | {"font": {"size": 10, "color": theme.ink("surface" if dark else "ink")}})
        below = below + cores
    return go.Figure(traces, layout.update(annotations=names))


def _band_name(
    job: str, bounds: Any, cores: Any, below: Any, end: float, top: float
) -> dict[str, Any] | None:
    """A label in the longest interval in which the job's band is high enough, or None."""
    need = top / (_STACK_PX - 50) * _MIN_PX
    best, start = (0.0, 0, 0), None
    under = np.broadcast_to(below, cores.shape)
    for at in range(len(cores) + 1):
        if at < len(cores) and cores[at] >= need:
            start = at if start is None else start
        elif start is not None:
            best = max(best, (float(bounds[at] - bounds[start]), start, at))
            start = None
    if best[0] < max(_MIN_SHARE, _LETTER * len(job)) * end:
        return None
    middle = (bounds[best[1]] + bounds[best[2]]) / 2
    at = int(np.clip(np.searchsorted(bounds, middle) - 1, best[1], best[2] - 1))
    return {"text": job, "x": float(middle), "y": float(under[at] + cores[at] / 2), "showarrow": False}


def _stack_layout(height: int, end: float, top: float) -> go.Layout:
    return time_frame(
        height,
        end,
        margin={"l": 36, "r": 14, "t": 24, "b": 26},
        yaxis=theme.value_axis(range=[0, top], fixedrange=True),
        annotations=[theme.quantity_title("CPU, cores", yshift=4)],
    )


# Rows with limits (FlowCon, figures 6.5 to 6.14).
#
# Where threads follow cores, both are steps: the allocated cores in the accent, the threads dotted.

_ROW_PX = 66
_MAX_INTERVALS = 400
_IDLE = ("waiting", "paused")


@dataclass(frozen=True, slots=True)
class Row:
    """One row: its name, and cores used and allowed in each interval, shape (n,); None without limits.

    `threads` is the number of compute threads, shape (n,), or None if unknown or not drawn.
    """

    name: str
    used: FloatArray
    limit: FloatArray | None
    threads: FloatArray | None = None


def job_rows(series: Mapping[str, Any], jobs: Sequence[str]) -> list[Row]:
    """CPU and limit of each job; without limits the limit is None."""
    rows = []
    for job in jobs:
        limit = line(series, job, "limit") if job in series["jobs"] else np.array([np.nan])
        used = line(series, job, "cpu") if job in series["jobs"] else np.zeros(len(series["time"]))
        rows.append(Row(job, used, None if np.isnan(limit).all() else limit))
    return rows


def core_rows(series: Mapping[str, Any], jobs: Sequence[str]) -> list[Row]:
    """Usage, limit and threads of jobs while they run; series of earlier releases have no threads."""
    rows = []
    for row in job_rows(series, jobs):
        lines = series["jobs"].get(row.name)
        if lines is None:
            rows.append(row)
            continue
        off = np.ones(len(series["time"]), dtype=bool)
        states = np.array(lines["state"])
        off[lines["first"] : lines["first"] + len(states)] = np.isin(states, _IDLE)
        off[lines["first"]] = True  # the first observation ends no interval
        threads = line(series, row.name, "threads") if "threads" in lines else np.array([np.nan])
        running_threads = None if np.isnan(threads).all() else np.where(off, np.nan, threads)
        limit = None if row.limit is None else np.where(off, np.nan, row.limit)
        rows.append(Row(row.name, row.used, limit, running_threads))
    return rows


def highest(rows: Sequence[Row]) -> float:
    """The largest number of cores or threads in the rows; 1 without rows."""
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
    time: float | None = None,
    start: float = 0.0,
) -> go.Figure:
    """Draw the rows below each other on one time axis."""
    bounds = edges(series)
    figure = go.Figure(layout=time_frame(34 + _ROW_PX * max(len(rows), 1), end, start=start))
    for row, axis in zip(
        rows, row_axes(figure, [f"<b>{row.name}</b>, cores" for row in rows], top * 1.06, 0.3), strict=True
    ):
        figure.add_traces(_traces(*_visible_part(row, bounds, start, end), axis))
    return figure if time is None else figure.update_layout(shapes=[theme.moment_line(time)])


def job_moment(series: Mapping[str, Any], job: str, time: float) -> go.Figure:
    """CPU and limit of one job, with a line at one moment."""
    rows = job_rows(series, [job])
    return cpu_rows(series, rows, float(edges(series)[-1]) or 1.0, highest(rows), time)


def coarsen(series: Mapping[str, Any], values: Sequence[FloatArray]) -> tuple[FloatArray, list[FloatArray]]:
    """Many lines averaged over a few common intervals, for a heat map: the edges, and each line's means."""
    bounds = edges(series)
    means = [rebin(bounds, each, 300) for each in values]
    return (means[0][0] if means else bounds), [each for _, each in means]


def _visible_part(row: Row, bounds: FloatArray, start: float, end: float) -> tuple[Row, FloatArray]:
    """The visible part of a row, so that thinning keeps its detail."""
    first = max(int(np.searchsorted(bounds, start, side="right")) - 1, 0)
    last = min(int(np.searchsorted(bounds, end, side="left")), len(bounds) - 1)
    if first == 0 and last == len(bounds) - 1:
        return row, bounds
    visible = slice(first, max(last, first + 1))
    limit, threads = (None if line is None else line[visible] for line in (row.limit, row.threads))
    return Row(row.name, row.used[visible], limit, threads), bounds[first : visible.stop + 1]


def _traces(row: Row, bounds: FloatArray, axis: str) -> list[go.Scatter]:
    x, y = stairs(*rebin(bounds, np.nan_to_num(row.used), _MAX_INTERVALS))
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
        allocation_line = {"color": theme.ink("accent"), "width": 1.5}
        traces.append(
            _steps(bounds, row.limit, f"{row.name}, allocated", allocation_line, "%{y:.2f} cores", axis)
        )
    if row.threads is not None:
        dotted = {"color": theme.ink("ink"), "width": 1.5, "dash": "1.5px,3px"}
        traces.append(_steps(bounds, row.threads, f"{row.name}, threads", dotted, "%{y:.0f} threads", axis))
    return traces


def _steps(
    bounds: FloatArray, values: FloatArray, name: str, style: dict[str, Any], hover: str, axis: str
) -> go.Scatter:
    x, y = _thin(bounds, values)
    return go.Scatter(
        x=x,
        y=y,
        yaxis=axis,
        mode="lines",
        name=name,
        line=style,
        hovertemplate=hover,
        connectgaps=False,
    )


def _thin(bounds: FloatArray, values: FloatArray) -> tuple[Any, Any]:
    """Corners of a line with gaps; only those where it changes."""
    change = np.concatenate([[True], ~_same(values[1:], values[:-1])])
    last = np.concatenate([change[1:], [True]])
    corners = np.nonzero(change | last)[0]
    x = np.stack([bounds[corners], bounds[corners + 1]], axis=1).ravel()
    y = np.repeat(values[corners], 2)
    return x, [None if np.isnan(value) else float(value) for value in y]


def _same(a: FloatArray, b: FloatArray) -> Any:
    return (a == b) | (np.isnan(a) & np.isnan(b))
