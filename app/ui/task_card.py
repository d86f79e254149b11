"""Tasks on the screen: cards with progress and result, and the panel of a page's own tasks."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import dash
from dash import MATCH, ClientsideFunction, Dash, Input, Output, Patch, State, dcc, html, set_props

from app.context import LOCATION, workspace
from app.figures.models import error_curve
from app.ui.basics import Node, bar, button, card, data, empty, link_button, notice, state_badge
from app.ui.evaluations import address_values
from app.ui.graph import figure_id, graph
from app.ui.links import Query
from app.ui.page import notify
from core.errors import ConflictError, NotFoundError, PhaseDockError
from core.handlers import KINDS
from core.tasks.kind import NOTHING_KEPT
from core.tasks.states import RETRYABLE
from core.units import format_duration
from core.workspace.evaluations import Question
from core.workspace.records import TaskState

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from core.tasks.kind import Kind, ResultLink
    from core.workspace.records import TaskInfo, WorkerInfo


_NAMES = {"trace_set": "traces"}
"""Names of ids in addresses, where they differ from the parameters'."""


def _kind(task: TaskInfo) -> Kind | None:
    """The kind of a task; None for one of another version."""
    if task.kind not in KINDS:
        return None
    return KINDS[task.kind]


def title(task: TaskInfo) -> str:
    """The title of a task's kind."""
    kind = _kind(task)
    return task.kind.replace("_", " ").capitalize() if kind is None else kind.title


def icon_name(task: TaskInfo) -> str:
    """The icon of a task's kind."""
    kind = _kind(task)
    return "help-circle" if kind is None else kind.icon


def outcome(task: TaskInfo) -> str:
    """A task's result, in a sentence; empty while it is not done."""
    kind = _kind(task)
    return "" if kind is None or task.state is not TaskState.DONE else kind.outcome(task)


def lasts(task: TaskInfo) -> bool:
    """Whether a task runs until it is stopped, so that it has no progress."""
    kind = _kind(task)
    return kind is not None and kind.lasting


def kept_work(task: TaskInfo) -> str:
    """A sentence on what a cancelled task leaves behind."""
    kind = _kind(task)
    return NOTHING_KEPT if kind is None else kind.kept


def curve_epochs(task: TaskInfo) -> int | None:
    """The number of epochs on a task's error curve; None without a curve."""
    kind = _kind(task)
    return None if kind is None else kind.curve(task.params)


def importing() -> list[str]:
    """The kinds of tasks that import: they end by themselves with a new trace set."""
    return [name for name, kind in KINDS.items() if "trace_set" in kind.gives and not kind.lasting]


def result_link(task: TaskInfo) -> str | None:
    """The address of a task's result; None without a page for it."""
    kind = _kind(task)
    link = None if kind is None else kind.link(task)
    return None if link is None else address_of(link)


def address_of(link: ResultLink) -> str | None:
    """The address of a result; None where no address can express it."""
    values = _ADDRESSED.get(link.page, dict)(link.about)
    if values is None:
        return None
    return Query(f"/{link.page}", {_NAMES.get(name, name): value for name, value in values.items()})()


def _comparison(params: Mapping[str, Any]) -> dict[str, Any] | None:
    """The settings of a comparison as parameters of an address; None if they are invalid."""
    try:
        question = Question.from_dict(params)
    except (PhaseDockError, KeyError):
        return None
    chosen = {"trace_set": question.trace_set, "model": question.model}
    return chosen | address_values(question.settings, question.policies)


_ADDRESSED: dict[str, Callable[[Mapping[str, Any]], dict[str, Any] | None]] = {"provisioning": _comparison}
"""Results whose addresses need more than ids."""


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
    """The progress bar of a task."""
    return bar(task.progress, _BARS.get(task.state, ""), f"Progress of {task.title}")


def time_text(when: datetime, now: datetime | None = None) -> str:
    """A time as ``just now``, ``4 min ago``, ``18:02``, ``yesterday 18:02`` or ``14 Nov``."""
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
    """A task's elapsed time and its estimated remaining time."""
    if task.started is None:
        return "not started yet" if not task.state.ended else ""
    end = task.finished or datetime.now(UTC)
    seconds = (end - task.started).total_seconds()
    duration = format_duration(round(seconds)) if seconds >= 1 else "less than 1 s"
    if task.state.ended:
        return f"took {duration}"
    if task.seconds_left is None:
        return duration
    return f"{duration}, about {format_duration(round(task.seconds_left))} left"


def action(
    label: str, act: str, task_id: str, icon_name: str | None = None, kind: str = "small"
) -> html.Button:
    """A button with an action on a task."""
    return button(label, icon_name, kind, **data(act=act, id=task_id, store=ACTIONS))


