"""Jobs as bars over time: where each job was, in which state, and in which list.

States are told apart by weight and by words, not by hue: running is filled, paused is hatched, waiting is an
outline. A deadline is green where it was met, and red where it was missed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import plotly.graph_objects as go

from app.figures import theme
from app.figures.runs.cpu import colour_of, time_frame
from app.figures.runs.series import (
    ROUNDING,
    STATES,
    counts,
    edges,
    endings,
    expected_ends,
    labels,
    rebin,
    spans,
    stairs,
    stays,
)
from core.scheduling.actions import list_word
from core.units import format_duration

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from app.figures.runs.series import End, ExpectedEnd, Span, Stay
    from core.traces.model import FloatArray, IntArray

# By worker: a bar is a job's time there, an arrow a migration (SpeCon, workload distribution).

_MAX_STAYS = 1_500
_MAX_LANES = 110
_MAX_WORKERS = 200
_GAP = 1.0


def worker_lanes(series: Mapping[str, Any], end: float, height: int | None = None) -> go.Figure:
    """Draw the jobs on each worker as bars, or their number where there are too many."""
    all_stays = stays(series)
    lanes = _lanes(series, all_stays)
    if not _fits_bars(all_stays, lanes):
        return _counts(series, end)
    offsets, total = _offsets(lanes)
    figure = go.Figure(layout=_lanes_layout(lanes, offsets, total, end, height))
    arrivals = [stay for stay in all_stays if not stay.moved]
    migrations = [stay for stay in all_stays if stay.moved and not stay.rebalanced]
    rebalancings = [stay for stay in all_stays if stay.rebalanced]
    figure.add_trace(_stay_bars(arrivals, offsets, "placed at arrival", {"color": theme.WARM_UP["light"]}))
    figure.add_trace(_stay_bars(migrations, offsets, "after migration", {"color": theme.ink("accent")}))
    if rebalancings:
        figure.add_trace(_stay_bars(rebalancings, offsets, "after rebalancing", _hatch(theme.ink("accent"))))
    for trace in _arrows(all_stays, offsets):
        figure.add_trace(trace)
    return figure


def count_rebalanced(series: Mapping[str, Any]) -> int:
    """Number of migrations that evened out the number of jobs."""
    return sum(stay.rebalanced for stay in stays(series))


def _hatch(colour: str) -> dict[str, Any]:
    pattern = {"shape": "/", "fgcolor": colour, "bgcolor": theme.ink("surface"), "size": 4}
    return {"color": theme.ink("surface"), "pattern": pattern, "line": {"color": colour, "width": 1}}


def has_bars(series: Mapping[str, Any]) -> bool:
    """Whether a run is small enough for one bar per stay."""
    all_stays = stays(series)
    return _fits_bars(all_stays, _lanes(series, all_stays))


def _fits_bars(all_stays: Sequence[Stay], lanes: Mapping[str, int]) -> bool:
    return len(all_stays) <= _MAX_STAYS and sum(lanes.values()) <= _MAX_LANES


def lanes_height(series: Mapping[str, Any]) -> int:
    """The height of a run's bars in pixels."""
    total = _offsets(_lanes(series, stays(series)))[1]
    return round(min(max(190.0, 50 + 9.5 * total), 460.0))


def _lanes(series: Mapping[str, Any], all_stays: Sequence[Stay]) -> dict[str, int]:
    lanes = dict.fromkeys(series["workers"], 1)
    for stay in all_stays:
        lanes[stay.worker] = max(lanes.get(stay.worker, 1), stay.lane + 1)
    return lanes


def _offsets(lanes: Mapping[str, int]) -> tuple[dict[str, float], float]:
    """The first lane of each worker, and the end of the last."""
    at, offsets = 0.0, {}
    for worker, count in lanes.items():
        offsets[worker] = at
        at += count + _GAP
    return offsets, at - _GAP


