"""Perform a policy's actions; change cores and threads of a job together (Libutti).

More threads than cores make a program wait for itself. A job whose threads follow its cores, or are set by
its policy, first drops threads, acknowledges, and only then loses cores; when it grows, the cores come first.
A job that does not answer in time gets its new limit and counts as unable to resize until it answers again.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Final

from core.engines.run import migration
from core.engines.run.shared_state import (
    compute_thread_count,
    request_threads,
    request_threads_for_limit,
)
from core.engines.run.start import confirm_start, create_container, follow_readings, prepare_folder
from core.errors import PhaseDockError
from core.scheduling import refusals
from core.scheduling.actions import (
    Migrate,
    Pause,
    Refuse,
    Resume,
    SetLimit,
    SetMemory,
    SetThreads,
    Start,
    Stop,
)
from core.scheduling.model import Failure, JobState, at_most
from core.scheduling.refusals import ActionRefused

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from core.engines.run.job import LiveJob, Node
    from core.engines.run.shared_state import SharedState
    from core.scheduling.actions import Action


ACKNOWLEDGE_TIMEOUT: Final = 5.0
"""Seconds to wait for a job's acknowledgement of fewer threads."""

_POLL_INTERVAL: Final = 0.02


def announce_fewer_threads(shared: SharedState, actions: Sequence[Action]) -> float:
    """Request fewer threads from every shrinking job at once; return the deadline of the answers."""
    for action in actions:
        job = shared.jobs.get(action.job)
        if job is None or job.worker is None:
            continue
        if isinstance(action, SetLimit):
            limit = at_most(job.max_cores, action.limit)
            _request_fewer(job, compute_thread_count(shared, job, limit, job.worker))
        elif isinstance(action, SetThreads) and job.can_resize:
            _request_fewer(job, action.threads)
    return time.monotonic() + ACKNOWLEDGE_TIMEOUT


def set_limit(shared: SharedState, job: LiveJob, limit: float | None, weight: float, until: float) -> None:
    """Change a placed job's limit and weight, and its threads in the right order.

    Raises PhaseDockError if the host refuses or is lost.
    """
    if job.worker is not None:
        _request_fewer(job, compute_thread_count(shared, job, limit, job.worker))
    if _are_fewer(job, job.agent.request.threads if job.agent is not None else None):
        job.owes_answer = not wait_for_acknowledgement(shared, job, until)
    host = shared.host_of(job)
    container = host.inspect(job.container)
    job.owner.update(host, container)  # somebody may have changed it since the policy looked
    limit = at_most(job.max_cores, limit)
    job.changed = True
    limits = container.limits.with_cores(limit).with_weight(weight)
    job.owner.note_change(host.set_limits(job.container, limits, hold=job.adopted))
    job.limit, job.weight = limit, weight
    request_threads_for_limit(shared, job, limit)


def wait_for_acknowledgement(shared: SharedState, job: LiveJob, until: float) -> bool:
    """Wait until a job acknowledges its last request; False after the deadline."""
    while job.agent is not None and job.agent.read_report().version < job.agent.request.version:
        if time.monotonic() >= until:
            return False
        shared.pulse()
        time.sleep(_POLL_INTERVAL)
    return True


def _request_fewer(job: LiveJob, threads: int | None) -> None:
    """Request a number of threads if the job uses more."""
    if _are_fewer(job, threads):
        request_threads(job, threads)


def _are_fewer(job: LiveJob, threads: int | None) -> bool:
    """Whether a number of threads is lower than the job's; False for a paused job, which cannot answer."""
    if job.agent is None or job.state is not JobState.RUNNING or threads is None:
        return False
    now = job.agent.read_report().threads
    return now is not None and threads < now


def perform_actions(shared: SharedState, actions: Sequence[Action]) -> tuple[Failure, ...]:
    """Perform actions in order; return the failed ones, which do not stop the others."""
    failed = []
    until = announce_fewer_threads(shared, actions)
    for action in actions:
        shared.pulse()
        try:
            _PERFORMERS[type(action)](shared, refusals.find_job(shared.jobs, action.job), action, until)
        except ActionRefused as refused:
            failed.append(Failure(action, str(refused)))
        except PhaseDockError as error:
            failed.append(Failure(action, error.message))
        except OSError as error:
            failed.append(
                Failure(action, f"The folder of job {action.job} cannot be written: {error.strerror}.")
            )
    shared.failures += failed
    return tuple(failed)


