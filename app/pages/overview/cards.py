"""The cards of the overview: key figures, what jobs do, and tasks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dash import dcc, html

from app.context import Choice, address, workspace
from app.figures.shares import shares
from app.pages.overview.saving import newest_saving
from app.ui.basics import Node, bar, card, empty, kpi, link_button, state_badge
from app.ui.engines import title_of
from app.ui.export import export_menu
from app.ui.graph import graph
from app.ui.group_shares import group_shares
from app.ui.nothing_yet import train_a_model
from app.ui.tasks import kinds as task_kinds
from core.live.sessions import ATTACH, RECORD
from core.sampling.values import Mode
from core.scheduling.policies import spelt
from core.traces.model import Role
from core.traces.validation import many
from core.units import Unit, format_number
from core.workspace.records import TaskState

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from core.workspace.records import ModelInfo, TaskInfo, TraceSetInfo


_LOOK_BACK = 50
_UNDER_WAY = (TaskState.QUEUED, TaskState.RUNNING)
_TASK_LOOKS: dict[TaskState, tuple[str, str | None]] = {
    TaskState.DONE: ("ok", "circle-check"),
    TaskState.FAILED: ("bad", "circle-x"),
    TaskState.INTERRUPTED: ("warn", "alert-triangle"),
    TaskState.RUNNING: ("accent", None),
    TaskState.QUEUED: ("", "clock"),
    TaskState.CANCELLED: ("", "ban"),
}
"""The kind of a state's badge and its icon."""


def key_figures(choice: Choice, sets: Sequence[TraceSetInfo], models: Sequence[ModelInfo]) -> Node:
    """The row of key figures on top: what could be saved, what is here, what is steered, what was found."""
    traces = choice.traces
    if traces is None:
        return None
    table = workspace().traces.summary(traces.id)
    cards = [_saving(choice), _executions(traces, table, sets), _steered(), _phases(choice, models)]
    return html.Div(cards, className="grid cols-4")


def _saving(choice: Choice) -> html.Div:
    """What the newest comparison says, or how to make the first."""
    try:
        found = newest_saving(choice.traces.id if choice.traces else "")
    except (KeyError, TypeError, ValueError):  # a report of another version
        found = None
    if found is None:
        ask = dcc.Link("Compare policies", href=address("/provisioning", choice), className="link")
        return kpi("Over-allocation you could avoid", "–", "not compared yet", ask)
    link = dcc.Link(found.words, href=found.href, className="link quietlink")
    return kpi(found.title, found.figure, "of demand", link)


def _steered() -> html.Div:
    """How many containers a policy controls now, and which one; else what is attached or recorded."""
    tasks = workspace().tasks.list(_LOOK_BACK, _UNDER_WAY, (ATTACH, RECORD))
    control = [task for task in tasks if task.params.get("mode") == Mode.CONTROL]
    if not control:
        doing = ", ".join(task.title for task in tasks[:2]) or "No policy is attached"
        return kpi(
            "Controlled now", "0", "containers", dcc.Link(doing, href="/live", className="link quietlink")
        )
    views = [workspace().live.view.glance(str(task.params["engine"])) for task in control]
    n, first = sum(len(view.rows) for view in views), views[0]
    resizes = first.attached.resizes if first.attached else 0
    words = (
        f"{spelt(str(control[0].params['policy']))} on {title_of(first.engine)}, {many(resizes, 'resize')}"
    )
    href = f"/live?engine={first.engine.name}"
    link = dcc.Link(words, href=href, className="link quietlink")
    return kpi("Controlled now", f"{n:,}", "container" if n == 1 else "containers", link)


def _hours(table: pd.DataFrame) -> float:
    """The hours of all containers together."""
    return float(table["duration_s"].sum() / 3600)


def _executions(traces: TraceSetInfo, table: pd.DataFrame, sets: Sequence[TraceSetInfo]) -> html.Div:
    return kpi(
        "Executions",
        f"{traces.n_executions:,}",
        f"in {traces.name}" if len(sets) == 1 else f"in 1 of {len(sets)} trace sets",
        _used(traces, table),
    )


def _used(traces: TraceSetInfo, table: pd.DataFrame) -> str:
    """How much was recorded, and the mean use of a container where that is known in cores."""
    hours = f"{traces.n_samples:,} samples, {format_number(_hours(table), 1)} container-hours"
    cpu = next((f for f in traces.features if f.role is Role.CPU), None)
    if cpu is None or cpu.unit is not Unit.CORES or "cpu_mean" not in table:
        return hours
    total = (table["cpu_mean"] * table["duration_s"]).sum()
    mean = float(total / max(table["duration_s"].sum(), 1e-9))
    return f"{hours}, {format_number(mean)} cores on average"


def _phases(choice: Choice, models: Sequence[ModelInfo]) -> html.Div:
    model = choice.model
    if model is None:
        return kpi("Phases", "–", "no model yet", "Train one to find them")
    number = str(len(model.phases)) if model.phases else "–"
    return kpi("Phases", number, "in the chosen model", f"{model.name}, 1 of {many(len(models), 'model')}")


def what_jobs_do(choice: Choice) -> Node:
    """The share of time in each phase, per group of executions."""
    pair = choice.pair()
    if pair is None:
        text = "A model finds the phases of these executions."
        return card("What your jobs do", empty("stack-2", "No model yet", text, [train_a_model(choice)]))
    groups, phases, by = group_shares(pair[0].id, pair[1].id)
    note = f"share of time in each phase, largest groups by {by}" if by else "share of time in each phase"
    figure = shares(groups, phases)
    tools = [
        link_button("Open phases", address("/phases", choice), "arrow-right", "small quiet"),
        export_menu("jobs", "what jobs do", []),
    ]
    return card("What your jobs do", graph("jobs", figure, note), note=note, tools=tools)


def task_rows(tasks: Sequence[TaskInfo]) -> list[Node]:
    """One row per task: title, state, progress, and what it says."""
    rows: list[Node] = [_task_row(task) for task in tasks[:5]]
    return rows or [html.Div("No tasks yet.", className="item ink3")]


def _task_row(task: TaskInfo) -> html.Div:
    kind, picture = _TASK_LOOKS[task.state]
    running = task.state is TaskState.RUNNING and not task_kinds.lasts(task)
    word = f"{task.progress:.0%}" if running else task.state.value
    title = dcc.Link(task.title, href=f"/tasks?task={task.id}", className="truncate grow")
    return html.Div(
        [
            html.Div([title, state_badge(word, kind, picture)], className="row"),
            bar(task.progress, "", task.title) if running else None,
            html.Div(_said(task), className="ink3 small truncate"),
        ],
        className="item stack tight",
    )


def _said(task: TaskInfo) -> str:
    """A task's error, else its result, else its latest message."""
    return task.error[0] if task.error else task_kinds.outcome(task) or task.message


def tasks_card(tasks: Sequence[TaskInfo]) -> Node:
    """The newest tasks."""
    tools = [link_button("All", "/tasks", "arrow-right", "small quiet")]
    return card("Tasks", html.Div(task_rows(tasks), id="overview-tasks"), tools=tools, flush=True)
