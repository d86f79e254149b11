"""The timeline of one execution: its resources over time, and the phases it was in.

Lanes are stacked over one time axis, one quantity each, with a line per GPU where there are several. The
phases lie faintly behind all lines and at full colour, with their names, in a row beneath. Long lines are
thinned. The browser reads the text under the pointer from the traces' `meta`.

The band of phases is one heat-map row whose cells are the segments: this draws thousands at once, where one
shape per segment takes seconds. A gap in the sampling is an empty cell.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np
import plotly.graph_objects as go

from app.figures import theme
from core.traces.model import Scale, unit_scale

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from core.traces.model import FloatArray, IntArray
    from core.units import Unit


ROOM_FOR_NAME = 0.03
"""The share of the visible time that a run needs to have room for its name."""
MAX_RUNS = 1_200
"""The largest number of runs in one figure; a screen has few more columns."""
BETWEEN_SEGMENTS = -2
"""The value of a gap in the sampling, which has no phase."""


@dataclass(frozen=True, slots=True)
class Runs:
    """The runs of an execution: `edges` has shape (n_runs + 1,) in seconds, `phases` (n_runs,)."""

    edges: FloatArray
    phases: IntArray

    @classmethod
    def of(cls, begin: FloatArray, seconds: FloatArray, phases: IntArray) -> Runs:
        """Runs with the durations of every other view; `BETWEEN_SEGMENTS` fills the gaps."""
        if not len(phases):
            return cls(np.zeros(1), np.zeros(0, dtype=np.int16))
        end = begin + seconds
        gaps = np.flatnonzero(begin[1:] > end[:-1] + 1e-6) + 1
        edges = np.insert(np.append(begin, end[-1]), gaps, end[gaps - 1])
        return cls(edges, np.insert(phases, gaps, BETWEEN_SEGMENTS))

    def within(self, start: float, end: float, max_runs: int = MAX_RUNS) -> Runs:
        """The runs to draw in an interval: all of them, or only the prevailing phases.

        With more than `max_runs` runs the interval is cut into `max_runs` equal parts, and each
        gets the phase with the most time in it.
        """
        low = max(int(np.searchsorted(self.edges, start, side="right")) - 1, 0)
        high = int(np.searchsorted(self.edges, end, side="left"))
        edges, phases = self.edges[low : high + 1], self.phases[low:high]
        if len(phases) <= max_runs:
            return Runs(edges, phases)
        bounds = np.linspace(edges[0], edges[-1], max_runs + 1)
        kinds, kind = np.unique(phases, return_inverse=True)
        time = np.empty((max_runs, len(kinds)))
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
    rank = {phase: position for position, phase in enumerate([-1, *phases])} | {BETWEEN_SEGMENTS: np.nan}
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


def room_for(name: str) -> float:
    """The share of the visible time that a run needs to have room for a name.

    The browser's twin in ``assets/js/figures.js`` does the same after a zoom.
    """
    return max(ROOM_FOR_NAME, 0.008 * len(name) + 0.01)


def names(
    runs: Runs, yaxis: str, visible_range: tuple[float, float], given: Mapping[int, str] | None = None
) -> go.Scatter:
    """The names of runs that are wide enough, each in the middle of its visible part.

    The browser chooses them again after a zoom, and uses them to name the phase at a time: `customdata` has
    for every run its start and end, its number, its phase, the colour of its text, and the name that people
    gave to the phase, shown where it has room. Only visible names are texts of the figure: hidden ones would
    cost the browser as much time.
    """
    begin, end = runs.edges[:-1], runs.edges[1:]
    low, high = np.clip(begin, *visible_range), np.clip(end, *visible_range)
    has_room = (high - low > ROOM_FOR_NAME * (visible_range[1] - visible_range[0])) & (runs.phases >= 0)
    labels: list[list[Any]] = [
        [
            float(a),
            float(b),
            theme.phase_name(int(phase)) if phase >= 0 else "",
            int(phase),
            theme.label_colour(int(phase)),
            (given or {}).get(int(phase), ""),
        ]
        for a, b, phase in zip(begin, end, runs.phases, strict=True)
    ]
    visible_labels = [labels[at] for at in np.flatnonzero(has_room)]
    shares = (high - low)[has_room] / (visible_range[1] - visible_range[0])
    texts = [
        run[5] if run[5] and share > room_for(run[5]) else run[2]
        for run, share in zip(visible_labels, shares, strict=True)
    ]
    return go.Scatter(
        x=((low + high) / 2)[has_room],
        y=np.full(len(visible_labels), 0.5),
        xaxis="x",
        yaxis=yaxis,
        mode="text",
        text=[f"<b>{escape(text)}</b>" for text in texts],
        customdata=labels,
        textfont={"size": 11, "color": [run[4] for run in visible_labels]},
        meta={"names": True},
        hoverinfo="skip",
        name="names",
    )


MAX_POINTS = 4_000
"""The largest number of samples drawn of one line."""


def minmax_indices(values: FloatArray, max_points: int = MAX_POINTS) -> IntArray:
    """Indices of the samples to draw, ascending, at most `max_points` (and two for the ends).

    Samples are cut into equal stretches; each keeps its smallest and its largest value, so that every spike
    survives.
    """
    n = len(values)
    if n <= max_points:
        return np.arange(n)
    stretches = max(max_points // 2, 1)
    size = -(-n // stretches)
    padded = np.full(size * stretches, np.nan)
    padded[:n] = values
    table = padded.reshape(stretches, size)[: -(-n // size)]
    starts = np.arange(len(table)) * size
    low = starts + np.argmin(np.where(np.isnan(table), np.inf, table), axis=1)
    high = starts + np.argmax(np.where(np.isnan(table), -np.inf, table), axis=1)
    chosen = np.unique(np.concatenate([low, high, [0, n - 1]]))
    return chosen[chosen < n]


TOP, FOOT, GAP, ROW = 20, 24, 28, 18
"""Pixels above the first lane, below the last row, between lanes, and of the row of phases."""
CLOCK_LINE = 15
"""Pixels for the line of clock times below the elapsed times."""
_SHADES = (("ink", "solid"), ("weight2", "solid"), ("ink", "1px,2px"), ("weight2", "1px,2px"))
"""Shade and dash of the lines in one lane; colours are for phases."""
_OTHER_DASHES = ("solid", "9px,3px", "9px,3px,2px,3px", "2px,2px")
"""The dashes of other executions' lines, in the order in which they were chosen."""
_FAR = 3.0
"""A limit this many times above everything else is written, not drawn to scale."""