def actions(task: TaskInfo) -> list[Node]:
    """The buttons of a task in its state."""
    if not task.state.ended:
        return [] if task.cancelling else [action("Cancel", "cancel", task.id, "player-stop")]
    return [action("Retry", "retry", task.id, "refresh")] if task.state in RETRYABLE else []


def worker_sentence(worker: WorkerInfo, threads: int) -> str:
    """The workers, what runs on them, and how many tasks wait."""
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
    """A notice with a task's error and hint; None without an error."""
    if task.error is None:
        return None
    kind = "warn" if task.state is TaskState.INTERRUPTED else "bad"
    return notice(kind, task.error[1], strong=task.error[0])


def when(time: datetime) -> html.Time:
    """How long ago an aware time was."""
    exact = time.astimezone(UTC)
    return html.Time(time_text(time), dateTime=exact.isoformat(), title=f"{exact:%Y-%m-%d %H:%M:%S} UTC")


# A task on the screen: what it is, its progress, the time left, its live curve, and what can be done.
#
# `live` is a card that keeps itself up to date: it asks once a second while its task is under way, gets
# only what is new since the last step, and stops asking when the task has ended. It can be put on any page;
# left and opened again it is the same card, because all it shows is in the task's record.


def _curve_points(task_id: str, since: int) -> tuple[dict[str, tuple[list[int], list[float]]], int]:
    points: dict[str, tuple[list[int], list[float]]] = {}
    last = since
    for step, name, value in workspace().tasks.metrics(task_id, since):
        steps, values = points.setdefault(name, ([], []))
        steps.append(step)
        values.append(value)
        last = max(last, step)
    return points, last


def has_curve(task: TaskInfo) -> bool:
    """Whether the task draws an error curve while it runs."""
    return curve_epochs(task) is not None


def _status(task: TaskInfo) -> list[Node]:
    words = [task.message or ("Waiting for a worker" if task.state is TaskState.QUEUED else "")]
    return [
        progress_bar(task),
        html.Div(
            [
                html.Span(words[0], className="truncate"),
                html.Span(timing(task), className="num ink3"),
            ],
            className="row between small ink2 taskline",
        ),
    ]


def _outcome(task: TaskInfo) -> Node:
    if not task.state.ended:
        return None
    parts: list[Node] = [failure(task)]
    if task.state is TaskState.DONE:
        parts.append(OUTCOMES.get(task.kind, _result)(task))
    elif task.state is TaskState.CANCELLED:
        parts.append(notice("info", kept_work(task), strong="Cancelled."))
    return [part for part in parts if part is not None]


def _result(task: TaskInfo) -> Node:
    """A task's result, and links to it where it is a model."""
    result = html.Div(outcome(task))
    return (
        html.Div([result, see_phases(task)], className="stack") if "model" in (task.result or {}) else result
    )


OUTCOMES: dict[str, Callable[[TaskInfo], Node]] = {}
"""Renderers of results that need more than a sentence; pages register theirs here."""


def _part(kind: str, name: Any) -> dict[str, Any]:
    return {"type": f"task-{kind}", "name": name}


def live(task: TaskInfo) -> html.Section:
    """A card that follows a task until it has ended."""
    points, last = _curve_points(task.id, -1)
    errors = points.get("error", ([], []))
    children: list[Node] = [
        dcc.Interval(id=_part("tick", task.id), interval=1000, disabled=task.state.ended),
        dcc.Store(id=_part("seen", task.id), data=[last, _signature(task)]),
        dcc.Store(id=_part("look", task.id)),
        html.Div(_head(task), id=_part("head", task.id), className="head"),
    ]
    body: list[Node] = [html.Div(_status(task), id=_part("status", task.id), className="stack tight")]
    if has_curve(task):
        room = None if task.state.ended else curve_epochs(task)
        label = "Reconstruction error of each epoch"
        body.append(graph(task.id, error_curve(*errors, epochs=room), label))
    body.append(html.Div(_outcome(task), id=_part("outcome", task.id), className="stack"))
    children.append(html.Div(body, className="body stack"))
    return html.Section(children, className="card livetask", **data(task=task.id))


def _head(task: TaskInfo) -> list[Node]:
    return [
        html.H2(task.title, className="truncate"),
        badge(task),
        html.Div(actions(task), className="tools"),
    ]


def _signature(task: TaskInfo) -> str:
    seconds_left = None if task.seconds_left is None else round(task.seconds_left)
    return f"{task.state}|{task.progress:.4f}|{task.message}|{task.cancelling}|{seconds_left}"


