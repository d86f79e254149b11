"""The cards of the overview: key figures, what jobs do, what to do next, trace sets, tasks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dash import dcc, html

from app.context import Choice, address, workspace
from app.figures.shares import shares
from app.ui.basics import Node, bar, card, empty, icon, kpi, link_button, state_badge
from app.ui.export import export_menu
from app.ui.graph import graph
from app.ui.group_shares import group_shares
from app.ui.nothing_yet import train_a_model
from app.ui.tasks import kinds as task_kinds
from app.ui.tasks.words import when
from core.runtime.infos import TaskState
from core.traces.model import Role
from core.traces.validation import many
from core.units import Unit, format_bytes, format_duration, format_number

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import pandas as pd

    from core.runtime.infos import ModelInfo, TaskInfo, TraceSetInfo


_MOST_STEPS = 5
_TASK_LOOKS: dict[TaskState, tuple[str, str | None]] = {
    TaskState.DONE: ("ok", "circle-check"),
    TaskState.FAILED: ("bad", "circle-x"),
    TaskState.INTERRUPTED: ("warn", "alert-triangle"),
    TaskState.RUNNING: ("accent", None),
    TaskState.QUEUED: ("", "clock"),
    TaskState.CANCELLED: ("", "ban"),
}
"""The kind of a state's badge and its icon."""
Step = tuple[str, str, str, str]
"""Something to do next: its icon, a sentence, and the link's label and address."""


def key_figures(choice: Choice, sets: Sequence[TraceSetInfo], models: Sequence[ModelInfo]) -> Node:
    """The row of key figures on top."""
    traces = choice.traces
    if traces is None:
        return None
    table = workspace().traces.summary(traces.id)
    cards = [
        _executions(traces, table, sets),
        _cpu(traces, table),
        _memory(traces, table),
        _phases(choice, models),
    ]
    return html.Div([each for each in cards if each is not None], className="grid cols-4")


def _hours(table: pd.DataFrame) -> float:
    """The hours of all containers together."""
    return float(table["duration_s"].sum() / 3600)


def _executions(traces: TraceSetInfo, table: pd.DataFrame, sets: Sequence[TraceSetInfo]) -> html.Div:
    return kpi(
        "Executions",
        f"{traces.n_executions:,}",
        f"in {traces.name}" if len(sets) == 1 else f"in 1 of {len(sets)} trace sets",
        f"{traces.n_samples:,} samples, {format_number(_hours(table), 1)} container-hours",
    )


def _cpu(traces: TraceSetInfo, table: pd.DataFrame) -> html.Div | None:
    """The mean over all containers, weighted by their length; None where CPU was not recorded."""
    cpu = next((f for f in traces.features if f.role is Role.CPU), None)
    if cpu is None or "cpu_mean" not in table:
        return None
    total = (table["cpu_mean"] * table["duration_s"]).sum()
    mean, peak = float(total / max(table["duration_s"].sum(), 1e-9)), table["cpu_peak"].max()
    title = "Mean CPU per container"
    if cpu.unit is Unit.SHARE:
        return kpi(title, f"{mean * 100:.0f}%", "of its machine", f"peaks reach {peak * 100:.0f}%")
    hours = format_number(mean * _hours(table), 1)
    sub = f"{hours} core-hours; peaks reach {format_number(peak)} cores"
    return kpi(title, format_number(mean), "cores", sub)


def _memory(traces: TraceSetInfo, table: pd.DataFrame) -> html.Div | None:
    """The mean of the containers' means; None where memory was not recorded in bytes."""
    in_bytes = any(f.role is Role.MEMORY and f.unit is Unit.BYTES for f in traces.features)
    if "memory_peak" not in table or not in_bytes:
        return None
    value, unit = format_bytes(float(table["memory_mean"].mean())).split(" ")
    peak = format_bytes(float(table["memory_peak"].max()))
    return kpi("Mean memory per container", value, unit, f"peaks reach {peak}")


def _phases(choice: Choice, models: Sequence[ModelInfo]) -> html.Div:
    model = choice.model
    if model is None:
        return kpi("Phases", "–", "no model yet", "Train one to find them")
    number = str(len(model.phases)) if model.phases else "–"
    return kpi("Phases", number, "in the chosen model", f"{model.name}, 1 of {len(models)}")


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


def next_steps(choice: Choice, tasks: Sequence[TaskInfo], sets: Sequence[TraceSetInfo]) -> Node:
    """What to do next, most pressing first."""
    steps = [*_failures(tasks), *_own_traces(sets), *_with_model(choice)]
    return card("What to do next", *(_step(*step) for step in steps[:_MOST_STEPS]), flush=True)


def _failures(tasks: Sequence[TaskInfo]) -> Iterable[Step]:
    for task in tasks:
        if task.state in (TaskState.FAILED, TaskState.INTERRUPTED):
            said = task.error[0] if task.error else "It was interrupted."
            text = f"{task.title}: {said}"
            yield "alert-triangle warn", text, "See the task", f"/tasks?task={task.id}"


def _own_traces(sets: Sequence[TraceSetInfo]) -> Iterable[Step]:
    if all(info.sample for info in sets):
        text = "Only the sample traces are loaded. Add traces of your own containers."
        yield "upload", text, "Add traces", "/traces"


def _with_model(choice: Choice) -> Iterable[Step]:
    """What can be done with the chosen model, or how to get one."""
    if choice.model is not None:
        k = len(choice.model.phases)
        others = f"{k - 1} or {k + 1}" if k > 2 else "3"
        text = f"Would {others} phases fit better?"
        yield "sparkles", text, "Choose k", address("/models", choice, view="choose")
        text = "Browse the executions with the arrow keys."
        yield "timeline", text, "Open phases", address("/phases", choice)
    elif choice.traces:
        text = f"No model fits {choice.traces.name} yet."
        yield "stack-2", text, "Train a model", address("/models", choice, view="train")


def _step(picture: str, text: str, label: str, href: str) -> html.Div:
    return html.Div(
        [
            icon(picture),
            html.Span(text, className="grow"),
            dcc.Link([label, " ", icon("arrow-right", "sm")], href=href, className="link"),
        ],
        className="item row",
        style={"alignItems": "flex-start"},
    )


def sets_card(sets: Sequence[TraceSetInfo]) -> Node:
    """The newest trace sets."""
    rows = [
        html.Div(
            [
                dcc.Link(
                    info.name, href=address("/phases", Choice(info, None)), className="strong truncate grow"
                ),
                state_badge("sample") if info.sample else None,
                html.Span(many(info.n_executions, "execution"), className="ink2 num"),
                html.Span(f"every {format_duration(info.period)}", className="ink3 num only-desktop"),
                html.Span(when(info.created), className="ink3 num"),
            ],
            className="item row",
            style={"gap": 14},
        )
        for info in sets[:6]
    ]
    tools = [link_button(f"All {len(sets)}", "/traces", "arrow-right", "small quiet")]
    return card("Trace sets", *rows, tools=tools, flush=True)


def task_rows(tasks: Sequence[TaskInfo]) -> list[Node]:
    """One row per task: title, state, progress, and what it says."""
    rows: list[Node] = [_task_row(task) for task in tasks[:5]]
    return rows or [html.Div("No tasks yet.", className="item ink3")]


def _task_row(task: TaskInfo) -> html.Div:
    kind, picture = _TASK_LOOKS[task.state]
    running = task.state is TaskState.RUNNING
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
