"""What groups of executions spend their time on: one stacked bar per group, a colour per phase."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import plotly.graph_objects as go

from app.figures import theme

if TYPE_CHECKING:
    from collections.abc import Sequence

_ROOM_FOR_NAME = 0.05


@dataclass(frozen=True, slots=True)
class Group:
    """A group of executions: its name, how many there are, and the share of time per phase."""

    name: str
    executions: int
    shares: Sequence[float]


def shares(groups: Sequence[Group], phases: Sequence[int], height: int = 0) -> go.Figure:
    """Draw one bar per group, the first on top; `shares` of a group follow the order of `phases`."""
    names = [f"{_shortened(group.name)}  ({group.executions:,})" for group in groups]
    layout = theme.frame(
        height or 34 * len(groups) + 40,
        barmode="stack",
        bargap=0.36,
        margin={"l": 8, "r": 22, "t": 6, "b": 24},
        hovermode="closest",
        uniformtext={"minsize": 11, "mode": "hide"},
        xaxis=theme.axis(range=[0, 1], tickformat=".0%", tickvals=[0, 0.2, 0.4, 0.6, 0.8, 1]),
        yaxis=theme.name_axis(autorange="reversed", automargin=True, ticklabelstandoff=4),
    )
    bars = [
        _bars(names, phase, [group.shares[position] for group in groups])
        for position, phase in enumerate(phases)
    ]
    return go.Figure(bars, layout)


def _bars(groups: Sequence[str], phase: int, parts: Sequence[float]) -> go.Bar:
    """One phase's part of every group's bar."""
    name = theme.phase_name(phase)
    return go.Bar(
        y=groups,
        x=parts,
        orientation="h",
        name=name,
        marker={
            "color": theme.phase_colour(phase),
            "line": {"color": theme.ink("surface"), "width": 1},
        },
        text=[name if part >= _ROOM_FOR_NAME else "" for part in parts],
        textposition="inside",
        insidetextanchor="middle",
        textangle=0,
        textfont={"size": 11, "color": theme.label_colour(phase)},
        hovertemplate=f"{name}: %{{x:.0%}}<extra></extra>",
    )


def _shortened(name: str, most: int = 26) -> str:
    return name if len(name) <= most else f"{name[: most - 1]}…"
