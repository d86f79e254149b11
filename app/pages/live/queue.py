"""Submitted jobs on the page: the card with the queue, and the form by which a job is submitted."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Final

from dash import html

from app.pages.live.policy import clock
from app.pages.live.state import does
from app.ui.basics import Node, aria, button, card, data, icon, icon_button, notice, state_badge
from app.ui.forms import controls
from core.jobs.catalogue import CATALOGUE
from core.live.queue.spec import JobSettings
from core.live.queue.values import QueueState
from core.sampling.values import EngineState
from core.scheduling.model import HIGHEST_PRIORITY
from core.settings_fields import describe
from core.units import format_bytes, format_cores, format_number, plural

if TYPE_CHECKING:
    from collections.abc import Sequence

    from app.pages.live.state import Queue
    from core.live.queue.spec import JobSpec
    from core.live.queue.values import QueuedJob
    from core.sampling.values import LiveView


_BADGES = {
    QueueState.WAITING: ("", "clock"),
    QueueState.RUNNING: ("ok", "player-play"),
    QueueState.PAUSED: ("warn", "player-pause"),
    QueueState.ENDED: ("accent", "check"),
    QueueState.FAILED: ("bad", "alert-triangle"),
    QueueState.REFUSED: ("bad", "x"),
    QueueState.CANCELLED: ("", "x"),
}
_HEADS = ("Job", "State", "Cores", "Priority", "")
_OVER = 8
"""Jobs that are over which the card shows at most."""


def panel(view: LiveView, queue: Queue, *, control: bool, demo: bool = False) -> Node:
    """The card of the queue; None if the engine accepts no jobs."""
    if queue.jobs is None:
        return None
    over = [job for job in queue.jobs if job.state.over]
    parts: list[Node] = []
    if queue.waits_for and queue.waiting:
        n = len(queue.waiting)
        strong = f"{plural(n, 'job')} {'waits' if n == 1 else 'wait'}."
        parts.append(html.Div(notice("info", queue.waits_for, strong=strong), className="pad"))
    if queue.jobs:
        parts.append(_list([*queue.active, *over[:_OVER]], queue.waits_for, control))
    else:
        parts.append(html.P(_nothing(control=control, demo=demo), className="pad small ink2"))
    return card(
        "Queue",
        *parts,
        note=_note(queue) if queue.jobs else "no jobs",
        tools=[_submit(view, control)],
        flush=True,
        class_name="queuecard",
    )


def _submit(view: LiveView, control: bool) -> html.Button:
    ready = view.engine.state is EngineState.READY
    why = "" if control else "PHASEDOCK_CONTROL is off"
    why = why if ready else f"{view.engine.name} is not ready"
    more = {} if control and ready else {"disabled": True, "title": why}
    return button("Submit a job", "plus", "small", **does("job-form"), **more)


def _nothing(*, control: bool, demo: bool) -> str:
    if not control:
        return "Set PHASEDOCK_CONTROL=on and restart PhaseDock to submit jobs here."
    words = "Submit a job, and it waits here until a policy that is attached in control starts it."
    return f"{words} On the demo, a recorded job is replayed for it." if demo else words


def _note(queue: Queue) -> str:
    waiting = len(queue.waiting)
    return f"{waiting:,} waiting, {len(queue.active) - waiting:,} running"


def _list(jobs: Sequence[QueuedJob], waits_for: str, control: bool) -> html.Div:
    heads = html.Div([html.Span(each) for each in _HEADS], className="queuehead only-desktop-block")
    rows = html.Ol(
        [_row(job, "" if job.why == waits_for else job.why, control) for job in jobs], className="queue"
    )
    return html.Div([heads, rows], tabIndex="0", role="region", className="queuelist", **aria(label="Queue"))


def _row(job: QueuedJob, why: str, control: bool) -> html.Li:
    kind, picture = _BADGES[job.state]
    word = "ending" if job.cancelling else str(job.state)
    name = html.Div(
        [
            html.Span(job.name, className="strong truncate", title=job.name),
            html.Span(_what(job.spec), className="small ink3 truncate", title=_what(job.spec)),
        ],
        className="who",
    )
    state = html.Div([state_badge(word, kind, picture), _since(job)], className="how")
    parts: list[Node] = [
        name,
        state,
        html.Div(_cores(job), className="cores small"),
        html.Div(_priority(job, control), className="priority"),
        html.Div(_act(job, control), className="acts"),
    ]
    if why:
        parts.append(html.P(why, className="why"))
    return html.Li(parts, **data(state=str(job.state)))


def _what(spec: JobSpec) -> str:
    if spec.program:
        return " ".join(["bundled", *spec.command[3:]])
    return f"{spec.image} {shlex.join(spec.command)}".strip()


def _since(job: QueuedJob) -> html.Span:
    if job.state.over:
        return html.Span(html.Time(clock(job.finished or job.created)), className="small ink2 num")
    since = job.created if job.state is QueueState.WAITING else job.started or job.created
    return html.Span(["for ", html.Span("–", **data(since=since))], className="small ink2 num")


def _cores(job: QueuedJob) -> list[Node]:
    """A job's cores and its request."""
    spec, parts = job.spec, list[Node]()
    if job.state in (QueueState.RUNNING, QueueState.PAUSED):
        has = "no limit" if job.cores is None else format_cores(job.cores)
        threads = "" if job.threads is None else f", {plural(job.threads, 'thread')}"
        parts.append(html.Span(f"{has}{threads}", className="num"))
    asks = "no request" if spec.request is None else f"requests {format_cores(spec.request)}"
    parts.append(html.Span(f"{asks}{_range(spec)}{_memory(spec)}", className="ink3 num"))
    return parts


