"""What an action does on Docker, or the sentence that says why it cannot be done.

Whatever is impossible is refused before anything is sent, by the same rules as in the simulated world; what
the host refuses, and a host that is lost, become failures too.
"""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING, Any, Final

from core.engines.docker_host import migrating
from core.engines.docker_host.resizing_jobs import announce, set_limit
from core.engines.docker_host.starting import create, follow, prepare, wanted_threads
from core.errors import PhaseDockError
from core.scheduling.actions import Migrate, Pause, Resume, SetLimit, SetThreads, Start, Stop
from core.scheduling.model import Failure, JobState

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from core.engines.docker_host.live_job import LiveJob
    from core.engines.docker_host.planned import DockerWorker
    from core.engines.docker_host.site import Site
    from core.scheduling.actions import Action


class _Refused(Exception):  # noqa: N818 - a control flow inside this module; it never leaves it
    """The sentence for people."""


def perform(site: Site, actions: Sequence[Action]) -> tuple[Failure, ...]:
    """Do `actions` in order; what does not work comes back, and does not hold up the rest."""
    failed = []
    until = announce(site, actions)
    for action in actions:
        site.pulse()
        try:
            _DOING[type(action)](site, _job(site, action.job), action, until)
        except _Refused as refused:
            failed.append(Failure(action, str(refused)))
        except PhaseDockError as error:
            failed.append(Failure(action, error.message))
        except OSError as error:
            failed.append(
                Failure(action, f"The folder of job {action.job} cannot be written: {error.strerror}.")
            )
    site.failures += failed
    return tuple(failed)


def _start(site: Site, job: LiveJob, action: Start, _: float) -> None:
    worker = _worker(site, action.worker)
    if job.state is not JobState.WAITING or job.plan is None:
        raise _Refused(f"Job {action.job} does not wait to be started: it is {job.state.value}.")
    limit, weight = _checked(action.limit, action.weight, worker)
    job.worker, job.limit, job.weight = worker, limit, weight
    try:
        prepare(site, job, job.plan)
        if job.agent is not None:
            job.agent.want(threads=wanted_threads(job, limit, worker) if site.follow else None)
        container = create(site, job, job.plan, worker)
        worker.host.start(container)
    except (PhaseDockError, OSError):
        job.worker, job.limit, job.weight = None, None, 1.0
        raise
    job.begin_container(container)
    follow(job, worker.host, container, job.plan.labels)
    job.started, job.state = site.clock.now(), JobState.RUNNING


def _set_limit(site: Site, job: LiveJob, action: SetLimit, until: float) -> None:
    worker = _placed(job)
    limit, weight = _checked(action.limit, action.weight, worker)
    set_limit(site, job, limit, weight, until)


def _set_threads(site: Site, job: LiveJob, action: SetThreads, _: float) -> None:  # noqa: ARG001 - one shape
    _placed(job)
    if not job.can_resize or job.agent is None:
        raise _Refused(f"Job {action.job} cannot change its threads while it runs.")
    if action.threads < 1:
        raise _Refused(f"Job {action.job} needs at least one thread, not {action.threads}.")
    job.agent.want(threads=action.threads)


def _migrate(site: Site, job: LiveJob, action: Migrate, _: float) -> None:
    to = _worker(site, action.to)
    if job.state is not JobState.RUNNING:
        raise _Refused(f"Job {action.job} cannot migrate: it is {job.state.value}.")
    if not job.can_migrate or job.agent is None or job.plan is None:
        raise _Refused(f"Job {action.job} writes no checkpoints.")
    if job.worker is to:
        raise _Refused(f"Job {action.job} is already on {action.to}.")
    if not to.has_folder:
        raise _Refused(f"Job {action.job} cannot migrate: {action.to} does not share its folder.")
    _checked(job.limit, job.weight, to)
    migrating.begin(site, job, action, to)


def _pause(site: Site, job: LiveJob, action: Pause, _: float) -> None:
    if job.state is not JobState.RUNNING:
        raise _Refused(f"Job {action.job} cannot be paused: it is {job.state.value}.")
    site.host_of(job).pause(job.container)
    job.state, job.paused_here = JobState.PAUSED, True


def _resume(site: Site, job: LiveJob, action: Resume, _: float) -> None:
    if job.state is not JobState.PAUSED:
        raise _Refused(f"Job {action.job} cannot be resumed: it is {job.state.value}.")
    site.host_of(job).unpause(job.container)
    job.state, job.paused_here = JobState.RUNNING, False


def _stop(site: Site, job: LiveJob, action: Stop, _: float) -> None:  # noqa: ARG001 - one shape
    if job.giving_up is not None:
        job.giving_up.set()
    elif job.container:
        host = site.host_of(job)
        if job.adopted:
            host.stop(job.container)
        else:
            host.remove(job.container)
    site.end(job, JobState.FAILED, "The policy stopped it.")


_DOING: Final[dict[type, Callable[[Site, LiveJob, Any, float], None]]] = {
    Start: _start,
    SetLimit: _set_limit,
    SetThreads: _set_threads,
    Migrate: _migrate,
    Pause: _pause,
    Resume: _resume,
    Stop: _stop,
}


def _job(site: Site, name: str) -> LiveJob:
    job = site.jobs.get(name)
    if job is None:
        raise _Refused(f"There is no job {name}, or it has ended.")
    return job


def _worker(site: Site, name: str) -> DockerWorker:
    worker = site.workers.get(name)
    if worker is None:
        raise _Refused(f"There is no worker {name}.")
    return worker


def _placed(job: LiveJob) -> DockerWorker:
    if job.worker is None or job.state is JobState.MIGRATING:
        raise _Refused(f"Job {job.id} is on no worker now: it is {job.state.value}.")
    return job.worker


def _checked(limit: float | None, weight: float, worker: DockerWorker) -> tuple[float | None, float]:
    if limit is not None and not 0 < limit <= worker.capacity:
        raise _Refused(
            f"A limit of {limit:g} cores is not possible on {worker.name}, which has {worker.capacity:g}."
        )
    if not (isfinite(weight) and weight > 0):
        raise _Refused(f"A weight of {weight:g} is not possible; it must be above zero.")
    return limit, weight
