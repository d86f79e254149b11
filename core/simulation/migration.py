"""A migration's stages: checkpoint, stop, start on the target, go on; or back to where it came from.

The job does nothing from the request until it goes on, so no work is lost or done twice: it goes on with
exactly the work that it had. A job that does not answer in time goes on where it is; one that does not start
on its target is restored where it came from (docs/scheduling/specon.md).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.scheduling.model import Failure, JobState, Trigger
from core.simulation.chance import migration_fails

if TYPE_CHECKING:
    from core.scheduling.actions import Migrate
    from core.simulation.job import Node, SimulatedJob
    from core.simulation.world import World


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
