"""A typical run of a workload: what it used, has, should have, and would get from a policy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import plotly.graph_objects as go

from app.figures import theme
from core.traces.model import unit_scale

if TYPE_CHECKING:
    from core.traces.model import FloatArray
    from core.units import Unit

_HEIGHT = 150


@dataclass(frozen=True, slots=True)
class Lines:
    """The lines of the figure, in the resource's unit."""

    #: Seconds since the first sample, shape (n,), and the use then.
    time: FloatArray
    used: FloatArray
    #: What the run had, and the fixed amount that is recommended; None where there is none.
    now: float
    fixed: float | None
    #: What a policy would give at each sample, shape (n,); None where none was compared.
    steered: FloatArray | None
    unit: Unit


def typical(lines: Lines, quantity: str) -> go.Figure:
    """Draw the lines over time."""
    scale, label = unit_scale(lines.unit, lines.used)
    end = float(lines.time[-1]) if len(lines.time) else 1.0
    hover = f"%{{y:,.2f}} {label}"
    traces = [
        go.Scatter(
            x=lines.time, y=lines.used / scale, name="used", mode="lines", hovertemplate=hover,
            line={"color": theme.ink("ink"), "width": 1.4},
        )
    ]  # fmt: skip
    if lines.steered is not None and len(lines.steered) == len(lines.time):
        traces.append(
            go.Scatter(
                x=lines.time, y=lines.steered / scale, name="steered", mode="lines", hovertemplate=hover,
                line={"color": theme.ink("accent"), "width": 1.2, "dash": "1px,3px", "shape": "hv"},
            )
        )  # fmt: skip
    levels = [("now", lines.now, "line_strong", 1.25, "4px,3px")]
    if lines.fixed is not None:
        levels.append(("fixed request", lines.fixed, "accent", 2.0, "solid"))
    traces += [
        go.Scatter(
            x=[0.0, end], y=[value / scale] * 2, name=name, mode="lines", hovertemplate=hover,
            line={"color": theme.ink(colour), "width": width, "dash": dash},
        )
        for name, value, colour, width, dash in levels
    ]  # fmt: skip
    return go.Figure(
        traces,
        theme.frame(
            _HEIGHT,
            margin={"l": 0, "r": 0, "t": 22, "b": 4},
            xaxis=theme.axis(range=[0.0, end or 1.0], visible=False),
            yaxis=theme.value_axis(ticklabelposition="inside top", nticks=4),
            dragmode=False,
            annotations=[theme.quantity_title(f"{quantity}, {label}" if label else quantity, yshift=2)],
        ),
    )
