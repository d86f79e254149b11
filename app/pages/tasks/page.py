"""All long work: progress, result, log, cancel, retry.

The page polls once a second while it is visible, and redraws only changes.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import dash
from dash import ClientsideFunction, Input, Output, State, dcc, html, set_props

from app.context import LOCATION, workspace
from app.ui import task_card
from app.ui.basics import (
    Node,
    aria,
    button,
    card,
    data,
    empty,
    icon,
    link_button,
    notice,
    page_head,
)
from app.ui.forms import text_of
from app.ui.links import PageState, Query, free_text, option
from app.ui.page import Page, Room, problem, safe_page
from app.ui.tables import html_table
from core.errors import NotFoundError
from core.phases.settings import PhaseSettings
from core.settings_fields import describe
from core.tables import Column, Table
from core.workspace.records import TaskState

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from dash import Dash

    from core.workspace.records import TaskInfo


FILTERS: dict[str, tuple[str, tuple[TaskState, ...] | None]] = {
    "": ("All", None),
    "active": ("Active", (TaskState.QUEUED, TaskState.RUNNING)),
    "done": ("Done", (TaskState.DONE,)),
    "failed": ("Failed", (TaskState.FAILED, TaskState.INTERRUPTED)),
    "cancelled": ("Cancelled", (TaskState.CANCELLED,)),
}
LIMIT = 200
_LABELS = {
    "trace_set": "Trace set",
    "model": "Model",
    "features": "Features",
    "name": "Name",
    "upload": "Upload",
    "phase": "Phase",
    "into": "Into",
    "seed": "Seed",
}


@dataclass(frozen=True, slots=True)
class View(PageState):
    """The choices of the page."""

    #: Which tasks are listed, a key of `FILTERS`, and the task that is open.
    state: str = option(FILTERS, "")
    task: str | None = free_text()


def filters(view: View, counts: Mapping[str, int]) -> html.Nav:
    """The states to choose from, each with its number of tasks."""
    return html.Nav(
        [
            dcc.Link(
                [label, html.Span(str(counts[key]), className="count")],
                href=view.query(state=key or None, task=None),
                className="on" if key == view.state else "",
            )
            for key, (label, _) in FILTERS.items()
            if counts[key] or key in ("", "active", view.state)
        ],
        className="tabs",
        **aria(label="Tasks by state"),
    )


def counts_of(tasks: Sequence[TaskInfo]) -> dict[str, int]:
    """The number of tasks per filter."""
    return {
        key: sum(1 for task in tasks if states is None or task.state in states)
        for key, (_, states) in FILTERS.items()
    }


def row(task: TaskInfo, view: View) -> html.Div:
    """One task of the list."""
    line = task.error[0] if task.error else task_card.outcome(task) or task.message
    times = [html.Span(task_card.time_text(task.created))]
    if spent := task_card.timing(task):
        times.append(html.Span(spent, className="ink3"))
    ways = list(task_card.actions(task))
    target = task_card.result_link(task) if task.state is TaskState.DONE else None
    if target:
        ways.append(dcc.Link("Open result", href=target, className="link"))
    kind = task_card.title(task)
    facts = [kind] if kind != task.title else []
    facts += [f"attempt {task.attempt}"] if task.attempt > 1 else []
    return html.Div(
        [
            html.Div(task_card.badge(task), className="state-cell"),
            html.Div(
                [
                    dcc.Link(task.title, href=view.query(task=task.id), className="name truncate"),
                    html.Span(
                        [icon(task_card.icon_name(task), "sm"), " ", " · ".join(facts)],
                        className="small ink3",
                    ),
                ],
                className="what",
            ),
            html.Div(
                [task_card.progress_bar(task), html.Span(line, className="small ink2 truncate", title=line)],
                className="how",
            ),
            html.Div(times, className="when small num"),
            html.Div(ways, className="acts"),
        ],
        className="taskrow on" if task.id == view.task else "taskrow",
        **data(task=task.id),
    )


def listing(tasks: Sequence[TaskInfo], view: View) -> list[Node]:
    """The rows of the matching tasks, or an empty state."""
    states = FILTERS[view.state][1]
    matching = [task for task in tasks if states is None or task.state in states]
    if matching:
        return [row(task, view) for task in matching]
    if tasks:
        ways = [link_button("Show all tasks", view.query(state=None, task=None), "list-check")]
        return [empty("filter", "No task is in this state", "Other tasks are hidden by this filter.", ways)]
    return [
        empty(
            "list-check",
            "No tasks yet",
            "Long-running work, such as reading a file or training a model, is listed here with its "
            "progress, log and result. You can close the page meanwhile.",
            [
                link_button("Add traces", "/traces", "upload"),
                link_button("Train a model", "/models?view=train", "stack-2"),
            ],
        )
    ]


def log_lines(task_id: str) -> list[Node]:
    """The task's log, oldest line first."""
    lines = workspace().tasks.log(task_id)
    if not lines:
        return [html.Span("No log entries yet.", className="ink3")]
    return [
        html.Div(
            [html.Span(f"{when.astimezone():%H:%M:%S}", className="ink3"), html.Span(text)],
            className="logline",
        )
        for when, text in lines
    ]


