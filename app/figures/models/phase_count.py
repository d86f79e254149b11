"""How many phases: one small curve per criterion over k, with the elbow and the recommended k marked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import plotly.graph_objects as go

from app.figures import theme

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def criterion(
    title: str,
    ks: Sequence[int],
    values: Sequence[float],
    recommended: int,
    mark: tuple[int, str] | None = None,
    height: int = 196,
) -> go.Figure:
    """Draw one criterion over the number of phases."""
    layout = theme.frame(
        height,
        margin={"l": 40, "r": 18, "t": 26, "b": 28},
        xaxis=_phases_axis(min(ks), max(ks)),
        yaxis=theme.axis(
            showgrid=True, nticks=5, ticklabelstandoff=4, tickformat=".2~f", range=_range(values)
        ),
        annotations=[theme.quantity_title(title, y=1.05)],
        shapes=[theme.upright(recommended, "accent")],
    )
    return go.Figure(_points(ks, values, recommended, _names(recommended, mark)), layout)


def _phases_axis(least: int, most: int) -> dict[str, Any]:
    return theme.axis(
        tick0=least,
        dtick=1,
        range=[least - 0.5, most + 0.7],
        hoverformat="d",
        unifiedhovertitle={"text": "%{x} phases"},
    )


def _names(recommended: int, mark: tuple[int, str] | None) -> dict[int, str]:
    """What stands beside the points that have a name; one k may be recommended and marked."""
    named = {recommended: f"k = {recommended}"}
    if mark is not None:
        named[mark[0]] = f"{named[mark[0]]}, {mark[1]}" if mark[0] in named else mark[1]
    return named


def _points(
    ks: Sequence[int], values: Sequence[float], recommended: int, named: Mapping[int, str]
) -> go.Scatter:
    """The curve: a full dot at the recommended k, an open one at a marked k, small ones elsewhere."""
    inner = {k: theme.ink("surface") for k in named} | {recommended: theme.ink("accent")}
    return go.Scatter(
        x=list(ks),
        y=list(values),
        mode="lines+markers+text",
        line={"color": theme.ink("ink"), "width": 1.6},
        marker={
            "size": [9 if k in named else 5 for k in ks],
            "color": [inner.get(k, theme.ink("ink")) for k in ks],
            "line": {"width": [0 if k == recommended else 1.6 for k in ks], "color": theme.ink("ink")},
            "opacity": 1,
        },
        text=[named.get(k, "") for k in ks],
        textposition=["top left" if k == max(ks) else "top right" for k in ks],
        textfont={"size": 11, "color": theme.ink("ink")},
        cliponaxis=False,
        hovertemplate="%{y:.3f}<extra></extra>",
    )


def _range(values: Sequence[float]) -> list[float]:
    low, high = min(values), max(values)
    room = (high - low) * 0.14 or 0.1
    return [low - room, high + room * 1.5]
