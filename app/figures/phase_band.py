"""The band of an execution's phases: faint behind its lines, and at full colour with names in a row beneath.

A band is one heat-map row whose cells are the runs: this draws thousands of runs at once, where one shape
per run takes seconds. A gap in the sampling is an empty cell.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import plotly.graph_objects as go

from app.figures import theme

if TYPE_CHECKING:
    from collections.abc import Sequence

    from core.traces.model import FloatArray, IntArray

ROOM_FOR_NAME = 0.03
"""The share of the visible time that a run needs to have room for its name."""
MOST_RUNS = 1_200
"""The most runs drawn in one figure; a screen has not many more columns."""
GAP = -2
"""Stands for no phase: nothing was sampled."""


@dataclass(frozen=True, slots=True)
class Runs:
    """The runs of an execution: `edges` has shape (n_runs + 1,) in seconds, `phases` (n_runs,)."""

    edges: FloatArray
    phases: IntArray

    @classmethod
    def of(cls, begin: FloatArray, seconds: FloatArray, phases: IntArray) -> Runs:
        """Runs with the durations that every other view has; what lies between them is a `GAP`."""
        if not len(phases):
            return cls(np.zeros(1), np.zeros(0, dtype=np.int16))
        end = begin + seconds
        apart = np.flatnonzero(begin[1:] > end[:-1] + 1e-6) + 1
        edges = np.insert(np.append(begin, end[-1]), apart, end[apart - 1])
        return cls(edges, np.insert(phases, apart, GAP))

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


def band(
    runs: Runs,
    phases: Sequence[int],
    yaxis: str,
    between: tuple[float, float],
    *,
    faint: bool = False,
) -> go.Heatmap:
    """One row of cells, a cell per run; `faint` is the wash behind a line."""
    rank = {phase: position for position, phase in enumerate([-1, *phases])} | {GAP: np.nan}
    cells = np.array([rank.get(int(phase), 0) for phase in runs.phases])[None, :]
    whole = np.isfinite(cells).all()
    options: dict[str, Any] = {"hoverinfo": "skip"}
    if faint:
        options |= {"opacity": 0.13, "meta": {"opacity_dark": 0.17}}
    return go.Heatmap(
        x=runs.edges,
        y=list(between),
        z=cells.astype(np.int8 if whole else np.float32),
        zmin=-0.5,
        zmax=len(phases) + 0.5,
        colorscale=theme.discrete_scale(phases),
        showscale=False,
        xaxis="x",
        yaxis=yaxis,
        name="phases",
        **options,
    )


def names(runs: Runs, yaxis: str, shown: tuple[float, float]) -> go.Scatter:
    """The runs' names on the row beneath, where there is room, each in the middle of what is seen of its run.

    The browser chooses them anew after a zoom, and says with them in which phase a moment is: `customdata` is
    of every run when it begins and ends, its name, its phase, and the colour of the name. Only names that are
    seen are texts of the figure: a browser needs as long for each that is not as for one that is.
    """
    begin, end = runs.edges[:-1], runs.edges[1:]
    low, high = np.clip(begin, *shown), np.clip(end, *shown)
    wide = (high - low > ROOM_FOR_NAME * (shown[1] - shown[0])) & (runs.phases >= 0)
    told = [
        [
            float(a),
            float(b),
            theme.phase_name(int(phase)) if phase >= 0 else "",
            int(phase),
            theme.label_colour(int(phase)),
        ]
        for a, b, phase in zip(begin, end, runs.phases, strict=True)
    ]
    seen = [told[at] for at in np.flatnonzero(wide)]
    return go.Scatter(
        x=((low + high) / 2)[wide],
        y=np.full(len(seen), 0.5),
        xaxis="x",
        yaxis=yaxis,
        mode="text",
        text=[f"<b>{run[2]}</b>" for run in seen],
        customdata=told,
        textfont={"size": 11, "color": [run[4] for run in seen]},
        meta={"names": True},
        hoverinfo="skip",
        name="names",
    )
