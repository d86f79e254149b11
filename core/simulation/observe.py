"""Observations of the simulated world: values of `core.scheduling.model`.

Between two changes a job moves on a straight line, so an observation keeps segments only: a tuple copied from
the world's index, in which only changed jobs are new. `Job` values are built on access, from the segment and
the observation's time.
"""

from __future__ import annotations

from dataclasses import replace
from math import inf
from operator import attrgetter
from typing import TYPE_CHECKING, Final, NamedTuple

from core.scheduling.engine_wrapper import EngineWrapper
from core.scheduling.lazy_tuple import LazyTuple
from core.scheduling.lookup import IndexedJobs, JobPosition, PrintedValues
from core.scheduling.model import Hidden, Job, JobState, Observation, Trigger, Use

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from core.scheduling.ports import Engine
    from core.simulation.job import LineSegment
    from core.simulation.world import World


USE_INTERVAL = 1.0
"""Seconds between two samples."""
_FULL_SHARE = 0.999
"""Share of its demand below which a limit throttles a job."""


class _LastUse(NamedTuple):
    time: float
    cpu_seconds: float
    use: Use | None


class UsageWrapper(EngineWrapper):
    """Adds to every job the usage that a sampler would show once a second.

    Memory is the requested memory; all periods of the quota are throttled while the limit is below the
    demand.
    """

    def __init__(self, engine: Engine, demands: Mapping[str, float]) -> None:
        super().__init__(engine)
        self._demands = demands
        self._last_uses: dict[str, _LastUse] = {}

    def observe(self) -> Observation:
        """Return the engine's observation with the usage of its jobs."""
        observation = self._engine.observe()
        before, self._last_uses = self._last_uses, {}
        capacities = {each.id: each.capacity for each in observation.workers}
        jobs = (
            self._with_use(job, before.get(job.id), observation.time, capacities) for job in observation.jobs
        )
        return replace(observation, jobs=tuple(jobs))

    def _with_use(
        self, job: Job, before: _LastUse | None, now: float, capacities: Mapping[str, float]
    ) -> Job:
        if job.state is not JobState.RUNNING or job.cpu_seconds is None:
            return job
        if before is None:
            self._last_uses[job.id] = _LastUse(now, job.cpu_seconds, None)
            return job
        passed, use = now - before.time, before.use
        if passed >= USE_INTERVAL:
            cores = (job.cpu_seconds - before.cpu_seconds) / passed
            demand = self._demands.get(job.id, inf)
            limit_binds = job.limit is not None and job.limit < _FULL_SHARE * demand
            withheld = min(demand, capacities[job.worker or ""]) - (job.limit or 0.0) if limit_binds else 0.0
            use = Use(
                now,
                cores,
                job.terms_or_default.memory or 0.0,
                float(limit_binds),
                withheld=max(withheld, 0.0),
            )
            before = _LastUse(now, job.cpu_seconds, use)
        self._last_uses[job.id] = before
        return job if use is None else replace(job, use=use)


_ORDER: Final = (Trigger.ARRIVAL, Trigger.DEPARTURE, Trigger.OUTCOME)
_SUBMITTED: Final = attrgetter("number")


def observe(world: World, number: int, *, reveal_hidden: bool) -> Observation:
    """Return an observation; each reading, end and failure appears once."""
    trigger = next(kind for kind in _ORDER if kind in world.happened) if world.happened else Trigger.TICK
    now = world.now
    ended = tuple([_build_job(job.segment(number), now, now, number, reveal_hidden) for job in world.ended])
    jobs = _observed_jobs(world, number, reveal_hidden)
    observation = Observation(number, now, trigger, tuple(world.workers), jobs, ended, tuple(world.failures))
    world.happened.clear()
    world.ended.clear()
    world.failures.clear()
    return observation


def _observed_jobs(world: World, number: int, reveal_hidden: bool) -> ObservedJobs:
    """Return all jobs; those that changed since the last observation get a new segment."""
    index, jobs, changed = world.index, world.jobs, world.changed_nodes
    lines, waiting = index.segments, index.waiting
    for job in world.stale:
        name, node = job.spec.id, job.node
        if name not in jobs:
            continue
        line = lines[name] = job.segment(number)
        if job.state is JobState.WAITING:
            waiting[name] = line
        elif name in waiting:
            del waiting[name]
        if node is not None:
            changed.add(node)
    for node in changed:
        members = sorted(node.members, key=_SUBMITTED)
        index.by_worker[node.place] = tuple([lines[job.spec.id] for job in members])
    world.stale.clear()
    changed.clear()
    since, world.shown, world.shown_at = world.shown_at, number, world.now
    return ObservedJobs(world, since, number, reveal_hidden)


