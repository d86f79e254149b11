"""The reconstruction error of a CRBM over its epochs, while it trains and afterwards."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import plotly.graph_objects as go

from app.figures import theme

if TYPE_CHECKING:
    from collections.abc import Sequence


def error_curve(
    epochs_seen: Sequence[int],
    errors: Sequence[float],
    *,
    epochs: int | None = None,
    height: int = 190,
) -> go.Figure:
    """Draw the error of each epoch."""
    layout = theme.frame(
        height,
        margin={"l": 44, "r": 42, "t": 22, "b": 28},
        xaxis=_epochs_axis(epochs),
        yaxis=theme.axis(showgrid=True, nticks=5, tickformat=".3~g", ticklabelstandoff=4),
        annotations=[theme.quantity_title("Reconstruction error, standard deviations", y=1.02)],
        hovermode="x unified",
    )
    return go.Figure(_curve(epochs_seen, errors), layout)


def _epochs_axis(epochs: int | None) -> dict[str, Any]:
    fixed = {"range": [0, epochs]} if epochs else {}
    return theme.axis(
        nticks=6, ticksuffix=" epochs", showticksuffix="last", tickformat=",d", rangemode="tozero", **fixed
    )


def _curve(epochs_seen: Sequence[int], errors: Sequence[float]) -> go.Scatter:
    return go.Scatter(
        x=list(epochs_seen),
        y=list(errors),
        mode="lines",
        line={"color": theme.ink("accent"), "width": 2.2},
        name="error",
        hovertemplate="%{y:.3g}<extra></extra>",
    )
