"""Cores and threads of a job changed together: the protocol of elastic containers (Libutti).

More threads than cores make a program wait for itself, so a job whose threads follow its cores, by themselves
or because its policy says how many, first drops threads, acknowledges, and only then loses cores; when it
grows, the cores come first. A job that does not answer in time gets its new limit all the same and is shown
as one that does not follow, until it answers again.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from core.engines.docker_host.engine.threads import ask, want, wanted_threads
from core.scheduling.actions import SetLimit, SetThreads
from core.scheduling.model import JobState

if TYPE_CHECKING:
    from collections.abc import Sequence

    from core.engines.docker_host.engine.job import LiveJob
    from core.engines.docker_host.engine.shared_state import SharedState
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
