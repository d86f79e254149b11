"""What to do next: first what needs attention, then what would be worth a look."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from dash import dcc, html

from app.context import Choice, address, workspace
from app.ui.basics import Node, card, icon
from app.ui.engines import STATE_WORDS
from core.live.view import ATTACH, RECORD
from core.sampling.values import EngineState
from core.units import plural
from core.workspace.records import TaskState

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from core.workspace.records import TaskInfo, TraceSetInfo

_MOST = 6
_WARN = "alert-triangle warn"


class Step(NamedTuple):
    """Something to do: an icon, a sentence, and where it is done."""

    icon: str
    text: Node
    label: str
    href: str


def next_steps(choice: Choice, tasks: Sequence[TaskInfo], sets: Sequence[TraceSetInfo]) -> Node:
    """The card; what is most pressing comes first."""
    pressing = list(attention(tasks))
    steps = [*pressing, *_own_traces(sets), *_with_model(choice)]
    note = f"{plural(len(pressing), 'thing')} to look at" if pressing else None
    return card("What to do next", *(_row(step) for step in steps[:_MOST]), note=note, flush=True)


def attention(tasks: Sequence[TaskInfo]) -> Iterable[Step]:
    """What is wrong or waits for a person: worker, failed tasks, engines, limits, recordings."""
    yield from _worker()
    yield from _failures(tasks)
    yield from _silent_engines(tasks)
    yield from _held_limits(tasks)
    for recording in workspace().live.recordings.unfinished():
        text = f"The recording “{recording.name}” was interrupted; its samples are kept."
        yield Step(_WARN, text, "Open tasks", "/tasks")


def _worker() -> Iterable[Step]:
    worker = workspace().tasks.worker()
    if not worker.alive:
        waiting = f" {plural(worker.queued, 'task')} waiting." if worker.queued else ""
        text = f"No worker is running, so tasks do not start.{waiting} Start one: phasedock worker"
        yield Step(_WARN, text, "Open tasks", "/tasks")


def _failures(tasks: Sequence[TaskInfo]) -> Iterable[Step]:
    """Tasks that failed and were not tried again since; `tasks` are the newest first."""
    again = {task.retry_of for task in tasks}
    done: set[tuple[str, str]] = set()
    for task in tasks:
        what = (task.kind, task.title)
        if task.state is TaskState.DONE:
            done.add(what)
        elif (
            task.state in (TaskState.FAILED, TaskState.INTERRUPTED)
            and task.id not in again
            and what not in done
        ):
            said = task.error[0] if task.error else "It was interrupted."
            yield Step(_WARN, f"{task.title}: {said}", "See the task", f"/tasks?task={task.id}")


def _silent_engines(tasks: Sequence[TaskInfo]) -> Iterable[Step]:
    """Engines that do not answer although something goes on there, or that may not be used."""
    busy = {str(task.params.get("engine")) for task in tasks if _goes_on(task)}
    for engine in workspace().live.engines.all():
        lost = engine.state is not EngineState.READY and engine.name in busy
        if lost or engine.state is EngineState.DENIED:
            text = f"{engine.name}: {STATE_WORDS[engine.state]}. {engine.message}"
            yield Step(_WARN, text, "Open Live", f"/live?engine={engine.name}")


def _goes_on(task: TaskInfo) -> bool:
    return task.kind in (ATTACH, RECORD) and not task.state.ended


def _held_limits(tasks: Sequence[TaskInfo]) -> Iterable[Step]:
    """Engines whose containers have other limits than their own, without a policy that sets them now."""
    steered = {str(task.params.get("engine")) for task in tasks if task.kind == ATTACH and _goes_on(task)}
    held: dict[str, set[str]] = {}
    for saved in workspace().live.saved_limits.all():
        held.setdefault(saved.engine.name, set()).add(saved.container)
    for engine, containers in held.items():
        if engine not in steered:
            where = "the demo" if _is_demo(engine) else engine
            text = f"Limits of {plural(len(containers), 'container')} on {where} are not their original ones."
            yield Step("lock-open", text, "Open Live", f"/live?engine={engine}")


def _is_demo(engine: str) -> bool:
    engines = workspace().live.engines
    return engine in engines.names and engines.is_demo(engine)


def _own_traces(sets: Sequence[TraceSetInfo]) -> Iterable[Step]:
    if all(info.sample for info in sets):
        text = "Only the sample traces are loaded. Add traces of your own containers."
        yield Step("upload", text, "Add traces", "/traces")


def _with_model(choice: Choice) -> Iterable[Step]:
    """What can be done with the chosen model, or how to get one."""
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