def _stay_bars(
    shown_stays: Sequence[Stay], offsets: Mapping[str, float], name: str, marker: dict[str, Any]
) -> go.Bar:
    return go.Bar(
        orientation="h",
        base=[stay.start for stay in shown_stays],
        x=[stay.end - stay.start for stay in shown_stays],
        y=[offsets[stay.worker] + stay.lane for stay in shown_stays],
        width=0.72,
        name=name,
        marker=marker,
        customdata=[
            [stay.job, stay.worker, format_duration(stay.start), format_duration(stay.end)]
            for stay in shown_stays
        ],
        hovertemplate=(
            "%{customdata[0]} on %{customdata[1]}, "
            + name
            + "<br>%{customdata[2]} to %{customdata[3]}<extra></extra>"
        ),
    )


def _arrows(all_stays: Sequence[Stay], offsets: Mapping[str, float]) -> list[go.Scatter]:
    """Solid arrows of migrations, dotted ones of rebalancing."""
    return [
        *_move_lines(all_stays, offsets, rebalanced=False),
        *_move_lines(all_stays, offsets, rebalanced=True),
    ]


def _move_lines(
    all_stays: Sequence[Stay], offsets: Mapping[str, float], *, rebalanced: bool
) -> list[go.Scatter]:
    x: list[float | None] = []
    y: list[float | None] = []
    symbols: list[str] = []
    before: dict[str, Stay] = {}
    for stay in all_stays:
        if stay.moved and stay.rebalanced is rebalanced:
            last = before[stay.job]
            start, stop = offsets[last.worker] + last.lane, offsets[stay.worker] + stay.lane
            x += [last.end, stay.start, None]
            y += [start, stop, None]
            symbols += ["circle", "triangle-down" if stop > start else "triangle-up", "circle"]
        before[stay.job] = stay
    if not x:
        return []
    ink = theme.ink("ink")
    sizes = [5 if symbol == "circle" else 8 for symbol in symbols]
    return [
        go.Scatter(
            x=x,
            y=y,
            mode="lines+markers",
            line={"color": ink, "width": 1.2, "dash": "2px,2px" if rebalanced else "solid"},
            marker={"color": ink, "symbol": symbols, "size": sizes},
            hoverinfo="skip",
            name="rebalancing" if rebalanced else "migration",
        )
    ]


def _lanes_layout(
    lanes: Mapping[str, int], offsets: Mapping[str, float], total: float, end: float, height: int | None
) -> go.Layout:
    middles = [offsets[worker] + (count - 1) / 2 for worker, count in lanes.items()]
    rules = [offset - (_GAP + 1) / 2 for offset in list(offsets.values())[1:]]
    longest = max((len(name) for name in lanes), default=0)
    return time_frame(
        height or round(min(max(190.0, 50 + 9.5 * total), 460.0)),
        end,
        margin={"l": 14 + 6 * min(longest, 16), "r": 14, "t": 8, "b": 26},
        barmode="overlay",
        hovermode="closest",
        xaxis={"showgrid": True},
        yaxis=theme.axis(
            tickvals=middles,
            ticktext=[name if len(name) <= 16 else f"{name[:15]}…" for name in lanes],
            range=[total - 0.3, -0.9],
            fixedrange=True,
            ticklabelstandoff=4,
        ),
        shapes=[
            {
                "type": "line",
                "x0": 0,
                "x1": 1,
                "xref": "paper",
                "y0": rule,
                "y1": rule,
                "line": {"color": theme.ink("line"), "width": 1},
                "layer": "below",
            }
            for rule in rules
        ],
    )


def _counts(series: Mapping[str, Any], end: float) -> go.Figure:
    """Number of jobs on each of the first workers, as a heat map."""
    names, rows, bounds = list(series["workers"])[:_MAX_WORKERS], [], edges(series)
    for name in names:
        bounds, values = rebin(edges(series), np.asarray(series["workers"][name]["jobs"], dtype=float), 300)
        rows.append(values)
    return heat(names, bounds, rows, end, "%{y}: %{z:.1f} jobs<extra></extra>")


def heat(names: Sequence[str], bounds: Any, rows: Sequence[Any], end: float, hover: str) -> go.Figure:
    """A heat map with one row per worker."""
    return go.Figure(
        go.Heatmap(
            z=rows,
            x=bounds,
            y=names,
            zmin=0,
            showscale=False,
            colorscale=[[0, theme.ink("sunken")], [1, theme.ink("accent")]],
            hovertemplate=hover,
        ),
        layout=time_frame(
            min(max(190, 40 + 12 * len(names)), 460),
            end,
            margin={"l": 70, "r": 14, "t": 8, "b": 26},
            hovermode="closest",
            yaxis=theme.axis(autorange="reversed", fixedrange=True, nticks=12, type="category"),
        ),
    )


