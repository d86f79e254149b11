"""How two labellings of the same samples agree: which phase of one became which of the other."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import plotly.graph_objects as go

from app.figures import theme

if TYPE_CHECKING:
    from collections.abc import Sequence

    from core.traces.model import FloatArray, IntArray

_ROW = 30
_DEEPEST = 2.0
"""A full cell gets the middle of the colour scale, on which ink can still be read."""


def cross_table(
    counts: IntArray, rows: Sequence[int], columns: Sequence[int], names: tuple[str, str]
) -> go.Figure:
    """Draw how the samples of each phase of one model are spread over the phases of another."""
    title = f"rows: {names[0]}; columns: {names[1]}"
    layout = theme.frame(
        _ROW * len(rows) + 64,
        margin={"l": 62, "r": 14, "t": 40, "b": 8},
        hovermode="closest",
        xaxis=theme.name_axis(side="top", type="category"),
        yaxis=theme.name_axis(autorange="reversed", type="category"),
        annotations=[theme.quantity_title(title, y=1.0, yshift=22, xshift=-56)],
    )
    return go.Figure(_cells(counts, rows, columns), layout)


def _cells(counts: IntArray, rows: Sequence[int], columns: Sequence[int]) -> go.Heatmap:
    """A cell per pair, as dark as the share of the row that it holds."""
    share = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    return go.Heatmap(
        z=share.tolist(),
        x=[theme.phase_name(phase) for phase in columns],
        y=[theme.phase_name(phase) for phase in rows],
        text=[[f"{s:.0%}" if s >= 0.005 else "" for s in line] for line in share],
        texttemplate="%{text}",
        textfont={"size": 11, "color": theme.ink("ink")},
        customdata=_hover(counts, share, rows, columns),
        hovertemplate="%{customdata}<extra></extra>",
        colorscale=[[0, theme.ink("sunken")], [1, theme.ink("accent")]],
        zmin=0,
        zmax=_DEEPEST,
        showscale=False,
        xgap=2,
        ygap=2,
    )


def _hover(
    counts: IntArray, share: FloatArray, rows: Sequence[int], columns: Sequence[int]
) -> list[list[str]]:
    """The hover text of each cell."""
    return [
        [
            f"{theme.phase_name(row)} → {theme.phase_name(column)}<br>"
            f"{count:,} samples, {s:.1%} of {theme.phase_name(row)}"
            for column, count, s in zip(columns, line, shares, strict=True)
        ]
        for row, line, shares in zip(rows, counts.tolist(), share.tolist(), strict=True)
    ]
