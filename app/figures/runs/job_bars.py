"""Completion times of every job under any number of policies (thesis, figures 6.1 to 6.4, 6.7, 6.17, 6.18).

Few bars stand in groups, by job or by policy; many are drawn in rows, one for each policy, with the
baseline's times as ticks across them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import plotly.graph_objects as go

from app.figures import theme
from app.figures.runs.steps import edges, line, rebinned, stairs
from core.units import format_duration

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


_HEIGHT = 220
_MOST = 160
_AREA_SHADES = ("weight1", "weight3", "weight2")
_LEAST_PX, _LEAST_SHARE = 12.0, 0.05
_LETTER = 5.6 / 440  # of the narrowest usual chart


# CPU of every job of a run in one chart, stacked (the thesis' figures 6.5, 6.6, 6.8, 6.9, 6.13 and 6.14).
#
# The thesis draws lines; without a policy all jobs have equal shares and their lines lie over each other, so
# here the height of a job's band is its share. Bands are named where they are high enough for longest.


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
        colour = theme.ink("accent" if job == lit else _AREA_SHADES[at % len(_AREA_SHADES)])
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
            dark = job == lit or _AREA_SHADES[at % len(_AREA_SHADES)] == "weight1"
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


if TYPE_CHECKING:
    from collections.abc import Sequence

    from app.figures.runs.arm_lines import ArmStyle

    Seconds = Sequence[float | None]

_BAR_PX, _GAP_PX, _MARGIN_PX = 7, 12, 60
_ROW_PX = 84
_LETTER_PX = 3.9
_NAMED = 60
_SHADES = ("weight1", "weight2", "weight3")


def width_of(groups: int, bars: int) -> int:
    """The pixels that groups of bars need to be readable."""
    return _MARGIN_PX + groups * (bars * _BAR_PX + _GAP_PX)


def by_job(jobs: Sequence[str], arms: Sequence[tuple[ArmStyle, Seconds]], quantity: str) -> go.Figure:
    """A group for each job, in it a bar for each policy."""
    figure = go.Figure(layout=_grouped(jobs, quantity))
    for style, seconds in arms:
        figure.add_trace(_bars(jobs, seconds, style.title, style.marker))
    return figure


def by_policy(jobs: Sequence[str], arms: Sequence[tuple[ArmStyle, Seconds]], quantity: str) -> go.Figure:
    """A group for each policy, in it a bar for each job, named above it."""
    titles = [style.title for style, _ in arms]
    figure = go.Figure(layout=_grouped(titles, quantity))
    for at, job in enumerate(jobs):
        marker = {"color": theme.ink(_SHADES[at % len(_SHADES)])}
        trace = _bars(titles, [seconds[at] for _, seconds in arms], job, marker)
        named = {
            "text": [job] * len(titles),
            "textposition": "outside",
            "textangle": -90,
            "cliponaxis": False,
            "constraintext": "none",
        }
        figure.add_trace(trace.update(**named, textfont={"size": 10, "color": theme.ink("ink3")}))
    tops = [value for _, seconds in arms for value in seconds if value is not None]
    figure.update_yaxes(range=[0, max(tops, default=1.0) * 1.25])
    return figure


def _bars(x: Sequence[str], seconds: Seconds, name: str, marker: dict[str, Any]) -> go.Bar:
    return go.Bar(
        x=list(x),
        y=list(seconds),
        name=name,
        marker=marker,
        customdata=["–" if value is None else format_duration(value) for value in seconds],
        hovertemplate="%{customdata}<extra>" + name + "</extra>",
    )


def _grouped(names: Sequence[str], quantity: str) -> go.Layout:
    longest = max((len(name) for name in names), default=0)
    return theme.frame(
        300,
        margin={"l": 44, "r": 8, "t": 24, "b": 24 + min(int(longest * _LETTER_PX), 96)},
        barmode="group",
        bargap=0.24,
        bargroupgap=0.08,
        hovermode="x",
        dragmode=False,
        xaxis=theme.axis(
            type="category", autotickangles=[-40, -90], range=[-0.6, len(names) - 0.4], fixedrange=True
        ),
        yaxis=theme.value_axis(fixedrange=True),
        annotations=[theme.quantity_title(f"{quantity}, s", yshift=4)],
    )


def rows(
    jobs: Sequence[str], arms: Sequence[tuple[ArmStyle, Seconds]], base: Seconds, quantity: str
) -> go.Figure:
    """A row for each policy, in it a bar for each job; `base` are the baseline's seconds, drawn as ticks."""
    n = max(len(arms), 1)
    top = max((value for _, seconds in arms for value in seconds if value is not None), default=1.0) * 1.05
    figure = go.Figure(layout=_stacked(jobs, n, quantity))
    for at, (style, seconds) in enumerate(arms):
        suffix = "" if at == 0 else str(at + 1)
        bottom, upper = 1 - (at + 1) / n, 1 - at / n - 0.26 / n
        figure.layout[f"yaxis{suffix}"] = theme.value_axis(
            domain=[max(bottom, 0.0), upper], range=[0, top], nticks=3, fixedrange=True
        )
        figure.add_trace(_bars(jobs, seconds, style.title, style.marker).update(yaxis=f"y{suffix}"))
        figure.add_trace(_ticks(jobs, base).update(yaxis=f"y{suffix}"))
        title = theme.quantity_title(f"<b>{style.title}</b>", y=upper)
        figure.add_annotation(title | {"font": {"size": 11, "color": theme.ink("ink2")}})
    figure.update_xaxes(anchor=f"y{'' if n == 1 else n}")
    return figure


def _ticks(jobs: Sequence[str], base: Seconds) -> go.Scatter:
    return go.Scatter(
        x=list(jobs),
        y=list(base),
        mode="markers",
        marker={"symbol": "line-ew", "size": 11, "line": {"width": 1.6, "color": theme.ink("ink")}},
        hoverinfo="skip",
        name="baseline",
    )


def _stacked(jobs: Sequence[str], n: int, quantity: str) -> go.Layout:
    longest = max((len(job) for job in jobs), default=0) if len(jobs) <= _NAMED else 0
    bottom = 24 + min(int(longest * _LETTER_PX), 70)
    return theme.frame(
        _ROW_PX * n + bottom + 22,
        margin={"l": 44, "r": 8, "t": 22, "b": bottom},
        bargap=0.3,
        barmode="overlay",
        hovermode="closest",
        dragmode=False,
        xaxis=theme.axis(
            type="category",
            showticklabels=len(jobs) <= _NAMED,
            autotickangles=[-40, -90],
            range=[-0.7, len(jobs) - 0.3],
            fixedrange=True,
            dtick=1,
        ),
        annotations=[theme.quantity_title(f"{quantity}, s", x=1.0, xanchor="right", yshift=4)],
    )
