"""The tasks of one view of the Models page: those under way are found again whenever it is opened."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dash import html

from app.context import workspace
from app.ui.basics import Node, card, empty
from app.ui.tasks import card as task_card
from app.ui.tasks import words as task_words
from core.errors import NotFoundError
from core.workspace.records import TaskState

if TYPE_CHECKING:
    from collections.abc import Mapping

    from core.workspace.records import TaskInfo

_ACTIVE = (TaskState.QUEUED, TaskState.RUNNING)
_LOOK_BACK = 100


def tasks_of(kind: str, about: Mapping[str, object], wanted: str | None = None) -> list[TaskInfo]:
    """The tasks to show: the one asked for, else all under way, else the last that ended."""
    tasks = workspace().tasks
    if wanted:
        try:
            chosen = tasks.get(wanted)
        except NotFoundError:
            chosen = None
        if chosen is not None and chosen.kind == kind:
            return [chosen]
    mine = [
        task
        for task in tasks.list(_LOOK_BACK)
        if task.kind == kind and all(task.params.get(name) == value for name, value in about.items())
    ]
    return [task for task in mine if task.state in _ACTIVE] or mine[:1]


def panel(tasks: list[TaskInfo], icon_name: str, title: str, text: str) -> list[Node]:
    """Live cards of the tasks, or what will be seen here once there is one."""
    warning = task_words.no_worker(workspace().tasks.worker())
    cards: list[Node] = [task_card.live(task) for task in tasks]
    if not cards:
        cards = [card(None, empty(icon_name, title, text))]
    return [warning, *cards] if warning is not None else cards


def place(component_id: str, children: list[Node]) -> html.Div:
    """Where the tasks of a view are shown."""
    return html.Div(children, id=component_id, className="stack")
