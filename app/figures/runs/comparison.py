"""Figures that compare policies: lines over time, times of every job as bars, and where jobs' time goes.

Colour means phase, so policies differ by fill, hatch and dash: one is in the accent, the baseline in ink or
light grey, all others in greys. Nine and more repeat.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import plotly.graph_objects as go

from app.figures import theme
from app.figures.runs.cpu import row_axes, time_frame
from app.figures.runs.timelines import marker_of
from core.units import format_duration

if TYPE_CHECKING:
    from collections.abc import Sequence

    from core.traces.model import FloatArray

    Curve = tuple["ArmStyle", FloatArray, FloatArray]
    Seconds = Sequence[float | None]

_BARS = (
    ("weight1", ""),
    ("weight3", ""),
    ("weight1", "/"),
    ("weight2", "\\"),
    ("weight1", "x"),
    ("weight1", "."),
)
_DASHES = ("solid", "6px,3px", "2px,2px", "8px,3px,2px,3px", "12px,4px", "4px,6px")


@dataclass(frozen=True, slots=True)
class ArmStyle:
    """Colours, hatch and line of one policy in the figures."""

    #: The policy's title.
    title: str
    #: The class of its key in style sheets (``runs.css``).
    swatch: str
    #: Colour of its bars by its name in the theme, and their hatch or nothing.
    bar: str
    hatch: str
    #: Its line.
    line: str
    width: float
    dash: str

    @property
    def marker(self) -> dict[str, Any]:
        """The marker of its bars."""
        colour = theme.WARM_UP["light"] if self.bar == "baseline" else theme.ink(self.bar)
        if not self.hatch:
            return {"color": colour}
        pattern = {"shape": self.hatch, "fgcolor": colour, "bgcolor": theme.ink("surface"), "size": 5}
        return {"color": theme.ink("surface"), "pattern": pattern, "line": {"color": colour, "width": 1}}

    @property
    def stroke(self) -> dict[str, Any]:
        """The line of its lines."""
        return {"color": theme.ink(self.line), "width": self.width, "dash": self.dash}


def arm_styles(titles: Sequence[str], baseline: int, highlighted: int) -> list[ArmStyle]:
    """Assign a style to each policy; the baseline and the highlighted one have their own."""
    styles, other = [], 0
    for at, title in enumerate(titles):
        if at == highlighted:
            styles.append(ArmStyle(title, "lit", "accent", "", "accent", 2.2, "solid"))
        elif at == baseline:
            styles.append(ArmStyle(title, "base", "baseline", "", "ink", 1.6, "solid"))
        else:
            bar, hatch = _BARS[other % len(_BARS)]
            dash = _DASHES[other % len(_DASHES)]
            styles.append(ArmStyle(title, f"o{other % len(_BARS)}", bar, hatch, "line_strong", 1.3, dash))
            other += 1
    return styles


# Lines over time (figures 3.1, 6.11 and 6.12), each named at its end.

_HEIGHT, _LINES_PX = 240, 92
_LETTER_PX, _LINE_PX = 5.7, 13
_MAX_LETTERS = 20


def arm_lines(curves: Sequence[Curve], quantity: str, end: float, top: float | None = None) -> go.Figure:
    """One line for each policy."""
    highest = top if top is not None else _highest([values for _, _, values in curves])
    right = name_room([style for style, _, _ in curves])
    figure = go.Figure(layout=_layout(_HEIGHT, end, right, quantity))
    figure.update_yaxes(range=[0, highest])
    for curve in curves:
        figure.add_trace(_line(curve))
    name_ends(figure, [(style, _last(values)) for style, _, values in curves], highest / (_HEIGHT - 24 - 26))
    return figure


def name_room(styles: Sequence[ArmStyle]) -> int:
    """Pixels that names at the ends of lines need on the right."""
    return 18 + int(_LETTER_PX * max((len(_short_title(style.title)) for style in styles), default=0))


def name_ends(figure: go.Figure, lasts: Sequence[tuple[ArmStyle, float]], pixel: float) -> None:
    """Name lines at their ends, moved apart where they would lie over each other."""
    for (style, _), y in zip(
        lasts, _spread_labels([last for _, last in lasts], pixel * _LINE_PX), strict=True
    ):
        colour = theme.ink("accent" if style.line == "accent" else "ink2")
        figure.add_annotation(
            text=_short_title(style.title), x=1, xref="paper", y=y, yref="y", xanchor="left", xshift=6,
            showarrow=False, font={"size": 11, "color": colour},
        )  # fmt: skip


def job_rows(jobs: Sequence[tuple[str, Sequence[Curve]]], quantity: str, end: float, top: float) -> go.Figure:
    """A row for each job, in it a line for each policy; all rows have the same axes."""
    figure = go.Figure(layout=_layout(_LINES_PX * max(len(jobs), 1) + 46, end, 14, ""))
    axes = row_axes(figure, [f"<b>{job}</b>, {quantity}" for job, _ in jobs], top)
    for (_, curves), axis in zip(jobs, axes, strict=True):
        figure.add_traces([_line(curve).update(yaxis=axis) for curve in curves])
    return figure


def _line(curve: Curve) -> go.Scatter:
    style, times, values = curve
    return go.Scatter(
        x=times,
        y=[None if np.isnan(value) else float(value) for value in values],
        mode="lines",
        name=style.title,
        line=style.stroke,
        connectgaps=False,
        hovertemplate="%{y:.3g}",
    )


def _layout(height: int, end: float, right: int, quantity: str) -> go.Layout:
    return time_frame(
        height,
        end,
        margin={"l": 44, "r": right, "t": 24, "b": 26},
        yaxis=theme.value_axis(fixedrange=True),
        annotations=[theme.quantity_title(quantity, yshift=4)] if quantity else [],
    )


def _highest(values: Sequence[FloatArray]) -> float:
    tops = [float(np.nanmax(each)) for each in values if len(each) and not np.isnan(each).all()]
    return max(tops, default=1.0) * 1.08 or 1.0


def _last(values: FloatArray) -> float:
    numbers = values[~np.isnan(values)]
    return float(numbers[-1]) if len(numbers) else 0.0


def _spread_labels(lasts: Sequence[float], gap: float) -> list[float]:
    """Positions of the lines' names: near the last values, at least `gap` apart."""
    places: dict[int, float] = {}
    below = -np.inf
    for at in sorted(range(len(lasts)), key=lambda each: (lasts[each], -each)):
        below = max(lasts[at], below + gap)
        places[at] = below
    return [places[at] for at in range(len(lasts))]


