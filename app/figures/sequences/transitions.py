"""The transition matrix: P(next phase | state) as a heat map, with the number of visits at the right."""

from __future__ import annotations

from typing import TYPE_CHECKING

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
    """Draw the matrix.

    Parameters
    ----------
    rows, columns
        The names of states, and of the phases that may come next.
    chances, counts
        Probabilities and counts, shape (n_rows, n_columns).
    picks
        What a click on each cell stands for, as the page's address has it.
    height
        In pixels.
    """
    n, width = chances.shape
    texts = [
        [f"{p:.2f}" if c else "·" for p, c in zip(*pair, strict=True)] for pair in _pairs(chances, counts)
    ]
    ink = [[_ON_ACCENT if p >= _DARK_FROM else theme.ink("ink") for p in row] for row in chances.tolist()]
    places = [(x, y) for y in range(n) for x in range(width)]
    return go.Figure(
        [
            go.Heatmap(
                z=chances,
                x=list(range(width)),
                y=list(range(n)),
                zmin=0,
                zmax=1,
                xgap=3,
                ygap=3 if n <= 9 else 2,
                showscale=False,
                colorscale=[[0, theme.ink("sunken")], [1, theme.ink("accent")]],
                customdata=[
                    [
                        [pick, int(count), row, column]
                        for pick, count, column in zip(p, c, columns, strict=True)
                    ]
                    for p, c, row in zip(picks, counts.tolist(), rows, strict=True)
                ],
                hovertemplate=(
                    "%{customdata[1]} → %{customdata[2]}: %{z:.3f}<br>%{customdata[0]:,} times<extra></extra>"
                ),
            ),
            go.Scatter(
                x=[x for x, _ in places],
                y=[y for _, y in places],
                mode="text",
                text=[texts[y][x] for x, y in places],
                textfont={"size": 12 if max(n, width) <= 9 else 10, "color": [ink[y][x] for x, y in places]},
                hoverinfo="skip",
            ),
        ],
        layout=theme.frame(
            height,
            margin={"l": 16 + 7 * max((len(row) for row in rows), default=2), "r": 52, "t": 24, "b": 6},
            hovermode="closest",
            dragmode=False,
            meta={"picks": [list(row) for row in picks]},
            xaxis=theme.axis(
                side="top",
                tickvals=list(range(width)),
                ticktext=list(columns),
                tickfont={"size": 12, "color": theme.ink("ink")},
                range=[-0.5, width - 0.5],
            ),
            yaxis=theme.axis(
                tickvals=list(range(n)),
                ticktext=list(rows),
                ticklabelstandoff=4,
                tickfont={"size": 12, "color": theme.ink("ink")},
                range=[n - 0.5, -0.5],
            ),
            annotations=[
                {
                    "x": 1.01,
                    "xref": "paper",
                    "xanchor": "left",
                    "y": y,
                    "yref": "y",
                    "text": f"{total:,}",
                    "showarrow": False,
                    "font": {"size": 11, "color": theme.ink("ink3")},
                }
                for y, total in enumerate(counts.sum(axis=1).tolist())
            ],
        ),
    )


def _pairs(chances: FloatArray, counts: IntArray) -> list[tuple[list[float], list[int]]]:
    return list(zip(chances.tolist(), counts.tolist(), strict=True))