# By job: the states of each, and the number of waiting jobs.

MAX_ROWS = 160
_HEIGHTS = ((16, 22.0), (40, 14.0), (80, 8.0), (MAX_ROWS, 4.5))
_MAX_NAMES, _WORDS = 40, 16
_TOP_PX, _GAP_PX, _FOOT_PX = 54, 34, 26


def job_states_height(n_jobs: int) -> int:
    """The height in pixels of the figure of so many jobs."""
    return round(_TOP_PX + _GAP_PX + _FOOT_PX + 12 + _row_px(n_jobs) * max(min(n_jobs, MAX_ROWS), 1))


def _row_px(n_jobs: int) -> float:
    return next((height for max_jobs, height in _HEIGHTS if n_jobs <= max_jobs), _HEIGHTS[-1][1])


def job_states(
    series: Mapping[str, Any], jobs: Sequence[str], end: float, time: float | None = None
) -> go.Figure:
    """Draw the number of waiting jobs over time and, below it, a row for each job."""
    visible_jobs = list(jobs[:MAX_ROWS])
    height = job_states_height(len(visible_jobs))
    foot = (height - _FOOT_PX - _TOP_PX - _GAP_PX - 12) / (height - _FOOT_PX - 12)
    waits = counts(series, "waiting")
    most_waiting = float(waits.max(initial=0.0))
    figure = go.Figure(layout=_job_states_layout(visible_jobs, end, height, foot, most_waiting, time))
    figure.add_trace(_waiting(series, waits))
    rows = {job: at for at, job in enumerate(visible_jobs)}
    all_spans = [span for span in spans(series, visible_jobs) if span.end - span.start > 0]
    for state in STATES:
        state_spans = [span for span in all_spans if span.state == state]
        if state_spans:
            figure.add_trace(_state_bars(state_spans, rows, state, words=len(visible_jobs) <= _WORDS))
    ends = endings(series, visible_jobs)
    figure.add_trace(_ends(ends, rows))
    due = {job: series["jobs"][job].get("due") for job in visible_jobs if job in series["jobs"]}
    due = {job: at for job, at in due.items() if at is not None}
    if due:
        figure.add_trace(_deadlines(due, ends, rows))
    if time is not None and (expected := expected_ends(series, visible_jobs, time)):
        figure.add_trace(_expected_marks(expected, rows))
    return figure


def marker_of(state: str) -> dict[str, Any]:
    """The marker of a state's bars."""
    strong = theme.ink("line_strong")
    if state == "waiting":
        return {"color": theme.ink("surface"), "line": {"color": strong, "width": 1}}
    if state == "running":
        return {"color": theme.ink("weight1"), "line": {"color": theme.ink("weight1"), "width": 0}}
    shape = "/" if state == "paused" else "x"
    pattern = {"shape": shape, "fgcolor": strong, "bgcolor": theme.ink("weight3"), "size": 4}
    return {"color": theme.ink("weight3"), "pattern": pattern, "line": {"color": strong, "width": 0}}


def _state_bars(state_spans: Sequence[Span], rows: Mapping[str, int], state: str, *, words: bool) -> go.Bar:
    word = STATES[state]
    letter = theme.ink("surface" if state == "running" else "ink")
    texts = [word if words else "" for _ in state_spans]
    return go.Bar(
        orientation="h",
        yaxis="y2",
        base=[span.start for span in state_spans],
        x=[span.end - span.start for span in state_spans],
        y=[rows[span.job] for span in state_spans],
        width=0.78 if len(rows) <= _MAX_NAMES else 0.9,
        name=word,
        marker=marker_of(state),
        text=texts,
        textposition="inside",
        insidetextanchor="middle",
        textangle=0,
        textfont={"size": 10, "color": letter},
        customdata=[
            [span.job, format_duration(span.end - span.start), format_duration(span.start),
             format_duration(span.end)]
            for span in state_spans
        ],
        hovertemplate="%{customdata[0]} " + word
        + " for %{customdata[1]}<br>%{customdata[2]} to %{customdata[3]}<extra></extra>",
    )  # fmt: skip


