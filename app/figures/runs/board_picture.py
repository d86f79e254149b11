"""The leaderboard as a picture, for files: the same rows, columns and dots as its table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import plotly.graph_objects as go

from app.figures import theme

if TYPE_CHECKING:
    from collections.abc import Sequence

_ROW_PX, _HEAD_PX, _LETTER_PX = 36, 64, 6.4
_DOT_PX, _PAD_PX, _LEAST_PX = 110, 16, 44
_COLOURS = {"better": "ok", "worse": "bad", "open": "ink2"}


@dataclass(frozen=True, slots=True)
class PictureRow:
    """One row: its texts, in the columns' order, and its difference with its interval, or None.

    Parameters
    ----------
    cells
        The texts; a line break is ``<br>``.
    value, low, high
        The relative difference, or None for the baseline.
    kind
        ``better``, ``worse`` or ``open``.
    """

    cells: Sequence[str]
    value: float | None
    low: float | None
    high: float | None
    kind: str


def board_picture(title: str, heads: Sequence[str], rows: Sequence[PictureRow], against: str) -> go.Figure:
    """Draw the table.

    Parameters
    ----------
    title
        Above the table: the experiment, the baseline, the seeds.
    heads
        The columns' titles; dots stand between the first and the second column.
    rows
        From the top.
    against
        The title of the dots.
    """
    n = max(len(rows), 1)
    places, width = _columns(heads, rows)
    height = _HEAD_PX + n * _ROW_PX
    figure = go.Figure(layout=_layout(width, height, n))
    _text(figure, 0, -1.75, f"<b>{title}</b>", size=13, colour="ink")
    for at, head in enumerate(heads):
        _text(figure, places[at], -0.8, head, colour="ink3", right=at > 0)
    _text(figure, _dots_at(heads, rows), -0.8, against, colour="ink3")
    for at, row in enumerate(rows):
        for column, cell in enumerate(row.cells):
            sure = column == 1 and row.kind != "open"
            colour = _COLOURS[row.kind] if sure else "ink"
            _text(figure, places[column], at, cell, colour=colour, right=column > 0)
        figure.add_shape(type="line", x0=0, x1=width, y0=at - 0.5, y1=at - 0.5, layer="below",
                         line={"color": theme.ink("line"), "width": 1})  # fmt: skip
    _dots(figure, rows, _dots_at(heads, rows))
    return figure


def _columns(heads: Sequence[str], rows: Sequence[PictureRow]) -> tuple[list[float], float]:
    """Where each column's text is anchored, the left end of the first, the right end of others; the width."""
    widths = []
    for at, head in enumerate(heads):
        texts = [head, *(line for row in rows for line in row.cells[at].split("<br>"))]
        widths.append(max(_LEAST_PX, _LETTER_PX * max(len(text) for text in texts)) + _PAD_PX)
    ends = [widths[0] + _DOT_PX + _PAD_PX]
    for width in widths[1:]:
        ends.append(ends[-1] + width)
    return [0.0, *ends[1:]], ends[-1] + _PAD_PX


def _dots_at(heads: Sequence[str], rows: Sequence[PictureRow]) -> float:
    """The left end of the dots: behind the longest name."""
    longest = max([len(heads[0]), *(len(row.cells[0]) for row in rows)])
    return max(_LEAST_PX, _LETTER_PX * longest) + _PAD_PX


def _dots(figure: go.Figure, rows: Sequence[PictureRow], left: float) -> None:
    ends = [each for row in rows for each in (row.value, row.low, row.high) if each is not None]
    low, high = min([-0.08, *ends]), max([0.08, *ends])

    def place(value: float) -> float:
        return left + _DOT_PX * (value - low) / (high - low)

    figure.add_shape(type="line", x0=place(0), x1=place(0), y0=-0.5, y1=len(rows) - 0.5,
                     line={"color": theme.ink("line_strong"), "width": 1})  # fmt: skip
    for at, row in enumerate(rows):
        if row.value is None:
            continue
        colour = theme.ink(_COLOURS[row.kind])
        if row.low is not None and row.high is not None:
            figure.add_shape(type="line", x0=place(row.low), x1=place(row.high), y0=at, y1=at,
                             line={"color": colour, "width": 2})  # fmt: skip
        figure.add_trace(
            go.Scatter(x=[place(row.value)], y=[at], mode="markers", hoverinfo="skip",
                       marker={"size": 8, "color": colour})
        )  # fmt: skip


def _text(
    figure: go.Figure,
    x: float,
    y: float,
    text: str,
    *,
    size: int = 11,
    colour: str = "ink2",
    right: bool = False,
) -> None:
    figure.add_annotation(
        x=x, y=y, text=text, showarrow=False, xanchor="right" if right else "left", yanchor="middle",
        align="right" if right else "left", font={"size": size, "color": theme.ink(colour)},
    )  # fmt: skip


def _layout(width: float, height: int, n: int) -> go.Layout:
    return theme.frame(
        height,
        width=width + 24,
        margin={"l": 12, "r": 12, "t": 6, "b": 6},
        dragmode=False,
        hovermode=False,
        xaxis=theme.axis(range=[0, width], visible=False),
        yaxis=theme.axis(range=[n - 0.5, -0.5 - (_HEAD_PX - 12) / _ROW_PX], visible=False),
    )