def refresh(task_id: str, last_seen: Sequence[Any]) -> tuple[Any, ...]:
    """Updates of a live card: head, status, outcome, figure, last seen, whether polling stops."""
    keep = dash.no_update
    try:
        task = workspace().tasks.get(task_id)
    except NotFoundError:
        return keep, [notice("info", "This task was cleared from the list.")], None, keep, keep, True
    points, last = _curve_points(task_id, last_seen[0])
    figure: Any = keep
    if has_curve(task) and points.get("error", ([], []))[0]:
        figure = Patch()
        steps, values = points["error"]
        figure["data"][0]["x"].extend(steps)
        figure["data"][0]["y"].extend(values)
        if task.state.ended:
            figure["layout"]["xaxis"]["range"] = [0, steps[-1]]
    signature = _signature(task)
    if signature == last_seen[1] and figure is keep:
        # only the elapsed time has changed
        return keep, _status(task) if not task.state.ended else keep, keep, keep, keep, task.state.ended
    same_state = str(last_seen[1]).split("|")[0] == task.state and not task.cancelling
    head = keep if same_state else _head(task)
    outcome = _outcome(task) if task.state.ended else keep
    return head, _status(task), outcome, figure, [last, signature], task.state.ended


def plumbing() -> list[Node]:
    """Stores that a page needs once for the buttons of its tasks."""
    return [dcc.Store(id=ACTIONS)]


def perform(act: str, task_id: str) -> str | None:
    """Carry out a button's action on a task; returns the id of the task to show next, or None.

    Raises
    ------
    ConflictError
        If the task's state does not allow the action.
    """
    tasks = workspace().tasks
    match act:
        case "cancel":
            tasks.cancel(task_id)
        case "retry":
            return tasks.retry(task_id)
        case "clear":
            cleared = tasks.clear_finished()
            notify(f"{cleared} finished task{'s' if cleared != 1 else ''} cleared. Their results remain.")
        case _:
            raise ConflictError(f"“{act}” is not an action on tasks.", "Reload the page.")
    return None


def register(app: Dash) -> None:
    """Let live cards follow their tasks."""
    app.clientside_callback(
        ClientsideFunction("actions", "whileVisible"),
        Output(_part("look", MATCH), "data"),
        Input(_part("tick", MATCH), "n_intervals"),
        prevent_initial_call=True,
    )

    @app.callback(
        Output(LOCATION, "search", allow_duplicate=True),
        Input(ACTIONS, "data"),
        State(LOCATION, "search"),
        prevent_initial_call=True,
    )
    def act(button_action: dict[str, Any] | None, search: str | None) -> Any:
        next_task = perform(button_action["act"], button_action["id"]) if button_action else None
        if next_task is None:
            return dash.no_update
        return f"?{Query.parse('', search).search(task=next_task)}"

    @app.callback(
        Output(_part("head", MATCH), "children"),
        Output(_part("status", MATCH), "children"),
        Output(_part("outcome", MATCH), "children"),
        Output(_part("seen", MATCH), "data"),
        Output(_part("tick", MATCH), "disabled"),
        Input(_part("look", MATCH), "data"),
        State(_part("seen", MATCH), "data"),
        State(_part("seen", MATCH), "id"),
        prevent_initial_call=True,
    )
    def follow(_tick: int, last_seen: list[Any], card_id: dict[str, str]) -> tuple[Any, ...]:
        head, status, outcome, figure, now_seen, has_ended = refresh(card_id["name"], last_seen)
        if figure is not dash.no_update:
            set_props(figure_id(card_id["name"]), {"data": figure})
        if has_ended:
            set_props("changed", {"data": card_id["name"]})
        return head, status, outcome, now_seen, has_ended


_ACTIVE = (TaskState.QUEUED, TaskState.RUNNING)
_LOOK_BACK = 100


def tasks_of(kind: str, params: Mapping[str, object], task_id: str | None = None) -> list[TaskInfo]:
    """The tasks to show: the requested one, else all under way, else the last that ended."""
    tasks = workspace().tasks
    if task_id:
        try:
            chosen = tasks.get(task_id)
        except NotFoundError:
            chosen = None
        if chosen is not None and chosen.kind == kind:
            return [chosen]
    matching = [
        task
        for task in tasks.list(_LOOK_BACK)
        if task.kind == kind and all(task.params.get(name) == value for name, value in params.items())
    ]
    return [task for task in matching if task.state in _ACTIVE] or matching[:1]


def panel(tasks: list[TaskInfo], icon_name: str, title: str, text: str) -> list[Node]:
    """Live cards of the tasks, or an empty state without any."""
    warning = no_worker(workspace().tasks.worker())
    cards: list[Node] = [live(task) for task in tasks]
    if not cards:
        cards = [card(None, empty(icon_name, title, text))]
    return [warning, *cards] if warning is not None else cards


def place(component_id: str, children: list[Node]) -> html.Div:
    """The place of a view's tasks."""
    return html.Div(children, id=component_id, className="stack")
