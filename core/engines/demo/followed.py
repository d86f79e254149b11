"""A replayed container in a run, and the effects or refusals of actions on it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from core.engines.errors import ContainerGone
from core.engines.owner_limits import OwnerLimits
from core.errors import PhaseDockError
from core.progress import StepClock
from core.scheduling import refusals
from core.scheduling.actions import (
    Migrate,
    Pause,
    Refuse,
    Resume,
    SetLimit,
    SetMemory,
    SetThreads,
    Start,
    Stop,
)
from core.scheduling.model import JobState, at_most

if TYPE_CHECKING:
    from collections.abc import Callable

    from core.engines.demo.containers import DemoContainer, DemoReadings
    from core.engines.demo.host import DemoHost
    from core.scheduling.actions import Action
    from core.scheduling.model import Reading


@dataclass(eq=False)
class FollowedContainer:
    """One container of a run."""

    #: As it was last seen.
    container: DemoContainer
    #: Its start, or the start of following it, seconds of the run.
    since: float
    #: Gives its losses.
    readings: DemoReadings
    #: The steps of its recording.
    total: int
    #: How far it is.
    state: JobState = JobState.RUNNING
    cpu_seconds: float = 0.0
    steps: int = 0
    #: The changes of the run that it must undo.
    changed: bool = False
    paused_here: bool = False
    #: Readings that were not shown yet.
    news: list[Reading] = field(default_factory=list)
    #: Whether its job was submitted.
    submitted: bool = False
    #: How long a step takes.
    clock: StepClock = field(default_factory=StepClock)
    #: What its owner allows.
    owner: OwnerLimits = field(default_factory=OwnerLimits)


def perform(host: DemoHost, job: FollowedContainer, action: Action, max_cores: float | None) -> None:
    """Do one thing to a job, which gets at most `max_cores` by its terms (None: any).

    Raises Refused if it is impossible; nothing was done; PhaseDockError if the host refuses.
    """
    if isinstance(action, SetLimit):
        action = replace(action, limit=at_most(max_cores, action.limit))
    _PERFORMERS[type(action)](host, job, action)


def restore_container(host: DemoHost, job: FollowedContainer) -> str:
    """Restore a container's limits; return a sentence if that failed."""
    try:
        if job.paused_here:
            host.unpause(job.container.id)
        if job.changed:
            host.restore(job.container.id)
    except ContainerGone:
        return ""
    except PhaseDockError as error:
        return f"The limits of {job.container.name} could not be restored: {error.message}"
    return ""


def forget_limits(host: DemoHost, job: FollowedContainer) -> None:
    """Forget the saved limits of an ended container."""
    try:
        host.restore(job.container.id)
    except ContainerGone:
        return


def _worker(host: DemoHost, name: str) -> None:
    refusals.find_worker({host.name: host}, name)


def _start(host: DemoHost, job: FollowedContainer, action: Start) -> None:
    _worker(host, action.worker)
    refusals.require_waiting(action.job, job.state)


def _refuse(_: DemoHost, job: FollowedContainer, action: Refuse) -> None:
    refusals.require_waiting(action.job, job.state)


def _set_limit(host: DemoHost, job: FollowedContainer, action: SetLimit) -> None:
    job.owner.update(host, host.inspect(job.container.id))
    limit, weight = refusals.check_limit(
        action.limit, action.weight, host.name, host.world.plan.cores, job.owner.cores
    )
    job.changed = True
    limits = job.container.limits.with_cores(limit).with_weight(weight)
    job.owner.note_change(host.set_limits(job.container.id, limits))
    job.container = host.last_state(job.container.id) or job.container


def _set_memory(host: DemoHost, job: FollowedContainer, action: SetMemory) -> None:
    refusals.require_placed(action.job, job.state, host)
    job.owner.update(host, host.inspect(job.container.id))
    limit = refusals.check_memory_limit(
        action.job, action.limit, None, host.name, host.world.plan.memory, job.owner.memory
    )
    job.changed = True
    limits = job.container.limits.with_memory(None if limit is None else round(limit))
    job.owner.note_change(host.set_limits(job.container.id, limits))
    job.container = host.last_state(job.container.id) or job.container


def _set_threads(host: DemoHost, job: FollowedContainer, action: SetThreads) -> None:
    refusals.require_placed(action.job, job.state, host)
    refusals.require_listener(action, None)


def _migrate(host: DemoHost, job: FollowedContainer, action: Migrate) -> None:
    _worker(host, action.to)
    refusals.check_migration(action, job.state, writes=False, there=True)


def _pause(host: DemoHost, job: FollowedContainer, action: Pause) -> None:
    refusals.require_running(action.job, job.state, "be paused")
    host.pause(job.container.id)
    job.state, job.paused_here = JobState.PAUSED, True


def _resume(host: DemoHost, job: FollowedContainer, action: Resume) -> None:
    refusals.require_paused(action.job, job.state)
    host.unpause(job.container.id)
    job.state, job.paused_here = JobState.RUNNING, False


def _stop(host: DemoHost, job: FollowedContainer, _: Stop) -> None:
    host.stop(job.container.id)


_PERFORMERS: Final[dict[type, Callable[[DemoHost, FollowedContainer, Any], None]]] = {
    Start: _start,
    Refuse: _refuse,
    SetLimit: _set_limit,
    SetMemory: _set_memory,
    SetThreads: _set_threads,
    Migrate: _migrate,
    Pause: _pause,
    Resume: _resume,
    Stop: _stop,
}
