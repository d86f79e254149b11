"""Figures of models."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import plotly.graph_objects as go

from app.figures import theme
from app.figures.spread import phase_label
from core.units import NO_NAMES

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from core.traces.model import FloatArray, IntArray


BothNames: TypeAlias = "tuple[Mapping[int, str], Mapping[int, str]]"
"""The names that people gave to the phases of two models, by id."""
_ROW = 30
_DEEPEST = 2.0
"""A full cell gets the middle of the colour scale, on which ink can still be read."""


def cross_table(
    counts: IntArray,
    rows: Sequence[int],
    columns: Sequence[int],
    models: tuple[str, str],
    names: BothNames = (NO_NAMES, NO_NAMES),
) -> go.Figure:
    """Draw how the samples of each phase of one model are spread over the phases of another.

    `names` are those that people gave to the phases of either.
    """
    title = f"rows: {models[0]}; columns: {models[1]}"
    room = max((len(phase_label(phase, names[0])) for phase in rows), default=0)
    left = max(62, 14 + 7 * room)
    layout = theme.frame(
        _ROW * len(rows) + (78 if names[1] else 64),
        margin={"l": left, "r": 14, "t": 54 if names[1] else 40, "b": 8},
        hovermode="closest",
        xaxis=theme.name_axis(side="top", type="category"),
        yaxis=theme.name_axis(autorange="reversed", type="category"),
        annotations=[theme.quantity_title(title, y=1.0, yshift=36 if names[1] else 22, xshift=6 - left)],
    )
    return go.Figure(_cells(counts, rows, columns, names), layout)


def _cells(counts: IntArray, rows: Sequence[int], columns: Sequence[int], names: BothNames) -> go.Heatmap:
    """A cell per pair, as dark as the share of the row that it holds."""
    share = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    return go.Heatmap(
        z=share.tolist(),
        x=[phase_label(phase, names[1], 11).replace(" ", "<br>", 1) for phase in columns],
        y=[phase_label(phase, names[0]) for phase in rows],
        text=[[f"{s:.0%}" if s >= 0.005 else "" for s in line] for line in share],
        texttemplate="%{text}",
        textfont={"size": 11, "color": theme.ink("ink")},
        customdata=_hover(counts, share, rows, columns, names),
        hovertemplate="%{customdata}<extra></extra>",
        colorscale=[[0, theme.ink("sunken")], [1, theme.ink("accent")]],
        zmin=0,
        zmax=_DEEPEST,
        showscale=False,
        xgap=2,
        ygap=2,
    )


def _hover(
    counts: IntArray, share: FloatArray, rows: Sequence[int], columns: Sequence[int], names: BothNames
) -> list[list[str]]:
    """The hover text of each cell."""
    return [
        [
            f"{theme.phase_name(row, names[0])} → {theme.phase_name(column, names[1])}<br>"
            f"{count:,} samples, {s:.1%} of {theme.phase_name(row, names[0])}"
            for column, count, s in zip(columns, line, shares, strict=True)
        ]
        for row, line, shares in zip(rows, counts.tolist(), share.tolist(), strict=True)
    ]


def criterion(
    title: str,
    ks: Sequence[int],
    values: Sequence[float],
    recommended: int,
    mark: tuple[int, str] | None = None,
    height: int = 196,
) -> go.Figure:
    """Draw one criterion over the number of phases."""
    layout = theme.frame(
        height,
        margin={"l": 40, "r": 18, "t": 26, "b": 28},
        xaxis=_phases_axis(min(ks), max(ks)),
        yaxis=theme.axis(
            showgrid=True, nticks=5, ticklabelstandoff=4, tickformat=".2~f", range=_range(values)
        ),
        annotations=[theme.quantity_title(title, y=1.05)],
        shapes=[theme.upright(recommended, "accent")],
    )
    return go.Figure(_points(ks, values, recommended, _names(recommended, mark)), layout)


def _phases_axis(min_phases: int, max_phases: int) -> dict[str, Any]:
    return theme.axis(
        tick0=min_phases,
        dtick=1,
        range=[min_phases - 0.5, max_phases + 0.7],
        hoverformat="d",
        unifiedhovertitle={"text": "%{x} phases"},
    )


def _names(recommended: int, mark: tuple[int, str] | None) -> dict[int, str]:
    """Labels of the recommended and the marked k; one k may be both."""
    labels = {recommended: f"k = {recommended}"}
    if mark is not None:
        labels[mark[0]] = f"{labels[mark[0]]}, {mark[1]}" if mark[0] in labels else mark[1]
    return labels


def _points(
    ks: Sequence[int], values: Sequence[float], recommended: int, labels: Mapping[int, str]
) -> go.Scatter:
    """The curve: a full dot at the recommended k, an open one at a marked k, small ones elsewhere."""
    inner = {k: theme.ink("surface") for k in labels} | {recommended: theme.ink("accent")}
    return go.Scatter(
        x=list(ks),
        y=list(values),
        mode="lines+markers+text",
        line={"color": theme.ink("ink"), "width": 1.6},
        marker={
            "size": [9 if k in labels else 5 for k in ks],
            "color": [inner.get(k, theme.ink("ink")) for k in ks],
            "line": {"width": [0 if k == recommended else 1.6 for k in ks], "color": theme.ink("ink")},
            "opacity": 1,
        },
        text=[labels.get(k, "") for k in ks],
        textposition=["top left" if k == max(ks) else "top right" for k in ks],
        textfont={"size": 11, "color": theme.ink("ink")},
        cliponaxis=False,
        hovertemplate="%{y:.3f}<extra></extra>",
    )


def _range(values: Sequence[float]) -> list[float]:
    low, high = min(values), max(values)
    room = (high - low) * 0.14 or 0.1
    return [low - room, high + room * 1.5]


MAX_TRIALS = 12


def trials(labels: Sequence[str], held_out: Sequence[float], training: Sequence[float]) -> go.Figure:
    """Draw the best trials."""
    names = [f"{place + 1}. {label}" for place, label in enumerate(labels[:MAX_TRIALS])]
    held_out_errors, training_errors = list(held_out[:MAX_TRIALS]), list(training[:MAX_TRIALS])
    gaps = [
        _gap(held_out_error, training_error, label)
        for held_out_error, training_error, label in zip(held_out_errors, training_errors, names, strict=True)
    ]
    marks = [
        _marks("training", training_errors, names, theme.ink("line_strong"), 7),
        _marks("held out", held_out_errors, names, theme.ink("accent"), 9),
    ]
    return go.Figure([*gaps, *marks], _layout(len(names)))


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
