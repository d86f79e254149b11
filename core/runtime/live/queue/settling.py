"""What became of jobs that no policy follows: their containers are asked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from core.engines.errors import ContainerGone
from core.engines.values import SUBMISSION
from core.runtime.live.queue.states import QueueState

if TYPE_CHECKING:
    from collections.abc import Sequence

    from core.engines.ports import Container
    from core.engines.submitted import JobHost
    from core.runtime.live.queue.infos import QueuedJob
    from core.runtime.live.queue.store import SubmittedJobs

_INTERRUPTED = "Its start was interrupted."
_REMOVED = "Its container was removed."


def settle(store: SubmittedJobs, host: JobHost, jobs: Sequence[QueuedJob]) -> None:
    """Write down how jobs stand that run, or were about to, and end those that somebody has cancelled.

    Raises
    ------
    HostLost
        If the host does not answer.
    """
    there = {each.labels.get(SUBMISSION, ""): each for each in host.containers(running_only=False)}
    for job in jobs:
        if job.cancelling:
            remove_container(host, job)
            store.move(job.id, QueueState.CANCELLED, cores=None, threads=None)
        elif job.state is not QueueState.WAITING:
            _settle_one(store, host, job, there.get(job.id))


def remove_container(host: JobHost, job: QueuedJob) -> None:
    """End and remove the container of a job; fine if there is none."""
    host.remove(job.container or job.container_name)


def _settle_one(store: SubmittedJobs, host: JobHost, job: QueuedJob, container: Container | None) -> None:
    if container is None and job.container:
        store.move(job.id, QueueState.FAILED, why=_REMOVED, cores=None, threads=None)
        return
    if container is None or container.state == "created":
        remove_container(host, job)
        store.move(job.id, QueueState.WAITING, why=_INTERRUPTED, started=None, container="")
        return
    try:
        outcome = host.outcome(container.id)
    except ContainerGone:
        return  # it was removed this very moment: the next look says so
    facts: dict[str, Any] = {"container": container.id, "threads": None}
    if outcome is not None:
        state = QueueState.ENDED if outcome.done else QueueState.FAILED
        store.move(job.id, state, why=outcome.why, cores=None, **facts)
        return
    state = QueueState.PAUSED if container.state == "paused" else QueueState.RUNNING
    store.move(job.id, state, cores=container.limits.cores, **facts)
