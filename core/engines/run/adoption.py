"""Adopted containers and submitted jobs: how they join a run, change their terms and leave it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from core.engines.errors import ContainerGone
from core.engines.run.agent import AgentFolder
from core.engines.run.job import LiveJob, PlannedJob
from core.engines.run.start import follow_readings
from core.engines.terms import read_terms
from core.engines.values import AGENT, JOB, SUBMISSION
from core.errors import PhaseDockError
from core.scheduling.model import NO_TERMS, JobState, Trigger

if TYPE_CHECKING:
    from collections.abc import Mapping

    from core.engines.ports import Container
    from core.engines.run.host import ContainerHost
    from core.engines.run.job import Node
    from core.engines.run.shared_state import SharedState
    from core.engines.submitted import SubmittedJob
    from core.scheduling.model import Job, Terms


CANCELLED = "It was cancelled."


def submit(shared: SharedState, job: SubmittedJob) -> str:
    """Add a job to the run, or follow its running container; return its name in this run."""
    earlier = shared.options.earlier_part.find(job.id)
    plan = (
        _plan(job, shared.new_name(job.name), shared.clock.at(job.submitted))
        if earlier is None
        else _plan(job, earlier.id, earlier.arrived)
    )
    if not job.container:
        shared.planned_jobs = sorted([*shared.planned_jobs, plan], key=lambda each: each.arrival)
        return plan.id
    # an adopting engine has one worker; the next update reads the container's state
    worker = next(iter(shared.workers.values()))
    followed = LiveJob(plan.id, plan.arrival, plan, JobState.RUNNING, worker, job.container, was_running=True)
    followed.started = shared.clock.at(job.started if job.started is not None else job.submitted)
    followed.can_resize = plan.can_resize
    _go_on(shared, followed, earlier)
    if worker.has_folder:
        followed.agent = AgentFolder(shared.lasting_folder(plan.container))
    follow_readings(shared, followed, worker.host, job.container, plan.labels)
    shared.jobs[plan.id] = followed
    shared.adopted.append((worker.host, followed))
    shared.triggers.add(Trigger.ARRIVAL)
    return plan.id


def _plan(job: SubmittedJob, name: str, arrival: float) -> PlannedJob:
    return PlannedJob(
        id=name,
        image=job.image,
        command=job.command,
        arrival=arrival,
        labels={JOB: job.name, SUBMISSION: job.id},
        environment=job.environment,
        memory=job.memory,
        request=job.request,
        terms=job.terms,
        can_resize=job.can_resize,
        volumes=job.volumes,
        network="bridge" if job.ports else "none",
        ports=job.ports,
        stays=True,
        container=job.container_name,
    )


def revise(shared: SharedState, name: str, terms: Terms) -> None:
    """Change the terms of a job before its end."""
    shared.planned_jobs = [
        replace(each, terms=terms) if each.id == name else each for each in shared.planned_jobs
    ]
    job = shared.jobs.get(name)
    if job is not None and job.plan is not None:
        job.plan = replace(job.plan, terms=terms)
        shared.triggers.add(Trigger.TICK)


def withdraw(shared: SharedState, name: str) -> None:
    """Remove a job from the run, with its container.

    Raises PhaseDockError if the host refuses or is lost; the job stays.
    """
    shared.planned_jobs = [each for each in shared.planned_jobs if each.id != name]
    job = shared.jobs.get(name)
    if job is None or job.plan is None:
        return
    host = next(iter(shared.hosts.values())) if job.worker is None else job.worker.host
    host.remove(job.container or job.plan.container)  # a start that failed may have left one
    if job.container:
        host.keeper.forget(host.key(), job.container)
    shared.end(job, JobState.FAILED, CANCELLED)


def find_waiting_job(shared: SharedState, container: Container) -> LiveJob | None:
    """Return the waiting job whose container is already running; None without one."""
    if SUBMISSION not in container.labels:
        return None
    created = (
        job
        for job in shared.jobs.values()
        if job.state is JobState.WAITING and job.plan is not None and job.plan.stays
    )
    labelled_terms = container.labels[SUBMISSION]
    return next(
        (job for job in created if job.plan is not None and job.plan.labels[SUBMISSION] == labelled_terms),
        None,
    )


def release_all(shared: SharedState) -> tuple[str, ...]:
    """End moves, restore limits, remove created containers; return a sentence for each failure."""
    for job in shared.jobs.values():
        if job.aborting is not None:
            job.aborting.set()
    shared.executor.shutdown(wait=True)
    restore_problems = [restore_container(host, job) for host, job in shared.adopted]
    created = {**shared.created, **shared.unanswered}
    removal_problems = [_remove_container(host, container) for container, (host, _) in created.items()]
    return tuple(sentence for sentence in (*restore_problems, *removal_problems) if sentence)


def restore_container(host: ContainerHost, job: LiveJob) -> str:
    """Restore an adopted container; return a sentence on failure, else ""."""
    try:
        if job.paused_here:
            host.unpause(job.container)
        if not job.changed:
            return ""  # limits that the run never changed stay
        host.restore(job.container)
        if job.agent is not None:
            job.agent.send_request(threads=None)
    except ContainerGone:
        return ""
    except PhaseDockError as error:
        return f"The limits of {job.id[:12]} could not be restored: {error.message}"
    except OSError as error:
        return f"The threads of {job.id[:12]} could not be restored: {error}."
    return ""


def _remove_container(host: ContainerHost, container: str) -> str:
    try:
        host.remove(container)
    except PhaseDockError as error:
        return f"The container {container[:12]} could not be removed: {error.message}"
    return ""


def adopt_new(shared: SharedState, host: ContainerHost, running: Mapping[str, Container]) -> None:
    """Adopt running, selected containers on a worker that are not in the run yet.

    A job is named after its container, so that ledgers are readable. The container of a submitted job whose
    start seemed to fail becomes that waiting job.
    """
    followed = {job.container for job in shared.jobs.values()}
    for container in running.values():
        if container.id in followed or container.id in shared.created or container.unreadable:
            continue
        worker = shared.worker_of(host, container)
        if worker is not None and (waiting := find_waiting_job(shared, container)) is not None:
            _adopt_container(waiting, host, worker, container, shared)
            continue
        if worker is None or shared.adopt is None or not shared.adopt(container):
            continue
        earlier = shared.options.earlier_part.find(container.id)
        name = shared.new_name(container.name) if earlier is None else earlier.id
        now = shared.clock.now()
        began = max(shared.clock.at(container.started), shared.looked_at.get(host.name, 0.0))
        labelled_terms = _read_labelled_terms(container, shared)
        job = LiveJob(name, min(began, now), None, labelled_terms=labelled_terms)
        shared.jobs[name] = job
        _adopt_container(job, host, worker, container, shared)
        _go_on(shared, job, earlier)


def _go_on(shared: SharedState, job: LiveJob, earlier: Job | None) -> None:
    """Continue a job of the run's part before its worker ended, if it is one."""
    if earlier is not None:
        job.go_on(earlier, shared.options.earlier_part.observed_at)
        shared.kills[job.container] += earlier.kills


