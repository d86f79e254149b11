"""Jobs with deadlines on one axis of time: since when, until when at most, and when each is expected to end.

The page's script (``assets/js/pages/live.js``) moves the present moment, and writes moments as clocks do.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from math import ceil, floor
from typing import TYPE_CHECKING, Any

from dash import html

from app.ui.basics import Node, aria, card, data, state_badge
from core.live.queue.values import QueueState
from core.units import format_cores, format_duration, plural

if TYPE_CHECKING:
    from collections.abc import Sequence

    from app.pages.live.state import Queue
    from core.live.queue.values import QueuedJob, Standing

_OVER = 5
"""Jobs that are over which are shown at most, the latest."""
_MARGIN = 0.02
_STEPS = (60.0, 120.0, 300.0, 600.0, 900.0, 1800.0, 3600.0, 7200.0, 10800.0, 21600.0, 43200.0, 86400.0)
_TICKS = 5
_EDGE = 0.05
"""The share of the axis at both ends in which no moment is written, since it would be cut off."""
_LATE = "late"


def panel(queue: Queue, now: float) -> Node:
    """The card of the deadlines at a moment; None where no job has one."""
    over = [job for job in queue.jobs or () if job.state.over and job.spec.deadline is not None][:_OVER]
    active = sorted(
        (job for job in queue.active if job.spec.deadline is not None),
        key=lambda job: (job.spec.deadline, job.name),
    )
    jobs = [*active, *over]
    if not jobs:
        return None
    axis = _Axis.of(jobs)
    rows = html.Ol([_row(job, axis, now) for job in jobs], className="duelist")
    ticks = [time_element(each, style={"left": axis.at(each)}) for each in axis.ticks()]
    head = html.Div(ticks, className="dueaxis num", **aria(hidden="true"))
    span = data(duebegin=f"{axis.begin:.1f}", dueend=f"{axis.end:.1f}")
    return card(
        "Deadlines",
        html.Div(
            [head, rows],
            tabIndex="0",
            role="region",
            className="due",
            **span,
            **aria(label="Deadlines, scrolls"),
        ),
        note=_note(active, now),
        tools=[_key()],
        flush=True,
        class_name="duecard",
    )


def time_element(at: float, **more: Any) -> html.Time:
    """A time of day; the page's script converts it to the browser's time zone."""
    return html.Time(time.strftime("%H:%M", time.localtime(at)), **data(at=f"{at:.0f}"), **more)


@dataclass(frozen=True, slots=True)
class _Axis:
    """The axis from the first submission to the last time shown."""

    begin: float
    end: float

    @classmethod
    def of(cls, jobs: Sequence[QueuedJob]) -> _Axis:
        begin = min(job.created for job in jobs)
        ends = [job.spec.deadline or begin for job in jobs] + [_last(job) for job in jobs]
        end = max(*ends, begin + 60.0)
        return cls(begin, end + _MARGIN * (end - begin))

    def ticks(self) -> list[float]:
        """Round moments on it, at most six; days are not rounder than hours, since clocks differ by zone."""
        step = next((each for each in _STEPS if (self.end - self.begin) / each <= _TICKS), None)
        step = step or ceil((self.end - self.begin) / _TICKS / 86400) * 86400.0
        room = _EDGE * (self.end - self.begin)
        first, last = ceil((self.begin + room) / step), floor((self.end - room) / step)
        return [number * step for number in range(first, last + 1)]

    def at(self, seconds: float) -> str:
        """The position of a time, as CSS."""
        share = (seconds - self.begin) / (self.end - self.begin)
        return f"{100 * min(max(share, 0.0), 1.0):.2f}%"


def _last(job: QueuedJob) -> float:
    """The end of a job, or its latest expected end."""
    if job.finished is not None:
        return job.finished
    stands = job.stands
    finishes = () if stands is None else (stands.ends, stands.latest)
    return max((each for each in finishes if each is not None), default=job.created)


def _note(jobs: Sequence[QueuedJob], now: float) -> str:
    if not jobs:
        return "none to come"
    late = sum(_is_late(job.stands) or job.overdue(now) for job in jobs)
    promised = sum(job.promised is True and not _is_late(job.stands) and not job.overdue(now) for job in jobs)
    facts = [f"{plural(len(jobs), 'job')}, {promised} guaranteed"]
    return ", ".join([*facts, f"{late} late"] if late else facts)


def _key() -> html.Div:
    return html.Div(
        [
            html.Span("Running", className="key ran"),
            html.Span("Expected end", className="key expected"),
            html.Span("Deadline", className="key until"),
            html.Span("Now", className="key now"),
        ],
        className="keys only-desktop",
    )


def _row(job: QueuedJob, axis: _Axis, now: float) -> html.Li:
    kind, word, text = _verdict(job, now)
    return html.Li(
        [
            html.Div(
                [
                    html.Span(job.name, className="strong truncate", title=job.name),
                    html.Span(_has(job), className="small ink3 num"),
                ],
                className="who",
            ),
            _track(job, axis),
            html.Div(
                [state_badge(word, kind), html.Span(text, className="small ink2 num")], className="verdict"
            ),
        ],
        **data(state=str(job.state)),
    )


def _has(job: QueuedJob) -> str:
    if job.state.over:
        return str(job.state)
    if job.state is QueueState.WAITING:
        return "waiting"
    cores = "no limit" if job.cores is None else format_cores(job.cores)
    stands = job.stands
    if stands is None or stands.steps is None or stands.total_steps is None:
        return cores
    return f"{cores}, step {stands.steps:,} of {stands.total_steps:,}"


def _track(job: QueuedJob, axis: _Axis) -> html.Div:
    """The line of one job."""
    stands, until = job.stands, job.spec.deadline or axis.end
    parts: list[Node] = [_piece("wait", axis, job.created, job.started or job.finished)]
    if job.started is not None:
        parts.append(_piece("ran", axis, job.started, job.finished))
    if stands is not None and stands.soonest is not None and stands.latest is not None:
        parts.append(_piece("between", axis, stands.soonest, stands.latest))
    if stands is not None and stands.ends is not None:
        parts.append(html.I(className="ends", style={"left": axis.at(stands.ends)}))
    parts.append(html.I(className="until", style={"left": axis.at(until)}))
    return html.Div(parts, className="duetrack", **aria(hidden="true"))


def _piece(kind: str, axis: _Axis, begin: float, end: float | None) -> html.I:
    """A part of a line; without an end it extends to now."""
    if end is None:
        return html.I(className=f"{kind} open", style={"left": axis.at(begin)})
    begin_css, end_css = axis.at(begin), axis.at(end)
    return html.I(className=kind, style={"left": begin_css, "right": f"calc(100% - {end_css})"})


def _is_late(stands: Standing | None) -> bool:
    return stands is not None and stands.label == _LATE


def _verdict(job: QueuedJob, now: float) -> tuple[str, str, list[Any]]:
    """Kind and word of a job's badge, and its details."""
    until, stands = job.spec.deadline or 0.0, job.stands
    due = ["due ", time_element(until)]
    if job.state.over:
        return _outcome(job, until, due)
    if job.overdue(now):
        return "bad", "overdue", due
    badge = ("ok", "guaranteed") if job.promised else ("", "no guarantee")
    if stands is None or stands.ends is None:
        return (*badge, due)
    spare = until - stands.ends
    more = [*due, ", expected ", time_element(stands.ends), _spare(spare)]
    if _is_late(stands) or (spare < 0 and not job.promised):
        return "bad", "will be late", more
    if spare < 0 or (stands.latest is not None and stands.latest > until):
        return "warn", "at risk", more
    return (*badge, more)


def _outcome(job: QueuedJob, until: float, due: list[Any]) -> tuple[str, str, list[Any]]:
    if job.state is not QueueState.ENDED or job.finished is None:
        return "", str(job.state), due
    spare = until - job.finished
    if spare >= 0:
        return "ok", "met", [f"{format_duration(spare)} before"]
    return "bad", "missed", [f"by {format_duration(-spare)}"]


def _spare(seconds: float) -> str:
    """The laxity of a job, or its delay, in words."""
    return f", {format_duration(abs(seconds))} {'to spare' if seconds >= 0 else 'too late'}"
