"""The frontier: over-allocation of each policy against its time short.

Lower left is better. A policy's line shows its results when all of its allocations are scaled by several
factors; the lower bound is dashed, and shaded below because nothing can be there.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import plotly.graph_objects as go

from app.figures import theme
from core.units import format_share

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


_LOSS, _GAIN = -0.6, 0.6
_MIN_REACH = 0.08
_GAINS_ROOM = 1.15


# Dots with whiskers in a table: where they lie on a track that all rows share.
#
# Style sheets (``provisioning.css``) draw the track; here is only its arithmetic, so that the
# table costs no figure per row.


@dataclass(frozen=True, slots=True)
class Track:
    """The savings at the left and the right end of the track; zero lies between them."""

    left: float
    right: float

    def place(self, value: float) -> float:
        """Position of a saving in percent of the track's width, clamped to 0 to 100."""
        share = (value - self.left) / (self.right - self.left)
        return round(100 * min(max(share, 0.0), 1.0), 1)


@dataclass(frozen=True, slots=True)
class Mark:
    """One row's dot and whisker in percent of the track, and its verdict."""

    #: Where the estimate lies; None when it is off the track.
    dot: float | None
    #: The whisker.
    start: float
    end: float
    #: ``better`` or ``worse`` where the interval excludes zero, else ``open``.
    verdict: str
    #: ``left`` or ``right`` where the estimate is off the track, else empty.
    off: str = ""


def track(savings: Iterable[tuple[float, float | None, float | None]]) -> Track:
    """The track that fits the rows' (saving, low, high); the largest losses may lie off it."""
    values = [bound for row in savings for bound in row if bound is not None and _LOSS <= bound <= _GAIN]
    return Track(
        min([-_MIN_REACH, *(value * _GAINS_ROOM for value in values)]),
        max([_MIN_REACH, *(value * _GAINS_ROOM for value in values)]),
    )


def verdict(low: float | None, high: float | None) -> str:
    """``better`` or ``worse``, or ``open`` if the interval contains zero or is missing."""
    if low is not None and low > 0:
        return "better"
    return "worse" if high is not None and high < 0 else "open"


def mark(value: float, low: float | None, high: float | None, on: Track) -> Mark:
    """Put a saving with its interval on the track."""
    off = "left" if value < on.left else "right" if value > on.right else ""
    ends = [value if bound is None else bound for bound in (low, high)]
    return Mark(
        None if off else on.place(value), on.place(ends[0]), on.place(ends[1]), verdict(low, high), off
    )


_HEIGHT, _TOP, _BOTTOM = 334, 30, 44
_LABEL_PX = 15.0
_LETTER_PX = 6.4
_NAME_LETTERS = 22
_TICKS = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2)
_LEFT, _RIGHT = 0.0045, 0.26
_ROOM = 2.6
BOUND, OURS, BEST, NAMED, OTHER = "bound", "ours", "best", "named", "other"


@dataclass(frozen=True, slots=True)
class Curve:
    """One policy's curve in the plane."""

    #: The policy.
    name: str
    #: How it is drawn: ``bound``, ``ours``, ``best`` (of the rivals), ``named`` (grey, with its name) or
    #: ``other`` (grey).
    part: str
    #: (share of time short, over-allocation), in the order of growing targets.
    points: tuple[tuple[float, float], ...]
    #: The policy's own point, as in the table: the same pair.
    at: tuple[float, float] | None = None
    #: The bounds of its over-allocation, or None, which draws no whisker.
    interval: tuple[float, float] | None = None


def _line(part: str) -> dict[str, Any]:
    match part:
        case "bound":
            return {"color": theme.ink("line_strong"), "width": 1.4, "dash": "4px,3px"}
        case "ours":
            return {"color": theme.ink("accent"), "width": 2.2}
        case "best":
            return {"color": theme.ink("ink"), "width": 1.6}
        case "named":
            return {"color": theme.ink("ink3"), "width": 1.1}
        case _:
            return {"color": theme.ink("line_strong"), "width": 0.8}


