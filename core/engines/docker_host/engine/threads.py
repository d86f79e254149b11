"""How many threads a job should use: as many as the cores that its neighbours and its limit leave it.

Threads beyond a job's cores wait for each other and waste those cores. A limit alone does not say how many
cores a job gets: three jobs that may each use both cores of a machine get two thirds of one. So a job whose
threads follow its cores is asked for its share of its worker, rounded up: weighted water-filling over what
runs there (`water_filling`), whether or not its neighbours follow.
"""

from __future__ import annotations

from contextlib import suppress
from math import inf
from typing import TYPE_CHECKING

from core.scheduling.model import JobState
from core.scheduling.shares import threads_for, water_fill

if TYPE_CHECKING:
    from core.engines.docker_host.engine.job import LiveJob
    from core.engines.docker_host.engine.planned import DockerWorker
    from core.engines.docker_host.engine.shared_state import SharedState


def wanted_threads(
    shared: SharedState, job: LiveJob, limit: float | None, worker: DockerWorker
) -> int | None:
    """Threads of a job with this limit on that worker, beside what runs there.

    None if it does not follow, or if its policy said how many.
    """
    if not (shared.follow and job.can_resize) or job.told:
        return None
    beside = [
        each
        for each in list(shared.jobs.values())
        if each is not job and each.worker is worker and each.state is JobState.RUNNING
    ]
    caps = [inf if cap is None else cap for cap in (limit, *(each.limit for each in beside))]
    share = water_fill(worker.capacity, caps, [job.weight, *(each.weight for each in beside)])[0]
    return threads_for(share)


def want(shared: SharedState, job: LiveJob, limit: float | None) -> None:
    """Ask a job for the threads that suit a limit, unless it was asked for them already."""
    if job.worker is not None:
        ask(job, wanted_threads(shared, job, limit, job.worker))


def ask(job: LiveJob, threads: int | None) -> None:
    """Ask a job for so many threads, unless it was asked for them already; None asks for nothing."""
    if job.agent is not None and threads is not None and threads != job.agent.wants.threads:
        job.agent.want(threads=threads)


def fit(shared: SharedState) -> None:
    """Ask every running job for the threads that suit its limit; an adopted one only once it was changed."""
    for job in shared.jobs.values():
        if job.state is JobState.RUNNING and (job.changed or not job.adopted):
            with suppress(OSError):  # a full disk: it is asked at the next look
                want(shared, job, job.limit)
