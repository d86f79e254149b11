"""The trials of a search for settings, the best on top: error on held-out and on training executions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import plotly.graph_objects as go

from app.figures import theme

if TYPE_CHECKING:
    from collections.abc import Sequence

MOST = 12


def trials(labels: Sequence[str], held_out: Sequence[float], training: Sequence[float]) -> go.Figure:
    """Draw the best trials.

    Parameters
    ----------
    labels
        The settings of each trial in a few words, the best first.
    held_out, training
        The errors of each.
    """
    shown = [f"{place + 1}. {label}" for place, label in enumerate(labels[:MOST])]
    marks = (
        ("training", training, theme.ink("line_strong"), 7),
        ("held out", held_out, theme.ink("accent"), 9),
    )
    figure = go.Figure(
        layout=theme.frame(
            24 * len(shown) + 56,
            margin={"l": 212, "r": 16, "t": 26, "b": 26},
            hovermode="y unified",
            xaxis=theme.axis(showgrid=True, nticks=6, tickformat=".3~g"),
            yaxis=theme.axis(
                autorange="reversed", type="category", tickfont={"size": 12, "color": theme.ink("ink")}
            ),
            annotations=[theme.quantity_title("Reconstruction error, standard deviations", y=1.0, yshift=6)],
        )
    )
    for here, there, label in zip(held_out[:MOST], training[:MOST], shown, strict=True):
        figure.add_trace(
            go.Scatter(
                x=[there, here],
                y=[label, label],
                mode="lines",
                line={"color": theme.ink("line"), "width": 2},
                hoverinfo="skip",
            )
        )
    for name, values, colour, size in marks:
        figure.add_trace(
            go.Scatter(
                x=list(values[:MOST]),
                y=shown,
                mode="markers",
                name=name,
                marker={"size": size, "color": colour},
                hovertemplate="%{x:.4g}",
            )
        )
    return figure
