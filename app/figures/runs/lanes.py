"""Jobs per worker: a bar is a job's time there, an arrow a migration (SpeCon, workload distribution)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import plotly.graph_objects as go

from app.figures import theme
from app.figures.runs.steps import Stay, edges, rebinned, stays
from core.units import format_duration

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_MOST_BARS = 1_500
_MOST_LANES = 110
_MOST_ROWS = 200
_GAP = 1.0


def worker_lanes(series: Mapping[str, Any], end: float, height: int | None = None) -> go.Figure:
    """Draw which jobs each worker had, or how many where there are too many to draw."""
    found = stays(series)
    lanes = _lanes(series, found)
    if not _fits(found, lanes):
        return _counts(series, end)
    offsets, total = _offsets(lanes)
    figure = go.Figure(layout=_layout(lanes, offsets, total, end, height))
    placed = [stay for stay in found if not stay.moved]
    moved = [stay for stay in found if stay.moved and not stay.rebalanced]
    evened = [stay for stay in found if stay.rebalanced]
    figure.add_trace(_bars(placed, offsets, "placed at arrival", {"color": theme.WARM_UP["light"]}))
    figure.add_trace(_bars(moved, offsets, "after migration", {"color": theme.ink("accent")}))
    if evened:
        figure.add_trace(_bars(evened, offsets, "after rebalancing", _hatched(theme.ink("accent"))))
    for trace in _arrows(found, offsets):
        figure.add_trace(trace)
    return figure


def rebalanced(series: Mapping[str, Any]) -> int:
    """How many times a job came to a worker to even out the number of jobs."""
    return sum(stay.rebalanced for stay in stays(series))


def _hatched(colour: str) -> dict[str, Any]:
    pattern = {"shape": "/", "fgcolor": colour, "bgcolor": theme.ink("surface"), "size": 4}
    return {"color": theme.ink("surface"), "pattern": pattern, "line": {"color": colour, "width": 1}}


def has_bars(series: Mapping[str, Any]) -> bool:
    """Whether each job can be drawn as a bar of its own."""
    found = stays(series)
    return _fits(found, _lanes(series, found))


def _fits(found: Sequence[Stay], lanes: Mapping[str, int]) -> bool:
    return len(found) <= _MOST_BARS and sum(lanes.values()) <= _MOST_LANES


def lanes_height(series: Mapping[str, Any]) -> int:
    """The pixels that a run's bars need."""
    total = _offsets(_lanes(series, stays(series)))[1]
    return round(min(max(190.0, 50 + 9.5 * total), 460.0))


def _lanes(series: Mapping[str, Any], found: Sequence[Stay]) -> dict[str, int]:
    lanes = dict.fromkeys(series["workers"], 1)
    for stay in found:
        lanes[stay.worker] = max(lanes.get(stay.worker, 1), stay.lane + 1)
    return lanes


def _offsets(lanes: Mapping[str, int]) -> tuple[dict[str, float], float]:
    """Where the lanes of each worker begin, and where the last one's end."""
    at, offsets = 0.0, {}
    for worker, count in lanes.items():
        offsets[worker] = at
        at += count + _GAP
    return offsets, at - _GAP


def _bars(found: Sequence[Stay], offsets: Mapping[str, float], name: str, marker: dict[str, Any]) -> go.Bar:
    return go.Bar(
        orientation="h",
        base=[stay.start for stay in found],
        x=[stay.end - stay.start for stay in found],
        y=[offsets[stay.worker] + stay.lane for stay in found],
        width=0.72,
        name=name,
        marker=marker,
        customdata=[
            [stay.job, stay.worker, format_duration(stay.start), format_duration(stay.end)] for stay in found
        ],
        hovertemplate=(
            "%{customdata[0]} on %{customdata[1]}, "
            + name
            + "<br>%{customdata[2]} to %{customdata[3]}<extra></extra>"
        ),
    )


def _arrows(found: Sequence[Stay], offsets: Mapping[str, float]) -> list[go.Scatter]:
    """Solid arrows of migrations, dotted ones of rebalancing."""
    return [*_drawn(found, offsets, evened=False), *_drawn(found, offsets, evened=True)]


