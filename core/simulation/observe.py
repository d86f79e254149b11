"""What a scheduler is shown of the simulated world: values of `core.scheduling.model`, nothing more.

A run of thousands of jobs makes millions of `Job` values. They are filled slot by slot here, which is what
the constructor of a frozen dataclass does too, at half its cost; what has not changed is shown again as it
was.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from core.scheduling.model import Hidden, Job, JobState, Observation, Trigger
from core.simulation.job import ROUNDING

if TYPE_CHECKING:
    from collections.abc import Callable

    from core.simulation.job import SimulatedJob
    from core.simulation.world import World

_NEW: Final = object.__new__
_RUNNING: Final = JobState.RUNNING
_ORDER: Final = (Trigger.ARRIVAL, Trigger.DEPARTURE, Trigger.OUTCOME)


def _setter(name: str) -> Callable[[Job, Any], None]:
    setter: Callable[[Job, Any], None] = Job.__dict__[name].__set__
    return setter


_SET_ID, _SET_STATE, _SET_WORKER = _setter("id"), _setter("state"), _setter("worker")
_SET_ARRIVED, _SET_STARTED, _SET_USED = _setter("arrived"), _setter("started"), _setter("cpu_seconds")
_SET_LIMIT, _SET_WEIGHT, _SET_THREADS = _setter("limit"), _setter("weight"), _setter("threads")
_SET_READINGS, _SET_STEPS, _SET_TOTAL = _setter("readings"), _setter("steps"), _setter("total_steps")
_SET_REQUEST, _SET_MIGRATE, _SET_RESIZE = _setter("request"), _setter("can_migrate"), _setter("can_resize")
_SET_HIDDEN = _setter("hidden")


def observe(world: World, number: int, *, hidden: bool) -> Observation:
    """Show the world as it is now, and each reading, end and failure once.

    Parameters
    ----------
    world
        The world; what has not been shown yet is taken from it.
    number
        The number of this observation.
    hidden
        Whether oracles may look at the work that is left.
    """
    trigger = next((kind for kind in _ORDER if kind in world.happened), Trigger.TICK)
    now = world.now
    seen = Observation(
        number,
        now,
        trigger,
        tuple(world.workers),
        tuple([job.shown or _job(job, now, hidden) for job in world.jobs.values()]),
        tuple([_job(job, now, hidden) for job in world.ended]),
        tuple(world.failures),
    )
    world.happened.clear()
    world.ended.clear()
    world.failures.clear()
    return seen


def _job(job: SimulatedJob, now: float, hidden: bool) -> Job:
    passed = now - job.at
    done = job.done + job.rate * passed
    if int((done - job.begin) / job.each + ROUNDING) > job.printed:
        job.collect(now, done)
    value, spec, node = _NEW(Job), job.spec, job.node
    _SET_ID(value, spec.id)
    _SET_STATE(value, job.state)
    _SET_WORKER(value, None if node is None else node.spec.id)
    _SET_ARRIVED(value, spec.arrival)
    _SET_STARTED(value, job.started)
    _SET_USED(value, job.cpu_seconds + job.share * passed)
    _SET_LIMIT(value, job.limit)
    _SET_WEIGHT(value, job.weight)
    _SET_THREADS(value, job.threads)
    _SET_STEPS(value, None if job.steps_per_work is None else job.steps_at(done))
    _SET_TOTAL(value, job.claimed_steps)
    _SET_REQUEST(value, spec.request)
    _SET_MIGRATE(value, spec.checkpoint_s is not None)
    _SET_RESIZE(value, spec.resizable)
    _SET_HIDDEN(value, Hidden(max(spec.work - done, 0.0)) if hidden else None)
    if job.readings:
        _SET_READINGS(value, tuple(job.readings))
        job.readings = []
    else:
        _SET_READINGS(value, ())
        if job.state is not _RUNNING:
            job.shown = value
    return value
