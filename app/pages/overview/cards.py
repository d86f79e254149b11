"""The cards of the overview: key figures, what jobs do, what to do next, trace sets, tasks."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from dash import dcc, html

from app.context import Choice, address, workspace
from app.figures.shares import shares
from app.ui.basics import Node, bar, card, empty, icon, kpi, link_button, state_badge
from app.ui.export import export_menu
from app.ui.graph import graph
from app.ui.group_shares import group_shares
from app.ui.tasks import kinds as task_kinds
from app.ui.when import when
from core.runtime.infos import TaskState
from core.traces.model import Role
from core.units import Unit, format_bytes, format_duration, format_number

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pandas as pd

    from core.runtime.infos import ModelInfo, TaskInfo, TraceSetInfo


def key_figures(choice: Choice, sets: Sequence[TraceSetInfo], models: Sequence[ModelInfo]) -> Node:
    """The row of key figures on top."""
    traces = choice.traces
    if traces is None:
        return None
    table = workspace().traces.summary(traces.id)
    found = [
        _executions(traces, table, len(sets)),
        _cpu(traces, table),
        _memory(traces, table),
        _phases(choice, len(models)),
    ]
    return html.Div([each for each in found if each is not None], className="grid cols-4")


def _executions(traces: TraceSetInfo, table: pd.DataFrame, n_sets: int) -> Node:
    hours = table["duration_s"].sum() / 3600
    return kpi(
        "Executions",
        f"{traces.n_executions:,}",
        f"in {traces.name}" if n_sets == 1 else f"in 1 of {n_sets} trace sets",
        f"{traces.n_samples:,} samples, {format_number(hours, 1)} container-hours",
    )


def _cpu(traces: TraceSetInfo, table: pd.DataFrame) -> Node:
    """The mean over all container time; None without CPU."""
    cpu = next((f for f in traces.features if f.role is Role.CPU), None)
    if cpu is None or "cpu_mean" not in table:
        return None
    seconds = table["duration_s"].sum()
    mean = float((table["cpu_mean"] * table["duration_s"]).sum() / max(seconds, 1e-9))
    peak = table["cpu_peak"].max()
    title = "CPU, mean of a container"
    if cpu.unit is Unit.SHARE:
        return kpi(title, f"{mean * 100:.0f}%", "of its machine", f"peaks reach {peak * 100:.0f}%")
    used = format_number(mean * seconds / 3600, 1)
    note = f"{used} core-hours; peaks reach {format_number(peak)} cores"
    return kpi(title, format_number(mean), "cores", note)


def _memory(traces: TraceSetInfo, table: pd.DataFrame) -> Node:
    """The mean over containers; None without memory in bytes."""
    known = any(f.role is Role.MEMORY and f.unit is Unit.BYTES for f in traces.features)
    if not known or "memory_peak" not in table:
        return None
    value, unit = format_bytes(float(table["memory_mean"].mean())).split(" ")
    peaks = f"peaks reach {format_bytes(float(table['memory_peak'].max()))}"
    return kpi("Memory, mean of a container", value, unit, peaks)


def _phases(choice: Choice, n_models: int) -> Node:
    model = choice.model
    if model is None:
        return kpi("Phases", "–", "no model yet", "Train one to find them")
    return kpi(
        "Phases", str(len(model.phases) or "–"), "in the chosen model", f"{model.name}, 1 of {n_models}"
    )


def what_jobs_do(choice: Choice) -> Node:
    """The share of time in each phase, per group of executions."""
    pair = choice.pair()
    if pair is None:
        return card(
            "What your jobs do",
            empty(
                "stack-2",
                "No model yet",
                "A model finds the phases of these executions.",
                [
                    link_button(
                        "Train a model", address("/models", choice, view="train"), "player-play", "primary"
                    )
                ],
            ),
        )
    groups, phases, by = group_shares(pair[0].id, pair[1].id)
    note = f"share of time in each phase, largest groups by {by}" if by else "share of time in each phase"
    figure = shares(groups, phases)
    tools = [
        link_button("Open phases", address("/phases", choice), "arrow-right", "small quiet"),
        export_menu("jobs", "what jobs do", []),
    ]
    return card("What your jobs do", graph("jobs", figure, note), note=note, tools=tools)


_Step: TypeAlias = tuple[str, str, str, str]
"""An icon, what there is to do, the label of the way there, and its address."""


def next_steps(choice: Choice, tasks: Sequence[TaskInfo], sets: Sequence[TraceSetInfo]) -> Node:
    """What to do next, most pressing first."""
    steps = [*_to_mend(tasks), *_to_add(sets), *_to_see(choice)]
    return card("What to do next", *(_step(*step) for step in steps[:5]), flush=True)


def _to_mend(tasks: Sequence[TaskInfo]) -> Iterator[_Step]:
    for task in tasks:
        if task.state in (TaskState.FAILED, TaskState.INTERRUPTED):
            said = task.error[0] if task.error else "It was interrupted."
            yield "alert-triangle warn", f"{task.title}: {said}", "See the task", f"/tasks?task={task.id}"


def _to_add(sets: Sequence[TraceSetInfo]) -> Iterator[_Step]:
    if all(info.sample for info in sets):
        yield (
            "upload",
            "Only the samples are here. Add traces of your own containers.",
            "Add traces",
            "/traces",
        )


def _to_see(choice: Choice) -> Iterator[_Step]:
    if choice.model is not None:
        n = len(choice.model.phases)
        said = f"{choice.model.name} has {n} phases. See whether another number is more stable."
        yield "sparkles", said, "Choose k", address("/models", choice, view="choose")
        said = "Go through the executions with the arrow keys."
        yield "timeline", said, "Open phases", address("/phases", choice)
    elif choice.traces is not None:
        said = f"No model fits {choice.traces.name} yet."
        yield "stack-2", said, "Train a model", address("/models", choice, view="train")


def _step(picture: str, text: str, label: str, href: str) -> Node:
    way = dcc.Link([label, " ", icon("arrow-right", "sm")], href=href, className="link")
    return html.Div(
        [icon(picture), html.Span(text, className="grow"), way],
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
                html.Span(f"{info.n_executions:,} executions", className="ink2 num"),
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


def _line(task: TaskInfo) -> str:
    return task.error[0] if task.error else task_kinds.outcome(task) or task.message


def task_rows(tasks: Sequence[TaskInfo]) -> list[Node]:
    """One row per task: title, state, progress, and what it says."""
    kinds = {
        TaskState.DONE: ("ok", "circle-check"),
        TaskState.FAILED: ("bad", "circle-x"),
        TaskState.INTERRUPTED: ("warn", "alert-triangle"),
        TaskState.RUNNING: ("accent", None),
        TaskState.QUEUED: ("", "clock"),
        TaskState.CANCELLED: ("", "ban"),
    }
    rows: list[Node] = []
    for task in tasks[:5]:
        kind, picture = kinds[task.state]
        running = task.state is TaskState.RUNNING
        word = f"{task.progress:.0%}" if running else task.state.value
        rows.append(
            html.Div(
                [
                    html.Div(
                        [
                            dcc.Link(task.title, href=f"/tasks?task={task.id}", className="truncate grow"),
                            state_badge(word, kind, picture),
                        ],
                        className="row",
                    ),
                    bar(
                        task.progress if task.state is not TaskState.DONE else 1,
                        kind if kind != "accent" else "",
                        task.title,
                    )
                    if running
                    else None,
                    html.Div(_line(task), className="ink3 small truncate"),
                ],
                className="item stack tight",
            )
        )
    return rows or [html.Div("No work was asked for yet.", className="item ink3")]


def tasks_card(tasks: Sequence[TaskInfo]) -> Node:
    """The newest tasks."""
    tools = [link_button("All", "/tasks", "arrow-right", "small quiet")]
    return card("Tasks", html.Div(task_rows(tasks), id="overview-tasks"), tools=tools, flush=True)