class ObservedJobs(LazyTuple[Job], IndexedJobs):
    """The jobs of one observation, built on access."""

    __slots__ = (
        "_all",
        "_counts",
        "_lines",
        "_now",
        "_number",
        "_on",
        "_places",
        "_reveal_hidden",
        "_since",
        "_waiting",
    )

    def __init__(self, world: World, since: float, number: int, reveal_hidden: bool) -> None:
        self._now, self._since, self._number, self._reveal_hidden = world.now, since, number, reveal_hidden
        self._lines = tuple(world.index.segments.values())
        self._waiting = tuple(world.index.waiting.values())
        self._on, self._places = tuple(world.index.by_worker), world.places
        self._all: tuple[Job, ...] | None = None
        self._counts: dict[str, int] | None = None

    def waiting_jobs(self) -> tuple[Job, ...]:
        """Return the waiting jobs, in order of submission."""
        return self._build_jobs(self._waiting) if self._waiting else ()

    def jobs_on(self, worker: str) -> tuple[Job, ...]:
        """Return the jobs that hold a place on a worker, in order of submission."""
        place = self._places.get(worker)
        return () if place is None else self._build_jobs(self._on[place])

    def count_by_worker(self) -> Mapping[str, int]:
        """Return the number of jobs that hold a place on each worker."""
        return dict(zip(self._places, map(len, self._on), strict=True))

    def job_positions(self) -> Sequence[JobPosition]:
        """Return the positions of all jobs, in order of submission."""
        return self._lines

    def new_values(self) -> PrintedValues:
        """Return the values of E printed since the previous observation."""
        now, since, number = self._now, self._since, self._number
        values = [(line.id, line.values(since, now, number)) for line in self._lines]
        return [each for each in values if each[1]]

    def values_since(self, earlier: ObservedJobs, names: Collection[str]) -> Mapping[str, Sequence[float]]:
        """Return the values of E that these jobs printed after an earlier observation of the same run."""
        before, after, values = earlier._printed_counts(), self._printed_counts(), {}
        for line in self._lines:
            name = line.id
            if name in names and (last := after[name]) > (first := before.get(name, 0)):
                values[name] = line.job.levels[first:last]
        return values

    def _printed_counts(self) -> Mapping[str, int]:
        """Return how many values of each job were shown, including this observation."""
        if self._counts is None:
            self._counts = {line.id: line.count_shown(self._now) for line in self._lines}
        return self._counts

    def _build_jobs(self, lines: Sequence[LineSegment]) -> tuple[Job, ...]:
        now, since, number, reveal_hidden = self._now, self._since, self._number, self._reveal_hidden
        return tuple([line.value or _build_job(line, now, since, number, reveal_hidden) for line in lines])

    def _values(self) -> tuple[Job, ...]:
        if self._all is None:
            self._all = self._build_jobs(self._lines)
        return self._all

    def __len__(self) -> int:
        return len(self._lines)


def _build_job(line: LineSegment, now: float, since: float, number: int, reveal_hidden: bool) -> Job:
    job, passed = line.job, now - line.at
    spec, work = job.spec, line.done + line.rate * passed
    readings = line.readings(since, now, number)
    value = Job(  # in the order of its fields, since keywords take longer
        line.id,
        line.state,
        line.worker,
        spec.arrival,
        line.started,
        line.cpu_seconds + line.share * passed,
        line.limit,
        line.weight,
        line.threads,
        readings,
        None if job.steps_per_work is None else job.steps_at(work),
        job.claimed_steps,
        spec.request,
        line.can_migrate,
        spec.resizable,
        Hidden(max(spec.work - work, 0.0)) if reveal_hidden else None,
        job.terms,
        line.step_seconds,
        line.memory_limit,
    )
    if line.rate <= 0.0 and not readings:
        line.value = value
    return value