def _range(spec: JobSpec) -> str:
    min_cores, max_cores = spec.least, spec.most
    if min_cores is not None and max_cores is not None:
        return f", {format_number(min_cores)} to {format_number(max_cores)}"
    if min_cores is not None:
        return f", at least {format_number(min_cores)}"
    return "" if max_cores is None else f", at most {format_number(max_cores)}"


def _memory(spec: JobSpec) -> str:
    return "" if spec.memory is None else f"; {format_bytes(spec.memory)}"


def _priority(job: QueuedJob, control: bool) -> list[Node]:
    number = html.Span(
        [html.Span("Priority\u00a0", className="only-phone small ink3"), f"{job.priority}"],
        className="num",
    )
    if job.state is not QueueState.WAITING or not control:
        return [number]
    return [
        icon_button(
            "minus",
            f"Lower the priority of {job.name}",
            disabled=job.priority == 0,
            **does("job-down", job.id),
        ),
        number,
        icon_button(
            "plus",
            f"Raise the priority of {job.name}",
            disabled=job.priority == HIGHEST_PRIORITY,
            **does("job-up", job.id),
        ),
    ]


def _act(job: QueuedJob, control: bool) -> Node:
    more = {} if control else {"disabled": True, "title": "PHASEDOCK_CONTROL is off"}
    act, word, picture = (
        ("job-remove", "Remove", "trash") if job.state.over else ("job-cancel", "Cancel", "x")
    )
    more |= {"disabled": True} if job.cancelling else {}
    return button(
        word, picture, "quiet small", **does(act, job.id), **aria(label=f"{word} {job.name}"), **more
    )


def ask_cancel(job: QueuedJob) -> list[Node]:
    """The effect of cancelling a running job, before it is done."""
    text = f"{job.name} is ended, and its container {job.container_name} is deleted with all its files."
    buttons = [
        button("Keep it running", None, "", **does("close")),
        button(f"End {job.name}", "x", "danger", **does("job-cancel-now", job.id)),
    ]
    return [html.P(text), html.Div(buttons, className="row ends")]


FORM: Final = "live-job"
_FIRST: Final = ("program", "image", "command", "name", "deadline")
"""The form of a job with its deadline; below it is whether the deadline can be met."""
_THEN: Final = ("request", "min", "max", "memory", "priority", "environment")


def form(*, demo: bool) -> list[Node]:
    """The contents of the window; `demo` tells whether nothing on the engine is real."""
    others = [spec.name for spec in describe(JobSettings) if spec.name not in _FIRST + _THEN]
    parts: list[Node] = []
    if demo:
        text = (
            "The recording of its program is replayed, or for an image of your own one of the recorded jobs."
        )
        parts.append(notice("info", text, strong="This is the demo."))
    parts += [
        html.Div(
            controls(FORM, JobSettings, {"program": next(iter(CATALOGUE))} if demo else {}, _FIRST),
            className="jobform",
        ),
        html.Div(id="live-job-outlook", role="status"),
        html.Div(controls(FORM, JobSettings, only=_THEN), className="jobform"),
        html.Details(
            [
                html.Summary([icon("chevron-right", "sm"), "Threads, data, volumes, ports"]),
                html.Div(controls(FORM, JobSettings, only=others), className="jobform"),
            ],
            className="unfold",
        ),
        html.Div(id="live-job-problem"),
        html.Div(
            [
                button("Cancel", None, "", **does("close")),
                button("Submit", "plus", "primary", id="live-job-ok"),
            ],
            className="row ends",
        ),
    ]
    return parts
