"""A task on the screen: what it is, its progress, the time left, its live curve, and what can be done.

`live` is a card that keeps itself up to date: it asks once a second while its task is under way, gets
only what is new since the last step, and stops asking when the task has ended. It can be put on any page;
left and opened again it is the same card, because all it shows is in the task's record.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import dash
from dash import MATCH, ClientsideFunction, Dash, Input, Output, Patch, State, dcc, html, set_props

from app.context import LOCATION, workspace
from app.figures.models.error_curve import error_curve
from app.ui.basics import Node, data, notice
from app.ui.errors import notify
from app.ui.graph import figure_id, graph
from app.ui.links import Query
from app.ui.tasks import kinds
from app.ui.tasks.words import ACTIONS, actions, badge, failure, progress_bar, see_phases, timing
from core.errors import ConflictError, NotFoundError
from core.workspace.records import TaskState

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from core.workspace.records import TaskInfo


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
    return kinds.curve_epochs(task) is not None


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
        parts.append(OUTCOMES.get(task.kind, _done)(task))
    elif task.state is TaskState.CANCELLED:
        parts.append(notice("info", kinds.kept(task), strong="Cancelled."))
    return [part for part in parts if part is not None]


def _done(task: TaskInfo) -> Node:
    """A task's result; for a model also the links to it."""
    said = html.Div(kinds.outcome(task))
    return html.Div([said, see_phases(task)], className="stack") if "model" in (task.result or {}) else said


OUTCOMES: dict[str, Callable[[TaskInfo], Node]] = {}
"""Kinds whose card shows more of a result than a sentence: the page that draws it adds it here."""


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
        room = None if task.state.ended else kinds.curve_epochs(task)
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
    left = None if task.seconds_left is None else round(task.seconds_left)
    return f"{task.state}|{task.progress:.4f}|{task.message}|{task.cancelling}|{left}"


def refresh(task_id: str, seen: Sequence[Any]) -> tuple[Any, ...]:
    """What changed in a live card: head, status, outcome, figure, seen, whether to stop asking."""
    keep = dash.no_update
    try:
        task = workspace().tasks.get(task_id)
    except NotFoundError:
        return keep, [notice("info", "This task was cleared from the list.")], None, keep, keep, True
    points, last = _curve_points(task_id, seen[0])
    figure: Any = keep
    if has_curve(task) and points.get("error", ([], []))[0]:
        figure = Patch()
        steps, values = points["error"]
        figure["data"][0]["x"].extend(steps)
        figure["data"][0]["y"].extend(values)
        if task.state.ended:
            figure["layout"]["xaxis"]["range"] = [0, steps[-1]]
    signature = _signature(task)
    if signature == seen[1] and figure is keep:
        # The time that has passed is still worth a line.
        return keep, _status(task) if not task.state.ended else keep, keep, keep, keep, task.state.ended
    same_state = str(seen[1]).split("|")[0] == task.state and not task.cancelling
    head = keep if same_state else _head(task)
    outcome = _outcome(task) if task.state.ended else keep
    return head, _status(task), outcome, figure, [last, signature], task.state.ended


def plumbing() -> list[Node]:
    """What a page needs once, so that the buttons of its tasks work."""
    return [dcc.Store(id=ACTIONS)]


def perform(act: str, task_id: str) -> str | None:
    """Do what a task's button asks for; returns the id of the task to look at next, or None.

    Raises
    ------
    ConflictError
        If the task is not in a state in which this can be done.
    """
    tasks = workspace().tasks
    match act:
        case "cancel":
            tasks.cancel(task_id)
        case "retry":
            return tasks.retry(task_id)
        case "clear":
            cleared = tasks.clear_finished()
            notify(f"{cleared} finished task{'s' if cleared != 1 else ''} cleared. Their results are kept.")
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
    def act(asked: dict[str, Any] | None, search: str | None) -> Any:
        next_task = perform(asked["act"], asked["id"]) if asked else None
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
    def follow(_look: int, seen: list[Any], where: dict[str, str]) -> tuple[Any, ...]:
        head, status, outcome, figure, now_seen, ended = refresh(where["name"], seen)
        if figure is not dash.no_update:
            set_props(figure_id(where["name"]), {"data": figure})
        if ended:
            set_props("changed", {"data": where["name"]})
        return head, status, outcome, now_seen, ended