def spread_apart(places: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Move positions apart until neighbours are at least `gap` apart; the order stays."""
    order = sorted(range(len(places)), key=lambda i: places[i])
    positions = [min(max(place, low), high) for place in places]
    for before, at in pairwise(order):
        positions[at] = max(positions[at], positions[before] + gap)
    limit = high
    for at in reversed(order):
        positions[at] = min(positions[at], limit)
        limit = positions[at] - gap
    return positions


def _drawable_points(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """The points with a positive x and a finite y, as a logarithmic axis needs."""
    return [(x, y) for x, y in points if x > 0 and math.isfinite(y)]


def highest(curves: Sequence[Curve]) -> float:
    """The upper end of the axis, fitted to the compared policies rather than the worst one."""
    stands = [curve.at[1] for curve in curves if curve.at is not None and curve.part in (OURS, BEST)]
    all_ys = [y for curve in curves for _, y in _drawable_points(curve.points)]
    top = max(all_ys, default=1.0)
    return min(top * 1.05, max(stands) * _ROOM) if stands and max(stands) > 0 else top * 1.05 or 1.0


def frontier(curves: Sequence[Curve], tolerance: float, quantity: str) -> go.Figure:
    """Draw the frontier."""
    top = highest(curves)
    rank = {BOUND: 0, OTHER: 1, NAMED: 2, BEST: 3, OURS: 4}
    ordered = sorted(curves, key=lambda curve: rank[curve.part])
    names = [len(line) for curve in curves if curve.part != OTHER for line in wrap(curve.name, _NAME_LETTERS)]
    figure = go.Figure(layout=_layout(top, tolerance, quantity, max(names, default=0)))
    for curve in ordered:
        figure.add_trace(_curve(curve))
    for curve in ordered:
        if curve.part in (OURS, BEST) and curve.at is not None and curve.at[0] > 0:
            figure.add_trace(_mark(curve))
    for label in _labels(ordered, top):
        figure.add_annotation(label)
    return figure


def _layout(top: float, tolerance: float, quantity: str, longest: int) -> go.Layout:
    return theme.frame(
        _HEIGHT,
        margin={"l": 42, "r": min(max(14 + _LETTER_PX * longest, 90), 160), "t": _TOP, "b": _BOTTOM},
        hovermode="closest",
        dragmode=False,
        xaxis=_under_axis(),
        yaxis=theme.value_axis(range=[0, top], tickformat=".0%"),
        shapes=[theme.upright(tolerance, "line_strong")],
        annotations=[*_titles(quantity), _tolerance_label(tolerance)],
    )


def _under_axis() -> dict[str, Any]:
    """The logarithmic axis of the share of time below demand."""
    ticks = [tick for tick in _TICKS if tick <= _RIGHT]
    return theme.axis(
        type="log",
        range=[math.log10(_LEFT), math.log10(_RIGHT)],
        tickvals=ticks,
        ticktext=[f"{tick * 100:g}%" for tick in ticks],
        ticklabelstandoff=5,
    )


def _titles(quantity: str) -> list[dict[str, Any]]:
    below: dict[str, Any] = {"x": 0.5, "y": 0.0, "xanchor": "center", "yanchor": "top", "yshift": -24}
    return [
        theme.quantity_title(f"Over-allocation of {quantity}", yshift=6),
        theme.quantity_title("Time short (share of time above the allocation)", **below),
    ]


def _tolerance_label(tolerance: float) -> dict[str, Any]:
    return {
        "x": math.log10(tolerance),
        "y": 1,
        "yref": "paper",
        "xanchor": "left",
        "yanchor": "top",
        "xshift": 4,
        "text": f"{tolerance * 100:g}% tolerance",
        "bgcolor": theme.ink("surface"),
        "showarrow": False,
        "font": {"size": 11, "color": theme.ink("ink2")},
    }


def _curve(curve: Curve) -> go.Scatter:
    visible_points = _drawable_points(curve.points)
    filled: dict[str, Any] = {}
    if curve.part == BOUND:
        filled = {"fill": "tozeroy", "fillcolor": theme.with_alpha(theme.ink("ink3"), theme.AREA_ALPHA)}
    return go.Scatter(
        x=[x for x, _ in visible_points],
        y=[y for _, y in visible_points],
        mode="lines",
        name=curve.name,
        line=_line(curve.part),
        hovertemplate="%{y:.1%} over-allocated, %{x:.1%} time short<extra>" + curve.name + "</extra>",
        **filled,
    )


def _mark(curve: Curve) -> go.Scatter:
    x, y = curve.at or (0.0, 0.0)
    colour, text, whisker = _line(curve.part)["color"], f"{curve.name}<br>{format_share(y)} over", {}
    if curve.interval is not None:
        low, high = curve.interval
        text += f" ({format_share(low)} to {format_share(high)})"
        whisker = {"error_y": _whisker(y, low, high, colour)}
    return go.Scatter(
        x=[x],
        y=[y],
        mode="markers",
        name=f"{curve.name} in the table",
        marker={"size": 8, "color": colour, "line": {"color": theme.ink("surface"), "width": 1}},
        **whisker,
        hovertemplate=f"{text}<br>{format_share(x)} time short<extra></extra>",
    )


def _whisker(y: float, low: float, high: float, colour: str) -> dict[str, Any]:
    return {
        "type": "data",
        "array": [max(high - y, 0.0)],
        "arrayminus": [max(y - low, 0.0)],
        "color": colour,
        "thickness": 2,
        "width": 0,
    }


def _wrapped(name: str) -> str:
    return "<br>".join(wrap(name, _NAME_LETTERS))


def _labels(curves: Sequence[Curve], top: float) -> list[dict[str, Any]]:
    """The names at the ends of the lines, moved apart where they would touch."""
    ends = [
        (curve, visible_points[-1][1])
        for curve in curves
        if curve.part != OTHER
        and (visible_points := _drawable_points(curve.points))
        and visible_points[-1][1] <= top
    ]
    per_pixel = top / (_HEIGHT - _TOP - _BOTTOM)
    lines = max((len(wrap(curve.name, _NAME_LETTERS)) for curve, _ in ends), default=1)
    places = spread_apart([y for _, y in ends], lines * _LABEL_PX * per_pixel, 6 * per_pixel, top)
    colours = {OURS: "accent", BEST: "ink"}
    return [
        {
            "x": 1.0,
            "xref": "paper",
            "xanchor": "left",
            "align": "left",
            "xshift": 6,
            "y": place,
            "yref": "y",
            "yanchor": "middle",
            "text": f"<b>{_wrapped(curve.name)}</b>" if curve.part == OURS else _wrapped(curve.name),
            "showarrow": False,
            "font": {"size": 11, "color": theme.ink(colours.get(curve.part, "ink3"))},
        }
        for (curve, _), place in zip(ends, places, strict=True)
    ]
