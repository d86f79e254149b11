"""Usage of each phase as a box, and the share of time of each phase."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import plotly.graph_objects as go

from app.figures import theme
from core.units import NO_NAMES, format_share, phase_name

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from core.traces.model import Scale


QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


@dataclass(frozen=True, slots=True)
class Box:
    """The spread of one phase: its id, its five quantiles and its mean, in canonical units."""

    phase: int
    quantiles: Sequence[float]
    mean: float


def spread(
    title: str,
    boxes: Sequence[Box],
    scale: Scale,
    names: Mapping[int, str] = NO_NAMES,
    height: int = 168,
) -> go.Figure:
    """Draw one box per phase, the first phase on top, in the unit of all views of the quantity.

    `names` are those that people gave to phases; the axis says them.
    """
    size, label = scale
    layout = _layout(
        max(height, 26 * len(boxes) + 46),
        f"{title}, {label}" if label else title,
        [phase_label(box.phase, names) for box in boxes],
        theme.axis(showgrid=True, rangemode="tozero", nticks=5),
        hovermode="closest",
    )
    return go.Figure([_box(box, size, names) for box in boxes], layout)


_MAX_LETTERS = 15


def phase_label(phase: int, names: Mapping[int, str], max_letters: int = _MAX_LETTERS) -> str:
    """A phase at an axis: its number, and the beginning of the name that people gave to it."""
    return phase_name(phase, theme.escaped(names, max_letters))


def _layout(height: int, title: str, labels: Sequence[str], xaxis: dict[str, Any], **more: Any) -> go.Layout:
    room = max((len(label) for label in labels), default=0)
    return theme.frame(
        height,
        margin={"l": max(36, 14 + 7 * room), "r": 12, "t": 22, "b": 24},
        xaxis=xaxis,
        yaxis=theme.name_axis(autorange="reversed", ticklabelstandoff=4),
        annotations=[theme.quantity_title(title, y=1.02)],
        **more,
    )


def _box(box: Box, scale: float, names: Mapping[int, str]) -> go.Box:
    low, first, median, third, high = (q / scale for q in box.quantiles)
    colour = theme.phase_colour(box.phase)
    return go.Box(
        y=[phase_label(box.phase, names)],
        lowerfence=[low],
        q1=[first],
        median=[median],
        q3=[third],
        upperfence=[high],
        mean=[box.mean / scale],
        orientation="h",
        name=theme.phase_name(box.phase, names),
        line={"color": colour, "width": 1.5},
        fillcolor=theme.with_alpha(colour, theme.FILL_ALPHA),
        boxmean=False,
        width=0.56,
        whiskerwidth=0.6,
        hoverinfo="x",
    )


def frequencies(
    counts: Sequence[tuple[int, int, float]], names: Mapping[int, str] = NO_NAMES, height: int = 168
) -> go.Figure:
    """Draw each phase's share of time; `counts` are (phase, samples, share of all samples)."""
    shares, labels = [share for _, _, share in counts], [phase_label(phase, names) for phase, _, _ in counts]
    bars = go.Bar(
        y=labels,
        x=shares,
        orientation="h",
        marker={"color": [theme.phase_colour(phase) for phase, _, _ in counts]},
        text=[f"{format_share(share)}  {count:,}" for _, count, share in counts],
        textposition="outside",
        textfont={"size": 11, "color": theme.ink("ink2")},
        cliponaxis=False,
        hoverinfo="skip",
        width=0.56,
    )
    axis = theme.axis(showticklabels=False, range=[0, max(shares, default=1) * 1.5 or 1])
    return go.Figure(
        bars, _layout(max(height, 26 * len(counts) + 46), "Share of time, samples", labels, axis)
    )


_ROOM_FOR_LETTER = 0.022
"""The share of a bar's length that a letter takes, on a phone as well."""


@dataclass(frozen=True, slots=True)
class Group:
    """A group of executions: its name, how many there are, and the share of time per phase."""

    name: str
    executions: int
    shares: Sequence[float]


def shares(
    groups: Sequence[Group],
    phases: Sequence[int],
    phase_names: Mapping[int, str] = NO_NAMES,
    height: int = 0,
) -> go.Figure:
    """Draw one bar per group, the first on top; `shares` of a group follow the order of `phases`."""
    names = [f"{theme.shortened(group.name)}  ({group.executions:,})" for group in groups]
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
        _bars(
            names, phase, theme.phase_name(phase, phase_names), [group.shares[position] for group in groups]
        )
        for position, phase in enumerate(phases)
    ]
    return go.Figure(bars, layout)


def _bars(groups: Sequence[str], phase: int, name: str, parts: Sequence[float]) -> go.Bar:
    """One phase's part of every group's bar; its number or name, or with enough room both, is on it."""
    return go.Bar(
        y=groups,
        x=parts,
        orientation="h",
        name=name,
        marker={
            "color": theme.phase_colour(phase),
            "line": {"color": theme.ink("surface"), "width": 1},
        },
        text=[_fitting(name, part) for part in parts],
        textposition="inside",
        insidetextanchor="middle",
        textangle=0,
        textfont={"size": 11, "color": theme.label_colour(phase)},
        hovertemplate=f"{name}: %{{x:.0%}}<extra></extra>",
    )


def _fitting(name: str, part: float) -> str:
    """As much of a phase's name as a part of a bar has room for."""
    number, _, given = name.partition(" ")
    written = (text for text in (name, given, number) if text)
    return next((text for text in written if part >= _ROOM_FOR_LETTER * (len(text) + 0.3)), "")