@dataclass(frozen=True, slots=True)
class Series:
    """One quantity of an execution."""

    #: The title, such as ``"CPU"``.
    title: str
    #: Usage per sample, shape (n,), in `unit`.
    values: FloatArray
    #: Its canonical unit.
    unit: Unit
    #: The limit that was set, shape (n,), or None.
    limit: FloatArray | None = None
    #: The allocation of a policy, shape (n,), or None.
    allocation: FloatArray | None = None
    #: That policy's name.
    policy: str = ""
    #: Other lines of the lane by name, each of shape (n,): those of other GPUs.
    other_lines: Sequence[tuple[str, FloatArray]] = ()
    #: The first line's name; `title` by default.
    name: str = ""
    #: The scale of the axis; fitted to the values by default.
    scale: Scale | None = None
    #: Whether samples are sparse, such as a loss: the points are connected.
    sparse: bool = False
    #: The request that was set, shape (n,), or None.
    request: FloatArray | None = None
    #: The same quantity of other executions: name, elapsed seconds of shape (m,) and values of shape (m,).
    other_executions: Sequence[tuple[str, FloatArray, FloatArray]] = ()

    @property
    def axis_scale(self) -> Scale:
        """The scale of the axis."""
        return self.scale or unit_scale(self.unit, self.values)

    @property
    def lines(self) -> list[tuple[str, FloatArray]]:
        """Every line of usage by its name."""
        return [(self.name or self.title, self.values), *self.other_lines]


@dataclass(frozen=True, slots=True)
class Caption:
    """What a timeline says beside its lines."""

    #: The execution and its trace set.
    title: str = ""
    #: The time of the first sample since 1970, or None where the traces have no dates.
    clock: float | None = None
    #: The names that people gave to phases, by id.
    phase_names: Mapping[int, str] = field(default_factory=dict)


