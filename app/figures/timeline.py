"""The timeline of one execution: its resources over time, and the phases it was in.

CPU and memory are stacked over one time axis. The phases lie faintly behind both lines and at full
colour, with their names, in a row beneath. A band is one heat-map row whose cells are the runs:
this draws thousands of runs at once, where one shape per run takes seconds. Long lines are thinned.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import plotly.graph_objects as go

from app.figures import theme
from core.units import GIB, MIB, Unit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from core.traces.model import FloatArray, IntArray

_SCALE = {Unit.BYTES: (GIB, "GiB"), Unit.CORES: (1.0, "cores"), Unit.SHARE: (0.01, "%")}
_HEIGHT = 322
ROOM_FOR_NAME = 0.03
"""The share of the visible time that a run needs to have room for its name."""
MOST_RUNS = 1_200
"""The most runs drawn in one figure; a screen has not many more columns."""
MOST_POINTS = 4_000
"""The most samples drawn of one line."""


@dataclass(frozen=True, slots=True)
class Series:
    """One resource of an execution.

    Parameters
    ----------
    title
        What it is, such as ``"CPU"``.
    values
        Usage per sample, shape (n,), in `unit`.
    unit
        Its canonical unit.
    limit
        The limit that was set, shape (n,), or None.
    given
        What a policy would have given, shape (n,), or None.
    policy
        That policy's name.
    """

    title: str
    values: FloatArray
    unit: Unit
    limit: FloatArray | None = None
    given: FloatArray | None = None
    policy: str = ""


@dataclass(frozen=True, slots=True)
class Runs:
    """The runs of an execution: `edges` has shape (n_runs + 1,) in seconds, `phases` (n_runs,)."""

    edges: FloatArray
    phases: IntArray

    @classmethod
    def from_labels(cls, elapsed: FloatArray, labels: IntArray, period: float) -> Runs:
        """Collapse one label per sample to runs; a run lasts until the next one begins."""
        if not len(labels):
            return cls(np.zeros(1), np.zeros(0, dtype=np.int16))
        starts = np.concatenate([[0], np.flatnonzero(np.diff(labels)) + 1])
        edges = np.append(elapsed[starts], elapsed[-1] + period)
        return cls(edges, labels[starts])

    def within(self, start: float, end: float, most: int = MOST_RUNS) -> Runs:
        """The runs to draw in a stretch of time: all of them, or only the phases that prevail.

        Where more than `most` runs would have to share the width of a screen, each of `most` equal
        stretches gets the phase that has most of its time.
        """
        low = max(int(np.searchsorted(self.edges, start, side="right")) - 1, 0)
        high = int(np.searchsorted(self.edges, end, side="left"))
        edges, phases = self.edges[low : high + 1], self.phases[low:high]
        if len(phases) <= most:
            return Runs(edges, phases)
        bounds = np.linspace(edges[0], edges[-1], most + 1)
        kinds, kind = np.unique(phases, return_inverse=True)
        time = np.empty((most, len(kinds)))
        for position in range(len(kinds)):
            spent = np.concatenate([[0.0], np.cumsum(np.where(kind == position, np.diff(edges), 0.0))])
            time[:, position] = np.diff(np.interp(bounds, edges, spent))
        prevailing = kinds[time.argmax(axis=1)]
        starts = np.concatenate([[0], np.flatnonzero(np.diff(prevailing)) + 1])
        return Runs(np.append(bounds[starts], bounds[-1]), prevailing[starts])


def unit_scale(unit: Unit, values: FloatArray | None = None) -> tuple[float, str]:
    """What to divide a unit by for an axis, and what the axis then shows (MiB where all is below 1 GiB)."""
    if unit is Unit.BYTES and values is not None and len(values) and np.nanmax(values) < GIB:
        return MIB, "MiB"
    return _SCALE.get(unit, (1.0, unit.value if unit is not Unit.PLAIN else ""))


def timeline(
    elapsed: FloatArray,
    series: Sequence[Series],
    runs: Runs | None = None,
    phases: Sequence[int] = (),
    window: tuple[float, float] | None = None,
) -> go.Figure:
    """Draw one execution.

    Parameters
    ----------
    elapsed
        Seconds since its first sample, shape (n,).
    series
        The resources to stack, from top to bottom.
    runs
        The phases it went through, or None to draw no band.
    phases
        All phase ids of the model, so that colours are those of every other figure.
    window
        The seconds to show; all when left out.
    """
    end = float(runs.edges[-1]) if runs is not None and len(runs.phases) else float(elapsed[-1])
    full = (0.0, end or 1.0)
    shown = window or full
    thinned = len(elapsed) > MOST_POINTS
    if runs is not None and thinned:
        runs = runs.within(*shown)
    figure = go.Figure(layout=_layout(series, shown, band=runs is not None))
    figure.layout.meta = {"time_axis": True, "full": full, "thinned": thinned}
    for number, entry in enumerate(series, start=1):
        if runs is not None and len(runs.phases):
            between = (0.0, figure.layout[f"yaxis{number}"].range[1])
            figure.add_trace(_band(runs, phases, f"y{number}", between, faint=True))
        figure.add_traces(_lines(elapsed, entry, number, shown))
    if runs is not None and len(runs.phases):
        row = f"y{len(series) + 1}"
        figure.add_trace(_band(runs, phases, row, (0.0, 1.0)))
        figure.add_trace(_names(runs, row, shown))
    return figure


def _layout(series: Sequence[Series], shown: tuple[float, float], *, band: bool) -> go.Layout:
    foot, gap = (0.155, 0.1) if band else (0.0, 0.1)
    height = (1 - foot - gap * (len(series) - 1)) / max(len(series), 1)
    layout = theme.frame(
        _HEIGHT if len(series) > 1 else 210,
        hoversubplots="axis",
        margin={"l": 40, "r": 14, "t": 20, "b": 24},
        xaxis=_time_axis(shown, len(series) + 1 if band else len(series)),
    )
    titles = []
    for number, entry in enumerate(series, start=1):
        top = 1 - (number - 1) * (height + gap)
        layout[f"yaxis{number}"] = theme.value_axis(
            domain=[max(top - height, 0), min(top, 1)], range=[0, _highest(entry)], nticks=5
        )
        _, label = unit_scale(entry.unit, entry.values)
        title = f"{entry.title}, {label}" if label else entry.title
        titles.append(theme.quantity_title(title, y=top + 0.008))
    if band:
        layout[f"yaxis{len(series) + 1}"] = theme.axis(domain=[0, 0.06], range=[0, 1], showticklabels=False)
    layout.annotations = titles
    return layout


def _time_axis(shown: tuple[float, float], lowest: int) -> dict[str, Any]:
    """The axis that all rows share, below the lowest of them."""
    return theme.time_axis(
        *shown,
        anchor=f"y{lowest}",
        unifiedhovertitle={"text": "%{x:.0f} s"},
        spikemode="across",
        spikethickness=1,
        spikedash="solid",
        spikecolor=theme.ink("line_strong"),
    )


def _highest(entry: Series) -> float:
    """The upper end of a resource's axis, in the unit of the axis: above use, limit and allocation."""
    scale, _ = unit_scale(entry.unit, entry.values)
    highest = theme.extent(entry.values[np.isfinite(entry.values)] / scale)
    if entry.limit is not None and np.isfinite(entry.limit).any():
        highest = max(highest, float(np.nanmax(entry.limit)) / scale * 1.04)
    if entry.given is not None and len(entry.given):
        highest = max(highest, float(entry.given.max()) / scale * 1.04)
    return highest


