"""Performs actions in the simulated world, or refuses them with a sentence.

Impossible actions are refused as a real engine refuses them: the world stays as it was, and the policy sees a
`Failure`.
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


# The stages of a migration: checkpoint, stop, start on the target, resume; or return to the origin.
#
# The job does nothing from the request until it goes on, so no work is lost or done twice. A job that does
# not answer in time goes on where it is; one that does not start on its target is restored at its origin
# (docs/scheduling/specon.md).


def begin_migration(world: World, job: SimulatedJob, move: Migrate, to: Node) -> None:
    """Take a job off its worker and wait for its checkpoint."""
    world.stop_running(job, JobState.MIGRATING)
    job.migration, job.origin = move, job.node
    world.place_job(job, to)
    job.moves += 1
    answer_time = world.now + world.scenario.control_s + (job.spec.checkpoint_s or 0.0)
    world.schedule(answer_time, _end_checkpoint, job)


def _end_checkpoint(world: World, job: SimulatedJob) -> None:
    if _stage_fails(world, job, 0, world.scenario.checkpoint_failure):
        _return_to_origin(world, job, f"Job {job.spec.id} did not answer the request for a checkpoint.")
        return
    world.schedule(world.now + job.spec.restore_s, _end_restore, job)


def _end_restore(world: World, job: SimulatedJob) -> None:
    if _stage_fails(world, job, 1, world.scenario.restore_failure):
        if not world.is_shown_unchanged(job):
            world.place_job(job, job.origin)
        world.schedule(world.now + job.spec.restore_s, _end_return, job)
        return
    _run_again(world, job, job.node)


def _end_return(world: World, job: SimulatedJob) -> None:
    _return_to_origin(
        world, job, f"Job {job.spec.id} did not start on its target and was restored where it came from."
    )


def _stage_fails(world: World, job: SimulatedJob, stage: int, probability: float) -> bool:
    return migration_fails(job.spec.id, world.seed, job.moves, stage, probability)


def _return_to_origin(world: World, job: SimulatedJob, why: str) -> None:
    if job.migration is not None:
        world.failures.append(Failure(job.migration, why))
    _run_again(world, job, job.origin)


def _run_again(world: World, job: SimulatedJob, node: Node | None) -> None:
    job.migration = job.origin = None
    world.happened.add(Trigger.OUTCOME)
    if node is not None:
        world.run_job(job, node)


def perform(world: World, actions: Sequence[Action]) -> tuple[Failure, ...]:
    """Perform actions in order, then share the cores of every worker that they changed."""
    failed = []
    for action in actions:
        try:
            _PERFORM[type(action)](world, refusals.find_job(world.jobs, action.job), action)
        except ActionRefused as refused:
            failed.append(Failure(action, str(refused)))
    world.share_cores()
    world.failures += failed
    return tuple(failed)


def _start(world: World, job: SimulatedJob, action: Start) -> None:
    node = refusals.find_worker(world.nodes, action.worker)
    refusals.require_waiting(action.job, job.state)
    threads = refusals.check_threads(action.job, action.threads)
    limits = _check_limits(job, action.limit, action.weight, node)
    world.mark_stale(job)
    job.limit, job.weight = limits
    if threads is not None and job.spec.resizable:
        job.set_threads(threads)
    job.started = world.now
    world.run_job(job, node)


def _refuse(world: World, job: SimulatedJob, action: Refuse) -> None:
    refusals.require_waiting(action.job, job.state)
    world.end_job(job, JobState.REFUSED)


def _set_limit(world: World, job: SimulatedJob, action: SetLimit) -> None:
    node = refusals.require_placed(job.spec.id, job.state, job.node)
    limits = _check_limits(job, action.limit, action.weight, node)
    world.mark_stale(job)
    job.limit, job.weight = limits
    world.mark_changed(node)


def _set_memory(world: World, job: SimulatedJob, action: SetMemory) -> None:
    node = refusals.require_placed(job.spec.id, job.state, job.node)
    limit = refusals.check_memory_limit(
        action.job, action.limit, job.spec.memory, node.spec.id, node.spec.memory
    )
    world.mark_stale(job)
    job.memory_limit = limit


def _set_threads(world: World, job: SimulatedJob, action: SetThreads) -> None:
    node = refusals.require_placed(job.spec.id, job.state, job.node)
    refusals.require_listener(action, job if job.spec.resizable else None)
    world.mark_stale(job)
    job.set_threads(action.threads)
    world.mark_changed(node)


def _migrate(world: World, job: SimulatedJob, action: Migrate) -> None:
    to = refusals.find_worker(world.nodes, action.to)
    writes = job.spec.checkpoint_s is not None
    refusals.check_migration(action, job.state, writes=writes, there=job.node is to)
    _check_limits(job, job.limit, job.weight, to)
    begin_migration(world, job, action, to)


def _pause(world: World, job: SimulatedJob, action: Pause) -> None:
    refusals.require_running(action.job, job.state, "be paused")
    world.stop_running(job, JobState.PAUSED)


def _resume(world: World, job: SimulatedJob, action: Resume) -> None:
    refusals.require_paused(action.job, job.state)
    world.run_job(job, refusals.require_placed(job.spec.id, job.state, job.node))


def _stop(world: World, job: SimulatedJob, _: Stop) -> None:
    world.end_job(job, JobState.FAILED)


_PERFORM: Final[dict[type, Callable[[World, SimulatedJob, Any], None]]] = {
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


def _check_limits(
    job: SimulatedJob, limit: float | None, weight: float, node: Node
) -> tuple[float | None, float]:
    return refusals.check_limit(limit, weight, node.spec.id, node.spec.cores, job.spec.max)
