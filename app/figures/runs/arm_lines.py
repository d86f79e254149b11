"""Lines over time of several policies: ΣG, loss, and the same of single jobs (figures 3.1, 6.11 and 6.12).

A line is named at its end; names that would lie over each other are moved apart.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import plotly.graph_objects as go

from app.figures import theme

if TYPE_CHECKING:
    from collections.abc import Sequence


_BARS = (
    ("weight1", ""),
    ("weight3", ""),
    ("weight1", "/"),
    ("weight2", "\\"),
    ("weight1", "x"),
    ("weight1", "."),
)
_DASHES = ("solid", "6px,3px", "2px,2px", "8px,3px,2px,3px", "12px,4px", "4px,6px")


# How several policies are told apart without colour: fill and hatch of bars, dash of lines.
#
# Colour means phase; so one policy is in the accent, the baseline in ink or light grey, and all others in
# greys that differ by weight and hatch (bars) or by dash (lines). Nine and more repeat.


@dataclass(frozen=True, slots=True)
class ArmStyle:
    """How one policy is drawn."""

    #: What it is called.
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


def arm_styles(titles: Sequence[str], baseline: int, lit: int) -> list[ArmStyle]:
    """The styles of some policies."""
    made, other = [], 0
    for at, title in enumerate(titles):
        if at == lit:
            made.append(ArmStyle(title, "lit", "accent", "", "accent", 2.2, "solid"))
        elif at == baseline:
            made.append(ArmStyle(title, "base", "baseline", "", "ink", 1.6, "solid"))
        else:
            bar, hatch = _BARS[other % len(_BARS)]
            dash = _DASHES[other % len(_DASHES)]
            made.append(ArmStyle(title, f"o{other % len(_BARS)}", bar, hatch, "line_strong", 1.3, dash))
            other += 1
    return made


if TYPE_CHECKING:
    from collections.abc import Sequence

    from core.traces.model import FloatArray

    Curve = tuple[ArmStyle, FloatArray, FloatArray]

_HEIGHT, _ROW_PX = 240, 92
_LETTER_PX, _LINE_PX = 5.7, 13
_MOST_LETTERS = 20


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
    return 18 + int(_LETTER_PX * max((len(_short(style.title)) for style in styles), default=0))


def name_ends(figure: go.Figure, lasts: Sequence[tuple[ArmStyle, float]], pixel: float) -> None:
    """Name lines at their ends, moved apart where they would lie over each other."""
    for (style, _), y in zip(lasts, _apart([last for _, last in lasts], pixel * _LINE_PX), strict=True):
        colour = theme.ink("accent" if style.line == "accent" else "ink2")
        figure.add_annotation(
            text=_short(style.title), x=1, xref="paper", y=y, yref="y", xanchor="left", xshift=6,
            showarrow=False, font={"size": 11, "color": colour},
        )  # fmt: skip


def job_rows(jobs: Sequence[tuple[str, Sequence[Curve]]], quantity: str, end: float, top: float) -> go.Figure:
    """A row for each job, in it a line for each policy; all rows have the same axes."""
    n = max(len(jobs), 1)
    figure = go.Figure(layout=_layout(_ROW_PX * n + 46, end, 14, ""))
    for at, (job, curves) in enumerate(jobs):
        suffix = "" if at == 0 else str(at + 1)
        bottom, upper = 1 - (at + 1) / n, 1 - at / n - 0.26 / n
        figure.layout[f"yaxis{suffix}"] = theme.value_axis(
            domain=[max(bottom, 0.0), upper], range=[0, top], nticks=3, fixedrange=True
        )
        for curve in curves:
            figure.add_trace(_line(curve).update(yaxis=f"y{suffix}"))
        title = theme.quantity_title(f"<b>{job}</b>, {quantity}", y=upper)
        figure.add_annotation(title | {"font": {"size": 11, "color": theme.ink("ink2")}})
    figure.update_xaxes(anchor=f"y{'' if n == 1 else n}")
    figure.update_layout(hoversubplots="axis" if n > 1 else "overlaying")
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
    return theme.frame(
        height,
        margin={"l": 44, "r": right, "t": 24, "b": 26},
        dragmode=False,
        xaxis=theme.time_axis(0.0, end, unifiedhovertitle={"text": "%{x:.0f} s"}) | {"fixedrange": True},
        yaxis=theme.value_axis(fixedrange=True),
        annotations=[theme.quantity_title(quantity, yshift=4)] if quantity else [],
        meta={"time_axis": True, "full": [0.0, end]},
    )


def _highest(values: Sequence[FloatArray]) -> float:
    tops = [float(np.nanmax(each)) for each in values if len(each) and not np.isnan(each).all()]
    return max(tops, default=1.0) * 1.08 or 1.0


def _last(values: FloatArray) -> float:
    known = values[~np.isnan(values)]
    return float(known[-1]) if len(known) else 0.0


def _apart(lasts: Sequence[float], least: float) -> list[float]:
    """Where each line's name stands: near its last value, at least `least` above the one below it."""
    places: dict[int, float] = {}
    below = -np.inf
    for at in sorted(range(len(lasts)), key=lambda each: (lasts[each], -each)):
        below = max(lasts[at], below + least)
        places[at] = below
    return [places[at] for at in range(len(lasts))]


def _short(title: str) -> str:
    return title if len(title) <= _MOST_LETTERS else f"{title[: _MOST_LETTERS - 1]}…"


_LOADS_HEIGHT, _TOP, _BOTTOM = 320, 24, 44
_MARGIN = 0.04


class Reached(NamedTuple):
    """What a policy reaches at one load, and the bounds of its 95% interval; shares from 0 to 1."""

    load: float
    mean: float
    low: float
    high: float


def load_lines(curves: Sequence[tuple[ArmStyle, Sequence[Reached]]], quantity: str) -> go.Figure:
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