def _lines(elapsed: FloatArray, entry: Series, number: int, shown: tuple[float, float]) -> list[go.Scatter]:
    """Limit, allocation and use of a resource, where there are any, thinned to what is shown."""
    scale, label = unit_scale(entry.unit, entry.values)
    low, high = np.searchsorted(elapsed, shown)
    inside = slice(max(int(low) - 1, 0), int(high) + 1)
    limit = {"color": theme.ink("line_strong"), "width": 1.25, "dash": "4px,3px", "shape": "hv"}
    given = {"color": theme.ink("accent"), "width": 1.5, "shape": "hv"}
    drawn = (
        (f"{entry.title} limit", entry.limit, limit),
        (f"{entry.policy} allocation", entry.given, given),
        (entry.title, entry.values, {"color": theme.ink("ink"), "width": 1.4}),
    )
    return [
        go.Scatter(
            x=elapsed[kept],
            y=values[kept] / scale,
            xaxis="x",
            yaxis=f"y{number}",
            mode="lines",
            name=name,
            line=style,
            hovertemplate=f"%{{y:.2f}} {label}",
        )
        for name, values, style in drawn
        if values is not None
        for kept in [minmax_indices(values[inside]) + inside.start]  # each line has its own extremes
    ]


def _band(
    runs: Runs,
    phases: Sequence[int],
    yaxis: str,
    between: tuple[float, float],
    *,
    faint: bool = False,
) -> go.Heatmap:
    """One row of cells, a cell per run; `faint` is the wash behind a line."""
    rank = {phase: position for position, phase in enumerate([-1, *phases])}
    cells = np.array([rank.get(int(phase), 0) for phase in runs.phases], dtype=np.int8)[None, :]
    options: dict[str, Any] = {"hoverinfo": "skip"}
    if faint:
        options |= {"opacity": 0.13, "meta": {"opacity_dark": 0.17}}
    return go.Heatmap(
        x=runs.edges,
        y=list(between),
        z=cells,
        zmin=-0.5,
        zmax=len(rank) - 0.5,
        colorscale=theme.discrete_scale(phases),
        showscale=False,
        xaxis="x",
        yaxis=yaxis,
        name="phases",
        **options,
    )


