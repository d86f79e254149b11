"""Cores and threads of a job changed together: the protocol of elastic containers (Libutti).

More threads than cores make a program wait for itself, so a job whose threads follow its cores, by themselves
or because its policy says how many, first drops threads, acknowledges, and only then loses cores; when it
grows, the cores come first. A job that does not answer in time gets its new limit all the same and is shown
as one that does not follow, until it answers again.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Final

from core.engines.docker_host import migration
from core.engines.docker_host.shared_state import ask, want, wanted_threads
from core.engines.docker_host.start import answered, create, follow, prepare
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
from core.scheduling.model import Failure, JobState
from core.scheduling.refusals import ActionRefused

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from core.engines.docker_host.job import DockerWorker, LiveJob
    from core.engines.docker_host.shared_state import SharedState
    from core.scheduling.actions import Action


ACKNOWLEDGED_IN: Final = 5.0
"""Seconds that a job has to acknowledge fewer threads."""

_LOOK: Final = 0.02


def announce(shared: SharedState, actions: Sequence[Action]) -> float:
    """Ask every job that is to shrink for fewer threads, all at once; returns the deadline for answers."""
    for action in actions:
        job = shared.jobs.get(action.job)
        if job is None or job.worker is None:
            continue
        if isinstance(action, SetLimit):
            _drop(job, wanted_threads(shared, job, action.limit, job.worker))
        elif isinstance(action, SetThreads) and job.can_resize:
            _drop(job, action.threads)
    return time.monotonic() + ACKNOWLEDGED_IN


def set_limit(shared: SharedState, job: LiveJob, limit: float | None, weight: float, until: float) -> None:
    """Change a placed job's limit and weight, and its threads in the right order.

    Raises
    ------
    PhaseDockError
        If the host refuses or is lost.
    """
    if job.worker is not None:
        _drop(job, wanted_threads(shared, job, limit, job.worker))
    if _drops(job, job.agent.wants.threads if job.agent is not None else None):
        job.silent = not acknowledged(shared, job, until)
    host = shared.host_of(job)
    known = host.known(job.container) or host.inspect(job.container)
    job.changed = True
    host.set_limits(job.container, known.limits.with_cores(limit).with_weight(weight), hold=job.adopted)
    job.limit, job.weight = limit, weight
    want(shared, job, limit)


def acknowledged(shared: SharedState, job: LiveJob, until: float) -> bool:
    """Wait until a job has carried out its last request; False if it did not in time."""
    while job.agent is not None and job.agent.says().version < job.agent.wants.version:
        if time.monotonic() >= until:
            return False
        shared.pulse()
        time.sleep(_LOOK)
    return True


def _drop(job: LiveJob, threads: int | None) -> None:
    """Ask a job for so many threads if it has more now."""
    if _drops(job, threads):
        ask(job, threads)


def _drops(job: LiveJob, threads: int | None) -> bool:
    """Whether so many threads are fewer than a job computes with; a frozen program acknowledges nothing."""
    if job.agent is None or job.state is not JobState.RUNNING or threads is None:
        return False
    now = job.agent.says().threads
    return now is not None and threads < now


def perform(shared: SharedState, actions: Sequence[Action]) -> tuple[Failure, ...]:
    """Do `actions` in order; what fails is returned, and does not stop the rest."""
    failed = []
    until = announce(shared, actions)
    for action in actions:
        shared.pulse()
        try:
            _DOING[type(action)](shared, refusals.find_job(shared.jobs, action.job), action, until)
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
    limit, weight = _limits(action.limit, action.weight, worker)
    job.worker, job.limit, job.weight = worker, limit, weight
    try:
        prepare(shared, job, job.plan)
        if job.agent is not None:
            job.told = threads is not None and job.can_resize
            job.agent.want(threads=threads if job.told else wanted_threads(shared, job, limit, worker))
        container = create(shared, job, job.plan, worker)
        worker.host.start(container)
        answered(shared, job)
    except (PhaseDockError, OSError):
        job.worker, job.limit, job.weight = None, None, 1.0
        raise
    job.begin_container(container)
    follow(shared, job, worker.host, container, job.plan.labels)
    job.started, job.state = shared.clock.now(), JobState.RUNNING


def _refuse(shared: SharedState, job: LiveJob, action: Refuse, _: float) -> None:
    refusals.require_waiting(action.job, job.state)
    shared.end(job, JobState.REFUSED, action.why)


def _set_limit(shared: SharedState, job: LiveJob, action: SetLimit, until: float) -> None:
    worker = refusals.require_placed(job.id, job.state, job.worker)
    limit, weight = _limits(action.limit, action.weight, worker)
    set_limit(shared, job, limit, weight, until)


def _set_memory(shared: SharedState, job: LiveJob, action: SetMemory, _: float) -> None:  # noqa: ARG001 - one shape
    worker = refusals.require_placed(job.id, job.state, job.worker)
    memory = float(worker.host.info().memory)
    limit = refusals.check_memory_limit(action.job, action.limit, job.memory, worker.name, memory)
    host = worker.host
    known = host.known(job.container) or host.inspect(job.container)
    job.changed = True
    limits = known.limits.with_memory(None if limit is None else round(limit))
    job.memory_limit = host.set_limits(job.container, limits, hold=job.adopted).memory_bytes


def _set_threads(shared: SharedState, job: LiveJob, action: SetThreads, _: float) -> None:  # noqa: ARG001 - one shape
    refusals.require_placed(job.id, job.state, job.worker)
    refusals.require_listener(action, job.agent if job.can_resize else None)
    ask(job, action.threads)
    job.told = True


def _migrate(shared: SharedState, job: LiveJob, action: Migrate, _: float) -> None:
    to = refusals.find_worker(shared.workers, action.to)
    writes = job.can_migrate and job.agent is not None and job.plan is not None
    refusals.check_migration(action, job.state, writes=writes, there=job.worker is to)
    if not to.has_folder:
        raise ActionRefused(f"Job {action.job} cannot migrate: {action.to} does not share its folder.")
    _limits(job.limit, job.weight, to)
    migration.begin(shared, job, action, to)


def _pause(shared: SharedState, job: LiveJob, action: Pause, _: float) -> None:
    refusals.require_running(action.job, job.state, "be paused")
    shared.host_of(job).pause(job.container)
    job.state, job.paused_here = JobState.PAUSED, True


def _resume(shared: SharedState, job: LiveJob, action: Resume, _: float) -> None:
    refusals.require_paused(action.job, job.state)
    shared.host_of(job).unpause(job.container)
    job.state, job.paused_here = JobState.RUNNING, False


def _stop(shared: SharedState, job: LiveJob, action: Stop, _: float) -> None:  # noqa: ARG001 - one shape
    if job.giving_up is not None:
        job.giving_up.set()
    elif job.container:
        host = shared.host_of(job)
        if job.adopted:
            host.stop(job.container)
        else:
            host.remove(job.container)
    shared.end(job, JobState.FAILED, "The policy stopped it.")


_DOING: Final[dict[type, Callable[[SharedState, LiveJob, Any, float], None]]] = {
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


def _limits(limit: float | None, weight: float, worker: DockerWorker) -> tuple[float | None, float]:
    return refusals.check_limit(limit, weight, worker.name, worker.capacity)
