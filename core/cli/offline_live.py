"""Running containers from the command line.

Only attaching policies and recording in the background need a worker.
"""

from __future__ import annotations

import contextlib
import time
from typing import TYPE_CHECKING, Any

import yaml

from core.engines.terms import parse_cores, parse_memory
from core.errors import Cancelled, ConflictError, InputError, NotFoundError
from core.live.recordings import record as record_until_ended
from core.sampling.values import EngineState
from core.workspace.files import new_id
from core.workspace.repository import checked_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from core.application import Workspace
    from core.engines.ports import Container
    from core.sampling.values import LimitChange, LiveView, ReleaseResult
    from core.workspace.records import TaskInfo

_FIRST_SAMPLE = 10.0
_TASK_SECONDS = 60.0
_SHORTEST_ID = 4
"""Characters of a container's id that are enough to name it."""


def engine_of(workspace: Workspace, name: str) -> str:
    """The engine of that name, or the first one; ready to be used.

    Raises
    ------
    NotFoundError
        If the settings name no such engine.
    ConflictError
        If it does not answer.
    """
    engine = name or workspace.live.engines.names[0]
    info = workspace.live.engines.get(engine)
    if info.state is not EngineState.READY:
        raise ConflictError(info.message, info.hint if name else f"{info.hint}{_or_the_demo(workspace)}")
    return engine


def _or_the_demo(workspace: Workspace) -> str:
    """The way out where no engine was named: recorded jobs, replayed."""
    engines = workspace.live.engines
    demo = next((each for each in engines.names if engines.is_demo(each)), None)
    return "" if demo is None else f" Or let recorded jobs be replayed: --engine {demo}."


@contextlib.contextmanager
def watching(workspace: Workspace) -> Iterator[None]:
    """Sample wanted engines here; a worker that samples them already continues to."""
    watcher = workspace.watcher()
    watcher.start()
    try:
        yield
    finally:
        watcher.stop()


def views(workspace: Workspace, engine: str) -> Iterator[LiveView]:
    """Samples as they come, about one a second.

    Raises
    ------
    ConflictError
        If none comes.
    """
    latest, deadline = workspace.live.view.peek(engine).at, time.monotonic() + _FIRST_SAMPLE
    while True:
        view = workspace.live.view.request_view(engine)
        # the first sample of all knows no usage yet
        has_usage = not view.rows or any(row.cpu is not None for row in view.rows)
        if view.at is not None and view.at != latest and has_usage:
            latest, deadline = view.at, time.monotonic() + _FIRST_SAMPLE
            yield view
        if view.engine.state is not EngineState.READY:
            raise ConflictError(view.engine.message, view.engine.hint)
        if time.monotonic() > deadline:
            raise ConflictError(f"The engine {engine} is not being sampled.", "See the log of the worker.")
        time.sleep(0.1)


def record(
    workspace: Workspace,
    engine: str,
    name: str,
    seconds: float,
    *,
    containers: Sequence[str] = (),
    model: str | None = None,
    progress: Callable[[float, str], None] | None = None,
) -> str:
    """Record for some seconds, or until Ctrl+C; returns the trace set's id.

    Raises
    ------
    NotFoundError
        If a container is not there.
    ConflictError
        If nothing was recorded, or something is being recorded already.
    """
    started = time.monotonic()
    only = _ids(workspace, engine, containers) if containers else None
    params: dict[str, Any] = {
        "engine": engine, "name": checked_name(name, "trace set"), "containers": only, "model": model,
        "recording": new_id(),
    }  # fmt: skip

    def say(text: str) -> None:
        passed = time.monotonic() - started
        if progress is not None:
            progress(passed / seconds if seconds else 0.0, text)
        if seconds and passed >= seconds:
            raise Cancelled

    with watching(workspace):
        return record_until_ended(
            workspace.settings.home,
            workspace.live.engines,
            workspace.traces,
            workspace.models,
            params,
            None,
            _until_interrupted(say),
        )


def set_limit(
    workspace: Workspace, engine: str, container: str, cpu: str | None, memory: str | None
) -> LimitChange:
    """Set limits of one container by hand, as the page does; one that is not given stays.

    Raises InputError if one is not a number of cores, “none” or a size; NotFoundError if there is no such
    container; else as `core.live.control.by_hand.ManualControl.set_limit`.
    """
    found = _container(workspace, engine, container)
    try:
        cores = found.limits.cores if cpu is None else None if cpu == "none" else parse_cores(cpu)
        size = None if memory is None else parse_memory(memory)
    except ValueError as error:
        raise InputError(str(error), "Write it as --cpu 1.5, --cpu none or --memory 2GiB.") from error
    return workspace.live.limits.set_limit(engine, found.id, cores, size)


def undo_limit(workspace: Workspace, engine: str, container: str) -> LimitChange:
    """Take back the last change by hand of one container that was not taken back yet.

    Raises NotFoundError if there is no such container; else as
    `core.live.control.by_hand.ManualControl.undo`.
    """
    return workspace.live.limits.undo(engine, _container(workspace, engine, container).id)