def timeline(
    elapsed: FloatArray,
    series: Sequence[Series],
    runs: Runs | None = None,
    phases: Mapping[int, str] | Sequence[int] = (),
    window: tuple[float, float] | None = None,
    caption: Caption | None = None,
    breaks: IntArray | None = None,
) -> go.Figure:
    """Draw one execution."""
    caption = caption or Caption()
    clock = caption.clock
    banded = runs is not None and len(runs.phases) > 0
    end = float(runs.edges[-1]) if runs is not None and banded else float(elapsed[-1])
    ends = [float(times[-1]) for entry in series for _, times, _ in entry.other_executions if len(times)]
    full = (0.0, max([end, *ends]) or 1.0)
    visible_range = window or full
    thinned = len(elapsed) > MAX_POINTS
    if runs is not None and thinned:
        runs = runs.within(*visible_range)
    figure = go.Figure(layout=_layout(series, visible_range, clock, band=runs is not None))
    descriptions = dict(phases) if isinstance(phases, dict) else dict.fromkeys(phases, "")
    figure.layout.meta = {
        "time_axis": True,
        "full": full,
        "clock": clock,
        "thinned": thinned,
        "title": caption.title,
        "phases": [
            [phase, theme.phase_name(phase), theme.phase_colour(phase), text]
            for phase, text in descriptions.items()
        ],
    }
    traces = []
    for number, entry in enumerate(series, start=1):
        if runs is not None and banded:
            between = tuple(figure.layout[f"yaxis{number}"].range)
            traces.append(band(runs, tuple(descriptions), f"y{number}", between, faint=True))
        traces += _lines(
            elapsed, entry, number, visible_range, np.empty(0, np.int64) if breaks is None else breaks
        )
    if runs is not None and banded:
        row = f"y{len(series) + 1}"
        traces += [
            band(runs, tuple(descriptions), row, (0.0, 1.0)),
            names(runs, row, visible_range, caption.phase_names),
        ]
    figure.add_traces(traces)
    return figure


def _layout(
    series: Sequence[Series], visible_range: tuple[float, float], clock: float | None, *, band: bool
) -> go.Layout:
    n, below = len(series), (GAP + ROW - 8) * band
    lane = 165 if n == 1 else 106 if n == 2 else 84
    inside = n * lane + (n - 1) * GAP + below
    foot = FOOT + (0 if clock is None else CLOCK_LINE)
    layout = theme.frame(
        TOP + inside + foot,
        hovermode=False,
        margin={"l": 44, "r": 14, "t": TOP, "b": foot},
        xaxis=theme.time_axis(*visible_range, clock, anchor=f"y{n + 1 if band else n}"),
    )
    titles: list[dict[str, Any]] = []
    for number, entry in enumerate(series, start=1):
        top = 1 - (number - 1) * (lane + GAP) / inside
        layout[f"yaxis{number}"] = theme.value_axis(
            domain=[max(top - lane / inside, 0), min(top, 1)], range=_extent(entry), nticks=5
        )
        label = entry.axis_scale.label
        text = f"{entry.title}, {label}" if label else entry.title
        titles += [theme.quantity_title(text, y=top + 2 / inside), *_line_names(entry, top + 2 / inside)]
    if band:
        layout[f"yaxis{n + 1}"] = theme.axis(domain=[0, ROW / inside], range=[0, 1], showticklabels=False)
    layout.annotations = titles
    return layout


def _line_names(entry: Series, y: float) -> list[dict[str, Any]]:
    """The label at a lane's top right: a far limit or request, or the names of several lines."""
    lines = entry.lines
    if len(lines) == 1:
        far = [
            f"{name} {entry.axis_scale.with_unit(value)} ↑"
            for name, values in (("limit", entry.limit), ("request", entry.request))
            if (value := _far_value(entry, values)) is not None
        ]
        text = ", ".join(far)
        return [theme.quantity_title(text, x=1.0, y=y, xanchor="right")] if text else []
    labels, right = [], 0
    brief = _brief([name for name, _ in lines])
    for place in reversed(range(len(lines))):
        name, (shade, dash) = brief[place], _SHADES[place % len(_SHADES)]
        text = f"{'—' if dash == 'solid' else '···'} {name}"
        font = {"size": 11, "color": theme.ink("ink" if shade == "ink" else "ink3")}
        labels.append(theme.quantity_title(text, x=1.0, y=y, xanchor="right", xshift=-right, font=font))
        right += 7 * len(text) + 6
    return labels


def _brief(names: Sequence[str]) -> list[str]:
    """Names without their common last words, which the lane's title has: ``GPU 0``."""
    words = [name.split() for name in names]
    same = 0
    while same + 1 < min(map(len, words)) and len({each[-1 - same] for each in words}) == 1:
        same += 1
    return [" ".join(each[: len(each) - same]) for each in words]


