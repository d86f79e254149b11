"""Where jobs' time goes under each policy: waiting, running and paused, one above the other to the total."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import plotly.graph_objects as go

from app.figures import theme
from app.figures.runs.lives import marker_of
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
    figure = go.Figure(layout=_bars_layout(jobs, quantity, height))
    for (name, seconds), colour in zip(values, colours, strict=False):
        figure.add_trace(_job_bars(jobs, name, seconds, colour))
    if len(jobs) > _NAMED:
        below: dict[str, Any] = {"x": 0.5, "y": 0, "xanchor": "center", "yanchor": "top", "yshift": -6}
        figure.add_annotation(theme.quantity_title(f"{len(jobs):,} jobs by arrival", **below))
    return figure


def _bars_layout(jobs: Sequence[str], quantity: str, height: int) -> go.Layout:
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


def _job_bars(jobs: Sequence[str], name: str, seconds: Sequence[float | None], colour: str) -> go.Bar:
    return go.Bar(
        x=list(jobs),
        y=list(seconds),
        name=name,
        marker={"color": colour, "cornerradius": 2 if len(jobs) <= _NAMED else 0},
        customdata=["–" if value is None else format_duration(value) for value in seconds],
        hovertemplate="%{customdata}<extra>" + name + "</extra>",
    )


PARTS = {"waiting": "waiting", "service": "running", "paused": "paused"}
"""Measures that are drawn, with the state whose look they have."""
_ROW_PX = 48
_FAR = 4.0
_ROOM = 1.15


@dataclass(frozen=True, slots=True)
class TimeRow:
    """One policy: its title, and mean seconds of waiting, running and being paused."""

    title: str
    waiting: float
    service: float
    paused: float

    @property
    def total(self) -> float:
        """All of them."""
        return self.waiting + self.service + self.paused


def scale(totals: Sequence[float]) -> float:
    """The end of the axis: the largest total that is not far beyond all smaller ones.

    One policy that is beyond all measure would leave nothing to see of the others.
    """
    ordered = sorted(totals, reverse=True) or [1.0]
    far = 0
    while far < len(ordered) // 2 and ordered[far] > _FAR * ordered[far + 1]:
        far += 1
    return (ordered[far] or 1.0) * _ROOM


def time_bars(rows: Sequence[TimeRow]) -> go.Figure:
    """Draw a bar for each policy, named above it with its total; one off the scale ends in an arrow."""
    top = scale([row.total for row in rows])
    figure = go.Figure(layout=_layout(rows, top))
    for name, state in PARTS.items():
        values = [getattr(row, name) for row in rows]
        if any(values):
            figure.add_trace(_bars(values, state, rows))
    return figure


def _bars(values: Sequence[float], state: str, rows: Sequence[TimeRow]) -> go.Bar:
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


def _layout(rows: Sequence[TimeRow], top: float) -> go.Layout:
    return theme.frame(
        _ROW_PX * max(len(rows), 1) + 34,
        margin={"l": 14, "r": 14, "t": 8, "b": 26},
        barmode="stack",
        uniformtext={"mode": "hide", "minsize": 9},
        hovermode="closest",
        dragmode=False,
        xaxis=theme.time_axis(0.0, top, showgrid=True) | {"fixedrange": True},
        yaxis=theme.axis(range=[len(rows) - 0.5, -0.75], showticklabels=False, fixedrange=True),
        annotations=[_name(at, row, top) for at, row in enumerate(rows)],
    )


def _name(at: int, row: TimeRow, top: float) -> dict[str, Any]:
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