def _container(workspace: Workspace, engine: str, name: str) -> Container:
    """Return a container, running or stopped, by its name or the beginning of its id."""
    with workspace.live.engines.host(engine) as host:
        every = host.containers(running_only=False)
    named = [each for each in every if each.name == name] or [
        each for each in every if len(name) >= _SHORTEST_ID and each.id.startswith(name)
    ]
    if len(named) != 1:
        raise NotFoundError(
            f"No container called “{name}” is on {engine}.", "phasedock watch shows which there are."
        )
    return named[0]


def start_recording(
    workspace: Workspace, engine: str, name: str, containers: Sequence[str], model: str | None
) -> str:
    """Let a worker record until it is stopped; returns the task's id.

    Raises ConflictError if no worker runs, or something is being recorded; NotFoundError if a container is
    not there.
    """
    _need_worker(workspace)
    only = _ids(workspace, engine, containers) if containers else None
    return workspace.live.recordings.record(engine, name, only, model)


def stop_recording(workspace: Workspace, engine: str) -> str:
    """Stop the recording of a worker; returns the trace set's id.

    Raises ConflictError if nothing is being recorded, or nothing became of it.
    """
    return str(_result(workspace, workspace.live.recordings.stop(engine)).get("trace_set") or "")


def steered(workspace: Workspace, engine: str) -> list[str]:
    """The names of the running containers that a policy on an engine would watch or change.

    Raises ConflictError if no worker runs that samples them.
    """
    _need_worker(workspace)
    rows = next(views(workspace, engine)).rows
    return sorted(row.name for row in rows if row.labelled or row.picked)


def attach(
    workspace: Workspace,
    engine: str,
    policy: str,
    changes: Sequence[str],
    mode: str,
    *,
    may_raise: bool,
    reattach: bool,
) -> str:
    """Attach a policy with some of its settings changed, each as ``name=value``; returns the task's id.

    Raises InputError if one is not of this form; else as `core.live.attach.policy_loop.Policies.attach`.
    """
    pairs = [change.partition("=") for change in changes]
    wrong = next((name for name, separator, _ in pairs if not separator), None)
    if wrong is not None:
        raise InputError(f"“{wrong}” is not of the form setting=value.", "Write it as itval=20.")
    settings = {name.strip(): yaml.safe_load(value) for name, _, value in pairs}
    return workspace.live.policies.attach(
        engine, policy, settings, mode, may_raise=may_raise, reattach=reattach
    )


def detach(workspace: Workspace, engine: str) -> bool:
    """Detach the policy of an engine; tells whether its worker restored all limits before a minute was over.

    What a policy changed that ended with its worker is restored here. Raises ConflictError if none is
    attached.
    """
    task = workspace.live.policies.detach(engine)
    is_ended = _ended(workspace, task) is not None
    return is_ended and not workspace.live.limits.put_back_orphans().failed


def _need_worker(workspace: Workspace) -> None:
    if not workspace.tasks.worker().alive:
        raise ConflictError("No worker runs that could do this.", "Start PhaseDock first: phasedock serve.")


def _ended(workspace: Workspace, task: str) -> TaskInfo | None:
    """A task once it has ended, or None after a minute."""
    deadline = time.monotonic() + _TASK_SECONDS
    while time.monotonic() < deadline:
        info = workspace.tasks.get(task)
        if info.state.ended:
            return info
        time.sleep(0.1)
    return None


def _result(workspace: Workspace, task: str) -> Mapping[str, Any]:
    info = _ended(workspace, task)
    if info is None:
        raise ConflictError("The worker has not ended it within a minute.", "See the log of the worker.")
    if not info.result:
        raise ConflictError(*(info.error or ("Nothing was recorded.", "See the log of the task.")))
    return info.result


def release(workspace: Workspace, engine: str | None) -> ReleaseResult:
    """Restore every limit; see `core.live.control.by_hand.ManualControl.release`."""
    workspace.tasks.reap()
    return workspace.live.limits.release(engine)


def _until_interrupted(say: Callable[[str], None]) -> Callable[[str], None]:
    """Ctrl+C ends a recording like everything else that ends it: with a trace set."""

    def saying(text: str) -> None:
        try:
            say(text)
        except KeyboardInterrupt:
            raise Cancelled from None

    return saying


def _ids(workspace: Workspace, engine: str, names_or_ids: Sequence[str]) -> list[str]:
    with workspace.live.engines.host(engine) as host:
        containers = host.containers()
    ids = []
    for text in names_or_ids:
        match = [each.id for each in containers if each.name == text or each.id.startswith(text)]
        if not match:
            names = ", ".join(sorted(each.name for each in containers)) or "none"
            raise NotFoundError(f"No container called “{text}” runs on {engine}.", f"There are: {names}.")
        ids.append(match[0])
    return ids
