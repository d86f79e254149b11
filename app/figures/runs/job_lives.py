"""When each job ran under a few policies: one bar per job, full while it runs and pale while it does not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import plotly.graph_objects as go

from app.figures import theme
from app.figures.runs.cpu import time_frame
from core.units import format_duration

if TYPE_CHECKING:
    from collections.abc import Sequence

    from app.figures.runs.comparison import ArmStyle
    from app.figures.runs.series import Span

MAX_JOBS = 24
"""The largest number of jobs drawn of each policy."""
_ROW_PX, _TITLE_PX = 19, 26
_PALE = 0.32


@dataclass(frozen=True, slots=True)
class Lives:
    """The jobs of one policy: their names by arrival, and the times in one state of each."""

    style: ArmStyle
    jobs: Sequence[str]
    spans: Sequence[Span]


def height_of(lives: Sequence[Lives]) -> int:
    """The height of the figure in pixels."""
    return 40 + sum(_TITLE_PX + _ROW_PX * min(len(each.jobs), MAX_JOBS) for each in lives)


def job_lives(lives: Sequence[Lives], end: float) -> go.Figure:
    """Draw the jobs of each policy below its name, on one time axis."""
    height = height_of(lives)
    layout = time_frame(height, end)
    rows: list[tuple[float, str]] = []
    titles, y = [], 0.0
    bars = []
    for each in lives:
        titles.append((y + _TITLE_PX / 2, each.style))
        y += _TITLE_PX
        places = {}
        for job in each.jobs[:MAX_JOBS]:
            places[job] = y + _ROW_PX / 2
            rows.append((places[job], job))
            y += _ROW_PX
        bars += [_bars(each, places, pale=pale) for pale in (True, False)]
    layout.update(
        barmode="overlay",
        hovermode="closest",
        margin={"l": 118, "r": 16, "t": 6, "b": 26},
        yaxis=theme.axis(
            range=[y, 0], tickvals=[place for place, _ in rows], ticktext=[_short(job) for _, job in rows]
        ),
        annotations=[
            {
                "text": f"<b>{style.title}</b>",
                "x": 0,
                "xref": "paper",
                "xanchor": "left",
                "y": place,
                "yref": "y",
                "showarrow": False,
                "font": {"size": 11, "color": theme.ink("accent" if style.swatch == "lit" else "ink2")},
            }
            for place, style in titles
        ],
    )
    return go.Figure(bars, layout)


def _bars(lives: Lives, places: dict[str, float], *, pale: bool) -> go.Bar:
    spans = [span for span in lives.spans if span.job in places and (span.state != "running") == pale]
    marker = {**lives.style.marker, "opacity": _PALE if pale else 1.0}
    return go.Bar(
        orientation="h",
        base=[span.start for span in spans],
        x=[span.end - span.start for span in spans],
        y=[places[span.job] for span in spans],
        width=_ROW_PX * 0.68,
        marker=marker,
        customdata=[
            [span.job, span.state, format_duration(span.end - span.start), format_duration(span.end)]
            for span in spans
        ],
        hovertemplate="%{customdata[0]} %{customdata[1]} for %{customdata[2]}, until %{customdata[3]}"
        "<extra></extra>",
        name=f"{lives.style.title}, {'not running' if pale else 'running'}",
    )


def _short(name: str) -> str:
    return name if len(name) <= 16 else f"{name[:15]}…"
