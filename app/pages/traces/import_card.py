"""An import on the screen: its progress, its report, and the next step.

The card stands in the address (``task=…``), so that it is still there after a reload, and the Tasks
page knows of it too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dash import dcc, html

from app.context import Choice, address, workspace
from app.pages.traces.listing import does
from app.ui import task_card
from app.ui.basics import Node, button, icon, link_button, notice, state_badge, unseen
from app.ui.tables import html_table
from app.ui.task_card import badge, no_worker, progress_bar, timing
from core.errors import NotFoundError
from core.tables import Column, Table
from core.traces.problem_kinds import Action
from core.traces.validation import KINDS, Severity
from core.units import DASH, format_count
from core.workspace.records import TaskState

if TYPE_CHECKING:
    from collections.abc import Sequence

    from core.traces.validation import Problem, Report
    from core.workspace.records import TaskInfo, TraceSetInfo


_LOOKS = {
    Severity.ERROR: ("bad", "circle-x"),
    Severity.WARNING: ("warn", "alert-triangle"),
    Severity.INFO: ("", "info-circle"),
}
_WORDS = {
    Action.REJECTED: "dropped",
    Action.DROPPED: "dropped",
    Action.HELD: "filled",
    Action.SORTED: "sorted",
    Action.MERGED: "merged",
    Action.GROUPED: "grouped",
    Action.CONVERTED: "converted",
    Action.RESAMPLED: "resampled",
    Action.SPLIT: "split",
    Action.IGNORED: "not read",
    Action.KEPT: "check",
}
"""The treatment of a problem in one word; unchanged values need a check by the user."""
_ORDER = (Severity.ERROR, Severity.WARNING, Severity.INFO)


def summary(report: Report) -> str:
    """The imported rows and their share of the file, in one sentence."""
    lost = report.rows_read - report.rows_kept
    rows = f"{report.rows_kept:,} of {report.rows_read:,} rows" if lost else f"All {report.rows_read:,} rows"
    word = "execution" if report.executions_kept == 1 else "executions"
    return f"{rows} were kept, in {report.executions_kept:,} {word}."


def problem_table(problems: Sequence[Problem], label: str = "Problems found") -> Node:
    """The problems as a table, severe ones first; a note without any."""
    if not problems:
        return notice("ok", "Every row could be read as it is.", strong="No problems found in this file.")
    table = html_table(
        Table("problems", _PROBLEMS, sorted(problems, key=lambda one: _ORDER.index(one.severity))),
        label,
        heads={"action": unseen("Treatment in one word")},
        cells={
            "action": lambda one: state_badge(_word(one), *_LOOKS[one.severity]),
            "column": lambda one: html.Code(one.column) if one.column else DASH,
            "hint": lambda one: [
                html.Span(KINDS[one.kind].outcome),
                " ",
                html.Span(one.hint, className="ink3"),
            ],
        },
    )
    return html.Div(table, className="problems")


def _word(one: Problem) -> str:
    """The treatment of a problem's rows, in one word."""
    action = KINDS[one.kind].action
    return "note" if action is Action.KEPT and one.severity is Severity.INFO else _WORDS[action]


def _rows(one: Problem) -> str:
    """The numbers of the first rows with the problem."""
    numbers = one.rows or (() if one.row is None else (one.row,))
    return ", ".join(f"{row:,}" for row in numbers) + (" …" if one.count > len(numbers) > 1 else "") or "–"


_PROBLEMS = (
    Column("action", " ", value=_word),
    Column("message", "What was found"),
    Column("rows", "Rows", value=_rows, right=True),
    Column("column", "Column", value=lambda one: one.column or DASH),
    Column("count", "Times", format_count),
    Column(
        "hint",
        "Treatment and next step",
        value=lambda one: f"{KINDS[one.kind].outcome} {one.hint}",
    ),
)


def report_view(report: Report) -> html.Div:
    """The whole report: the imported share, and the problems."""
    return html.Div([html.P(summary(report)), problem_table(report.problems)], className="stack close")


_EVERY_MS = 1000


def import_card(task_id: str, is_known: bool = True) -> Node:
    """The card of an import (or of loading the sample), which follows the task until it ends."""
    try:
        task = workspace().tasks.get(task_id)
    except NotFoundError as error:
        return notice("info", error.hint, strong=error.message)
    return html.Div(
        [
            dcc.Interval(id="import-tick", interval=_EVERY_MS, disabled=task.state.ended and is_known),
            dcc.Store(id="import-task", data=task.id),
            dcc.Store(id="import-made"),
            html.Section(inside(task), id="import-card", className="card importcard"),
        ]
    )


def inside(task: TaskInfo) -> list[Node]:
    """The content of the card in the task's present state."""
    close = html.Div(_tools(task), className="tools")
    head = html.Div([html.H2(task.title, className="truncate"), badge(task), close], className="head")
    body = _ended(task) if task.state.ended else _running(task)
    return [head, html.Div(body, className="body stack")]


def trace_set_of(task: TaskInfo) -> TraceSetInfo | None:
    """The trace set of an import, or None if it was deleted."""
    trace_set_id = (task.result or {}).get("trace_set")
    try:
        return workspace().traces.get(trace_set_id) if trace_set_id else None
    except NotFoundError:
        return None


def unfinished_import() -> str | None:
    """The newest import that is queued or running, or None."""
    under_way = (TaskState.QUEUED, TaskState.RUNNING)
    imports = workspace().tasks.list(1, under_way, task_card.importing())
    return imports[0].id if imports else None


