"""What a scheduler is shown of the simulated world: values of `core.scheduling.model`, nothing more.

A run of thousands of jobs makes millions of `Job` values. They are filled slot by slot here, which is what
the constructor of a frozen dataclass does too, at half its cost; what has not changed is shown again as it
was.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from core.scheduling.model import Hidden, Job, JobState, Observation, Trigger, Worker

if TYPE_CHECKING:
    from collections.abc import Callable

    from core.simulation.live import Live, Node
    from core.simulation.world import World

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


def observe(world: World, number: int, shown: dict[str, Worker], *, hidden: bool) -> Observation:
    """Show the world as it is now, and each reading, end and failure once.

    Parameters
    ----------
    world
        The world; its news are taken from it.
    number
        Of this observation.
    shown
        Workers as they were shown last; kept up to date here.
    hidden
        Whether oracles may look at the work that is left.
    """
    trigger = next((kind for kind in _ORDER if kind in world.happened), Trigger.TICK)
    now = world.now
    seen = Observation(
        number,
        now,
        trigger,
        tuple([_worker(node, shown) for node in world.nodes.values()]),
        tuple([_job(job, now, hidden=hidden) for job in world.jobs.values()]),
        tuple([_job(job, now, hidden=hidden) for job in world.ended]),
        tuple(world.failures),
    )
    world.happened.clear()
    world.ended.clear()
    world.failures.clear()
    return seen


def _worker(node: Node, shown: dict[str, Worker]) -> Worker:
    last = shown.get(node.spec.id)
    if last is None or last.used != node.used:
        last = shown[node.spec.id] = Worker(node.spec.id, node.spec.cores, node.used)
    return last


def _job(job: Live, now: float, *, hidden: bool) -> Job:
    if job.shown is not None:
        return job.shown
    done = job.done_at(now)
    job.collect(now, done)
    value = _value(job, now, done, hidden=hidden)
    job.readings = []
    if not value.readings and job.state is not JobState.RUNNING:
        job.shown = value
    return value


def _value(job: Live, now: float, done: float, *, hidden: bool) -> Job:
    value, spec = object.__new__(Job), job.spec
    says = spec.steps is not None
    _SET_ID(value, spec.id)
    _SET_STATE(value, job.state)
    _SET_WORKER(value, None if job.node is None else job.node.spec.id)
    _SET_ARRIVED(value, spec.arrival)
    _SET_STARTED(value, job.started)
    _SET_USED(value, job.used_at(now))
    _SET_LIMIT(value, job.limit)
    _SET_WEIGHT(value, job.weight)
    _SET_THREADS(value, job.threads)
    _SET_READINGS(value, tuple(job.readings))
    _SET_STEPS(value, job.steps_at(done) if says else None)
    _SET_TOTAL(value, job.claimed_steps if says else None)
    _SET_REQUEST(value, spec.request)
    _SET_MIGRATE(value, spec.checkpoint_s is not None)
    _SET_RESIZE(value, spec.resizable)
    _SET_HIDDEN(value, Hidden(spec.work - done) if hidden else None)
    return value
