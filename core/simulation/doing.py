"""What an action does in the simulated world, or the sentence that says why it cannot be done.

Everything impossible is refused here as a real engine would refuse it: the world is left as it was, and the
policy sees a `Failure`.
"""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING, Any, Final

from core.scheduling.actions import Migrate, Pause, Resume, SetLimit, SetThreads, Start, Stop
from core.scheduling.model import Failure, JobState
from core.simulation import migrating

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from core.scheduling.actions import Action
    from core.simulation.live import Live, Node
    from core.simulation.world import World


class _Refused(Exception):  # noqa: N818 - a control flow inside this module; it never leaves it
    """The sentence for people."""


def perform(world: World, actions: Sequence[Action]) -> tuple[Failure, ...]:
    """Do `actions` in order, then share the cores of every worker that they touched."""
    failed = []
    for action in actions:
        try:
            _DOING[type(action)](world, _job(world, action.job), action)
        except _Refused as refused:
            failed.append(Failure(action, str(refused)))
    world.share_anew()
    world.failures += failed
    return tuple(failed)


def _start(world: World, job: Live, action: Start) -> None:
    node = _node(world, action.worker)
    if job.state is not JobState.WAITING:
        raise _Refused(f"Job {action.job} does not wait to be started: it is {job.state.value}.")
    job.limit, job.weight = _checked(action.limit, action.weight, node)
    job.started = world.now
    world.run(job, node)


def _set_limit(world: World, job: Live, action: SetLimit) -> None:
    node = _placed(job)
    job.limit, job.weight = _checked(action.limit, action.weight, node)
    job.shown = None
    world.change(node)


def _set_threads(world: World, job: Live, action: SetThreads) -> None:
    node = _placed(job)
    if not job.spec.resizable:
        raise _Refused(f"Job {action.job} cannot change its threads while it runs.")
    if action.threads < 1:
        raise _Refused(f"Job {action.job} needs at least one thread, not {action.threads}.")
    job.threads, job.shown = action.threads, None
    world.change(node)


def _migrate(world: World, job: Live, action: Migrate) -> None:
    to = _node(world, action.to)
    if job.state is not JobState.RUNNING:
        raise _Refused(f"Job {action.job} cannot migrate: it is {job.state.value}.")
    if job.spec.checkpoint_s is None:
        raise _Refused(f"Job {action.job} writes no checkpoints.")
    if job.node is to:
        raise _Refused(f"Job {action.job} is already on {action.to}.")
    _checked(job.limit, job.weight, to)
    migrating.begin(world, job, action, to)


def _pause(world: World, job: Live, action: Pause) -> None:
    if job.state is not JobState.RUNNING:
        raise _Refused(f"Job {action.job} cannot be paused: it is {job.state.value}.")
    world.rest(job, JobState.PAUSED)


def _resume(world: World, job: Live, action: Resume) -> None:
    if job.state is not JobState.PAUSED or job.node is None:
        raise _Refused(f"Job {action.job} cannot be resumed: it is {job.state.value}.")
    world.run(job, job.node)


def _stop(world: World, job: Live, _: Stop) -> None:
    world.end(job, JobState.FAILED)


_DOING: Final[dict[type, Callable[[World, Live, Any], None]]] = {
    Start: _start,
    SetLimit: _set_limit,
    SetThreads: _set_threads,
    Migrate: _migrate,
    Pause: _pause,
    Resume: _resume,
    Stop: _stop,
}


def _job(world: World, name: str) -> Live:
    job = world.jobs.get(name)
    if job is None:
        raise _Refused(f"There is no job {name}, or it has ended.")
    return job


def _node(world: World, name: str) -> Node:
    node = world.nodes.get(name)
    if node is None:
        raise _Refused(f"There is no worker {name}.")
    return node


def _placed(job: Live) -> Node:
    if job.node is None or job.state is JobState.MIGRATING:
        raise _Refused(f"Job {job.spec.id} is on no worker now: it is {job.state.value}.")
    return job.node


def _checked(limit: float | None, weight: float, node: Node) -> tuple[float | None, float]:
    if limit is not None and not 0 < limit <= node.spec.cores:
        raise _Refused(
            f"A limit of {limit:g} cores is not possible on {node.spec.id}, which has {node.spec.cores:g}."
        )
    if not (isfinite(weight) and weight > 0):
        raise _Refused(f"A weight of {weight:g} is not possible; it must be above zero.")
    return limit, weight