def _ends(ends: Sequence[End], rows: Mapping[str, int]) -> go.Scatter:
    """A tick where a job was done, a cross where it failed or was refused."""
    ink = theme.ink("ink")
    has_names = len(rows) <= _MAX_NAMES
    symbols = ["line-ns" if each.state == "done" else "x-thin" for each in ends]
    return go.Scatter(
        x=[each.time for each in ends],
        y=[rows[each.job] for each in ends],
        yaxis="y2",
        mode="markers",
        marker={
            "symbol": symbols,
            "size": 9 if has_names else 4,
            "color": ink,
            "line": {"color": ink, "width": 1.2},
        },
        customdata=[[each.job, each.state, format_duration(each.time)] for each in ends],
        hovertemplate="%{customdata[0]} %{customdata[1]} at %{customdata[2]}<extra></extra>",
        name="ended",
        cliponaxis=False,
    )


def _deadlines(due: Mapping[str, float], ends: Sequence[End], rows: Mapping[str, int]) -> go.Scatter:
    """A long tick at each deadline, red where the job was not done by then."""
    by = {each.job: each for each in ends}
    words, colours = [], []
    for job, at in due.items():
        end = by.get(job)
        missed = end is not None and (end.state != "done" or end.time > at + ROUNDING)
        late = (
            "" if end is None else ", missed" if missed else f", met {format_duration(at - end.time)} before"
        )
        words.append(f"{job}: deadline at {format_duration(at)}{late}")
        colours.append(theme.ink("bad" if missed else "ok" if end is not None else "ink"))
    has_names = len(rows) <= _MAX_NAMES
    return go.Scatter(
        x=list(due.values()),
        y=[rows[job] for job in due],
        yaxis="y2",
        mode="markers",
        marker={
            "symbol": "line-ns",
            "size": 14 if has_names else 5,
            "color": colours,
            "line": {"color": colours, "width": 2.5 if has_names else 1.5},
        },
        customdata=words,
        hovertemplate="%{customdata}<extra></extra>",
        name="deadline",
    )


def _expected_marks(expected: Sequence[ExpectedEnd], rows: Mapping[str, int]) -> go.Scatter:
    """A ring at the estimated end of each job."""
    accent = theme.ink("accent")
    lows = [0.0 if each.low is None else each.ends - each.low for each in expected]
    highs = [0.0 if each.high is None else each.high - each.ends for each in expected]
    return go.Scatter(
        x=[each.ends for each in expected],
        y=[rows[each.job] for each in expected],
        yaxis="y2",
        mode="markers",
        marker={"size": 7 if len(rows) <= _MAX_NAMES else 4, "color": theme.ink("surface"),
                "line": {"color": accent, "width": 2}},
        error_x={"type": "data", "symmetric": False, "array": highs, "arrayminus": lows, "color": accent,
                 "thickness": 1.5, "width": 0},
        customdata=[f"{each.job}: expected to end at {format_duration(each.ends)}" for each in expected],
        hovertemplate="%{customdata}<extra></extra>",
        name="expected end",
    )  # fmt: skip


def _waiting(series: Mapping[str, Any], waits: FloatArray) -> go.Scatter:
    x, y = stairs(*rebin(edges(series), waits))
    return go.Scatter(
        x=x,
        y=y,
        mode="lines",
        name="waiting",
        line={"color": theme.ink("ink"), "width": 1.2},
        fill="tozeroy",
        fillcolor=theme.with_alpha(theme.ink("ink3"), theme.AREA_ALPHA),
        customdata=[format_duration(float(each)) for each in x],
        hovertemplate="%{y:.0f} waiting at %{customdata}<extra></extra>",
    )