def _short_title(title: str) -> str:
    return title if len(title) <= _MAX_LETTERS else f"{title[: _MAX_LETTERS - 1]}…"


_LOADS_HEIGHT, _TOP, _BOTTOM = 320, 24, 44
_MARGIN = 0.04


class LoadPoint(NamedTuple):
    """A policy's mean share at one load, and its 95% interval; shares from 0 to 1."""

    load: float
    mean: float
    low: float
    high: float


def load_lines(curves: Sequence[tuple[ArmStyle, Sequence[LoadPoint]]], quantity: str) -> go.Figure:
    """One line for each policy over loads."""
    loads = sorted({each.load for _, points in curves for each in points})
    room = _MARGIN * (loads[-1] - loads[0])
    figure = go.Figure(
        layout=theme.frame(
            _LOADS_HEIGHT,
            margin={"l": 44, "r": name_room([style for style, _ in curves]), "t": _TOP, "b": _BOTTOM},
            dragmode=False,
            hovermode="x unified",
            xaxis=theme.axis(
                title={"text": "Load"},
                range=[loads[0] - room, loads[-1] + room],
                tickvals=loads,
                ticktext=[f"{load:g}" for load in loads],
                fixedrange=True,
            ),
            yaxis=theme.value_axis(range=[0, 1.03], tickformat=".0%", fixedrange=True),
            annotations=[theme.quantity_title(quantity, yshift=4)],
        )
    )
    for style, points in curves:
        figure.add_trace(
            go.Scatter(
                x=[each.load for each in points],
                y=[each.mean for each in points],
                error_y={
                    "type": "data",
                    "symmetric": False,
                    "array": [each.high - each.mean for each in points],
                    "arrayminus": [each.mean - each.low for each in points],
                    "color": theme.ink(style.line),
                    "thickness": 1,
                    "width": 3,
                },
                mode="lines+markers",
                marker={"size": 5, "color": theme.ink(style.line)},
                name=style.title,
                line=style.stroke,
                customdata=[[each.low, each.high] for each in points],
                hovertemplate="%{y:.0%} (%{customdata[0]:.0%} to %{customdata[1]:.0%})",
            )
        )
    lasts = [(style, points[-1].mean) for style, points in curves if points]
    name_ends(figure, lasts, 1.03 / (_LOADS_HEIGHT - _TOP - _BOTTOM))
    return figure


