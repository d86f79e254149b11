"""The lives of a run's jobs: who waits, runs or is paused, and when; and how many wait over time.

States are told apart by weight and by words, not by hue: what runs is filled, what is paused is hatched, what
waits is an outline. A deadline is green where it was met, and red where it was missed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import plotly.graph_objects as go

from app.figures import theme
from app.figures.runs.steps import edges, rebinned, stairs
from core.units import format_duration

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from core.traces.model import FloatArray

MOST_ROWS = 160
STATES = {"waiting": "waiting", "running": "running", "paused": "paused", "migrating": "moving"}
"""The states that are drawn, and their words."""
_ENDED = ("done", "failed", "refused")
_HEIGHTS = ((16, 22.0), (40, 14.0), (80, 8.0), (MOST_ROWS, 4.5))
_NAMED, _SPELT = 40, 16
_TOP_PX, _GAP_PX, _FOOT_PX = 54, 34, 26
_NOBODY = 0.01
_ROUNDING = 1e-5


@dataclass(slots=True)
class Span:
    """An uninterrupted time of a job in one state; seconds of the run's clock."""

    job: str
    state: str
    start: float
    end: float


@dataclass(frozen=True, slots=True)
class End:
    """How and when a job ended."""

    job: str
    state: str
    time: float


def spans(series: Mapping[str, Any], jobs: Sequence[str] | None = None) -> list[Span]:
    """Which job was in which state and when, job by job in order of time."""
    found: list[Span] = []
    for job in series["jobs"] if jobs is None else jobs:
        if job in series["jobs"]:
            found += _spans(series["time"], job, series["jobs"][job])
    return found


def _spans(times: Sequence[float], job: str, lines: Mapping[str, Any]) -> list[Span]:
    """The spans of one job; what it is at an observation it has been since the one before."""
    first, states = lines["first"], np.array(lines["state"])
    changes = np.flatnonzero(states[2:] != states[1:-1]) + 2
    starts, stops = np.concatenate(([1], changes)), np.concatenate((changes, [len(states)]))
    found: list[Span] = []
    for at, stop in zip(starts.tolist(), stops.tolist(), strict=True):
        if at >= len(states):
            break
        # what ended had run until then
        state = str(states[at]) if states[at] in STATES else _before_end(states[at], states[at - 1])
        start, end = float(times[first + at - 1]), float(times[first + stop - 1])
        if state is None or end <= start:
            continue
        if found and found[-1].state == state:
            found[-1].end = end
        else:
            found.append(Span(job, state, start, end))
    return found


def _before_end(state: str, before: str) -> str | None:
    if state == "refused" or before in _ENDED:
        return None
    return "running"


def endings(series: Mapping[str, Any], jobs: Sequence[str]) -> list[End]:
    """How jobs ended, those that did."""
    found = []
    for job in jobs:
        lines = series["jobs"].get(job)
        if lines is not None and lines["state"] and lines["state"][-1] in _ENDED:
            at = lines["first"] + len(lines["state"]) - 1
            found.append(End(job, lines["state"][-1], float(series["time"][at])))
    return found


class Expected(NamedTuple):
    """When a job was expected to end, and the bounds of that or None; seconds of the run's clock."""

    job: str
    ends: float
    low: float | None
    high: float | None


def expected(series: Mapping[str, Any], jobs: Sequence[str], moment: float) -> list[Expected]:
    """When jobs that had not ended at a moment were expected to end, by what was last said of them."""
    times = np.array(series["time"], dtype=float)
    over = {each.job for each in endings(series, jobs) if each.time <= moment + _ROUNDING}
    found = []
    for job in jobs:
        said = series["jobs"].get(job, {}).get("ends", [])
        told = [each for each in said if times[each[0]] <= moment]
        if told and job not in over:
            found.append(Expected(job, *told[-1][1:]))
    return found


def counts(series: Mapping[str, Any], state: str) -> FloatArray:
    """How many jobs are in a state in each interval between observations, shape (n,)."""
    changes = np.zeros(len(series["time"]) + 1)
    bounds = edges(series)
    for span in spans(series):
        if span.state == state:
            changes[np.searchsorted(bounds, span.start, side="right") - 1] += 1
            changes[np.searchsorted(bounds, span.end, side="left")] -= 1
    total: FloatArray = np.cumsum(changes)[: len(series["time"])]
    return total