def _drawn(found: Sequence[Stay], offsets: Mapping[str, float], *, evened: bool) -> list[go.Scatter]:
    x: list[float | None] = []
    y: list[float | None] = []
    symbols: list[str] = []
    before: dict[str, Stay] = {}
    for stay in found:
        if stay.moved and stay.rebalanced is evened:
            last = before[stay.job]
            start, stop = offsets[last.worker] + last.lane, offsets[stay.worker] + stay.lane
            x += [last.end, stay.start, None]
            y += [start, stop, None]
            symbols += ["circle", "triangle-down" if stop > start else "triangle-up", "circle"]
        before[stay.job] = stay
    if not x:
        return []
    ink = theme.ink("ink")
    sizes = [5 if symbol == "circle" else 8 for symbol in symbols]
    return [
        go.Scatter(
            x=x,
            y=y,
            mode="lines+markers",
            line={"color": ink, "width": 1.2, "dash": "2px,2px" if evened else "solid"},
            marker={"color": ink, "symbol": symbols, "size": sizes},
            hoverinfo="skip",
            name="rebalancing" if evened else "migration",
        )
    ]


def _layout(
    lanes: Mapping[str, int], offsets: Mapping[str, float], total: float, end: float, height: int | None
) -> go.Layout:
    middles = [offsets[worker] + (count - 1) / 2 for worker, count in lanes.items()]
    rules = [offset - (_GAP + 1) / 2 for offset in list(offsets.values())[1:]]
    longest = max((len(name) for name in lanes), default=0)
    return theme.frame(
        height or round(min(max(190.0, 50 + 9.5 * total), 460.0)),
        margin={"l": 14 + 6 * min(longest, 16), "r": 14, "t": 8, "b": 26},
        barmode="overlay",
        hovermode="closest",
        dragmode=False,
        xaxis=theme.time_axis(0.0, end, showgrid=True) | {"fixedrange": True},
        yaxis=theme.axis(
            tickvals=middles,
            ticktext=[name if len(name) <= 16 else f"{name[:15]}…" for name in lanes],
            range=[total - 0.3, -0.9],
            fixedrange=True,
            ticklabelstandoff=4,
        ),
        shapes=[
            {
                "type": "line",
                "x0": 0,
                "x1": 1,
                "xref": "paper",
                "y0": rule,
                "y1": rule,
                "line": {"color": theme.ink("line"), "width": 1},
                "layer": "below",
            }
            for rule in rules
        ],
        meta={"time_axis": True, "full": [0.0, end]},
    )


def _counts(series: Mapping[str, Any], end: float) -> go.Figure:
    """How many jobs each of the first workers has, as a heat map."""
    names, rows, shown = list(series["workers"])[:_MOST_ROWS], [], edges(series)
    for name in names:
        shown, values = rebinned(edges(series), np.asarray(series["workers"][name]["jobs"], dtype=float), 300)
        rows.append(values)
    return heat(names, shown, rows, end, "%{y}: %{z:.1f} jobs<extra></extra>")


def heat(names: Sequence[str], bounds: Any, rows: Sequence[Any], end: float, said: str) -> go.Figure:
    """A row per worker, darker where there is more."""
    return go.Figure(
        go.Heatmap(
            z=rows,
            x=bounds,
            y=names,
            zmin=0,
            showscale=False,
            colorscale=[[0, theme.ink("sunken")], [1, theme.ink("accent")]],
            hovertemplate=said,
        ),
        layout=theme.frame(
            min(max(190, 40 + 12 * len(names)), 460),
            margin={"l": 70, "r": 14, "t": 8, "b": 26},
            hovermode="closest",
            dragmode=False,
            xaxis=theme.time_axis(0.0, end) | {"fixedrange": True},
            yaxis=theme.axis(autorange="reversed", fixedrange=True, nticks=12, type="category"),
            meta={"time_axis": True, "full": [0.0, end]},
        ),
    )
