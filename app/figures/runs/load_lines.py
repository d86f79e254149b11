"""A share that several policies reach at several loads, with its intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import plotly.graph_objects as go

from app.figures import theme
from app.figures.runs.arm_lines import name_ends, name_room

if TYPE_CHECKING:
    from collections.abc import Sequence

    from app.figures.runs.arm_styles import ArmStyle

_HEIGHT, _TOP, _BOTTOM = 320, 24, 44
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
            _HEIGHT,
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
    name_ends(figure, lasts, 1.03 / (_HEIGHT - _TOP - _BOTTOM))
    return figure