def _adopt_container(
    job: LiveJob, host: ContainerHost, worker: Node, container: Container, shared: SharedState
) -> None:
    """Make a running container a job of the run."""
    job.state, job.worker, job.container = JobState.RUNNING, worker, container.id
    job.was_running = job.plan is not None
    job.started = shared.clock.now() if job.was_running else job.arrived
    job.mark_unmeasured()
    job.limit, job.weight = container.limits.cores, container.limits.weight
    job.owner.begin(container, may_raise=shared.options.may_raise)
    _follow_container(shared, job, host, container)
    shared.adopted.append((host, job))
    shared.triggers.add(Trigger.ARRIVAL)


def _read_labelled_terms(container: Container, shared: SharedState) -> tuple[float | None, Terms | None]:
    """Return requested cores and terms in a container's labels, with the deadline from now on."""
    labelled_terms = read_terms(container.labels, container.created)
    if labelled_terms.until is None:
        return labelled_terms.request, labelled_terms.terms if labelled_terms.terms != NO_TERMS else None
    seconds_to_deadline = max(shared.clock.at(labelled_terms.until) - shared.clock.now(), 0.0)
    return labelled_terms.request, replace(labelled_terms.terms, deadline=seconds_to_deadline)


def _follow_container(shared: SharedState, job: LiveJob, host: ContainerHost, container: Container) -> None:
    """Follow a container by its agent's folder if it is readable here, else by its log."""
    folder = container.labels.get(AGENT, "")
    if folder and host.info().local and Path(folder).is_dir():
        job.agent, job.can_resize = AgentFolder(Path(folder)), True
    follow_readings(shared, job, host, container.id, container.labels)