def _job_states_layout(
    jobs: Sequence[str], end: float, height: int, foot: float, most_waiting: float, time: float | None
) -> go.Layout:
    has_names = len(jobs) <= _MAX_NAMES
    longest = min(max((len(job) for job in jobs), default=0), 16) if has_names else 0
    below = "" if has_names else f", {len(jobs):,} by arrival"
    return time_frame(
        height,
        end,
        margin={"l": max(14 + 6 * longest, 30), "r": 14, "t": 12, "b": _FOOT_PX},
        barmode="overlay",
        uniformtext={"mode": "hide", "minsize": 8},
        hovermode="closest",
        xaxis={"showgrid": True, "anchor": "y2"},
        yaxis=theme.value_axis(
            domain=[foot + _GAP_PX / height, 1.0 - 12 / height],
            range=[0, max(most_waiting, 1.0) * 1.1],
            **({"dtick": 1} if most_waiting <= 2 else {"nticks": 3}),
            fixedrange=True,
        ),
        yaxis2=theme.axis(
            domain=[0.0, foot],
            range=[max(len(jobs), 1) - 0.4, -0.6],
            tickvals=list(range(len(jobs))) if has_names else [],
            ticktext=[job if len(job) <= 16 else f"{job[:15]}…" for job in jobs] if has_names else [],
            tickfont={"size": 10, "color": theme.ink("ink3")},
            ticklabelstandoff=4,
            fixedrange=True,
        ),
        annotations=[
            theme.quantity_title("Jobs waiting", y=1.0 - 12 / height),
            theme.quantity_title(f"Each job{below}", y=foot, yshift=2),
        ],
        shapes=[theme.moment_line(time)] if time is not None else [],
    )


# By list: a row per job.

_MAX_INTERVALS = 300
_ROW_PX = 13


def label_bands(
    series: Mapping[str, Any], names: Sequence[str], jobs: Sequence[str], end: float
) -> go.Figure:
    """The list of each job over time: a row for each job."""
    bounds, places = _places(series, names, jobs)
    return go.Figure(_label_heat(bounds, places, names, jobs), _bands_layout(jobs, end))


def _places(
    series: Mapping[str, Any], names: Sequence[str], jobs: Sequence[str]
) -> tuple[FloatArray, IntArray]:
    """Edges of the drawn intervals, shape (n + 1,), and each job's label as an index, (jobs, n)."""
    bounds = edges(series)
    coarse = np.unique(bounds)
    if len(coarse) > _MAX_INTERVALS + 1:
        coarse = np.linspace(bounds[0], bounds[-1], _MAX_INTERVALS + 1)
    middles = (coarse[:-1] + coarse[1:]) / 2
    at = np.clip(np.searchsorted(bounds, middles, side="left") - 1, 0, len(bounds) - 2)
    return coarse, np.array([labels(series, job, names)[at] for job in jobs]).reshape(len(jobs), len(at))


def _label_heat(
    bounds: FloatArray, places: IntArray, names: Sequence[str], jobs: Sequence[str]
) -> go.Heatmap:
    return go.Heatmap(
        z=np.where(places < 0, np.nan, places),
        x=bounds,
        y=list(jobs),
        zmin=-0.5,
        zmax=len(names) - 0.5,
        ygap=2 if len(jobs) <= 60 else 0,
        showscale=False,
        colorscale=_scale(names),
        text=np.array([*map(list_word, names), ""], dtype=object)[places],
        hoverongaps=False,
        hovertemplate="%{y}: %{text}<extra></extra>",
    )


def _bands_layout(jobs: Sequence[str], end: float) -> go.Layout:
    longest = min(max((len(job) for job in jobs), default=0), 16)
    return time_frame(
        min(max(120, 34 + _ROW_PX * len(jobs)), 520),
        end,
        margin={"l": 14 + 6 * longest, "r": 14, "t": 8, "b": 26},
        hovermode="closest",
        yaxis=theme.axis(
            autorange="reversed",
            type="category",
            fixedrange=True,
            ticklabelstandoff=4,
            tickmode="linear",
            dtick=max(1, len(jobs) // 30),
            tickfont={"size": 10, "color": theme.ink("ink3")},
        ),
    )


def _scale(names: Sequence[str]) -> list[list[Any]]:
    no_labels = [[0, theme.ink("line")], [1, theme.ink("line")]]
    return theme.flat_scale([colour_of(name, names) for name in names]) or no_labels
