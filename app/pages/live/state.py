"""The engine that the Live page shows, its state, and what to do about problems."""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

from dash import html

from app.context import find_choice, workspace
from app.ui.basics import Node, button, data, empty, icon, link_button, notice
from app.ui.engines import engine_named, state_sentence
from app.ui.links import PageState, free_text, option
from core.errors import NotFoundError
from core.live.queue.values import QueueState
from core.sampling.values import EngineState, Mode
from core.units import NO_NAMES
from core.workspace.records import TaskState

if TYPE_CHECKING:
    from collections.abc import Mapping

    from app.ui.links import Query
    from core.live.queue.values import QueuedJob
    from core.sampling.values import AttachedPolicy, EngineInfo, LiveView
    from core.workspace.records import TaskInfo

Beside: TypeAlias = "tuple[EngineInfo, ...] | None"
"""The real engines beside the demo; None where no demo is shown."""


@dataclass(frozen=True, slots=True)
class Queue:
    """The submitted jobs of an engine, as the page shows them."""

    #: Its jobs, or None if it accepts none.
    jobs: tuple[QueuedJob, ...] | None = None
    #: What waiting jobs need, if no policy can start them.
    waits_for: str = ""

    @property
    def active(self) -> list[QueuedJob]:
        """The jobs that are not over."""
        return [job for job in self.jobs or () if not job.state.over]

    @property
    def waiting(self) -> list[QueuedJob]:
        """The jobs that wait."""
        return [job for job in self.active if job.state is QueueState.WAITING]

    @classmethod
    def of(cls, engine: str) -> Queue:
        """The queue of an engine."""
        live = workspace().live.queue
        if not live.takes_jobs(engine):
            return cls()
        jobs = live.list(engine)
        waits = any(job.state is QueueState.WAITING for job in jobs)
        return cls(jobs, live.waits_for(engine) if waits else "")


NO_QUEUE = Queue()
PATH = "/live"
EVERY = ("1", "2", "5", "10", "30")
"""Seconds between two ticks that can be chosen."""
COLUMNS = {"uptime": "Uptime", "network": "Network", "io": "Disk"}
"""Further columns of the table that can be chosen."""
MEASURES = {"cpu": "CPU", "memory": "Memory"}
ACT = "live-act"
"""The store that all buttons of the page fill (``assets/js/actions.js``)."""
LABEL_COMMAND = "docker run --label phasedock --name my-training my-image"
WORKER_COMMAND = "phasedock worker"
_COMMANDS = {
    EngineState.DENIED: ("sudo usermod -aG docker $USER",),
    EngineState.MISSING: (
        "sudo systemctl start docker",
        "PHASEDOCK_DOCKER=gpu-box=ssh://me@gpu-box make run",
    ),
}
"""Commands that start Docker here, or name another host."""
_DEMO = "Simulated containers that replay recorded jobs. The whole page works on them."
_SHOWN_EVERY = 3.0
"""Seconds after which the panel of an attached policy is redrawn with its decisions and savings: with many
containers it decides every second, and redrawing each time would be most of the page's cost."""


@dataclass(frozen=True, slots=True)
class LiveAddress(PageState):
    """The choices of the page."""

    #: Seconds between two ticks.
    every: str = option(EVERY, EVERY[0])
    #: What charts show, the filter of the table, and ``1`` where there is a chart of every container.
    measure: str = option(MEASURES, "cpu")
    text: str = free_text("")
    all_charts: str = free_text("0", "all")
    #: The further columns of the table, separated by commas.
    columns: str = free_text("")
    #: The engine, or None where none is configured.
    engine: EngineInfo | None = None
    #: The model that samples are labelled by; the one that the bar on top shows unless given.
    model: str | None = None

    @classmethod
    def derive(cls, query: Query) -> dict[str, Any]:
        """The engine and the model."""
        model = query.get("model")
        with suppress(NotFoundError):
            if model is None and (info := find_choice(query.get("traces")).model):
                model = info.id
        return {"engine": engine_named(query.get("engine")), "model": model}


def phase_names(view: LiveView) -> Mapping[int, str]:
    """The names that people gave to the phases of a view, by the model of its policy or that of the page."""
    model = view.attached.settings.get("model") if view.attached else None
    model = model or view.model
    return workspace().models.phase_names(model) if model else NO_NAMES


def does(act: str, target: str = "") -> dict[str, Any]:
    """The action that a button of the page requests, as its attributes."""
    return data(act=act, id=target, store=ACT)


def command(text: str) -> html.Div:
    """A command to copy."""
    return html.Div(
        [
            html.Code(text),
            button(html.Span("Copy", **data(label="true")), "copy", "small", **data(copy=text)),
        ],
        className="command",
    )


def signatures(
    view: LiveView, *, control: bool, working: bool, beside: Beside = None, queue: Queue = NO_QUEUE
) -> dict[str, Any]:
    """The values that each panel of the server depends on; arguments as for `notices`.

    A form depends on nothing that comes and goes while a person fills it in: to draw it again is to empty it.
    """
    engine, attached, recording = view.engine, view.attached, view.recording
    usable, now = engine.state is EngineState.READY, time.time()
    return {
        "notice": (
            engine.state,
            engine.message,
            engine.hint,
            control,
            working,
            view.at is None,
            not view.rows and not view.stopped and not queue.active,
            None if beside is None else tuple((each.name, each.state) for each in beside),
            None if view.failed is None else view.failed.id,
        ),
        "policy": attached_signature(attached, now)
        if attached
        else (control, usable, None if view.failed is None else view.failed.id),
        "queue": (engine.state, control, without_stands(queue)),
        "deadlines": tuple(
            (job, job.overdue(now)) for job in queue.jobs or () if job.spec.deadline is not None
        ),
        "record": (recording.task, recording.name) if recording else (),
        "others": tuple((each.id, each.name, each.state) for each in view.foreign)
        + tuple(row.id for row in view.rows if row.picked),
    }


