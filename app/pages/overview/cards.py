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
from app.ui.when import when
from core.runtime.infos import TaskState
from core.traces.model import Role
from core.units import Unit, format_bytes, format_duration, format_number

if TYPE_CHECKING:
    from collections.abc import Sequence

    from core.runtime.infos import ModelInfo, TaskInfo, TraceSetInfo


def key_figures(choice: Choice, sets: Sequence[TraceSetInfo], models: Sequence[ModelInfo]) -> Node:
    """The row of key figures on top."""
    traces = choice.traces
    if traces is None:
        return None
    table = workspace().traces.summary(traces.id)
    hours = table["duration_s"].sum() / 3600
    cards: list[Node] = [
        kpi(
            "Executions",
            f"{traces.n_executions:,}",
            f"in {traces.name}" if len(sets) == 1 else f"in 1 of {len(sets)} trace sets",
            f"{traces.n_samples:,} samples, {format_number(hours, 1)} container-hours",
        )
    ]
    cpu = next((f for f in traces.features if f.role is Role.CPU), None)
    if cpu is not None and "cpu_mean" in table:
        weighted = float(
            (table["cpu_mean"] * table["duration_s"]).sum() / max(table["duration_s"].sum(), 1e-9)
        )
        share = cpu.unit is Unit.SHARE
        cards.append(
            kpi(
                "CPU, mean of a container",
                f"{weighted * 100:.0f}%" if share else format_number(weighted),
                "of its machine" if share else "cores",
                f"peaks reach {table['cpu_peak'].max() * 100:.0f}%"
                if share
                else f"{format_number(weighted * hours, 1)} core-hours; "
                f"peaks reach {format_number(table['cpu_peak'].max())} cores",
            )
        )
    if "memory_peak" in table and any(
        f.role is Role.MEMORY and f.unit is Unit.BYTES for f in traces.features
    ):
        value, unit = format_bytes(float(table["memory_mean"].mean())).split(" ")
        cards.append(
            kpi(
                "Memory, mean of a container",
                value,
                unit,
                f"peaks reach {format_bytes(float(table['memory_peak'].max()))}",
            )
        )
    phases = len(choice.model.phases) if choice.model else 0
    cards.append(
        kpi(
            "Phases",
            str(phases) if phases else "–",
            "in the chosen model" if choice.model else "no model yet",
            f"{choice.model.name}, 1 of {len(models)}" if choice.model else "Train one to find them",
        )
    )
    return html.Div(cards, className="grid cols-4")


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


def next_steps(choice: Choice, tasks: Sequence[TaskInfo], sets: Sequence[TraceSetInfo]) -> Node:
    """What to do next, most pressing first."""
    steps: list[tuple[str, str, str, str]] = []
    for task in tasks:
        if task.state in (TaskState.FAILED, TaskState.INTERRUPTED):
            said = task.error[0] if task.error else "It was interrupted."
            steps.append(
                ("alert-triangle warn", f"{task.title}: {said}", "See the task", f"/tasks?task={task.id}")
            )
    if all(info.sample for info in sets):
        steps.append(
            (
                "upload",
                "Only the samples are here. Add traces of your own containers.",
                "Add traces",
                "/traces",
            )
        )
    if choice.traces and choice.model is None:
        steps.append(
            (
                "stack-2",
                f"No model fits {choice.traces.name} yet.",
                "Train a model",
                address("/models", choice, view="train"),
            )
        )
    elif choice.model is not None:
        steps.append(
            (
                "sparkles",
                (
                    f"{choice.model.name} has {len(choice.model.phases)} phases. "
                    "See whether another number is more stable."
                ),
                "Choose k",
                address("/models", choice, view="choose"),
            )
        )
        steps.append(
            (
                "timeline",
                "Go through the executions with the arrow keys.",
                "Open phases",
                address("/phases", choice),
            )
        )
    return card(
        "What to do next",
        *(
            html.Div(
                [
                    icon(picture),
                    html.Span(text, className="grow"),
                    dcc.Link([label, " ", icon("arrow-right", "sm")], href=href, className="link"),
                ],
                className="item row",
                style={"alignItems": "flex-start"},
            )
            for picture, text, label, href in steps[:5]
        ),
        flush=True,
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
                    html.Div(task.error[0] if task.error else task.message, className="ink3 small truncate"),
                ],
                className="item stack tight",
            )
        )
    return rows or [html.Div("No work was asked for yet.", className="item ink3")]


def tasks_card(tasks: Sequence[TaskInfo]) -> Node:
    """The newest tasks."""
    tools = [link_button("All", "/tasks", "arrow-right", "small quiet")]
    return card("Tasks", html.Div(task_rows(tasks), id="overview-tasks"), tools=tools, flush=True)