def upload_of(task_id: str | None) -> str | None:
    """The upload of an import."""
    if not task_id:
        return None
    try:
        return workspace().tasks.get(task_id).params.get("upload")
    except NotFoundError:
        return None


def _tools(task: TaskInfo) -> list[Node]:
    if not task.state.ended:
        return (
            [] if task.cancelling else [button("Cancel", "player-stop", "small", **does("cancel", task.id))]
        )
    info = trace_set_of(task)
    back = address("/traces", Choice(info, None)) if info else "/traces"
    return [dcc.Link(icon("x"), href=back, className="iconbtn", title="Close")]


def _running(task: TaskInfo) -> list[Node]:
    waits = "Waiting for a worker" if task.state is TaskState.QUEUED else "Starting"
    line = html.Div(
        [
            html.Span(task.message or waits, className="truncate"),
            html.Span(timing(task), className="num ink3"),
        ],
        className="row between small ink2",
    )
    leave = html.Div(
        [
            "You can leave this page; the import continues, and ",
            dcc.Link("Tasks", href=f"/tasks?task={task.id}", className="link"),
            " shows it too.",
        ],
        className="small ink3",
    )
    idle = no_worker(workspace().tasks.worker()) if task.state is TaskState.QUEUED else None
    return [html.Div([progress_bar(task), line], className="stack tight"), leave, *([idle] if idle else [])]


def _ended(task: TaskInfo) -> list[Node]:
    if task.state is TaskState.DONE:
        return _finished(task)
    if task.state is TaskState.CANCELLED:
        return [notice("info", "Nothing was imported.", strong="Cancelled.", actions=_ways_out(task))]
    message, hint = task.error or ("The import failed.", "Try again.")
    kind = "warn" if task.state is TaskState.INTERRUPTED else "bad"
    return [notice(kind, hint, strong=message, actions=_ways_out(task)), *_why(task)]


def _finished(task: TaskInfo) -> list[Node]:
    info = trace_set_of(task)
    if info is None:
        return [notice("info", "The trace set has been deleted since.", strong="Imported.")]
    models = workspace().models.compatible(info.id)
    choice = Choice(info, None)
    see = link_button("See phases", address("/phases", choice), "timeline", "primary")
    train = link_button(
        "Train a model", address("/models", choice, view="train"), "stack-2", "" if models else "primary"
    )
    executions = html.A([icon("table"), "See its executions"], href="#trace-executions", className="btn")
    steps = html.Div([*([see] if models else []), train, executions], className="row wrap")
    next_task = next_of(task)
    if next_task is not None:
        steps = html.Div(
            [_finding(next_task), html.Div([executions], className="row wrap")], className="stack"
        )
    report = workspace().traces.report(info.id)
    message = notice("ok", summary(report), strong=f"Imported “{info.name}”")
    if not report.faultless:
        message = _to_look_at(info, report, str(task.params.get("upload", "")))
    if not report.problems:
        return [message, steps]
    return [message, steps, problem_table(report.problems, "Problems found in the file")]


def _finding(task: TaskInfo) -> Node:
    """The search for phases that follows the import; at its end the page opens the timeline."""
    if task.state.ended and task.state is not TaskState.DONE:
        message, hint = task.error or ("No phases were found.", "Train a model with other settings.")
        train = link_button("Train a model", f"/models?view=train&traces={task.params.get('trace_set', '')}",
                            "stack-2", "small")  # fmt: skip
        return notice("warn", hint, strong=message, actions=[train])
    if task.state is TaskState.DONE:
        return html.Div(
            [link_button("See phases", task_card.result_link(task) or "/phases", "timeline", "primary")]
        )
    return html.Div(_running(task), className="stack")


def next_of(task: TaskInfo) -> TaskInfo | None:
    """The search for phases that an import started, or None."""
    next_id = (task.result or {}).get("next")
    try:
        return workspace().tasks.get(next_id) if next_id else None
    except NotFoundError:
        return None


def _to_look_at(info: TraceSetInfo, report: Report, upload: str) -> Node:
    """A warning that numbers were dropped, merged or assumed, with counts and alternatives."""
    doubts = [html.Li([html.B(one.message), " ", one.hint]) for one in report.harmful[:5]]
    ways = (
        [link_button("Choose other columns", f"/traces?upload={upload}", "adjustments-horizontal", "small")]
        if upload and _is_there(upload)
        else []
    )
    strong = f"Imported “{info.name}”, but check these problems."
    return notice("warn", html.Div([summary(report), html.Ul(doubts)]), strong=strong, actions=ways)


def _ways_out(task: TaskInfo) -> list[Node]:
    """The actions after a failure: other columns while the file exists, retry, the log."""
    ways: list[Node] = []
    upload = str(task.params.get("upload", ""))
    if upload and _is_there(upload):
        ways.append(
            link_button("Choose columns", f"/traces?upload={upload}", "adjustments-horizontal", "small")
        )
        ways.append(button("Discard the file", "trash", "small", **does("discard", upload)))
    if task.state is not TaskState.FAILED or not upload:
        ways.insert(0, button("Try again", "refresh", "small", **does("retry", task.id)))
    ways.append(link_button("See the log", f"/tasks?task={task.id}", "list-check", "small"))
    return ways


def _is_there(upload: str) -> bool:
    return any(info.id == upload for info in workspace().uploads.list())


def _why(task: TaskInfo) -> list[Node]:
    """The log of a failed import, line by line."""
    lines = [text for _, text in workspace().tasks.log(task.id)]
    if len(lines) < 2:
        return []
    log_lines = html.Ul([html.Li(line) for line in lines], className="found")
    return [html.Details([html.Summary(f"See all {len(lines)} lines of its log"), log_lines])]