def _extent(entry: Series) -> list[float]:
    """The range of a lane's axis, in its unit: around use, limit and allocation, and zero."""
    size = entry.axis_scale.size
    drawn = [*(values for _, values in entry.lines), *(values for *_, values in entry.other_executions)]
    ends = [_ends(values) for values in drawn]
    lowest, highest = min(low for low, _ in ends), max(high for _, high in ends)
    top = highest * 1.08 if highest > 0 else size
    for other in (entry.limit, entry.request, entry.allocation):
        if (
            other is not None
            and len(other)
            and (other is entry.allocation or _far_value(entry, other) is None)
        ):
            top = max(top, _ends(other)[1] * 1.04)
    return [min(lowest, 0.0) * 1.04 / size, top / size]


def _far_value(entry: Series, set_value: FloatArray | None) -> float | None:
    """The lowest value of a limit or request if all usage would be a flat line below it, else None."""
    if set_value is None or not np.isfinite(set_value).any():
        return None
    others = [values for _, values in entry.lines] + ([] if entry.allocation is None else [entry.allocation])
    highest = max(_ends(values)[1] for values in others)
    lowest = _ends(set_value)[0]
    return lowest if 0 < _FAR * highest < lowest else None


def _ends(values: FloatArray) -> tuple[float, float]:
    """The smallest and the largest finite value; zeros without any."""
    numbers = values if np.isfinite(values.sum()) else values[np.isfinite(values)]
    return (float(numbers.min()), float(numbers.max())) if len(numbers) else (0.0, 0.0)


def _lines(
    elapsed: FloatArray, entry: Series, number: int, visible_range: tuple[float, float], breaks: IntArray
) -> list[go.Scatter]:
    """Limit, allocation and usage of a quantity, as far as present, thinned in the visible range."""
    scale = entry.axis_scale
    low, high = np.searchsorted(elapsed, visible_range)
    inside = slice(max(int(low) - 1, 0), int(high) + 1)
    limit = {"color": theme.ink("line_strong"), "width": 1.25, "dash": "4px,3px", "shape": "hv"}
    request = limit | {"dash": "1px,3px"}
    allocation = {"color": theme.ink("accent"), "width": 1.5, "shape": "hv"}
    lines: list[tuple[str, str, FloatArray | None, dict[str, Any]]] = [
        (f"{entry.title} limit", "Limit", entry.limit, limit),
        (f"{entry.title} request", "Request", entry.request, request),
        (f"{entry.policy} allocation", f"{entry.policy} allocation", entry.allocation, allocation),
    ]
    for place, (name, values) in enumerate(entry.lines):
        shade, dash = _SHADES[place % len(_SHADES)]
        style = {"color": theme.ink(shade), "width": 1.4, "dash": dash}
        lines.append((name, "Used" if len(entry.lines) == 1 else name, values, style))
    others = [
        go.Scatter(
            x=times[indices],
            y=values[indices] / scale.size,
            xaxis="x",
            yaxis=f"y{number}",
            mode="lines",
            name=f"{entry.title} of {name}",
            line={"color": theme.ink("line_strong"), "width": 1.1, "dash": _OTHER_DASHES[place % 4]},
            connectgaps=entry.sparse,
            hoverinfo="skip",
            meta={"lane": entry.title, "key": f"{entry.title}, {name}", "unit": scale.label},
        )
        for place, (name, times, values) in enumerate(entry.other_executions)
        for indices in [minmax_indices(values)]
    ]
    return others + [
        go.Scatter(
            x=x,
            y=y / scale.size,
            xaxis="x",
            yaxis=f"y{number}",
            mode="lines",
            name=name,
            line=style,
            connectgaps=entry.sparse,
            hoverinfo="skip",
            meta={"lane": entry.title, "key": key, "unit": scale.label},
        )
        for name, key, values, style in lines
        if values is not None
        for indices in [minmax_indices(values[inside]) + inside.start]  # each line has its own extremes
        for x, y in [_broken(elapsed, values, indices, breaks)]
    ]


def _broken(
    elapsed: FloatArray, values: FloatArray, indices: IntArray, breaks: IntArray
) -> tuple[FloatArray, FloatArray]:
    """The chosen points of a line, with a NaN in the middle of each gap."""
    inside = breaks[(breaks > indices[0]) & (breaks <= indices[-1])] if len(indices) else breaks[:0]
    if not len(inside):
        return elapsed[indices], values[indices]
    place = np.searchsorted(indices, inside)
    between = (elapsed[inside - 1] + elapsed[inside]) / 2
    return np.insert(elapsed[indices], place, between), np.insert(
        values[indices].astype(float), place, np.nan
    )