# Times of every job (thesis, figures 6.1 to 6.4, 6.7, 6.17, 6.18): few bars are in groups, many in rows,
# one for each policy, with the baseline's times as ticks across them.

_BAR_PX, _GAP_PX, _MARGIN_PX = 7, 12, 60
_BARS_PX, _TICK_LETTER_PX, _MAX_NAMES = 84, 3.9, 60
_SHADES = ("weight1", "weight2", "weight3")


def width_of(groups: int, bars: int) -> int:
    """The pixels that groups of bars need to be readable."""
    return _MARGIN_PX + groups * (bars * _BAR_PX + _GAP_PX)


def bars_by_job(jobs: Sequence[str], arms: Sequence[tuple[ArmStyle, Seconds]], quantity: str) -> go.Figure:
    """A group for each job, in it a bar for each policy."""
    figure = go.Figure(layout=_groups_layout(jobs, quantity))
    for style, seconds in arms:
        figure.add_trace(_job_bars(jobs, seconds, style.title, style.marker))
    return figure


def bars_by_policy(jobs: Sequence[str], arms: Sequence[tuple[ArmStyle, Seconds]], quantity: str) -> go.Figure:
    """A group for each policy, in it a bar for each job, named above it."""
    titles = [style.title for style, _ in arms]
    figure = go.Figure(layout=_groups_layout(titles, quantity))
    for at, job in enumerate(jobs):
        marker = {"color": theme.ink(_SHADES[at % len(_SHADES)])}
        trace = _job_bars(titles, [seconds[at] for _, seconds in arms], job, marker)
        text_options = {
            "text": [job] * len(titles),
            "textposition": "outside",
            "textangle": -90,
            "cliponaxis": False,
            "constraintext": "none",
        }
        figure.add_trace(trace.update(**text_options, textfont={"size": 10, "color": theme.ink("ink3")}))
    tops = [value for _, seconds in arms for value in seconds if value is not None]
    figure.update_yaxes(range=[0, max(tops, default=1.0) * 1.25])
    return figure


def _job_bars(x: Sequence[str], seconds: Seconds, name: str, marker: dict[str, Any]) -> go.Bar:
    return go.Bar(
        x=list(x),
        y=list(seconds),
        name=name,
        marker=marker,
        customdata=["–" if value is None else format_duration(value) for value in seconds],
        hovertemplate="%{customdata}<extra>" + name + "</extra>",
    )


