"""The transition matrix: P(next phase | state) as a heat map, with the number of visits at the right."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import plotly.graph_objects as go

from app.figures import theme

if TYPE_CHECKING:
    from collections.abc import Sequence

    from core.traces.model import FloatArray, IntArray

_DARK_FROM = 0.55
_ON_ACCENT = theme.LABELS_ON_PHASES["light"][1]
"""White in the light scheme and black in the dark one."""


def matrix(
    rows: Sequence[str],
    columns: Sequence[str],
    chances: FloatArray,
    counts: IntArray,
    picks: Sequence[Sequence[str]],
    height: int = 336,
) -> go.Figure:
    """Draw the matrix."""
    n, width = chances.shape
    layout = theme.frame(
        height,
        margin={"l": 16 + 7 * max((len(row) for row in rows), default=2), "r": 52, "t": 24, "b": 6},
        hovermode="closest",
        dragmode=False,
        meta={"picks": [list(row) for row in picks]},
        xaxis=_names_axis(columns, [-0.5, width - 0.5], side="top"),
        yaxis=_names_axis(rows, [n - 0.5, -0.5], ticklabelstandoff=4),
        annotations=[_total(y, total) for y, total in enumerate(counts.sum(axis=1).tolist())],
    )
    return go.Figure([_cells(rows, columns, chances, counts, picks), _numbers(chances, counts)], layout)


def _names_axis(names: Sequence[str], span: list[float], **more: Any) -> dict[str, Any]:
    return theme.name_axis(tickvals=list(range(len(names))), ticktext=list(names), range=span, **more)


def _total(y: int, total: int) -> dict[str, Any]:
    """A row's number of visits, at its right."""
    return {
        "x": 1.01,
        "xref": "paper",
        "xanchor": "left",
        "y": y,
        "yref": "y",
        "text": f"{total:,}",
        "showarrow": False,
        "font": {"size": 11, "color": theme.ink("ink3")},
    }


def _cells(
    rows: Sequence[str],
    columns: Sequence[str],
    chances: FloatArray,
    counts: IntArray,
    picks: Sequence[Sequence[str]],
) -> go.Heatmap:
    n, width = chances.shape
    data = [
        [[pick, int(count), row, column] for pick, count, column in zip(p, c, columns, strict=True)]
        for p, c, row in zip(picks, counts.tolist(), rows, strict=True)
    ]
    said = "%{customdata[1]} → %{customdata[2]}: %{z:.3f}<br>%{customdata[0]:,} times<extra></extra>"
    return go.Heatmap(
        z=chances,
        x=list(range(width)),
        y=list(range(n)),
        zmin=0,
        zmax=1,
        xgap=3,
        ygap=3 if n <= 9 else 2,
        showscale=False,
        colorscale=[[0, theme.ink("sunken")], [1, theme.ink("accent")]],
        customdata=data,
        hovertemplate=said,
    )


def _numbers(chances: FloatArray, counts: IntArray) -> go.Scatter:
    """The probabilities as text on the cells; a dot where nothing was seen."""
    n, width = chances.shape
    places = [(x, y) for y in range(n) for x in range(width)]
    colours = [_ON_ACCENT if chances[y, x] >= _DARK_FROM else theme.ink("ink") for x, y in places]
    return go.Scatter(
        x=[x for x, _ in places],
        y=[y for _, y in places],
        mode="text",
        text=[f"{chances[y, x]:.2f}" if counts[y, x] else "·" for x, y in places],
        textfont={"size": 12 if max(n, width) <= 9 else 10, "color": colours},
        hoverinfo="skip",
    )
