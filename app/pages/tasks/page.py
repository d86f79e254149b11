"""All long work: progress, result, log, cancel, retry.

The page asks once a second while somebody looks at it, and draws only what has changed.
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

import dash
from dash import ClientsideFunction, Input, Output, State, dcc, html, set_props

from app.context import LOCATION, workspace
from app.pages.tasks import listing
from app.ui.basics import Node, button, card, data, page_head
from app.ui.errors import problem, safe_page
from app.ui.links import Query
from app.ui.page import Page, Room
from app.ui.tasks import card as task_card
from app.ui.tasks import words as task_words
from core.errors import NotFoundError

if TYPE_CHECKING:
    from dash import Dash

    from core.workspace.records import TaskInfo


def _list(tasks: list[TaskInfo], query: Query) -> list[Node]:
    state, chosen = query.get("state") or "", query.get("task")
    rows = listing.listing(tasks, state, query, chosen)
    return [
        listing.filters(state, listing.counts_of(tasks), query),
        card(None, html.Div(rows, className="tasklist"), flush=True),
    ]


def _worker() -> tuple[str, Node]:
    space = workspace()
    worker = space.tasks.worker()
    sentence = task_words.worker_sentence(worker, space.settings.task_threads) if worker.alive else ""
    return sentence, task_words.no_worker(worker)


def _seen(tasks: list[TaskInfo], query: Query, sentence: str) -> str:
    """Everything that the page shows, in a few bytes: equal texts need no drawing."""
    rows = [(task.id, task.state, round(task.progress, 3), task.message, task.cancelling) for task in tasks]
    times = [(task_words.moment(task.created), task_words.timing(task)) for task in tasks]
    shown = json.dumps([rows, times, sorted(query.values.items()), sentence])
    return hashlib.blake2b(shown.encode(), digest_size=8).hexdigest()


@safe_page("Tasks")
def layout(**values: str) -> Node:
    """Lay the page out."""
    query = Query("/tasks", values)
    tasks = workspace().tasks.list(listing.LIMIT)
    sentence, warning = _worker()
    detail: list[Node] = []
    if chosen := query.get("task"):
        try:
            detail = listing.detail(workspace().tasks.get(chosen), query)
        except NotFoundError as error:
            detail = [problem(error)]
    clear = button("Clear finished", "trash", **data(act="clear", store=task_words.ACTIONS))
    return [
        page_head("Tasks", html.Span(sentence, id="tasks-worker"), [clear]),
        html.Div(warning, id="tasks-warning"),
        html.Div(
            [
                html.Div(_list(tasks, query), id="tasks-list", className="stack close"),
                html.Div(detail, id="tasks-detail", className="stack"),
            ],
            className="grid tasks-main with-detail" if detail else "grid tasks-main",
        ),
        dcc.Interval(id="tasks-tick", interval=1000),
        dcc.Store(id="tasks-look"),
        dcc.Store(id="tasks-seen", data=[_seen(tasks, query, sentence), 0]),
        *task_card.plumbing(),
    ]


def _refresh(search: str | None, seen: list[Any]) -> tuple[Any, ...]:
    query = Query.parse("/tasks", search)
    space = workspace()
    tasks = space.tasks.list(listing.LIMIT)
    sentence, warning = _worker()
    chosen, keep = query.get("task"), dash.no_update
    now, log = _seen(tasks, query, sentence), space.tasks.log(chosen) if chosen else []
    lines = listing.log_lines(chosen) if chosen and len(log) != seen[1] else keep
    if now == seen[0] and lines is keep:
        return keep, keep, keep, keep
    if lines is not keep:
        set_props("tasks-log", {"children": lines})
    return _list(tasks, query), sentence, warning, [now, len(log)]


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
    def follow(_look: int, search: str | None, seen: list[Any]) -> tuple[Any, ...]:
        return _refresh(search, seen)


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
