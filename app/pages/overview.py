"""What is here, what runs, and what to do next; on a fresh start, the ways in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import dash
from dash import Input, Output, State, dcc, html

from app.components.basics import (
    Node,
    bar,
    button,
    card,
    empty,
    icon,
    kpi,
    link_button,
    page_head,
    state_badge,
    strip,
)
from app.components.graph import graph
from app.components.phase_views import example_strips, group_shares
from app.components.polling import when_changed
from app.components.when import when
from app.context import Choice, address, chosen, workspace
from app.errors import safe_page
from app.figures.shares import shares
from core.runtime.infos import TaskState
from core.traces.model import Role
from core.units import Unit, format_bytes, format_duration, format_number

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dash import Dash

    from core.runtime.infos import ModelInfo, TaskInfo, TraceSetInfo

_RUNNING = (TaskState.QUEUED, TaskState.RUNNING)
_POLL_MS = 1_500


def _samples_button(kind: str = "primary") -> Node:
    return button("Load samples and model", "player-play", kind, id="load-samples")


_WAYS_IN: tuple[tuple[str, str, str, tuple[str, ...], tuple[str, str, str]], ...] = (
    (
        "timeline",
        "Understand what jobs need",
        "For a cluster or a set of traces: which phases there are, and what each of them really uses.",
        (
            "Add traces (CSV, Parquet, Prometheus)",
            "Train a model, often in seconds",
            "Read the phases of each execution",
        ),
        ("Add traces", "/traces", "upload"),
    ),
    (
        "stack-2",
        "Bring a model along",
        "Read the published AI4DL model, or one that a colleague sent, without running anything in it.",
        ("Import its files", "Choose traces that have its features", "Compare it with one of your own"),
        ("Import a model", "/models?view=import", "file-import"),
    ),
    (
        "list-check",
        "Leave the long work here",
        "Imports, training and searches run on without the page. Close it, come back, send the address on.",
        ("See progress and time left", "Cancel, or retry what failed", "Read what was done, and why"),
        ("Open tasks", "/tasks", "list-check"),
    ),
)  # fmt: skip


def _fresh() -> list[Node]:
    """What a person sees before there is anything."""
    hero = card(
        None,
        html.Div(
            [
                html.Div(
                    [
                        html.H2("Start with the sample traces", style={"fontSize": 18, "lineHeight": "26px"}),
                        html.P(
                            "Synthetic training containers with CPU, memory and loss, and a model that was "
                            "trained on them. They load in seconds and can be removed at any time.",
                            className="ink2",
                            style={"maxWidth": 430, "margin": "6px 0 14px"},
                        ),
                        html.Div(
                            [_samples_button(), link_button("Add your own traces", "/traces", "upload")],
                            className="row wrap",
                        ),
                    ]
                ),
                html.Div(
                    [
                        *(strip(parts, "Phases of a container") for parts in example_strips()),
                        html.P("One bar is one container; a colour is a phase.", className="small ink3"),
                    ],
                    className="stack close hero-strips",
                ),
            ],
            className="hero",
        ),
    )
    ways = html.Div(
        [
            card(
                None,
                html.Div(icon(picture, "lg"), style={"color": "var(--accent)"}),
                html.H3(title, style={"margin": "10px 0 4px", "fontSize": 14}),
                html.P(text, className="ink2"),
                html.Ol([html.Li(step) for step in steps], className="ink2"),
                link_button(name, path, symbol),
                class_name="way",
            )
            for picture, title, text, steps, (name, path, symbol) in _WAYS_IN
        ],
        className="grid cols-3",
    )
    return [hero, _heading("Three ways in"), ways, _heading("Found on this machine"), _machine()]


def _heading(text: str) -> html.H2:
    return html.H2(text, style={"margin": "16px 0 10px"})


def _machine() -> Node:
    place = workspace()
    worker = place.tasks.worker()
    waiting = (
        f"{worker.queued} queued, {worker.running} running"
        if worker.queued + worker.running
        else "queue is empty"
    )
    store = "PostgreSQL" if place.settings.database_url.startswith("postgres") else "SQLite"
    listens = (
        "Only this machine can open it" if place.settings.loopback else "Open to the network, with a password"
    )
    entries = (
        (
            worker.alive,
            "Worker",
            f"{place.settings.task_threads} tasks at a time, {waiting}."
            if worker.alive
            else "None is running, so nothing long gets done. Start one: phasedock worker",
        ),
        (True, "Store", f"{store} and Parquet in {place.settings.home}."),
        (True, "Address", f"{place.settings.address}. {listens}."),
    )
    return card(
        None,
        html.Div(
            [
                html.Div(
                    [
                        html.Span(
                            icon("circle-check" if ok else "alert-triangle"), className="ok" if ok else "warn"
                        ),
                        html.Div(
                            [html.Div(name, className="strong"), html.Div(text, className="ink2 small")]
                        ),
                    ],
                    className="row",
                    style={"alignItems": "flex-start"},
                )
                for ok, name, text in entries
            ],
            className="grid cols-3",
        ),
    )


def _figures_on_top(choice: Choice, sets: Sequence[TraceSetInfo], models: Sequence[ModelInfo]) -> Node:
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
            f"found by {choice.model.name}" if choice.model else "no model yet",
            f"{len(models)} model{'' if len(models) == 1 else 's'} here",
        )
    )
    return html.Div(cards, className="grid cols-4")


def _what_jobs_do(choice: Choice) -> Node:
    pair = choice.pair()
    tools = [link_button("Open phases", address("/phases", choice), "arrow-right", "small quiet")]
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
    return card("What your jobs do", graph("jobs", figure, note), note=note, tools=tools)


def _next_steps(choice: Choice, tasks: Sequence[TaskInfo], sets: Sequence[TraceSetInfo]) -> Node:
    steps: list[tuple[str, str, str, str]] = []
    for task in tasks:
        if task.state in (TaskState.FAILED, TaskState.INTERRUPTED):
            said = task.error[0] if task.error else "It was interrupted."
            steps.append(
                ("alert-triangle warn", f"{task.title}: {said}", "See the task", f"/tasks?task={task.id}")
            )
    if all(info.synthetic for info in sets):
        steps.append(
            (
                "upload",
                "Only the synthetic samples are here. Add traces of your own containers.",
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


def _sets_table(sets: Sequence[TraceSetInfo]) -> Node:
    rows = [
        html.Div(
            [
                dcc.Link(
                    info.name, href=address("/phases", Choice(info, None)), className="strong truncate grow"
                ),
                state_badge("synthetic") if info.synthetic else None,
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


def _task_rows(tasks: Sequence[TaskInfo]) -> list[Node]:
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


def _tasks_card(tasks: Sequence[TaskInfo]) -> Node:
    tools = [link_button("All", "/tasks", "arrow-right", "small quiet")]
    return card("Tasks", html.Div(_task_rows(tasks), id="overview-tasks"), tools=tools, flush=True)


@safe_page("Overview")
def layout(traces: str | None = None, model: str | None = None, **_query: str) -> Node:
    """Lay the page out."""
    place = workspace()
    sets = place.traces.list()
    watch = dcc.Interval(id="overview-poll", interval=_POLL_MS)
    loading = [task for task in place.tasks.list(20, list(_RUNNING)) if task.kind == "samples"]
    sample = dcc.Store(id="samples-task", data=loading[0].id if loading else None)
    if not sets:
        return [page_head("Overview"), watch, sample, *_fresh()]
    choice, tasks = chosen(traces, model), place.tasks.list(20)
    return [
        page_head("Overview", None, [link_button("Add traces", "/traces", "upload")]),
        watch,
        sample,
        html.Div(
            [
                _figures_on_top(choice, sets, place.models.list()),
                html.Div(
                    [_what_jobs_do(choice), _next_steps(choice, tasks, sets)], className="grid cols-main"
                ),
                html.Div([_sets_table(sets), _tasks_card(tasks)], className="grid cols-main"),
            ],
            className="stack",
        ),
    ]


def register(app: Dash) -> None:
    """Put the page into the application."""
    dash.register_page(__name__, path="/", name="Overview", title="Overview · PhaseDock", layout=layout)

    @app.callback(
        Output("samples-task", "data"),
        Output("load-samples", "disabled"),
        Output("load-samples", "children"),
        Input("load-samples", "n_clicks"),
        prevent_initial_call=True,
    )
    def load_samples(_clicks: int) -> tuple[Any, ...]:
        task = workspace().tasks.submit("samples", "Load the synthetic samples and their model", {})
        return task, True, [icon("hourglass"), "Loading…"]

    @app.callback(
        Output("overview-tasks", "children"),
        Input("overview-poll", "n_intervals"),
        State("overview-tasks", "children"),
        prevent_initial_call=True,
    )
    def refresh(_ticks: int, before: Any) -> Any:
        rows = _task_rows(workspace().tasks.list(5))
        return when_changed(rows, before)

    @app.callback(
        Output("_pages_location", "pathname", allow_duplicate=True),
        Output("_pages_location", "search", allow_duplicate=True),
        Output("changed", "data", allow_duplicate=True),
        Input("overview-poll", "n_intervals"),
        State("samples-task", "data"),
        prevent_initial_call=True,
    )
    def arrived(ticks: int, task_id: str | None) -> tuple[Any, ...]:
        if task_id is None or not workspace().tasks.get(task_id).state.ended:
            return dash.no_update, dash.no_update, dash.no_update
        return "/", f"?loaded={task_id}", ticks
