"""The leaderboard as a picture, for files: the same rows, columns and dots as its table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import plotly.graph_objects as go

from app.figures import theme

if TYPE_CHECKING:
    from collections.abc import Sequence

_ROW_PX, _HEAD_PX, _LETTER_PX = 36, 64, 6.4
_DOT_PX, _PAD_PX, _MIN_PX = 110, 16, 44
_COLOURS = {"better": "ok", "worse": "bad", "open": "ink2"}


@dataclass(frozen=True, slots=True)
class PictureRow:
    """One row: its texts, in the columns' order, and its difference with its interval, or None."""

    #: The texts; a line break is ``<br>``.
    cells: Sequence[str]
    #: The relative difference, or None for the baseline.
    value: float | None
    low: float | None
    high: float | None
    #: ``better``, ``worse`` or ``open``.
    kind: str


def board_picture(title: str, heads: Sequence[str], rows: Sequence[PictureRow], against: str) -> go.Figure:
    """Draw the table."""
    # all at once: annotations that are added one by one are copied each time
    n = max(len(rows), 1)
    places, width = _columns(heads, rows)
    dots_left = _dots_at(heads, rows)
    texts = [_text(0, -1.75, f"<b>{title}</b>", size=13), _text(dots_left, -0.8, against, colour="ink3")]
    texts += [_text(places[at], -0.8, head, colour="ink3", right=at > 0) for at, head in enumerate(heads)]
    for at, row in enumerate(rows):
        for column, cell in enumerate(row.cells):
            is_significant = column == 1 and row.kind != "open"
            texts.append(
                _text(
                    places[column],
                    at,
                    cell,
                    colour=_COLOURS[row.kind] if is_significant else "ink",
                    right=column > 0,
                )
            )
    rules = [_rule(0, width, at - 0.5, at - 0.5, "line", 1) for at in range(len(rows))]
    whiskers, dots = _dots(rows, dots_left)
    layout = _layout(width, _HEAD_PX + n * _ROW_PX, n)
    return go.Figure(dots, layout.update(annotations=texts, shapes=[*rules, *whiskers]))


def _columns(heads: Sequence[str], rows: Sequence[PictureRow]) -> tuple[list[float], float]:
    """Where each column's text is anchored, the left end of the first, the right end of others; the width."""
    widths = []
    for at, head in enumerate(heads):
        texts = [head, *(line for row in rows for line in row.cells[at].split("<br>"))]
        widths.append(max(_MIN_PX, _LETTER_PX * max(len(text) for text in texts)) + _PAD_PX)
    ends = [widths[0] + _DOT_PX + _PAD_PX]
    for width in widths[1:]:
        ends.append(ends[-1] + width)
    return [0.0, *ends[1:]], ends[-1] + _PAD_PX


def _dots_at(heads: Sequence[str], rows: Sequence[PictureRow]) -> float:
    """The left end of the dots: behind the longest name."""
    longest = max([len(heads[0]), *(len(row.cells[0]) for row in rows)])
    return max(_MIN_PX, _LETTER_PX * longest) + _PAD_PX


def _dots(rows: Sequence[PictureRow], dots_left: float) -> tuple[list[dict[str, Any]], list[go.Scatter]]:
    """The zero line and the whiskers as shapes, and the dots."""
    ends = [each for row in rows for each in (row.value, row.low, row.high) if each is not None]
    low, high = min([-0.08, *ends]), max([0.08, *ends])

    def place(value: float) -> float:
        return dots_left + _DOT_PX * (value - low) / (high - low)

    shapes = [_rule(place(0), place(0), -0.5, len(rows) - 0.5, "line_strong", 1)]
    compared = [(at, row, row.value) for at, row in enumerate(rows) if row.value is not None]
    for at, row, _ in compared:
        if row.low is not None and row.high is not None:
            shapes.append(_rule(place(row.low), place(row.high), at, at, _COLOURS[row.kind], 2))
    colours = [theme.ink(_COLOURS[row.kind]) for _, row, _ in compared]
    dots = go.Scatter(
        x=[place(value) for _, _, value in compared],
        y=[at for at, _, _ in compared],
        mode="markers",
        hoverinfo="skip",
        marker={"size": 8, "color": colours},
    )
    return shapes, [dots]


def _rule(x0: float, x1: float, y0: float, y1: float, colour: str, width: int) -> dict[str, Any]:
    line = {"color": theme.ink(colour), "width": width}
    return {"type": "line", "x0": x0, "x1": x1, "y0": y0, "y1": y1, "layer": "below", "line": line}


def _text(
    x: float, y: float, text: str, *, size: int = 11, colour: str = "ink", right: bool = False
) -> dict[str, Any]:
    side = "right" if right else "left"
    font = {"size": size, "color": theme.ink(colour)}
    return {"x": x, "y": y, "text": text, "showarrow": False, "xanchor": side, "yanchor": "middle",
            "align": side, "font": font}  # fmt: skip


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
