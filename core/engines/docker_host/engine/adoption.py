"""Adopting containers that are already running as jobs of a run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from core.engines.docker_host.agent.files import AgentFolder
from core.engines.docker_host.engine.job import LiveJob
from core.engines.docker_host.engine.start import follow
from core.engines.values import AGENT
from core.scheduling.model import JobState, Trigger

if TYPE_CHECKING:
    from collections.abc import Mapping

    from core.engines.docker_host.engine.shared_state import SharedState
    from core.engines.docker_host.host.containers import Container
    from core.engines.docker_host.host.host import Host


def adopt_new(shared: SharedState, host: Host, running: Mapping[str, Container]) -> None:
    """Adopt running containers that may take part, are on a worker, and do not take part yet.

    A job is named after its container, so that ledgers are readable. One that ended and was started again, or
    another of the same name, is ``name#2``, since the name of an ended job is not used twice.
    """
    known = {job.container for job in shared.jobs.values()}
    for container in running.values():
        if container.id in known or container.id in shared.mine:
            continue
        worker = shared.worker_of(host, container)
        if worker is None or shared.adopt is None or not shared.adopt(container):
            continue
        shared.adoptions[container.name] = shared.adoptions.get(container.name, 0) + 1
        times = shared.adoptions[container.name]
        name = container.name if times == 1 else f"{container.name}#{times}"
        job = LiveJob(name, shared.clock.now(), None, JobState.RUNNING, worker, container.id)
        job.started = job.arrived
        job.limit, job.weight = container.limits.cores, container.limits.weight
        _listen(job, host, container)
        shared.jobs[name] = job
        shared.adopted.append((host, job))
        shared.happened.add(Trigger.ARRIVAL)


def _listen(job: LiveJob, host: Host, container: Container) -> None:
    """Use its agent's folder if it has one that can be seen from here, and its log otherwise."""
    folder = container.labels.get(AGENT, "")
    if folder and host.info().local and Path(folder).is_dir():
        job.agent, job.can_resize = AgentFolder(Path(folder)), True
    follow(job, host, container.id, container.labels)