def queues(series: Mapping[str, Any]) -> bool:
    """Whether some job waits, is paused or is refused, beyond what starting takes."""
    found = spans(series)
    whole = sum(span.end - span.start for span in found)
    idle = sum(span.end - span.start for span in found if span.state in ("waiting", "paused"))
    return idle > _NOBODY * whole or any(
        each.state == "refused" for each in endings(series, list(series["jobs"]))
    )


def lives_height(n_jobs: int) -> int:
    """The pixels that the figure of so many jobs needs."""
    return round(_TOP_PX + _GAP_PX + _FOOT_PX + 12 + _row_px(n_jobs) * max(min(n_jobs, MOST_ROWS), 1))


def _row_px(n_jobs: int) -> float:
    return next((height for most, height in _HEIGHTS if n_jobs <= most), _HEIGHTS[-1][1])


def lives(
    series: Mapping[str, Any], jobs: Sequence[str], end: float, moment: float | None = None
) -> go.Figure:
    """Draw how many jobs wait over time and, under it, a row for each job."""
    shown = list(jobs[:MOST_ROWS])
    height = lives_height(len(shown))
    foot = (height - _FOOT_PX - _TOP_PX - _GAP_PX - 12) / (height - _FOOT_PX - 12)
    waits = counts(series, "waiting")
    most = float(waits.max(initial=0.0))
    figure = go.Figure(layout=_layout(shown, end, height, foot, most, moment))
    figure.add_trace(_waiting(series, waits))
    rows = {job: at for at, job in enumerate(shown)}
    found = [span for span in spans(series, shown) if span.end - span.start > 0]
    for state in STATES:
        mine = [span for span in found if span.state == state]
        if mine:
            figure.add_trace(_bars(mine, rows, state, display_name=len(shown) <= _SPELT))
    ended = endings(series, shown)
    figure.add_trace(_ends(ended, rows))
    due = {job: series["jobs"][job].get("due") for job in shown if job in series["jobs"]}
    due = {job: at for job, at in due.items() if at is not None}
    if due:
        figure.add_trace(_deadlines(due, ended, rows))
    if moment is not None and (foreseen := expected(series, shown, moment)):
        figure.add_trace(_expected(foreseen, rows))
    return figure


def marker_of(state: str) -> dict[str, Any]:
    """How the bars of a state look."""
    strong = theme.ink("line_strong")
    if state == "waiting":
        return {"color": theme.ink("surface"), "line": {"color": strong, "width": 1}}
    if state == "running":
        return {"color": theme.ink("weight1"), "line": {"color": theme.ink("weight1"), "width": 0}}
    shape = "/" if state == "paused" else "x"
    pattern = {"shape": shape, "fgcolor": strong, "bgcolor": theme.ink("weight3"), "size": 4}
    return {"color": theme.ink("weight3"), "pattern": pattern, "line": {"color": strong, "width": 0}}


def _bars(found: Sequence[Span], rows: Mapping[str, int], state: str, *, display_name: bool) -> go.Bar:
    word = STATES[state]
    letter = theme.ink("surface" if state == "running" else "ink")
    texts = [word if display_name else "" for _ in found]
    return go.Bar(
        orientation="h",
        yaxis="y2",
        base=[span.start for span in found],
        x=[span.end - span.start for span in found],
        y=[rows[span.job] for span in found],
        width=0.78 if len(rows) <= _NAMED else 0.9,
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
            for span in found
        ],
        hovertemplate="%{customdata[0]} " + word
        + " for %{customdata[1]}<br>%{customdata[2]} to %{customdata[3]}<extra></extra>",
    )  # fmt: skip


def _ends(found: Sequence[End], rows: Mapping[str, int]) -> go.Scatter:
    """A tick where a job was done, a cross where it failed or was refused."""
    ink = theme.ink("ink")
    few = len(rows) <= _NAMED
    done = ["line-ns" if each.state == "done" else "x-thin" for each in found]
    return go.Scatter(
        x=[each.time for each in found],
        y=[rows[each.job] for each in found],
        yaxis="y2",
        mode="markers",
        marker={"symbol": done, "size": 9 if few else 4, "color": ink, "line": {"color": ink, "width": 1.2}},
        customdata=[[each.job, each.state, format_duration(each.time)] for each in found],
        hovertemplate="%{customdata[0]} %{customdata[1]} at %{customdata[2]}<extra></extra>",
        name="ended",
        cliponaxis=False,
    )