def _start(shared: SharedState, job: LiveJob, action: Start, _: float) -> None:
    worker = refusals.find_worker(shared.workers, action.worker)
    refusals.require_waiting(action.job, job.state)
    if job.plan is None:
        raise ActionRefused(f"Job {action.job} was found running and cannot be started again.")
    threads = refusals.check_threads(action.job, action.threads)
    limit, weight = _check_limits(job, action.limit, action.weight, worker)
    job.worker, job.limit, job.weight = worker, limit, weight
    try:
        prepare_folder(shared, job, job.plan)
        if job.agent is not None:
            job.threads_set_by_policy = threads is not None and job.can_resize
            job.agent.send_request(
                threads=threads
                if job.threads_set_by_policy
                else compute_thread_count(shared, job, limit, worker)
            )
        container = create_container(shared, job, job.plan, worker)
        worker.host.start(container)
        confirm_start(shared, job)
    except (PhaseDockError, OSError):
        job.worker, job.limit, job.weight = None, None, 1.0
        raise
    job.begin_container(container)
    follow_readings(shared, job, worker.host, container, job.plan.labels)
    job.started, job.state = shared.clock.now(), JobState.RUNNING


def _refuse(shared: SharedState, job: LiveJob, action: Refuse, _: float) -> None:
    refusals.require_waiting(action.job, job.state)
    shared.end(job, JobState.REFUSED, action.why)


def _set_limit(shared: SharedState, job: LiveJob, action: SetLimit, until: float) -> None:
    worker = refusals.require_placed(job.id, job.state, job.worker)
    limit, weight = _check_limits(job, action.limit, action.weight, worker)
    set_limit(shared, job, limit, weight, until)


def _set_memory(shared: SharedState, job: LiveJob, action: SetMemory, _: float) -> None:  # noqa: ARG001 - one shape
    worker = refusals.require_placed(job.id, job.state, job.worker)
    memory = float(worker.host.info().memory)
    host = worker.host
    container = host.inspect(job.container)
    job.owner.update(host, container)
    limit = refusals.check_memory_limit(
        action.job, action.limit, job.memory, worker.name, memory, job.owner.memory
    )
    job.changed = True
    limits = container.limits.with_memory(None if limit is None else round(limit))
    applied = host.set_limits(job.container, limits, hold=job.adopted)
    job.owner.note_change(applied)
    job.memory_limit = applied.memory_bytes


def _set_threads(shared: SharedState, job: LiveJob, action: SetThreads, _: float) -> None:  # noqa: ARG001 - one shape
    refusals.require_placed(job.id, job.state, job.worker)
    refusals.require_listener(action, job.agent if job.can_resize else None)
    request_threads(job, action.threads)
    job.threads_set_by_policy = True


def _migrate(shared: SharedState, job: LiveJob, action: Migrate, _: float) -> None:
    to = refusals.find_worker(shared.workers, action.to)
    writes = job.can_migrate and job.agent is not None and job.plan is not None
    refusals.check_migration(action, job.state, writes=writes, there=job.worker is to)
    if not to.has_folder:
        raise ActionRefused(f"Job {action.job} cannot migrate: {action.to} does not share its folder.")
    _check_limits(job, job.limit, job.weight, to)
    migration.begin_migration(shared, job, action, to)


def _pause(shared: SharedState, job: LiveJob, action: Pause, _: float) -> None:
    refusals.require_running(action.job, job.state, "be paused")
    shared.host_of(job).pause(job.container)
    job.state, job.paused_here = JobState.PAUSED, True


def _resume(shared: SharedState, job: LiveJob, action: Resume, _: float) -> None:
    refusals.require_paused(action.job, job.state)
    shared.host_of(job).unpause(job.container)
    job.state, job.paused_here = JobState.RUNNING, False


def _stop(shared: SharedState, job: LiveJob, action: Stop, _: float) -> None:  # noqa: ARG001 - one shape
    if job.aborting is not None:
        job.aborting.set()
    elif job.container:
        host = shared.host_of(job)
        if job.adopted:
            host.stop(job.container)
        else:
            host.remove(job.container)
    shared.end(job, JobState.FAILED, "The policy stopped it.")


_PERFORMERS: Final[dict[type, Callable[[SharedState, LiveJob, Any, float], None]]] = {
    Start: _start,
    Refuse: _refuse,
    SetLimit: _set_limit,
    SetMemory: _set_memory,
    SetThreads: _set_threads,
    Migrate: _migrate,
    Pause: _pause,
    Resume: _resume,
    Stop: _stop,
}


def _check_limits(
    job: LiveJob, limit: float | None, weight: float, worker: Node
) -> tuple[float | None, float]:
    return refusals.check_limit(limit, weight, worker.name, worker.capacity, job.max_cores)
