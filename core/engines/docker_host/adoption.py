"""Submitted jobs in a run that adopts: they arrive, change their terms and leave while it goes on."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from core.engines.docker_host.agent import AgentFolder
from core.engines.docker_host.job import LiveJob, PlannedJob
from core.engines.docker_host.start import follow
from core.engines.errors import ContainerGone
from core.engines.terms import read_terms
from core.engines.values import AGENT, JOB, SUBMISSION
from core.errors import PhaseDockError
from core.scheduling.model import NO_TERMS, JobState, Trigger

if TYPE_CHECKING:
    from collections.abc import Mapping

    from core.engines.docker_host.containers import Container
    from core.engines.docker_host.host import Host
    from core.engines.docker_host.job import DockerWorker
    from core.engines.docker_host.shared_state import SharedState
    from core.engines.submitted import SubmittedJob
    from core.scheduling.model import Terms


CANCELLED = "It was cancelled."


def submit(shared: SharedState, job: SubmittedJob) -> str:
    """Let a job arrive at the next look, or follow the container that it runs in; its name in this run."""
    plan = _plan(job, shared.new_name(job.name), shared.clock.at(job.submitted))
    if not job.container:
        shared.to_come = sorted([*shared.to_come, plan], key=lambda each: each.arrival)
        return plan.id
    # an engine that adopts has one worker; the next look says how its container stands
    worker = next(iter(shared.workers.values()))
    found = LiveJob(plan.id, plan.arrival, plan, JobState.RUNNING, worker, job.container, found=True)
    found.started = shared.clock.at(job.started if job.started is not None else job.submitted)
    found.can_resize = plan.can_resize
    if worker.has_folder:
        found.agent = AgentFolder(shared.kept_folder(plan.container))
    follow(shared, found, worker.host, job.container, plan.labels)
    shared.jobs[plan.id] = found
    shared.adopted.append((worker.host, found))
    shared.happened.add(Trigger.ARRIVAL)
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
    """Change the terms of a job that has not ended."""
    shared.to_come = [replace(each, terms=terms) if each.id == name else each for each in shared.to_come]
    job = shared.jobs.get(name)
    if job is not None and job.plan is not None:
        job.plan = replace(job.plan, terms=terms)
        shared.happened.add(Trigger.TICK)


def withdraw(shared: SharedState, name: str) -> None:
    """Let a job leave; its container is ended and removed.

    Raises
    ------
    PhaseDockError
        If the host refuses, or is lost; the job is still there.
    """
    shared.to_come = [each for each in shared.to_come if each.id != name]
    job = shared.jobs.get(name)
    if job is None or job.plan is None:
        return
    host = next(iter(shared.hosts.values())) if job.worker is None else job.worker.host
    host.remove(job.container or job.plan.container)  # a start that failed may have left one
    if job.container:
        host.keeper.forget(host.key(), job.container)
    shared.end(job, JobState.FAILED, CANCELLED)


def waiting_for(shared: SharedState, container: Container) -> LiveJob | None:
    """The job that waits to be started and has this container already, if there is one."""
    if SUBMISSION not in container.labels:
        return None
    mine = (
        job
        for job in shared.jobs.values()
        if job.state is JobState.WAITING and job.plan is not None and job.plan.stays
    )
    said = container.labels[SUBMISSION]
    return next((job for job in mine if job.plan is not None and job.plan.labels[SUBMISSION] == said), None)


def leave(shared: SharedState) -> tuple[str, ...]:
    """End moves, restore limits, remove what the run created; returns what did not work, in sentences."""
    for job in shared.jobs.values():
        if job.giving_up is not None:
            job.giving_up.set()
    shared.executor.shutdown(wait=True)
    back = [put_back(host, job) for host, job in shared.adopted]
    mine = {**shared.mine, **shared.unanswered}
    away = [_take_away(host, container) for container, (host, _) in mine.items()]
    return tuple(sentence for sentence in (*back, *away) if sentence)


def put_back(host: Host, job: LiveJob) -> str:
    """Restore an adopted container; returns a sentence if that did not work."""
    try:
        if job.paused_here:
            host.unpause(job.container)
        if not job.changed:
            return ""  # limits that the run never touched, such as a person's, are kept
        host.restore(job.container)
        if job.agent is not None:
            job.agent.want(threads=None)
    except ContainerGone:
        return ""
    except PhaseDockError as error:
        return f"The limits of {job.id[:12]} could not be restored: {error.message}"
    except OSError as error:
        return f"The threads of {job.id[:12]} could not be restored: {error}."
    return ""


def _take_away(host: Host, container: str) -> str:
    try:
        host.remove(container)
    except PhaseDockError as error:
        return f"The container {container[:12]} could not be removed: {error.message}"
    return ""


def adopt_new(shared: SharedState, host: Host, running: Mapping[str, Container]) -> None:
    """Adopt running containers that may take part, are on a worker, and do not take part yet.

    A job is named after its container, so that ledgers are readable; the container of a submitted job that is
    believed to wait, because its start seemed to fail, is that job.
    """
    known = {job.container for job in shared.jobs.values()}
    for container in running.values():
        if container.id in known or container.id in shared.mine:
            continue
        worker = shared.worker_of(host, container)
        if worker is not None and (waiting := waiting_for(shared, container)) is not None:
            _take(waiting, host, worker, container, shared)
            continue
        if worker is None or shared.adopt is None or not shared.adopt(container):
            continue
        name = shared.new_name(container.name)
        job = LiveJob(name, shared.clock.now(), None, said=_said(container, shared))
        shared.jobs[name] = job
        _take(job, host, worker, container, shared)


def _take(job: LiveJob, host: Host, worker: DockerWorker, container: Container, shared: SharedState) -> None:
    """Show a container that runs already as a job of the run."""
    job.state, job.worker, job.container = JobState.RUNNING, worker, container.id
    job.started, job.found = shared.clock.now(), job.plan is not None
    job.limit, job.weight = container.limits.cores, container.limits.weight
    _listen(shared, job, host, container)
    shared.adopted.append((host, job))
    shared.happened.add(Trigger.ARRIVAL)


def _said(container: Container, shared: SharedState) -> tuple[float | None, Terms | None]:
    """What a container's labels say of it; its deadline from now on, when it is first seen."""
    said = read_terms(container.labels, container.created)
    if said.until is None:
        return said.request, said.terms if said.terms != NO_TERMS else None
    left = max(shared.clock.at(said.until) - shared.clock.now(), 0.0)
    return said.request, replace(said.terms, deadline=left)


def _listen(shared: SharedState, job: LiveJob, host: Host, container: Container) -> None:
    """Use its agent's folder if it has one that can be seen from here, and its log otherwise."""
    folder = container.labels.get(AGENT, "")
    if folder and host.info().local and Path(folder).is_dir():
        job.agent, job.can_resize = AgentFolder(Path(folder)), True
    follow(shared, job, host, container.id, container.labels)