def _deadlines(due: Mapping[str, float], ended: Sequence[End], rows: Mapping[str, int]) -> go.Scatter:
    """A long tick at each deadline, red where the job was not done by then."""
    by = {each.job: each for each in ended}
    words, colours = [], []
    for job, at in due.items():
        end = by.get(job)
        missed = end is not None and (end.state != "done" or end.time > at + _ROUNDING)
        late = (
            "" if end is None else ", missed" if missed else f", met {format_duration(at - end.time)} before"
        )
        words.append(f"{job}: deadline at {format_duration(at)}{late}")
        colours.append(theme.ink("bad" if missed else "ok" if end is not None else "ink"))
    few = len(rows) <= _NAMED
    return go.Scatter(
        x=list(due.values()),
        y=[rows[job] for job in due],
        yaxis="y2",
        mode="markers",
        marker={
            "symbol": "line-ns",
            "size": 14 if few else 5,
            "color": colours,
            "line": {"color": colours, "width": 2.5 if few else 1.5},
        },
        customdata=words,
        hovertemplate="%{customdata}<extra></extra>",
        name="deadline",
    )


def _expected(found: Sequence[Expected], rows: Mapping[str, int]) -> go.Scatter:
    """A ring where each job was expected to end at the moment that is shown."""
    accent = theme.ink("accent")
    lows = [0.0 if each.low is None else each.ends - each.low for each in found]
    highs = [0.0 if each.high is None else each.high - each.ends for each in found]
    return go.Scatter(
        x=[each.ends for each in found],
        y=[rows[each.job] for each in found],
        yaxis="y2",
        mode="markers",
        marker={"size": 7 if len(rows) <= _NAMED else 4, "color": theme.ink("surface"),
                "line": {"color": accent, "width": 2}},
        error_x={"type": "data", "symmetric": False, "array": highs, "arrayminus": lows, "color": accent,
                 "thickness": 1.5, "width": 0},
        customdata=[f"{each.job}: expected to end at {format_duration(each.ends)}" for each in found],
        hovertemplate="%{customdata}<extra></extra>",
        name="expected end",
    )  # fmt: skip


def _waiting(series: Mapping[str, Any], waits: FloatArray) -> go.Scatter:
    x, y = stairs(*rebinned(edges(series), waits))
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


def _layout(
    jobs: Sequence[str], end: float, height: int, foot: float, most: float, moment: float | None
) -> go.Layout:
    named = len(jobs) <= _NAMED
    longest = min(max((len(job) for job in jobs), default=0), 16) if named else 0
    below = "" if named else f", {len(jobs):,} by arrival"
    return theme.frame(
        height,
        margin={"l": max(14 + 6 * longest, 30), "r": 14, "t": 12, "b": _FOOT_PX},
        barmode="overlay",
        uniformtext={"mode": "hide", "minsize": 8},
        hovermode="closest",
        dragmode=False,
        xaxis=theme.time_axis(0.0, end, showgrid=True, anchor="y2") | {"fixedrange": True},
        yaxis=theme.value_axis(
            domain=[foot + _GAP_PX / height, 1.0 - 12 / height],
            range=[0, max(most, 1.0) * 1.1],
            **({"dtick": 1} if most <= 2 else {"nticks": 3}),
            fixedrange=True,
        ),
        yaxis2=theme.axis(
            domain=[0.0, foot],
            range=[max(len(jobs), 1) - 0.4, -0.6],
            tickvals=list(range(len(jobs))) if named else [],
            ticktext=[job if len(job) <= 16 else f"{job[:15]}…" for job in jobs] if named else [],
            tickfont={"size": 10, "color": theme.ink("ink3")},
            ticklabelstandoff=4,
            fixedrange=True,
        ),
        annotations=[
            theme.quantity_title("Jobs waiting", y=1.0 - 12 / height),
            theme.quantity_title(f"Each job{below}", y=foot, yshift=2),
        ],
        shapes=[theme.moment_line(moment)] if moment is not None else [],
        meta={"time_axis": True, "full": [0.0, end]},
    )
