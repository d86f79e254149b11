"""The trials of a search for settings, the best on top: error on held-out and on training executions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import plotly.graph_objects as go

from app.figures import theme

if TYPE_CHECKING:
    from collections.abc import Sequence

MOST = 12


def trials(labels: Sequence[str], held_out: Sequence[float], training: Sequence[float]) -> go.Figure:
    """Draw the best trials."""
    shown = [f"{place + 1}. {label}" for place, label in enumerate(labels[:MOST])]
    held, trained = list(held_out[:MOST]), list(training[:MOST])
    gaps = [_gap(here, there, label) for here, there, label in zip(held, trained, shown, strict=True)]
    marks = [
        _marks("training", trained, shown, theme.ink("line_strong"), 7),
        _marks("held out", held, shown, theme.ink("accent"), 9),
    ]
    return go.Figure([*gaps, *marks], _layout(len(shown)))


def _layout(count: int) -> go.Layout:
    return theme.frame(
        24 * count + 56,
        margin={"l": 212, "r": 16, "t": 26, "b": 26},
        hovermode="y unified",
        xaxis=theme.axis(showgrid=True, nticks=6, tickformat=".3~g"),
        yaxis=theme.name_axis(autorange="reversed", type="category"),
        annotations=[theme.quantity_title("Reconstruction error, standard deviations", y=1.0, yshift=6)],
    )


def _gap(held_out: float, training: float, label: str) -> go.Scatter:
    """The line between a trial's two errors."""
    return go.Scatter(
        x=[training, held_out],
        y=[label, label],
        mode="lines",
        line={"color": theme.ink("line"), "width": 2},
        hoverinfo="skip",
    )


def _marks(name: str, values: Sequence[float], labels: Sequence[str], colour: str, size: int) -> go.Scatter:
    return go.Scatter(
        x=list(values),
        y=list(labels),
        mode="markers",
        name=name,
        marker={"size": size, "color": colour},
        hovertemplate="%{x:.4g}",
    )