def _groups_layout(names: Sequence[str], quantity: str) -> go.Layout:
    longest = max((len(name) for name in names), default=0)
    return theme.frame(
        300,
        margin={"l": 44, "r": 8, "t": 24, "b": 24 + min(int(longest * _TICK_LETTER_PX), 96)},
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


def job_bar_rows(
    jobs: Sequence[str], arms: Sequence[tuple[ArmStyle, Seconds]], base: Seconds, quantity: str
) -> go.Figure:
    """A row for each policy, in it a bar for each job; `base` are the baseline's seconds, drawn as ticks."""
    top = max((value for _, seconds in arms for value in seconds if value is not None), default=1.0) * 1.05
    figure = go.Figure(layout=_rows_layout(jobs, max(len(arms), 1), quantity))
    axes = row_axes(figure, [f"<b>{style.title}</b>" for style, _ in arms], top)
    for (style, seconds), axis in zip(arms, axes, strict=True):
        bars = _job_bars(jobs, seconds, style.title, style.marker)
        figure.add_traces([bars.update(yaxis=axis), _ticks(jobs, base).update(yaxis=axis)])
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


def _rows_layout(jobs: Sequence[str], n: int, quantity: str) -> go.Layout:
    longest = max((len(job) for job in jobs), default=0) if len(jobs) <= _MAX_NAMES else 0
    bottom = 24 + min(int(longest * _TICK_LETTER_PX), 70)
    return theme.frame(
        _BARS_PX * n + bottom + 22,
        margin={"l": 44, "r": 8, "t": 22, "b": bottom},
        bargap=0.3,
        barmode="overlay",
        hovermode="closest",
        dragmode=False,
        xaxis=theme.axis(
            type="category",
            showticklabels=len(jobs) <= _MAX_NAMES,
            autotickangles=[-40, -90],
            range=[-0.7, len(jobs) - 0.3],
            fixedrange=True,
            dtick=1,
        ),
        annotations=[theme.quantity_title(f"{quantity}, s", x=1.0, xanchor="right", yshift=4)],
    )


# Where jobs' time goes: waiting, running and paused, one after the other to the total.

PARTS = {"waiting": "waiting", "service": "running", "paused": "paused"}
"""Measures that are drawn, and the state whose bar style each uses."""
_TIMES_PX, _FAR, _ROOM = 48, 4.0, 1.15


@dataclass(frozen=True, slots=True)
class TimeRow:
    """One policy: its title, and mean seconds of waiting, running and being paused."""

    title: str
    waiting: float
    service: float
    paused: float

    @property
    def total(self) -> float:
        """Mean seconds from submission to the end."""
        return self.waiting + self.service + self.paused


def scale(totals: Sequence[float]) -> float:
    """The end of the axis: the largest total, except for outliers.

    A total over four times the next one would make all other bars too short to read.
    """
    ordered = sorted(totals, reverse=True) or [1.0]
    far = 0
    while far < len(ordered) // 2 and ordered[far] > _FAR * ordered[far + 1]:
        far += 1
    return (ordered[far] or 1.0) * _ROOM


def time_bars(rows: Sequence[TimeRow]) -> go.Figure:
    """Draw a bar for each policy, named above it with its total; one off the scale ends in an arrow."""
    top = scale([row.total for row in rows])
    figure = go.Figure(layout=_times_layout(rows, top))
    for name, state in PARTS.items():
        values = [getattr(row, name) for row in rows]
        if any(values):
            figure.add_trace(_time_bars(values, state, rows))
    return figure


def _time_bars(values: Sequence[float], state: str, rows: Sequence[TimeRow]) -> go.Bar:
    word = "running" if state == "running" else state
    return go.Bar(
        orientation="h",
        x=values,
        y=list(range(len(rows))),
        width=0.42,
        name=word,
        marker=marker_of(state),
        text=[f"{word} {format_duration(value)}" if value > 0 else "" for value in values],
        textposition="inside",
        insidetextanchor="start",
        textangle=0,
        textfont={"size": 10, "color": theme.ink("surface" if state == "running" else "ink")},
        customdata=[[row.title, format_duration(value)] for row, value in zip(rows, values, strict=True)],
        hovertemplate="%{customdata[0]}<br>" + word + " %{customdata[1]}<extra></extra>",
    )


def _times_layout(rows: Sequence[TimeRow], top: float) -> go.Layout:
    return theme.frame(
        _TIMES_PX * max(len(rows), 1) + 34,
        margin={"l": 14, "r": 14, "t": 8, "b": 26},
        barmode="stack",
        uniformtext={"mode": "hide", "minsize": 9},
        hovermode="closest",
        dragmode=False,
        xaxis=theme.time_axis(0.0, top, showgrid=True) | {"fixedrange": True},
        yaxis=theme.axis(range=[len(rows) - 0.5, -0.75], showticklabels=False, fixedrange=True),
        annotations=[_row_title(at, row, top) for at, row in enumerate(rows)],
    )


def _row_title(at: int, row: TimeRow, top: float) -> dict[str, Any]:
    beyond = ", off the scale ▸" if row.total > top else ""
    return {
        "text": f"<b>{row.title}</b>  {format_duration(row.total)}{beyond}",
        "x": 0,
        "y": at - 0.24,
        "xref": "paper",
        "xanchor": "left",
        "yanchor": "bottom",
        "showarrow": False,
        "font": {"size": 11, "color": theme.ink("ink2")},
    }
