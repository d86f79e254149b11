"""Moving a job: checkpoint, stop, start elsewhere from the checkpoint, confirm.

A move is made in a thread of the engine's executor, so the run continues meanwhile; only its outcome is
handled in the engine's own thread. Until the job has acknowledged its checkpoint nothing has happened; after
that, whatever goes wrong ends with the job started again where it was, from that checkpoint. No step is lost
and none is done twice: the job pauses from its checkpoint until it is stopped, and in its new container from
the beginning until it has confirmed that it is at the checkpoint.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from core.engines.docker_host.shared_state import PULSE, wanted_threads
from core.engines.docker_host.start import answered, create
from core.engines.errors import HostLost
from core.errors import PhaseDockError
from core.scheduling.model import Failure, JobState, Trigger

if TYPE_CHECKING:
    from collections.abc import Callable

    from core.engines.docker_host.agent import AgentFolder, Says
    from core.engines.docker_host.host import Host
    from core.engines.docker_host.job import DockerWorker, LiveJob, PlannedJob
    from core.engines.docker_host.shared_state import SharedState
    from core.scheduling.actions import Migrate

CHECKPOINT_IN: Final = 15.0
"""Seconds that a job has to write its checkpoint."""

CONFIRM_IN: Final = 30.0
"""Seconds that a job has to resume where it was restarted."""

MOST: Final = 300.0
"""Seconds that either may take while its container is computing: a crowded worker makes everything slower."""

_LOOK: Final = 0.02
_CHECK_EVERY: Final = 1.0
"""Seconds between two checks whether the container is computing."""

_COMPUTES: Final = 0.02
"""Cores; a job that only waits uses less."""

_GRACE: Final = 2.0


class MigrationAborted(Exception):  # noqa: N818 - a control flow inside this module; it never leaves it
    """Why a job stays where it is."""


@dataclass(frozen=True)
class _Move:
    """One move: who, where from, where to, and the container that it leaves."""

    shared: SharedState
    job: LiveJob
    plan: PlannedJob
    agent: AgentFolder
    action: Migrate
    origin: DockerWorker
    to: DockerWorker
    left: str
    giving_up: threading.Event
    halted: threading.Event = field(default_factory=threading.Event)


def begin(shared: SharedState, job: LiveJob, action: Migrate, to: DockerWorker) -> None:
    """Begin to move a running job that writes checkpoints; its outcome is seen later."""
    if job.plan is None or job.agent is None or job.worker is None:
        raise LookupError(job.id)
    giving_up = threading.Event()
    move = _Move(shared, job, job.plan, job.agent, action, job.worker, to, job.container, giving_up)
    job.state, job.worker, job.giving_up = JobState.MIGRATING, to, giving_up
    shared.executor.submit(_carry_out, move)


def _carry_out(move: _Move) -> None:
    """All of a move; never raises, since nothing would catch it."""
    try:
        container = _moved(move)
    except MigrationAborted as stays:
        why, back = str(stays), _back(move)
        move.shared.notify(lambda: _stayed(move, why, back))
    except Exception as error:  # noqa: BLE001 - whatever it is, the job must not be left between two workers
        why, back = getattr(error, "message", None) or f"{type(error).__name__}: {error}.", _back(move)
        move.shared.notify(lambda: _stayed(move, why, back))
    else:
        move.shared.notify(lambda: _arrived(move, container))


def _moved(move: _Move) -> str:
    """Move the job; returns its new container."""
    wanted = move.agent.want(checkpoint=move.agent.wants.checkpoint + 1, hold=True)
    number, host = move.agent.wants.checkpoint, move.origin.host
    _until(
        move,
        lambda says: says.version >= wanted and says.checkpoint >= number and says.state == "held",
        CHECKPOINT_IN,
        f"Job {move.job.id} wrote no checkpoint within {CHECKPOINT_IN:g} s.",
        (host, move.left),
    )
    _count(move, host)
    move.halted.set()
    host.stop(move.left, _GRACE)
    before = move.agent.says()
    _want(move, move.to, hold=True)
    container = create(move.shared, move.job, move.plan, move.to)
    try:
        move.to.host.start(container)
        answered(move.shared, move.job)
        _until(
            move,
            lambda says: says.started != before.started and _goes_on(says, before.checkpoint_step),
            CONFIRM_IN,
            f"Job {move.job.id} did not resume on {move.to.name} within {CONFIRM_IN:g} s.",
            (move.to.host, container),
        )
        _want(move, move.to, hold=False)
    except BaseException:
        _remove(move.to.host, container)
        raise
    _remove(host, move.left)
    return container


def _goes_on(says: Says, step: int) -> bool:
    return says.state in ("held", "running", "done") and (says.step or 0) >= step


def _until(move: _Move, true: Callable[[Says], bool], seconds: float, why: str, at: tuple[Host, str]) -> None:
    """Wait for the job to say something; it must be alive, or have said it before it ended.

    It has `seconds`, and as many again after each check at which its container was computing; the last check
    is when they are over.
    """
    begun = checked = time.monotonic()
    deadline, used, look = begun + seconds, _used(*at), 0
    while not true(move.agent.says()):
        look += 1
        now = time.monotonic()
        if now >= min(checked + _CHECK_EVERY, deadline):
            before, used = used, _used(*at)
            if used - before > _COMPUTES * (now - checked):
                deadline = min(now + seconds, begun + MOST)
            checked = now
        if move.giving_up.is_set():
            raise MigrationAborted(f"Job {move.job.id} was stopped while it moved.")
        if look % 10 == 0 and not at[0].inspect(at[1]).running and not true(move.agent.says()):
            raise MigrationAborted(f"Job {move.job.id} ended while it moved.")
        if now >= deadline:
            raise MigrationAborted(why)
        time.sleep(_LOOK)


def _want(move: _Move, worker: DockerWorker, hold: bool) -> None:
    """Let the job pause or resume where it is started next, with threads for that worker."""
    move.agent.want(hold=hold, threads=wanted_threads(move.shared, move.job, move.job.limit, worker))


def _back(move: _Move) -> str:
    """Resume the job where it was; returns a sentence if that did not work."""
    if move.giving_up.is_set():
        _remove(move.origin.host, move.left)
        return ""
    deadline = time.monotonic() + move.shared.reconnect_within
    while True:
        try:
            return _resume_origin(move)
        except (PhaseDockError, OSError) as error:
            if not isinstance(error, HostLost) or time.monotonic() >= deadline or move.giving_up.is_set():
                return f"It could not be restarted either: {getattr(error, 'message', error)}"
        time.sleep(PULSE)


def _resume_origin(move: _Move) -> str:
    _want(move, move.origin, hold=False)
    running_or_done = move.origin.host.inspect(move.left).running or move.agent.says().state == "done"
    if move.halted.is_set() and not running_or_done:
        move.origin.host.start(move.left)
    return ""


def _used(host: Host, container: str) -> float:
    """Core-seconds that a container has used; 0 if it is not there."""
    counters = host.counters([host.inspect(container)]).get(container)
    return 0.0 if counters is None else counters.cpu_seconds


def _count(move: _Move, host: Host) -> None:
    """Read a last time what the container used, before it is stopped."""
    counters = host.counters([host.inspect(move.left)]).get(move.left)
    if counters is not None:
        move.shared.notify(lambda: move.job.count(counters))


def _remove(host: Host, container: str) -> None:
    try:
        host.remove(container)
    except PhaseDockError:
        return  # it is removed at the end of the run


def _arrived(move: _Move, container: str) -> None:
    """Note, in the engine's thread, that the job is where it was sent."""
    job = move.job
    job.giving_up = None
    move.shared.happened.add(Trigger.OUTCOME)
    if job.id not in move.shared.jobs:
        move.shared.executor.submit(_remove, move.to.host, container)
        return
    job.begin_container(container)
    job.worker, job.state = move.to, JobState.RUNNING


def _stayed(move: _Move, why: str, back: str) -> None:
    """Note, in the engine's thread, that the job is where it was, and why the move failed."""
    job, shared = move.job, move.shared
    job.giving_up = None
    shared.happened.add(Trigger.OUTCOME)
    if job.id not in shared.jobs:
        return
    job.worker, job.state = move.origin, JobState.RUNNING
    shared.failures.append(Failure(move.action, f"{why} {back}".strip()))
    if back:
        shared.end(job, JobState.FAILED, f"{why} {back}")
