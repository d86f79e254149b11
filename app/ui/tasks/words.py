"""A task in words and small pieces: its state, its times, its error, what can be done about it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from dash import html

from app.ui.basics import Node, bar, button, data, link_button, notice, state_badge
from core.tasks.states import RETRYABLE
from core.units import format_duration
from core.workspace.records import TaskState

if TYPE_CHECKING:
    from core.workspace.records import TaskInfo, WorkerInfo

ACTIONS = "task-act"
_BADGES = {
    TaskState.QUEUED: ("waiting", "", "clock"),
    TaskState.RUNNING: ("running", "accent", "loader-2"),
    TaskState.DONE: ("done", "ok", "circle-check"),
    TaskState.FAILED: ("failed", "bad", "circle-x"),
    TaskState.CANCELLED: ("cancelled", "", "ban"),
    TaskState.INTERRUPTED: ("interrupted", "warn", "alert-triangle"),
}
_BARS = {
    TaskState.DONE: "ok",
    TaskState.FAILED: "bad",
    TaskState.INTERRUPTED: "warn",
    TaskState.CANCELLED: "stopped",
}


def badge(task: TaskInfo) -> html.Span:
    """The task's state as icon and word."""
    if task.cancelling:
        return state_badge("stopping", "warn", "player-stop")
    word, kind, picture = _BADGES[task.state]
    return state_badge(word, kind, picture)


def progress_bar(task: TaskInfo) -> html.Div:
    """How far the task is."""
    return bar(task.progress, _BARS.get(task.state, ""), f"Progress of {task.title}")


def moment(when: datetime, now: datetime | None = None) -> str:
    """A time as people say it: ``just now``, ``4 min ago``, ``18:02``, ``yesterday 18:02``, ``14 Nov``."""
    now = now or datetime.now(UTC)
    ago = (now - when).total_seconds()
    if ago < 60:
        return "just now"
    if ago < 3600:
        return f"{ago // 60:.0f} min ago"
    local, today = when.astimezone(), now.astimezone().date()
    if local.date() == today:
        return f"{local:%H:%M}"
    if local.date() == today - timedelta(days=1):
        return f"yesterday {local:%H:%M}"
    return f"{local.day} {local:%b}" if local.year == today.year else f"{local.day} {local:%b %Y}"


def timing(task: TaskInfo) -> str:
    """How long the task has taken, and how long it still takes."""
    if task.started is None:
        return "not started yet" if not task.state.ended else ""
    end = task.finished or datetime.now(UTC)
    seconds = (end - task.started).total_seconds()
    taken = format_duration(round(seconds)) if seconds >= 1 else "less than 1 s"
    if task.state.ended:
        return f"took {taken}"
    if task.seconds_left is None:
        return taken
    return f"{taken}, about {format_duration(round(task.seconds_left))} left"


def action(
    label: str, act: str, task_id: str, icon_name: str | None = None, kind: str = "small"
) -> html.Button:
    """A button that does something to a task."""
    return button(label, icon_name, kind, **data(act=act, id=task_id, store=ACTIONS))


def actions(task: TaskInfo) -> list[Node]:
    """What can be done about the task in its state."""
    if not task.state.ended:
        return [] if task.cancelling else [action("Cancel", "cancel", task.id, "player-stop")]
    return [action("Retry", "retry", task.id, "refresh")] if task.state in RETRYABLE else []


def worker_sentence(worker: WorkerInfo, threads: int) -> str:
    """Who does the work, and how much of it there is."""
    workers = f"{worker.count} worker{'s' if worker.count != 1 else ''}"
    each = f"{threads} thread{'s' if threads != 1 else ''}" + (" each" if worker.count > 1 else "")
    running = [f"{worker.running} running"] if worker.running else []
    waiting = f"{worker.queued} waiting" if worker.queued else "the queue is empty"
    return ", ".join([workers, each, *running, waiting])


def no_worker(worker: WorkerInfo) -> Node:
    """What to do when no worker is running; None when one is."""
    if worker.alive:
        return None
    return notice(
        "warn",
        html.Span(
            ["Start it with ", html.Code("phasedock worker"), "; waiting tasks then begin by themselves."]
        ),
        strong="No worker is running.",
    )


def see_phases(task: TaskInfo) -> Node:
    """The next step after a model was made."""
    result = task.result or {}
    traces, model = task.params.get("trace_set"), result.get("model")
    query = "&".join(f"{key}={value}" for key, value in (("traces", traces), ("model", model)) if value)
    return html.Div(
        [
            link_button("See phases", f"/phases?{query}", "timeline", "primary"),
            link_button("Open the model", f"/models?{query}", "stack-2"),
        ],
        className="row wrap",
    )


def failure(task: TaskInfo) -> Node:
    """What went wrong and what to do; None when nothing did."""
    if task.error is None:
        return None
    kind = "warn" if task.state is TaskState.INTERRUPTED else "bad"
    return notice(kind, task.error[1], strong=task.error[0])


def when(time: datetime) -> html.Time:
    """How long ago an aware time was."""
    exact = time.astimezone(UTC)
    return html.Time(moment(time), dateTime=exact.isoformat(), title=f"{exact:%Y-%m-%d %H:%M:%S} UTC")
