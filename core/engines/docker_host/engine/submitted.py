"""Submitted jobs in a run that adopts: they arrive, change their terms and leave while it goes on."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from core.engines.docker_host.agent.files import AgentFolder
from core.engines.docker_host.engine.job import LiveJob
from core.engines.docker_host.engine.planned import PlannedJob
from core.engines.docker_host.engine.start import follow
from core.engines.values import JOB, SUBMISSION
from core.scheduling.model import JobState, Trigger

if TYPE_CHECKING:
    from core.engines.docker_host.engine.shared_state import SharedState
    from core.engines.docker_host.host.containers import Container
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
