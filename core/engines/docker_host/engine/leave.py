"""Cleaning up after a run: its containers are removed, adopted ones get their original limits back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.engines.errors import ContainerGone
from core.errors import PhaseDockError

if TYPE_CHECKING:
    from core.engines.docker_host.engine.job import LiveJob
    from core.engines.docker_host.engine.shared_state import SharedState
    from core.engines.docker_host.host.host import Host


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