def _names(runs: Runs, yaxis: str, shown: tuple[float, float]) -> go.Scatter:
    """The runs' names on the row beneath, where there is room; the browser updates them after a zoom."""
    width = np.diff(runs.edges)
    names = [theme.phase_name(int(phase)) if phase >= 0 else "" for phase in runs.phases]
    room = ROOM_FOR_NAME * (shown[1] - shown[0])
    return go.Scatter(
        x=runs.edges[:-1] + width / 2,
        y=np.full(len(names), 0.5),
        xaxis="x",
        yaxis=yaxis,
        mode="text",
        text=[f"<b>{name}</b>" if wide else "" for name, wide in zip(names, width > room, strict=True)],
        customdata=[[float(w), name] for w, name in zip(width, names, strict=True)],
        textfont={"size": 11, "color": [theme.label_colour(int(phase)) for phase in runs.phases]},
        meta={"names": True},
        hoverinfo="skip",
        name="names",
    )


def minmax_indices(values: FloatArray, most: int = MOST_POINTS) -> IntArray:
    """Indices of the samples to draw, ascending, at most `most` (and two more for the ends).

    Samples are cut into equal stretches; each keeps its smallest and its largest value, so that every spike
    survives.

    Parameters
    ----------
    values
        Shape (n,); NaN values are left out of the comparison.
    most
        The largest number of indices to return; all n when there are no more than that.
    """
    n = len(values)
    if n <= most:
        return np.arange(n)
    stretches = max(most // 2, 1)
    size = -(-n // stretches)
    padded = np.full(size * stretches, np.nan)
    padded[:n] = values
    table = padded.reshape(stretches, size)[: -(-n // size)]
    starts = np.arange(len(table)) * size
    low = starts + np.argmin(np.where(np.isnan(table), np.inf, table), axis=1)
    high = starts + np.argmax(np.where(np.isnan(table), -np.inf, table), axis=1)
    chosen = np.unique(np.concatenate([low, high, [0, n - 1]]))
    return chosen[chosen < n]
