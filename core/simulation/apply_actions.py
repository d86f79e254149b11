"""What an action does in the simulated world, or the sentence that says why it cannot be done.

Everything impossible is refused here as a real engine would refuse it: the world is left as it was, and the
policy sees a `Failure`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

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
from core.scheduling.model import Failure, JobState, Trigger
from core.scheduling.refusals import ActionRefused
from core.simulation.chance import migration_fails

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from core.scheduling.actions import Action
    from core.simulation.job import Node, SimulatedJob
    from core.simulation.world import World


# A migration's stages: checkpoint, stop, start on the target, go on; or back to where it came from.
#
# The job does nothing from the request until it goes on, so no work is lost or done twice: it goes on with
# exactly the work that it had. A job that does not answer in time goes on where it is; one that does not
# start on its target is restored where it came from (docs/scheduling/specon.md).


def begin(world: World, job: SimulatedJob, move: Migrate, to: Node) -> None:
    """Take a job off its worker and wait for its checkpoint."""
    world.rest(job, JobState.MIGRATING)
    job.move, job.origin = move, job.node
    world.place(job, to)
    job.moves += 1
    answered = world.now + world.scenario.control_s + (job.spec.checkpoint_s or 0.0)
    world.plan(answered, _checkpointed, job)


def _checkpointed(world: World, job: SimulatedJob) -> None:
    if _fails(world, job, 0, world.scenario.checkpoint_failure):
        _return(world, job, f"Job {job.spec.id} did not answer the request for a checkpoint.")
        return
    world.plan(world.now + job.spec.restore_s, _restored, job)


def _restored(world: World, job: SimulatedJob) -> None:
    if _fails(world, job, 1, world.scenario.restore_failure):
        if not world.shown_still(job):
            world.place(job, job.origin)
        world.plan(world.now + job.spec.restore_s, _returned, job)
        return
    _run(world, job, job.node)


def _returned(world: World, job: SimulatedJob) -> None:
    _return(world, job, f"Job {job.spec.id} did not start on its target and was restored where it came from.")


def _fails(world: World, job: SimulatedJob, stage: int, probability: float) -> bool:
    return migration_fails(job.spec.id, world.seed, job.moves, stage, probability)


def _return(world: World, job: SimulatedJob, why: str) -> None:
    if job.move is not None:
        world.failures.append(Failure(job.move, why))
    _run(world, job, job.origin)


def _run(world: World, job: SimulatedJob, node: Node | None) -> None:
    job.move = job.origin = None
    world.happened.add(Trigger.OUTCOME)
    if node is not None:
        world.run(job, node)


def perform(world: World, actions: Sequence[Action]) -> tuple[Failure, ...]:
    """Do `actions` in order, then share the cores of every worker that they touched."""
    failed = []
    for action in actions:
        try:
            _DOING[type(action)](world, refusals.find_job(world.jobs, action.job), action)
        except ActionRefused as refused:
            failed.append(Failure(action, str(refused)))
    world.share_anew()
    world.failures += failed
    return tuple(failed)


def _start(world: World, job: SimulatedJob, action: Start) -> None:
    node = refusals.find_worker(world.nodes, action.worker)
    refusals.require_waiting(action.job, job.state)
    threads = refusals.check_threads(action.job, action.threads)
    limits = _limits(action.limit, action.weight, node)
    world.touch(job)
    job.limit, job.weight = limits
    if threads is not None and job.spec.resizable:
        job.told(threads)
    job.started = world.now
    world.run(job, node)


def _refuse(world: World, job: SimulatedJob, action: Refuse) -> None:
    refusals.require_waiting(action.job, job.state)
    world.end(job, JobState.REFUSED)


def _set_limit(world: World, job: SimulatedJob, action: SetLimit) -> None:
    node = refusals.require_placed(job.spec.id, job.state, job.node)
    limits = _limits(action.limit, action.weight, node)
    world.touch(job)
    job.limit, job.weight = limits
    world.change(node)


def _set_memory(world: World, job: SimulatedJob, action: SetMemory) -> None:
    node = refusals.require_placed(job.spec.id, job.state, job.node)
    limit = refusals.check_memory_limit(
        action.job, action.limit, job.spec.memory, node.spec.id, node.spec.memory
    )
    world.touch(job)
    job.memory_limit = limit


def _set_threads(world: World, job: SimulatedJob, action: SetThreads) -> None:
    node = refusals.require_placed(job.spec.id, job.state, job.node)
    refusals.require_listener(action, job if job.spec.resizable else None)
    world.touch(job)
    job.told(action.threads)
    world.change(node)


def _migrate(world: World, job: SimulatedJob, action: Migrate) -> None:
    to = refusals.find_worker(world.nodes, action.to)
    writes = job.spec.checkpoint_s is not None
    refusals.check_migration(action, job.state, writes=writes, there=job.node is to)
    _limits(job.limit, job.weight, to)
    begin(world, job, action, to)


def _pause(world: World, job: SimulatedJob, action: Pause) -> None:
    refusals.require_running(action.job, job.state, "be paused")
    world.rest(job, JobState.PAUSED)


def _resume(world: World, job: SimulatedJob, action: Resume) -> None:
    refusals.require_paused(action.job, job.state)
    world.run(job, refusals.require_placed(job.spec.id, job.state, job.node))


def _stop(world: World, job: SimulatedJob, _: Stop) -> None:
    world.end(job, JobState.FAILED)


_DOING: Final[dict[type, Callable[[World, SimulatedJob, Any], None]]] = {
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


def _limits(limit: float | None, weight: float, node: Node) -> tuple[float | None, float]:
    return refusals.check_limit(limit, weight, node.spec.id, node.spec.cores)
