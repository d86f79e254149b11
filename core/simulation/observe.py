"""What a scheduler is shown of the simulated world: values of `core.scheduling.model`, nothing more.

Between two changes a job moves on a straight line, so an observation only keeps the lines: one tuple, copied
from what the world keeps, in which only the lines of jobs that changed are new. The `Job` values are made
when somebody looks at them, from the line and the observation's time, and are the same whenever that is.
"""

from __future__ import annotations

import copy
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, overload

from core.scheduling.lookup import IndexedJobs
from core.scheduling.model import Hidden, Job, JobState, Observation, Trigger

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from core.simulation.job import Line
    from core.simulation.world import World

_NEW: Final = object.__new__
_ORDER: Final = (Trigger.ARRIVAL, Trigger.DEPARTURE, Trigger.OUTCOME)
_SUBMITTED: Final = attrgetter("number")


def _setter(name: str) -> Callable[[Job, Any], None]:
    setter: Callable[[Job, Any], None] = Job.__dict__[name].__set__
    return setter


# Filled slot by slot, which is what the constructor of a frozen dataclass does too, at half its cost.
_SET_ID, _SET_STATE, _SET_WORKER = _setter("id"), _setter("state"), _setter("worker")
_SET_ARRIVED, _SET_STARTED, _SET_USED = _setter("arrived"), _setter("started"), _setter("cpu_seconds")
_SET_LIMIT, _SET_WEIGHT, _SET_THREADS = _setter("limit"), _setter("weight"), _setter("threads")
_SET_READINGS, _SET_STEPS, _SET_TOTAL = _setter("readings"), _setter("steps"), _setter("total_steps")
_SET_REQUEST, _SET_MIGRATE, _SET_RESIZE = _setter("request"), _setter("can_migrate"), _setter("can_resize")
_SET_HIDDEN, _SET_TERMS, _SET_STEP = _setter("hidden"), _setter("terms"), _setter("step_seconds")


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
    ended = tuple([_job(job.line(number), now, now, number, hidden) for job in world.ended])
    jobs = _jobs(world, number, hidden)
    seen = Observation(number, now, trigger, tuple(world.workers), jobs, ended, tuple(world.failures))
    world.happened.clear()
    world.ended.clear()
    world.failures.clear()
    return seen


def _jobs(world: World, number: int, hidden: bool) -> SeenJobs:
    """All jobs as they are now; what changed since the last observation gets a new line."""
    index = world.index
    for job in world.stale:
        if job.spec.id in world.jobs:
            line = index.lines[job.spec.id] = job.line(number)
            if job.state is JobState.WAITING:
                index.waiting[job.spec.id] = line
            else:
                index.waiting.pop(job.spec.id, None)
            if job.node is not None:
                world.stirred.add(job.node)
    for node in world.stirred:
        members = sorted(node.members, key=_SUBMITTED)
        index.on[node.place] = tuple([index.lines[job.spec.id] for job in members])
    world.stale.clear()
    world.stirred.clear()
    since, world.shown, world.shown_at = world.shown_at, number, world.now
    return SeenJobs(world, since, number, hidden)


class SeenJobs(IndexedJobs):
    """The jobs of one observation; each is made when it is looked at.

    Parameters
    ----------
    world
        The world at the moment of the observation; what it keeps is copied.
    since
        When the observation before was made.
    number
        The observation's number.
    hidden
        Whether oracles may look at the work that is left.
    """

    __slots__ = ("_all", "_hidden", "_lines", "_now", "_number", "_on", "_places", "_since", "_waiting")

    def __init__(self, world: World, since: float, number: int, hidden: bool) -> None:
        self._now, self._since, self._number, self._hidden = world.now, since, number, hidden
        self._lines = tuple(world.index.lines.values())
        self._waiting = tuple(world.index.waiting.values())
        self._on, self._places = tuple(world.index.on), world.places
        self._all: tuple[Job, ...] | None = None

    def waiting(self) -> tuple[Job, ...]:
        """Jobs that wait, in order of submission."""
        return self._made(self._waiting)

    def on(self, worker: str) -> tuple[Job, ...]:
        """Jobs that hold a place on a worker, in order of submission."""
        place = self._places.get(worker)
        return () if place is None else self._made(self._on[place])

    def counts(self) -> Mapping[str, int]:
        """How many jobs hold a place on each worker."""
        return dict(zip(self._places, map(len, self._on), strict=True))

    def _made(self, lines: Sequence[Line]) -> tuple[Job, ...]:
        now, since, number, hidden = self._now, self._since, self._number, self._hidden
        return tuple([line.value or _job(line, now, since, number, hidden) for line in lines])

    def _whole(self) -> tuple[Job, ...]:
        if self._all is None:
            self._all = self._made(self._lines)
        return self._all

    def __len__(self) -> int:
        return len(self._lines)

    def __iter__(self) -> Iterator[Job]:
        return iter(self._whole())

    @overload
    def __getitem__(self, place: int) -> Job: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Job]: ...
    def __getitem__(self, place: int | slice) -> Job | Sequence[Job]:
        return self._whole()[place]

    def __eq__(self, other: object) -> bool:
        return tuple(other) == self._whole() if isinstance(other, tuple | SeenJobs) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._whole())

    def __repr__(self) -> str:
        return repr(self._whole())

    def __reduce__(self) -> tuple[type, tuple[tuple[Job, ...]]]:
        return tuple, (self._whole(),)

    def __deepcopy__(self, memo: dict[int, Any]) -> tuple[Job, ...]:
        return copy.deepcopy(self._whole(), memo)


def _job(line: Line, now: float, since: float, number: int, hidden: bool) -> Job:
    value, job = _NEW(Job), line.job
    spec, done = job.spec, line.done + line.rate * (now - line.at)
    _SET_ID(value, spec.id)
    _SET_STATE(value, line.state)
    _SET_WORKER(value, line.worker)
    _SET_ARRIVED(value, spec.arrival)
    _SET_STARTED(value, line.started)
    _SET_USED(value, line.cpu_seconds + line.share * (now - line.at))
    _SET_LIMIT(value, line.limit)
    _SET_WEIGHT(value, line.weight)
    _SET_THREADS(value, line.threads)
    _SET_STEPS(value, None if job.steps_per_work is None else job.steps_at(done))
    _SET_TOTAL(value, job.claimed_steps)
    _SET_REQUEST(value, spec.request)
    _SET_MIGRATE(value, spec.checkpoint_s is not None)
    _SET_RESIZE(value, spec.resizable)
    _SET_HIDDEN(value, Hidden(max(spec.work - done, 0.0)) if hidden else None)
    _SET_TERMS(value, job.terms)
    _SET_STEP(value, line.step_seconds)
    readings = line.readings(since, now, number)
    _SET_READINGS(value, readings)
    if line.rate <= 0.0 and not readings:
        line.value = value
    return value
