"""The list of tasks, and all there is to know about one of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dash import dcc, html

from app.context import workspace
from app.ui.basics import Node, aria, card, data, empty, icon, link_button, notice, plain_table
from app.ui.forms import text_of
from app.ui.tasks import card as task_card
from app.ui.tasks import kinds
from app.ui.tasks import words as task_words
from core.errors import NotFoundError
from core.phases.settings import PhaseSettings
from core.settings_fields import describe
from core.workspace.records import TaskState

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from app.ui.links import Query
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


def filters(state: str, counts: Mapping[str, int], href: Query) -> html.Nav:
    """The states to choose from, each with its number of tasks."""
    return html.Nav(
        [
            dcc.Link(
                [label, html.Span(str(counts[key]), className="count")],
                href=href(state=key or None, task=None),
                className="on" if key == state else "",
            )
            for key, (label, _) in FILTERS.items()
            if counts[key] or key in ("", "active") or key == state
        ],
        className="tabs",
        **aria(label="Tasks by state"),
    )


def counts_of(tasks: Sequence[TaskInfo]) -> dict[str, int]:
    """How many tasks each filter lets through."""
    return {
        key: sum(1 for task in tasks if states is None or task.state in states)
        for key, (_, states) in FILTERS.items()
    }


def row(task: TaskInfo, href: Query, chosen: str | None) -> html.Div:
    """One task of the list."""
    line = task.error[0] if task.error else kinds.outcome(task) or task.message
    times = [html.Span(task_words.moment(task.created))]
    if spent := task_words.timing(task):
        times.append(html.Span(spent, className="ink3"))
    ways = list(task_words.actions(task))
    target = kinds.result_link(task) if task.state is TaskState.DONE else None
    if target:
        ways.append(dcc.Link("Open result", href=target, className="link"))
    kind = kinds.title(task)
    about = [kind] if kind != task.title else []
    about += [f"attempt {task.attempt}"] if task.attempt > 1 else []
    return html.Div(
        [
            html.Div(task_words.badge(task), className="state-cell"),
            html.Div(
                [
                    dcc.Link(task.title, href=href(task=task.id), className="name truncate"),
                    html.Span(
                        [icon(kinds.icon_name(task), "sm"), " ", " · ".join(about)],
                        className="small ink3",
                    ),
                ],
                className="what",
            ),
            html.Div(
                [task_words.progress_bar(task), html.Span(line, className="small ink2 truncate", title=line)],
                className="how",
            ),
            html.Div(times, className="when small num"),
            html.Div(ways, className="acts"),
        ],
        className="taskrow on" if task.id == chosen else "taskrow",
        **data(task=task.id),
    )


def listing(tasks: Sequence[TaskInfo], state: str, href: Query, chosen: str | None) -> list[Node]:
    """All rows, or what to do when there is none."""
    states = FILTERS.get(state, FILTERS[""])[1]
    shown = [task for task in tasks if states is None or task.state in states]
    if shown:
        return [row(task, href, chosen) for task in shown]
    if tasks:
        ways = [link_button("Show all tasks", href(state=None, task=None), "list-check")]
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


def _shown(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        return ", ".join(_shown(each) for each in value) or "none"
    if isinstance(value, dict):
        return ", ".join(f"{key} {_shown(each)}" for key, each in value.items())
    return (
        "default" if value is None else "yes" if value is True else "no" if value is False else text_of(value)
    )


def parameters(params: Mapping[str, Any]) -> Iterator[tuple[str, Node]]:
    """What the task was asked to do, in words: settings by their labels, things by their names."""
    for key, value in params.items():
        if key == "settings" and isinstance(value, dict):
            yield from _settings(value)
        else:
            label = _LABELS.get(key, key.replace("_", " ").capitalize())
            yield label, _name_of(key, value) or _shown(value)


def _settings(values: Mapping[str, Any]) -> Iterator[tuple[str, Node]]:
    for spec in describe(PhaseSettings):
        if spec.name in values:
            value = values[spec.name]
            yield spec.label, dict(spec.choices).get(value) or f"{_shown(value)} {spec.unit}".strip()


def detail(task: TaskInfo, href: Query) -> list[Node]:
    """Everything about one task: its live card, its log, and what it was asked to do."""
    close = dcc.Link(
        [icon("x"), html.Span("Close", className="sr")],
        href=href(task=None),
        className="iconbtn",
        title="Close",
    )
    target = kinds.result_link(task) if task.state is TaskState.DONE else None
    opened: list[Node] = [link_button("Open result", target, "arrow-right", "small")] if target else []
    retried: list[Node] = []
    if task.retry_of:
        before = dcc.Link("previous attempt", href=href(task=task.retry_of), className="link")
        retried = [notice("info", html.Span(["See ", before, "."]), strong=f"Attempt {task.attempt}.")]
    return [
        html.Div([html.H2("Details"), html.Div([*opened, close], className="tools")], className="detailhead"),
        *retried,
        task_card.live(task),
        card(
            "Log",
            html.Div(log_lines(task.id), id="tasks-log", className="log"),
            class_name="logcard",
        ),
        card(
            "Parameters",
            plain_table(
                [("Setting", False), ("Value", False)],
                list(parameters(task.params)),
                "Parameters of the task",
            ),
            note=kinds.title(task),
            flush=True,
        ),
    ]
