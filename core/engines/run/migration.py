"""Migration of a job: checkpoint, stop, start on another worker from the checkpoint, confirm.

A move runs in a thread of the engine's executor, so the run continues meanwhile; only its outcome is handled
in the engine's thread. Before the job acknowledges its checkpoint nothing has changed; after that, any
failure restarts the job on its old worker from that checkpoint. No step is lost or repeated: the job pauses
from its checkpoint until it is stopped, and in its new container until it has confirmed the checkpoint.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from math import nan
from typing import TYPE_CHECKING, Final

from core.engines.errors import HostLost
from core.engines.run.shared_state import PULSE, compute_thread_count
from core.engines.run.start import confirm_start, create_container
from core.errors import PhaseDockError
from core.scheduling.model import Failure, JobState, Trigger

if TYPE_CHECKING:
    from collections.abc import Callable

    from core.engines.run.agent import AgentFolder, AgentReport
    from core.engines.run.host import ContainerHost
    from core.engines.run.job import LiveJob, Node, PlannedJob
    from core.engines.run.shared_state import SharedState
    from core.scheduling.actions import Migrate

CHECKPOINT_TIMEOUT: Final = 15.0
"""Seconds to wait for a job's checkpoint."""

CONFIRM_TIMEOUT: Final = 30.0
"""Seconds to wait for a job to resume after its restart."""

MAX_TIMEOUT: Final = 300.0
"""Maximum seconds for either while the container computes, because a crowded worker slows everything."""

_POLL_INTERVAL: Final = 0.02
_CHECK_INTERVAL: Final = 1.0
"""Seconds between two checks whether the container computes."""

_MIN_COMPUTING_CORES: Final = 0.02
"""Minimum cores in use by a computing job; a waiting one uses less."""

_GRACE: Final = 2.0


class MigrationAborted(Exception):  # noqa: N818 - a control flow inside this module; it never leaves it
    """The reason why a job stays on its worker."""


@dataclass(frozen=True)
class _Move:
    """One move: the job, its origin and destination, and its old container."""

    shared: SharedState
    job: LiveJob
    plan: PlannedJob
    agent: AgentFolder
    action: Migrate
    origin: Node
    to: Node
    old_container: str
    aborting: threading.Event
    has_stopped: threading.Event = field(default_factory=threading.Event)


def begin_migration(shared: SharedState, job: LiveJob, action: Migrate, to: Node) -> None:
    """Begin to move a running job that writes checkpoints; its outcome is observed later."""
    if job.plan is None or job.agent is None or job.worker is None:
        raise LookupError(job.id)
    aborting = threading.Event()
    move = _Move(shared, job, job.plan, job.agent, action, job.worker, to, job.container, aborting)
    job.state, job.worker, job.aborting = JobState.MIGRATING, to, aborting
    shared.executor.submit(_run_move, move)


def _run_move(move: _Move) -> None:
    """Run a move; never raises, because nothing would catch it."""
    try:
        container = _move(move)
    except MigrationAborted as aborted:
        why, return_problem = str(aborted), _return_to_origin(move)
        move.shared.notify(lambda: _finish_failed_move(move, why, return_problem))
    except Exception as error:  # noqa: BLE001 - a job must never be left between two workers
        why, return_problem = (
            getattr(error, "message", None) or f"{type(error).__name__}: {error}.",
            _return_to_origin(move),
        )
        move.shared.notify(lambda: _finish_failed_move(move, why, return_problem))
    else:
        move.shared.notify(lambda: _finish_move(move, container))


def _move(move: _Move) -> str:
    """Move the job; return its new container."""
    version = move.agent.send_request(checkpoint=move.agent.request.checkpoint + 1, hold=True)
    number, host = move.agent.request.checkpoint, move.origin.host
    _wait_until(
        move,
        lambda report: report.version >= version and report.checkpoint >= number and report.state == "held",
        CHECKPOINT_TIMEOUT,
        f"Job {move.job.id} wrote no checkpoint within {CHECKPOINT_TIMEOUT:g} s.",
        (host, move.old_container),
    )
    _count(move, host)
    move.has_stopped.set()
    host.stop(move.old_container, _GRACE)
    before = move.agent.read_report()
    _request(move, move.to, hold=True)
    container = create_container(move.shared, move.job, move.plan, move.to)
    try:
        move.to.host.start(container)
        confirm_start(move.shared, move.job)
        _wait_until(
            move,
            lambda report: report.started != before.started and _has_resumed(report, before.checkpoint_step),
            CONFIRM_TIMEOUT,
            f"Job {move.job.id} did not resume on {move.to.name} within {CONFIRM_TIMEOUT:g} s.",
            (move.to.host, container),
        )
        _request(move, move.to, hold=False)
    except BaseException:
        _remove(move.to.host, container)
        raise
    _remove(host, move.old_container)
    return container


