"""Completion time per job as pairs of bars, in order of arrival (the theses' bar charts)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import plotly.graph_objects as go

from app.figures import theme
from core.units import format_duration

if TYPE_CHECKING:
    from collections.abc import Sequence

_NAMED = 60
_LETTER_PX = 4.6


def pair_bars(
    jobs: Sequence[str],
    values: Sequence[tuple[str, Sequence[float | None]]],
    quantity: str,
    height: int = 242,
) -> go.Figure:
    """Draw one group of bars per job."""
    colours = (theme.WARM_UP["light"], theme.ink("accent"))
    figure = go.Figure(layout=_layout(jobs, quantity, height))
    for (name, seconds), colour in zip(values, colours, strict=False):
        figure.add_trace(_bars(jobs, name, seconds, colour))
    if len(jobs) > _NAMED:
        below: dict[str, Any] = {"x": 0.5, "y": 0, "xanchor": "center", "yanchor": "top", "yshift": -6}
        figure.add_annotation(theme.quantity_title(f"{len(jobs):,} jobs by arrival", **below))
    return figure


def _layout(jobs: Sequence[str], quantity: str, height: int) -> go.Layout:
    named = len(jobs) <= _NAMED
    longest = max((len(job) for job in jobs), default=0) if named else 0
    return theme.frame(
        height,
        margin={"l": 44, "r": 8, "t": 24, "b": 22 + min(int(longest * _LETTER_PX), 60)},
        barmode="group",
        bargap=0.3,
        bargroupgap=0.06,
        hovermode="x",
        dragmode=False,
        xaxis=theme.axis(
            type="category",
            showticklabels=named,
            autotickangles=[-40, -90],
            range=[-0.7, len(jobs) - 0.3],
            fixedrange=True,
        ),
        yaxis=theme.value_axis(fixedrange=True),
        annotations=[theme.quantity_title(f"{quantity}, s", yshift=4)],
    )


def _bars(jobs: Sequence[str], name: str, seconds: Sequence[float | None], colour: str) -> go.Bar:
    return go.Bar(
        x=list(jobs),
        y=list(seconds),
        name=name,
        marker={"color": colour, "cornerradius": 2 if len(jobs) <= _NAMED else 0},
        customdata=["–" if value is None else format_duration(value) for value in seconds],
        hovertemplate="%{customdata}<extra>" + name + "</extra>",
    )
