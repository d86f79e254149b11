"""Overview: key figures, running work and next steps; on a fresh start, how to begin."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import dash
from dash import Input, Output, State, dcc, html

from app.context import LOCATION, Choice, address, find_choice, workspace
from app.pages.overview.cards import key_figures, next_steps, task_rows, tasks_card, what_jobs_do
from app.ui import attached_runs
from app.ui.basics import (
    Node,
    button,
    card,
    icon,
    link_button,
    notice,
    page_head,
    phase_badge,
    state_badge,
    strip,
    when_changed,
)
from app.ui.engines import is_demo, state_sentence, title_of
from app.ui.page import Page, Room, problem, safe_page
from app.ui.task_card import when
from core.errors import PhaseDockError
from core.sampling.values import EngineState
from core.units import Unit, format_duration, format_number, format_value, plural
from core.workspace.records import NO_EXPERIMENT, TaskState
from core.workspace.samples import read_preview

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from datetime import datetime

    from dash import Dash

    from core.sampling.values import EngineInfo
    from core.workspace.records import ModelInfo, TaskInfo, TraceSetInfo
    from core.workspace.samples import Preview


_ENGINES = 4
"""Docker hosts that are listed."""

_WAYS_IN: tuple[tuple[str, str, str, tuple[str, ...], tuple[str, str, str]], ...] = (
    (
        "timeline",
        "Understand what jobs need",
        "For a cluster or a set of traces: the phases, and the actual usage in each.",
        (
            "Add traces (CSV, Parquet, Prometheus …)",
            "Train a model, often in seconds",
            "Read the phases of each execution",
        ),
        ("Add traces", "/traces", "upload"),
    ),
    (
        "adjustments-horizontal",
        "Stop over-allocating",
        "Compare every policy on your own traces, with its risk, and download the manifest.",
        (
            "Choose traces and a tolerance",
            "See the frontier with the lower bound",
            "Export for Kubernetes or Docker",
        ),
        ("Compare policies", "/provisioning", "adjustments-horizontal"),
    ),
    (
        "activity",
        "Steer running containers",
        "Let jobs that still learn go first. Begin by watching; nothing changes until you take control.",
        (
            "Open your Docker host, or the demo without one",
            "Attach a policy in watch mode",
            "Switch to control, undo at any time",
        ),
        ("Open Live", "/live", "activity"),
    ),
)  # fmt: skip


def fresh_start(*, loading: bool = False, failed: TaskInfo | None = None) -> list[Node]:
    """The page without any trace set."""
    ways = html.Div([_entry_card(*each) for each in _WAYS_IN], className="grid cols-3")
    preview = _preview()
    start = _start_with_samples(preview, loading=loading)
    hero = card(None, html.Div([start, _example_strips(preview)], className="hero"))
    problems = [] if failed is None or loading else [_problem(failed)]
    return [*problems, hero, _heading("Three ways in"), ways, _heading("Found on this machine"), _machine()]


@lru_cache(maxsize=1)
def _preview() -> Preview | None:
    return read_preview()


def _problem(failed: TaskInfo) -> html.Div:
    """Why the samples could not be loaded."""
    message, hint = failed.error or ("It was interrupted.", "Try again.")
    see = link_button("See the task", f"/tasks?task={failed.id}", "list-check", "small")
    return notice("bad", f"{message} {hint}", strong="The samples were not loaded.", actions=[see])


def _start_with_samples(preview: Preview | None, *, loading: bool) -> html.Div:
    recorded = (
        "Recorded training jobs" if preview is None else plural(preview.executions, "recorded training job")
    )
    jobs = f"{recorded} in containers, with the phases found in them."
    label = ("Loading…", "hourglass") if loading else ("Load samples and model", "player-play")
    ways = [
        button(*label, "primary", id="load-samples", disabled=loading),
        link_button("Add your own traces", "/traces", "upload"),
    ]
    return html.Div(
        [
            html.H2(
                "What does a training job need, phase by phase?", style={"fontSize": 18, "lineHeight": "26px"}
            ),
            html.P(
                "PhaseDock finds the phases in the CPU and memory that containers use, measures what each "
                "needs, recommends smaller requests, and can steer containers while they run.",
                className="ink2",
                style={"maxWidth": 460, "margin": "6px 0 14px"},
            ),
            html.Div(ways, className="row wrap"),
            html.P(f"{jobs} They load in seconds and can be removed.", className="small ink3"),
        ]
    )


def _example_strips(preview: Preview | None) -> html.Div:
    """The phases of one recorded job of each workload, and what each phase uses."""
    if preview is None:
        return html.Div()
    rows = [
        html.Div([html.Span(workload, className="small ink2"), strip(parts, f"Phases of a job, {workload}")])
        for workload, _, parts in preview.jobs
    ]
    longest = max(seconds for _, seconds, _ in preview.jobs)
    for row, (_, seconds, _) in zip(rows, preview.jobs, strict=True):
        row.children[1].style = {**row.children[1].style, "width": f"{100 * seconds / longest:.0f}%"}
    legend = [
        html.Div(
            [
                phase_badge(phase, name),
                html.Span(
                    f"{format_value(cores, Unit.CORES)}, {format_value(memory, Unit.BYTES)}",
                    className="small ink3",
                ),
            ]
        )
        for phase, name, cores, memory in preview.phases
    ]
    note = f"One bar is one recorded job, {format_duration(longest)} at most; a colour is a phase."
    return html.Div(
        [
            html.Div(rows, className="hero-strips"),
            html.P(note, className="small ink3"),
            html.Div(legend, className="hero-legend"),
        ]
    )


def _entry_card(
    picture: str, title: str, text: str, steps: tuple[str, ...], link: tuple[str, str, str]
) -> Node:
    return card(
        None,
        html.Div(icon(picture, "lg"), style={"color": "var(--accent)"}),
        html.H3(title, style={"margin": "10px 0 4px", "fontSize": 14}),
        html.P(text, className="ink2"),
        html.Ol([html.Li(step) for step in steps], className="ink2"),
        link_button(*link),
        class_name="way",
    )


def _heading(text: str) -> html.H2:
    return html.H2(text, style={"margin": "16px 0 10px"})


def _machine() -> Node:
    engines = workspace().live.engines.all()
    real = [each for each in engines if not is_demo(each)]
    tiles = [
        _machine_tile("Simulator", "Ready. Needs nothing."),
        *(_docker(each, alone=len(real) == 1, demo=len(engines) > len(real)) for each in real[:_ENGINES]),
        *(
            _machine_tile(title_of(each), "Ready. Simulated containers only.")
            for each in engines
            if is_demo(each)
        ),
        _worker(),
    ]
    return card(None, html.Div(tiles, className="grid cols-4"))


def _docker(engine: EngineInfo, *, alone: bool, demo: bool) -> html.Div:
    """The tile of a Docker host: its version and cores, or its state."""
    if engine.state is EngineState.READY:
        control = "on" if workspace().live.engines.control else "off"
        name = f"{'Docker' if alone else engine.name} {engine.version}".strip()
        return _machine_tile(name, f"{format_number(engine.cores or 0, 0)} cores. Control is {control}.")
    sentence = state_sentence(engine, alone=alone)
    if engine.state is not EngineState.MISSING:
        return _machine_tile(sentence, engine.hint, "alert-triangle", "warn")
    text = "Live opens the demo instead." if demo else engine.hint
    return _machine_tile(sentence, text, "circle-dashed", "ink3")


def _worker() -> html.Div:
    space = workspace()
    worker = space.tasks.worker()
    if not worker.alive:
        text = "No worker is running, so tasks do not start. Start one: phasedock worker"
        return _machine_tile("Worker", text, "alert-triangle", "warn")
    busy = f"{worker.queued} queued, {worker.running} running"
    waiting = busy if worker.queued + worker.running else "queue is empty"
    return _machine_tile("Worker", f"{space.settings.task_threads} tasks at a time, {waiting}.")


def _machine_tile(name: str, text: str, picture: str = "circle-check", kind: str = "ok") -> html.Div:
    return html.Div(
        [
            html.Span(icon(picture), className=kind),
            html.Div([html.Div(name, className="strong"), html.Div(text, className="ink2 small")]),
        ],
        className="row",
        style={"alignItems": "flex-start"},
    )


_MAX_NEWS = 7


class News(NamedTuple):
    """A new trace set, model or run: time, icon, kind, name, description and address."""

    at: datetime
    icon: str
    kind: str
    name: str
    words: str
    href: str
    sample: bool = False


def news_card(sets: Sequence[TraceSetInfo], models: Sequence[ModelInfo]) -> Node:
    """The card of all that is new."""
    news = sorted([*_sets(sets), *_models(models), *_experiments(), *_attached()], reverse=True)
    tools = [link_button(f"All {len(sets)} trace sets", "/traces", "arrow-right", "small quiet")]
    if len(sets) == 1:
        tools = [link_button("Traces", "/traces", "arrow-right", "small quiet")]
    return card("What is new", *(_row(each) for each in news[:_MAX_NEWS]), tools=tools, flush=True)


def _sets(sets: Sequence[TraceSetInfo]) -> Iterable[News]:
    for info in sets[:_MAX_NEWS]:
        words, href = plural(info.n_executions, "execution"), address("/phases", Choice(info, None))
        yield News(info.created, "database", "Trace set", info.name, words, href, info.sample)


def _models(models: Sequence[ModelInfo]) -> Iterable[News]:
    for info in models[:_MAX_NEWS]:
        href = address("/models", Choice(None, info))
        yield News(
            info.created, "stack-2", "Model", info.name, plural(len(info.phases), "phase"), href, info.sample
        )


def _experiments() -> Iterable[News]:
    for info in workspace().runs.experiments(_MAX_NEWS):
        policies = f"{len(info.experiment.policies)} policies"
        state = policies if info.report is not None else f"not finished: {policies}"
        yield News(
            info.created, "player-play", "Experiment", info.name, state, address("/runs", experiment=info.id)
        )


def _attached() -> Iterable[News]:
    for run in workspace().runs.list(_MAX_NEWS, experiment=NO_EXPERIMENT):
        words = f"{plural(run.ticks, 'decision')}, {attached_runs.state_words(run.state)[0]}"
        yield News(run.created, "activity", "Attached policy", run.name, words, attached_runs.address(run.id))


def _row(each: News) -> html.Div:
    return html.Div(
        [
            html.Span([icon(each.icon), html.Span(each.kind, className="sr")], title=each.kind),
            dcc.Link(each.name, href=each.href, className="strong truncate grow"),
            state_badge("sample") if each.sample else None,
            html.Span(each.words, className="ink2 truncate only-desktop"),
            html.Span(when(each.at), className="ink3 num"),
        ],
        className="item row",
        style={"gap": 12},
    )


_RUNNING = (TaskState.QUEUED, TaskState.RUNNING)
_POLL_MS = 1_500


@safe_page("Overview")
def layout(traces: str | None = None, model: str | None = None, **_query: str) -> Node:
    """Lay the page out."""
    space = workspace()
    sets = space.traces.list()
    watch = dcc.Interval(id="overview-poll", interval=_POLL_MS)
    loading = [task for task in space.tasks.list(20, list(_RUNNING)) if task.kind == "samples"]
    sample = dcc.Store(id="samples-task", data=loading[0].id if loading else None)
    if not sets:
        return [page_head("Overview"), watch, sample, *fresh_start(loading=bool(loading), failed=_failed())]
    choice, tasks, models = find_choice(traces, model), space.tasks.list(20), space.models.list()
    return [
        page_head("Overview", None, _ways()),
        watch,
        sample,
        html.Div(
            [
                _safely(key_figures, choice, sets, models),
                html.Div(
                    [_safely(what_jobs_do, choice), _safely(next_steps, choice, tasks, sets)],
                    className="grid cols-main",
                ),
                html.Div(
                    [_safely(news_card, sets, models), tasks_card(tasks)],
                    className="grid cols-main",
                ),
            ],
            className="stack",
        ),
    ]


def _ways() -> list[Node]:
    return [
        link_button("Add traces", "/traces", "upload"),
        link_button("New run", "/runs?look=build", "plus", "primary"),
    ]


def _safely(part: Callable[..., Node], *arguments: Any) -> Node:
    """One part of the page, or its error, so that the other parts are still shown."""
    try:
        return part(*arguments)
    except PhaseDockError as error:
        return card(None, problem(error))


def _failed() -> TaskInfo | None:
    """The last attempt to load the samples, if it failed."""
    last = next(iter(workspace().tasks.list(1, None, ["samples"])), None)
    return last if last is not None and last.state in (TaskState.FAILED, TaskState.INTERRUPTED) else None


def register(app: Dash) -> None:
    """Connect the callbacks."""

    @app.callback(
        Output("samples-task", "data"),
        Output("load-samples", "disabled"),
        Output("load-samples", "children"),
        Input("load-samples", "n_clicks"),
        prevent_initial_call=True,
    )
    def load_samples(_clicks: int) -> tuple[Any, ...]:
        task = workspace().tasks.submit("samples", "Load the samples and their model", {})
        return task, True, [icon("hourglass"), "Loading…"]

    @app.callback(
        Output("overview-tasks", "children"),
        Input("overview-poll", "n_intervals"),
        State("overview-tasks", "children"),
        prevent_initial_call=True,
    )
    def refresh(_ticks: int, before: Any) -> Any:
        rows = task_rows(workspace().tasks.list(5))
        return when_changed(rows, before)

    @app.callback(
        Output(LOCATION, "pathname", allow_duplicate=True),
        Output(LOCATION, "search", allow_duplicate=True),
        Output("changed", "data", allow_duplicate=True),
        Input("overview-poll", "n_intervals"),
        State("samples-task", "data"),
        prevent_initial_call=True,
    )
    def arrived(ticks: int, task_id: str | None) -> tuple[Any, ...]:
        if task_id is None or not workspace().tasks.get(task_id).state.ended:
            return dash.no_update, dash.no_update, dash.no_update
        return "/", f"?loaded={task_id}", ticks


PAGE = Page(
    "/",
    "Overview",
    "layout-dashboard",
    0,
    layout,
    register,
    outline=(
        Room((128,) * 4, "grid cols-4"),
        Room((380, 380), "grid cols-main"),
        Room((180, 180), "grid cols-main"),
    ),
)