def without_stands(queue: Queue) -> Queue:
    """A queue without the policy's forecasts of jobs, which its card does not show."""
    jobs = None if queue.jobs is None else tuple(replace(job, stands=None) for job in queue.jobs)
    return replace(queue, jobs=jobs)


def capabilities(view: LiveView, queue: Queue = NO_QUEUE) -> dict[str, bool]:
    """Which buttons of the forms can do something now, by their ids."""
    has_containers = bool(view.rows)
    return {"live-record-start": has_containers, "live-attach": has_containers or bool(queue.active)}


def attached_signature(attached: AttachedPolicy, now: float) -> tuple[Any, ...]:
    """The values that the card of an attached policy depends on: decisions count after a few seconds."""
    step = now // _SHOWN_EVERY
    settled = [each for each in attached.entries if each.at < step * _SHOWN_EVERY]
    evidence_step = None if attached.evidence is None else step
    return (attached.task, attached.mode, attached.run, len(settled), settled[:1], evidence_step)


def notices(
    view: LiveView, *, control: bool, working: bool, beside: Beside = None, queue: Queue = NO_QUEUE
) -> list[Node]:
    """Notes about this engine, and the obstacles to using it, each with its remedy."""
    notes = [] if beside is None else [_demo(beside)]
    if view.failed is not None and view.failed.state is TaskState.FAILED:
        notes.append(_failed(view.failed))
    return [*notes, *_obstacles(view, control=control, working=working, idle=not queue.active)]


def _demo(beside: tuple[EngineInfo, ...]) -> html.Div:
    """A note about the demo, with a link or the commands for a real engine."""
    ready = next((each for each in beside if each.state is EngineState.READY), None)
    if ready is not None:
        ways = [link_button(f"Open {ready.name}", f"{PATH}?engine={ready.name}", "activity", "small")]
        return notice("plain", _DEMO, strong="Demo: recorded jobs, replayed.", actions=ways)
    alone = len(beside) == 1
    states = ", ".join(state_sentence(each, alone=alone) for each in beside) or "No Docker is configured"
    lines = _COMMANDS.get(beside[0].state, ()) if beside else _COMMANDS[EngineState.MISSING][1:]
    text: list[Node] = [f"{_DEMO} "]
    if lines:
        start = "To see your own containers, start Docker or name a host that has it:"
        text += [html.Div(start), html.Div([command(line) for line in lines], className="commands")]
    return notice("plain", html.Div(text), strong=f"{states}. This is a demo.")


def _failed(task: TaskInfo) -> html.Div:
    """A notice on a policy that could not be attached, or that failed."""
    text = " ".join(task.error) if task.error else "See its log for details."
    ways = [link_button("See the task", f"/tasks?task={task.id}", "list-check", "small")]
    return notice("bad", text, strong=f"{task.title}: that failed.", actions=ways)


def _obstacles(view: LiveView, *, control: bool, working: bool, idle: bool) -> list[Node]:
    engine = view.engine
    if engine.state is not EngineState.READY:
        return [_unusable(engine, is_stale=bool(view.rows))]
    if not working:
        text = html.Div(["Nothing is being measured. Start a worker:", command(WORKER_COMMAND)])
        return [notice("warn", text, strong="No worker is running.")]
    if view.at is None:
        return [
            html.Div(
                [icon("loader-2"), f"Asking {engine.name} for its containers …"],
                className="notice",
                role="status",
            )
        ]
    if not view.rows and not view.stopped:
        return [_nothing_labelled(view)] if idle else []
    return [] if control else [_looking_only(view)]


def _unusable(engine: EngineInfo, *, is_stale: bool) -> html.Div:
    text: list[Node] = [engine.hint]
    if engine.state is EngineState.LOST and is_stale:
        text.append(" The values below are the last ones seen.")
    else:
        text.append(
            html.Div([command(line) for line in _COMMANDS.get(engine.state, ())], className="commands")
        )
    kind = "plain" if engine.state is EngineState.MISSING else "warn"
    return notice(kind, html.Div(text), strong=engine.message, actions=[_again(), _open_demo(), _simulated()])


def _again() -> Node:
    return button("Try again", "refresh", "small", **data(live="again"))


def _open_demo() -> Node:
    return link_button("Open the demo", f"{PATH}?engine=demo", "activity", "small")


def _simulated() -> Node:
    return link_button("Use the simulator", "/runs", "player-play", "small")


def _looking_only(view: LiveView) -> html.Div:
    n = view.totals.containers
    return notice(
        "info",
        "Set PHASEDOCK_CONTROL=on and restart PhaseDock to set limits and to attach a policy in control.",
        strong=f"Watching {n:,} container{'s' if n != 1 else ''}; nothing can be changed.",
    )


def _nothing_labelled(view: LiveView) -> html.Section:
    n = view.others
    others = f"{n:,} other container{'s run' if n != 1 else ' runs'} here; " if n else ""
    text = [
        "PhaseDock manages containers that carry its label and leaves all others alone. Start one:",
        command(LABEL_COMMAND),
        f"{others}select any of them in the list below, or submit a job to the queue."
        if n
        else "It appears here a second later. Or submit a job to the queue.",
    ]
    return html.Section(
        empty("activity", f"No container on {view.engine.name} carries the PhaseDock label", text),
        className="card",
    )


def is_control(attached: AttachedPolicy | None) -> bool:
    """Whether a policy changes limits now."""
    return attached is not None and attached.mode is Mode.CONTROL
