"""Adopting containers that are already running as jobs of a run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from core.engines.docker_host.agent.files import AgentFolder
from core.engines.docker_host.engine import submitted
from core.engines.docker_host.engine.job import LiveJob
from core.engines.docker_host.engine.start import follow
from core.engines.terms import read_terms
from core.engines.values import AGENT
from core.scheduling.model import NO_TERMS, JobState, Trigger

if TYPE_CHECKING:
    from collections.abc import Mapping

    from core.engines.docker_host.engine.planned import DockerWorker
    from core.engines.docker_host.engine.shared_state import SharedState
    from core.engines.docker_host.host.containers import Container
    from core.engines.docker_host.host.host import Host
    from core.scheduling.model import Terms


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
        if worker is not None and (waiting := submitted.waiting_for(shared, container)) is not None:
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