def _has_resumed(report: AgentReport, step: int) -> bool:
    return report.state in ("held", "running", "done") and (report.step or 0) >= step


def _wait_until(
    move: _Move,
    condition: Callable[[AgentReport], bool],
    seconds: float,
    why: str,
    host_and_container: tuple[ContainerHost, str],
) -> None:
    """Wait for a condition on the job's report; the job must be running or have met it before its end.

    The time limit of `seconds` starts again after each check at which its container computes.
    """
    begin_time = checked = time.monotonic()
    deadline, used, count = begin_time + seconds, _read_cpu_seconds(*host_and_container), 0
    while not condition(move.agent.read_report()):
        count += 1
        now = time.monotonic()
        if now >= min(checked + _CHECK_INTERVAL, deadline):
            before, used = used, _read_cpu_seconds(*host_and_container)
            if used - before > _MIN_COMPUTING_CORES * (now - checked):
                deadline = min(now + seconds, begin_time + MAX_TIMEOUT)
            checked = now
        if move.aborting.is_set():
            raise MigrationAborted(f"Job {move.job.id} was stopped while it moved.")
        if (
            count % 10 == 0
            and not host_and_container[0].inspect(host_and_container[1]).running
            and not condition(move.agent.read_report())
        ):
            raise MigrationAborted(f"Job {move.job.id} ended while it moved.")
        if now >= deadline:
            raise MigrationAborted(why)
        time.sleep(_POLL_INTERVAL)


def _request(move: _Move, worker: Node, hold: bool) -> None:
    """Request the job to pause or resume at its next start, with threads for that worker."""
    move.agent.send_request(
        hold=hold, threads=compute_thread_count(move.shared, move.job, move.job.limit, worker)
    )


def _return_to_origin(move: _Move) -> str:
    """Resume the job on its old worker; return a sentence on failure, else ""."""
    if move.aborting.is_set():
        _remove(move.origin.host, move.old_container)
        return ""
    deadline = time.monotonic() + move.shared.options.reconnect_within
    while True:
        try:
            return _resume_origin(move)
        except (PhaseDockError, OSError) as error:
            if not isinstance(error, HostLost) or time.monotonic() >= deadline or move.aborting.is_set():
                return f"It could not be restarted either: {getattr(error, 'message', error)}"
        time.sleep(PULSE)


def _resume_origin(move: _Move) -> str:
    _request(move, move.origin, hold=False)
    running_or_done = (
        move.origin.host.inspect(move.old_container).running or move.agent.read_report().state == "done"
    )
    if move.has_stopped.is_set() and not running_or_done:
        move.origin.host.start(move.old_container)
    return ""


def _read_cpu_seconds(host: ContainerHost, container: str) -> float:
    """Return the core-seconds used by a container; NaN, which compares with nothing, if not measured."""
    counters = host.counters([host.inspect(container)]).get(container)
    return nan if counters is None or counters.cpu_seconds is None else counters.cpu_seconds


def _count(move: _Move, host: ContainerHost) -> None:
    """Read the usage of the container once more before it is stopped."""
    counters = host.counters([host.inspect(move.old_container)]).get(move.old_container)
    if counters is not None:
        move.shared.notify(lambda: move.job.count(counters))


def _remove(host: ContainerHost, container: str) -> None:
    try:
        host.remove(container)
    except PhaseDockError:
        return  # it is removed at the end of the run


def _finish_move(move: _Move, container: str) -> None:
    """Record, in the engine's thread, that the job has moved."""
    job = move.job
    job.aborting = None
    move.shared.triggers.add(Trigger.OUTCOME)
    if job.id not in move.shared.jobs:
        move.shared.executor.submit(_remove, move.to.host, container)
        return
    job.begin_container(container)
    job.worker, job.state = move.to, JobState.RUNNING


def _finish_failed_move(move: _Move, why: str, return_problem: str) -> None:
    """Record, in the engine's thread, that the job stays, and why the move failed."""
    job, shared = move.job, move.shared
    job.aborting = None
    shared.triggers.add(Trigger.OUTCOME)
    if job.id not in shared.jobs:
        return
    job.worker, job.state = move.origin, JobState.RUNNING
    shared.failures.append(Failure(move.action, f"{why} {return_problem}".strip()))
    if return_problem:
        shared.end(job, JobState.FAILED, f"{why} {return_problem}")
