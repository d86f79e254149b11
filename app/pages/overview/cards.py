"""The cards of the overview: next steps, most urgent first, key figures, and tasks."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from dash import dcc, html

from app.context import Choice, address, cached, workspace
from app.figures.spread import Group, shares
from app.ui import task_card
from app.ui.basics import Node, bar, card, empty, icon, kpi, link_button, state_badge
from app.ui.engines import STATE_WORDS, title_of
from app.ui.evaluations import KIND, saved_tile
from app.ui.graph import graph
from app.ui.nothing_yet import train_a_model
from app.ui.phases import attributes, load_labelling
from app.ui.tables import export_menu
from core.errors import NotFoundError
from core.live.view import ATTACH, RECORD
from core.provisioning.verdict.savings import PriceSettings
from core.provisioning.verdict.verdict import verdict
from core.sampling.values import EngineState, Mode
from core.scheduling.policies import display_name
from core.traces.model import Role
from core.units import DASH, Unit, format_number, plural
from core.workspace.records import TaskState

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import pandas as pd

    from core.workspace.phase_labels import Labelling
    from core.workspace.records import ModelInfo, TaskInfo, TraceSetInfo


_MAX_ROWS = 6
_WARN = "alert-triangle warn"


class Step(NamedTuple):
    """Something to do: an icon, a sentence, and where it is done."""

    icon: str
    text: Node
    label: str
    href: str


def next_steps(choice: Choice, tasks: Sequence[TaskInfo], sets: Sequence[TraceSetInfo]) -> Node:
    """The card of next steps, most urgent first."""
    pressing = list(attention(tasks))
    steps = [*pressing, *_own_traces(sets), *_with_model(choice)]
    note = f"{plural(len(pressing), 'thing')} to look at" if pressing else None
    return card("What to do next", *(_row(step) for step in steps[:_MAX_ROWS]), note=note, flush=True)


def attention(tasks: Sequence[TaskInfo]) -> Iterable[Step]:
    """Steps about problems: worker, failed tasks, engines, limits, recordings."""
    yield from _worker()
    yield from _failures(tasks)
    yield from _silent_engines(tasks)
    yield from _held_limits(tasks)
    for recording in workspace().live.recordings.unfinished():
        text = f"The recording “{recording.name}” was interrupted; its samples are stored."
        yield Step(_WARN, text, "Open tasks", "/tasks")


def _worker() -> Iterable[Step]:
    worker = workspace().tasks.worker()
    if not worker.alive:
        waiting = f" {plural(worker.queued, 'task')} waiting." if worker.queued else ""
        text = f"No worker is running, so tasks do not start.{waiting} Start one: phasedock worker"
        yield Step(_WARN, text, "Open tasks", "/tasks")


def _failures(tasks: Sequence[TaskInfo]) -> Iterable[Step]:
    """Tasks that failed and were not tried again since; `tasks` are the newest first."""
    retried = {task.retry_of for task in tasks}
    completed: set[tuple[str, str]] = set()
    for task in tasks:
        work = (task.kind, task.title)
        if task.state is TaskState.DONE:
            completed.add(work)
        elif (
            task.state in (TaskState.FAILED, TaskState.INTERRUPTED)
            and task.id not in retried
            and work not in completed
        ):
            reason = task.error[0] if task.error else "It was interrupted."
            yield Step(_WARN, f"{task.title}: {reason}", "See the task", f"/tasks?task={task.id}")


def _silent_engines(tasks: Sequence[TaskInfo]) -> Iterable[Step]:
    """Engines that are in use but do not answer, or refuse access."""
    busy = {str(task.params.get("engine")) for task in tasks if _goes_on(task)}
    for engine in workspace().live.engines.all():
        lost = engine.state is not EngineState.READY and engine.name in busy
        if lost or engine.state is EngineState.DENIED:
            text = f"{engine.name}: {STATE_WORDS[engine.state]}. {engine.message}"
            yield Step(_WARN, text, "Open Live", f"/live?engine={engine.name}")


def _goes_on(task: TaskInfo) -> bool:
    return task.kind in (ATTACH, RECORD) and not task.state.ended


def _held_limits(tasks: Sequence[TaskInfo]) -> Iterable[Step]:
    """Engines with changed limits on containers but without an attached policy."""
    steered = {str(task.params.get("engine")) for task in tasks if task.kind == ATTACH and _goes_on(task)}
    changed: dict[str, set[str]] = {}
    for saved in workspace().live.saved_limits.all():
        changed.setdefault(saved.engine.name, set()).add(saved.container)
    for engine, containers in changed.items():
        if engine not in steered:
            title = "the demo" if _is_demo(engine) else engine
            text = f"Limits of {plural(len(containers), 'container')} on {title} are not their original ones."
            yield Step("lock-open", text, "Open Live", f"/live?engine={engine}")


def _is_demo(engine: str) -> bool:
    engines = workspace().live.engines
    return engine in engines.names and engines.is_demo(engine)


def _own_traces(sets: Sequence[TraceSetInfo]) -> Iterable[Step]:
    if all(info.sample for info in sets):
        text = "Only the sample traces are loaded. Add traces of your own containers."
        yield Step("upload", text, "Add traces", "/traces")


def _with_model(choice: Choice) -> Iterable[Step]:
    """Next steps with the chosen model, or to get one."""
    if choice.model is not None:
        k = len(choice.model.phases)
        others = f"{k - 1} or {k + 1}" if k > 2 else "3"
        yield Step(
            "sparkles",
            f"Would {others} phases fit better?",
            "Choose k",
            address("/models", choice, view="choose"),
        )
        browse = ["Browse the executions", html.Span(" with the arrow keys", className="bykeys"), "."]
        yield Step("timeline", browse, "Open phases", address("/phases", choice))
    elif choice.traces:
        text = f"No model fits {choice.traces.name} yet."
        yield Step("stack-2", text, "Train a model", address("/models", choice, view="train"))


def _row(step: Step) -> html.Div:
    return html.Div(
        [
            icon(step.icon),
            html.Span(step.text, className="grow"),
            dcc.Link([step.label, " ", icon("arrow-right", "sm")], href=step.href, className="link"),
        ],
        className="item row",
        style={"alignItems": "flex-start"},
    )


def group_shares(trace_set_id: str, model_id: str, max_groups: int = 7) -> tuple[list[Group], list[int], str]:
    """The share of time in each phase for the largest groups of executions."""
    labelling, prints = load_labelling(trace_set_id, model_id)
    table = workspace().traces.summary(trace_set_id)
    return cached(lambda: _group_shares(table, labelling, max_groups), "groups", max_groups, *prints)


def _group_shares(
    table: pd.DataFrame, labelling: Labelling, max_groups: int
) -> tuple[list[Group], list[int], str]:
    sizes_of = {name: len(set(table[name].astype(str))) for name in attributes(table)}
    by = max(sizes_of, key=lambda name: _usefulness(sizes_of[name], len(table)), default="")
    names = table[by].astype(str).to_numpy() if by else np.full(len(table), "all executions")
    groups, of_execution = np.unique(names, return_inverse=True)
    live = [column for column, each in enumerate(labelling.statistics) if each.phase >= 0]
    time = np.zeros((len(groups), len(live)))
    np.add.at(time, of_execution, labelling.shares[:, live] * table["samples"].to_numpy()[:, None])
    sizes = np.bincount(of_execution)
    largest = np.argsort(-sizes, kind="stable")[:max_groups]
    shares = time / np.maximum(time.sum(axis=1, keepdims=True), 1)
    phases = [labelling.statistics[column].phase for column in live]
    return [Group(str(groups[g]), int(sizes[g]), shares[g].tolist()) for g in largest], phases, by


def _usefulness(groups: int, executions: int) -> float:
    """How telling an attribute is: best with a handful of groups; useless with one, or one per execution."""
    return -abs(np.log(groups / 8)) if 1 < groups < executions else -np.inf


_SAVING_LOOK_BACK = 100
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
    """The row of key figures: possible saving, executions, controlled containers, phases."""
    traces = choice.traces
    if traces is None:
        return None
    table = workspace().traces.summary(traces.id)
    cards = [_saving(choice), _executions(traces, table, sets), _steered(), _phases(choice, models)]
    return html.Div(cards, className="grid cols-4")


def _saving(choice: Choice) -> html.Div:
    """The saving of the newest comparison, as Provisioning has it, or a link to make the first.

    Comparisons of the chosen trace set come before those of others, which are named.
    """
    chosen = choice.traces.id if choice.traces else None
    finished = workspace().tasks.list(_SAVING_LOOK_BACK, [TaskState.DONE], [KIND])
    for task in sorted(finished, key=lambda task: task.params.get("trace_set") != chosen):
        try:
            report = workspace().evaluations.get(str((task.result or {}).get("evaluation", ""))).report
            found = verdict(report)
            other = (
                None
                if task.params.get("trace_set") == chosen
                else workspace().traces.get(str(task.params.get("trace_set")))
            )
        except NotFoundError:
            continue
        if found is not None:
            query = {"traces": task.params.get("trace_set"), "model": task.params.get("model")}
            where = f"; on “{other.name}”" if other else ""
            return saved_tile(found, report, PriceSettings(), address("/provisioning", None, **query), where)
    ask = dcc.Link("Evaluate requests and limits", href=address("/provisioning", choice), className="link")
    return kpi("Saved per day", DASH, "not evaluated yet", ask)


def _steered() -> html.Div:
    """The number of containers under control and the policy; else what is attached or recorded."""
    tasks = workspace().tasks.list(_LOOK_BACK, _UNDER_WAY, (ATTACH, RECORD))
    control = [task for task in tasks if task.params.get("mode") == Mode.CONTROL]
    if not control:
        doing = ", ".join(task.title for task in tasks[:2]) or "No policy is attached"
        return kpi(
            "Controlled now", "0", "containers", dcc.Link(doing, href="/live", className="link quietlink")
        )
    views = [workspace().live.view.peek(str(task.params["engine"])) for task in control]
    n, first = sum(len(view.rows) for view in views), views[0]
    resizes = first.attached.resizes if first.attached else 0
    policy = display_name(str(control[0].params["policy"]))
    words = f"{policy} on {title_of(first.engine)}, {plural(resizes, 'resize')}"
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
    """The recorded time, and the mean CPU usage of a container if known in cores."""
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
    return kpi("Phases", number, "in the chosen model", f"{model.name}, 1 of {plural(len(models), 'model')}")


def what_jobs_do(choice: Choice) -> Node:
    """The share of time in each phase, per group of executions."""
    pair = choice.pair()
    if pair is None:
        text = "A model finds the phases of these executions."
        return card("What your jobs do", empty("stack-2", "No model yet", text, [train_a_model(choice)]))
    groups, phases, by = group_shares(pair[0].id, pair[1].id)
    note = f"share of time in each phase, largest groups by {by}" if by else "share of time in each phase"
    figure = shares(groups, phases, pair[1].phase_names)
    tools = [
        link_button("Open phases", address("/phases", choice), "arrow-right", "small quiet"),
        export_menu("jobs", "what jobs do", []),
    ]
    return card("What your jobs do", graph("jobs", figure, note), note=note, tools=tools)


def task_rows(tasks: Sequence[TaskInfo]) -> list[Node]:
    """One row per task: title, state, progress and message."""
    rows: list[Node] = [_task_row(task) for task in tasks[:5]]
    return rows or [html.Div("No tasks yet.", className="item ink3")]


def _task_row(task: TaskInfo) -> html.Div:
    kind, picture = _TASK_LOOKS[task.state]
    running = task.state is TaskState.RUNNING and not task_card.lasts(task)
    word = f"{task.progress:.0%}" if running else task.state.value
    title = dcc.Link(task.title, href=f"/tasks?task={task.id}", className="truncate grow")
    return html.Div(
        [
            html.Div([title, state_badge(word, kind, picture)], className="row"),
            bar(task.progress, "", task.title) if running else None,
            html.Div(_task_text(task), className="ink3 small truncate"),
        ],
        className="item stack tight",
    )


def _task_text(task: TaskInfo) -> str:
    """A task's error, else its result, else its latest message."""
    return task.error[0] if task.error else task_card.outcome(task) or task.message


def tasks_card(tasks: Sequence[TaskInfo]) -> Node:
    """The newest tasks."""
    tools = [link_button("All", "/tasks", "arrow-right", "small quiet")]
    return card("Tasks", html.Div(task_rows(tasks), id="overview-tasks"), tools=tools, flush=True)