def _name_of(key: str, value: Any) -> Node:
    space = workspace()
    library: Any = {"trace_set": space.traces, "model": space.models}.get(key)
    if library is None or not isinstance(value, str):
        return None
    try:
        info = library.get(value)
    except NotFoundError:
        return html.Span("deleted", className="ink3")
    page = {"trace_set": "/traces?traces", "model": "/models?model"}[key]
    return dcc.Link(info.name, href=f"{page}={info.id}", className="link")


def _value_text(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        return ", ".join(_value_text(each) for each in value) or "none"
    if isinstance(value, dict):
        return ", ".join(f"{key} {_value_text(each)}" for key, each in value.items())
    return (
        "default" if value is None else "yes" if value is True else "no" if value is False else text_of(value)
    )


def parameters(params: Mapping[str, Any]) -> Iterator[tuple[str, Node]]:
    """The parameters of a task in words: settings by label, things by name."""
    for key, value in params.items():
        if key == "settings" and isinstance(value, dict):
            yield from _settings(value)
        else:
            label = _LABELS.get(key, key.replace("_", " ").capitalize())
            yield label, _name_of(key, value) or _value_text(value)


def _settings(values: Mapping[str, Any]) -> Iterator[tuple[str, Node]]:
    for spec in describe(PhaseSettings):
        if spec.name in values:
            value = values[spec.name]
            yield spec.label, dict(spec.choices).get(value) or f"{_value_text(value)} {spec.unit}".strip()


_PARAMETERS = (Column("setting", "Setting"), Column("value", "Value"))


def detail(task: TaskInfo, view: View) -> list[Node]:
    """One task: its live card, its log and its parameters."""
    close = dcc.Link(
        [icon("x"), html.Span("Close", className="sr")],
        href=view.query(task=None),
        className="iconbtn",
        title="Close",
    )
    target = task_card.result_link(task) if task.state is TaskState.DONE else None
    links: list[Node] = [link_button("Open result", target, "arrow-right", "small")] if target else []
    retried: list[Node] = []
    if task.retry_of:
        before = dcc.Link("previous attempt", href=view.query(task=task.retry_of), className="link")
        retried = [notice("info", html.Span(["See ", before, "."]), strong=f"Attempt {task.attempt}.")]
    return [
        html.Div([html.H2("Details"), html.Div([*links, close], className="tools")], className="detailhead"),
        *retried,
        task_card.live(task),
        card(
            "Log",
            html.Div(log_lines(task.id), id="tasks-log", className="log"),
            class_name="logcard",
        ),
        card(
            "Parameters",
            html_table(
                Table("parameters", _PARAMETERS, parameters(task.params)),
                "Parameters of the task",
                cells={"value": lambda row: row[1]},
            ),
            note=task_card.title(task),
            flush=True,
        ),
    ]


def _list(tasks: list[TaskInfo], view: View) -> list[Node]:
    rows = html.Div(listing(tasks, view), className="tasklist")
    return [filters(view, counts_of(tasks)), card(None, rows, flush=True)]


def _worker() -> tuple[str, Node]:
    space = workspace()
    worker = space.tasks.worker()
    sentence = task_card.worker_sentence(worker, space.settings.task_threads) if worker.alive else ""
    return sentence, task_card.no_worker(worker)


def _page_digest(tasks: list[TaskInfo], view: View, sentence: str) -> str:
    """A digest of the page's content: equal digests need no redraw."""
    rows = [(task.id, task.state, round(task.progress, 3), task.message, task.cancelling) for task in tasks]
    times = [(task_card.time_text(task.created), task_card.timing(task)) for task in tasks]
    text = json.dumps([rows, times, sorted(view.query.values.items()), sentence])
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


@safe_page("Tasks")
def layout(**values: str) -> Node:
    """Lay the page out."""
    view = View.read(Query("/tasks", values))
    tasks = workspace().tasks.list(LIMIT)
    sentence, warning = _worker()
    cards: list[Node] = []
    if view.task:
        try:
            cards = detail(workspace().tasks.get(view.task), view)
        except NotFoundError as error:
            cards = [problem(error)]
    clear = button("Clear finished", "trash", **data(act="clear", store=task_card.ACTIONS))
    return [
        page_head("Tasks", html.Span(sentence, id="tasks-worker"), [clear]),
        html.Div(warning, id="tasks-warning"),
        html.Div(
            [
                html.Div(_list(tasks, view), id="tasks-list", className="stack close"),
                html.Div(cards, id="tasks-detail", className="stack"),
            ],
            className="grid tasks-main with-detail" if cards else "grid tasks-main",
        ),
        dcc.Interval(id="tasks-tick", interval=1000),
        dcc.Store(id="tasks-look"),
        dcc.Store(id="tasks-seen", data=[_page_digest(tasks, view, sentence), 0]),
        *task_card.plumbing(),
    ]


def _refresh(search: str | None, last_seen: list[Any]) -> tuple[Any, ...]:
    view, space = View.read(Query.parse("/tasks", search)), workspace()
    tasks = space.tasks.list(LIMIT)
    sentence, warning = _worker()
    task, keep = view.task, dash.no_update
    now, log = _page_digest(tasks, view, sentence), space.tasks.log(task) if task else []
    lines = log_lines(task) if task and len(log) != last_seen[1] else keep
    if now == last_seen[0] and lines is keep:
        return keep, keep, keep, keep
    if lines is not keep:
        set_props("tasks-log", {"children": lines})
    return _list(tasks, view), sentence, warning, [now, len(log)]


def register(app: Dash) -> None:
    """Connect the callbacks."""
    app.clientside_callback(
        ClientsideFunction("actions", "whileVisible"),
        Output("tasks-look", "data"),
        Input("tasks-tick", "n_intervals"),
        prevent_initial_call=True,
    )

    @app.callback(
        Output("tasks-list", "children"),
        Output("tasks-worker", "children"),
        Output("tasks-warning", "children"),
        Output("tasks-seen", "data"),
        Input("tasks-look", "data"),
        State(LOCATION, "search"),
        State("tasks-seen", "data"),
        prevent_initial_call=True,
    )
    def follow(_tick: int, search: str | None, last_seen: list[Any]) -> tuple[Any, ...]:
        return _refresh(search, last_seen)


def _waiting() -> int:
    worker = workspace().tasks.worker()
    return worker.queued + worker.running


PAGE = Page(
    "/tasks",
    "Tasks",
    "list-check",
    3,
    layout,
    register,
    count=_waiting,
    outline=(Room((320,)),),
)
