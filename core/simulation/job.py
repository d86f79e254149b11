"""A job in the simulated world: its progress and its printed values.

Between two changes of its speed everything is linear from `at`: the work is `done` + rate·(t − at), the usage
`cpu_seconds` + share·(t − at). Observing a job changes neither, so the frequency of observations cannot move
a completion by a rounding error.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf
from typing import TYPE_CHECKING, Final

from core.scheduling.model import JobState

if TYPE_CHECKING:
    from core.scheduling.actions import Migrate
    from core.scheduling.model import Job, Reading, Terms
    from core.simulation.scenario import JobSpec, WorkerSpec

NANOSECOND: Final = 1e-9
"""Times closer than this are equal."""

ROUNDING: Final = 1e-9
"""Part of a printed value or a training step that rounding may leave undone at its boundary."""


@dataclass(eq=False, slots=True)
class Node:
    """A worker with the jobs that run on it."""

    #: As specified.
    spec: WorkerSpec
    #: Its index among all workers.
    place: int
    #: Runnable jobs, in order of their start; the values mean nothing.
    running: dict[SimulatedJob, None] = field(default_factory=dict)
    #: Jobs that hold a place here, running or not.
    members: set[SimulatedJob] = field(default_factory=set)
    #: Bytes of the jobs that hold a place here.
    memory_used: float = 0.0
    #: The version of its plan; events of older versions are void.
    plan: int = 0


@dataclass(eq=False, slots=True)
class LineSegment:
    """A job between two changes, as observations keep it; only `value` changes later.

    `core.scheduling.lookup.job_positions` returns these.
    """

    #: The job; only its constant attributes are read.
    job: SimulatedJob
    #: The first observation that shows it.
    number: int
    #: As in `core.scheduling.model.Job`.
    id: str
    state: JobState
    worker: str | None
    can_migrate: bool
    started: float | None
    limit: float | None
    weight: float
    threads: int | None
    #: The straight line; see the module.
    at: float
    done: float
    cpu_seconds: float
    share: float
    rate: float
    #: Values shown before or in `news`.
    printed: int
    #: Further values of the first observation, from before this segment.
    news: tuple[Reading, ...]
    #: Seconds per training step; None while it does not run or prints no steps.
    step_seconds: float | None
    memory_limit: float | None = None
    #: The observed job, once it no longer depends on the observation.
    value: Job | None = None

    def readings(self, since: float, now: float, number: int) -> tuple[Reading, ...]:
        """Return the readings for an observation at `now`, after the previous one at `since`."""
        news = self.news if number == self.number else ()
        first, last = self._printed(since, now, number)
        return (*news, *readings_between(self.job, self, first, last, now)) if last > first else news

    def values(self, since: float, now: float, number: int) -> list[float]:
        """Return the same values without their times."""
        first, last = self._printed(since, now, number)
        values = self.job.levels[first:last] if last > first else []
        return (
            [*(value for _, value in self.news), *values] if self.news and number == self.number else values
        )

    def _printed(self, since: float, now: float, number: int) -> tuple[int, int]:
        """Return the range of values printed on this segment after `since` and by `now`."""
        if self.rate <= 0:
            return 0, 0
        job, first = self.job, self.printed
        if number != self.number:
            first = max(first, job.count_values(self.done + self.rate * (since - self.at)))
        return first, job.count_values(self.done + self.rate * (now - self.at))

    def count_shown(self, now: float) -> int:
        """Return the number of values shown in total by an observation at `now`."""
        if self.rate <= 0:
            return self.printed
        reached = self.job.count_values(self.done + self.rate * (now - self.at))
        return reached if reached > self.printed else self.printed


def readings_between(
    job: SimulatedJob, line: LineSegment | SimulatedJob, first: int, last: int, now: float
) -> list[Reading]:
    """Return values `first`…`last` − 1 with the times at which they were printed, `now` at the latest."""
    per_value, levels = job.work_per_value / line.rate, job.levels
    begin = line.at + (job.training_begins - line.done) / line.rate + per_value
    readings = [(begin + per_value * i, levels[i]) for i in range(first, last)]
    if readings[-1][0] > now:
        readings[-1] = (now, readings[-1][1])
    if readings[0][0] < line.at:
        readings[0] = (line.at, readings[0][1])
    return readings


@dataclass(eq=False, slots=True)
class SimulatedJob:
    """A submitted job."""

    #: As specified.
    spec: JobSpec
    #: The values of E that it prints.
    levels: list[float]
    #: As in `core.scheduling.model.Job`.
    state: JobState = JobState.WAITING
    node: Node | None = None
    started: float | None = None
    limit: float | None = None
    weight: float = 1.0
    threads: int | None = None
    memory_limit: float | None = None
    #: Its straight line; see the module.
    at: float = 0.0
    done: float = 0.0
    cpu_seconds: float = 0.0
    share: float = 0.0
    rate: float = 0.0
    #: Values already collected.
    printed: int = 0
    #: Values collected and not yet shown.
    readings: list[Reading] = field(default_factory=list)
    #: The pending migration, its origin, and the number of migrations.
    migration: Migrate | None = None
    origin: Node | None = None
    moves: int = 0
    #: The version of its scheduled stages; raised whenever it stops running.
    plan: int = 0
    #: The number of jobs submitted before it.
    number: int = 0
    #: Core-seconds of work at which it ends, completed or failed.
    goal: float = field(init=False)
    #: Core-seconds of work before its training, and per printed value.
    training_begins: float = field(init=False)
    work_per_value: float = field(init=False)
    #: Whether all its threads compute; before and after training only one does.
    is_training: bool = field(init=False)
    #: Core-seconds of work at which that changes next, or it ends.
    next_turn: float = field(init=False)
    #: Its terms, or None.
    terms: Terms | None = field(init=False)
    #: Training steps per core-second of training, and the number of steps that it claims.
    steps_per_work: float | None = field(init=False, default=None)
    claimed_steps: int | None = field(init=False, default=None)
    #: Whether its threads follow its cores.
    threads_follow: bool = field(init=False)

    def __post_init__(self) -> None:
        spec = self.spec
        self.goal = spec.work * (spec.crash_at or 1.0)
        self.training_begins, self.work_per_value, self.terms = (
            spec.prepare,
            spec.training / spec.values,
            spec.terms,
        )
        self.is_training = spec.prepare == 0
        self.next_turn = min(spec.work - spec.finish if self.is_training else spec.prepare, self.goal)
        self.threads_follow = spec.follows
        if spec.steps is not None:
            self.steps_per_work = spec.steps / spec.training
            self.claimed_steps = max(1, round(spec.steps * spec.size_error))

    @property
    def cap(self) -> float:
        """The most cores that it may and can use."""
        max_cores = inf if self.limit is None else self.limit
        if self.spec.demand is not None and self.spec.demand < max_cores:
            max_cores = self.spec.demand
        if self.threads is None and not self.threads_follow:
            return max_cores
        if not self.is_training:
            return min(max_cores, 1.0)
        return max_cores if self.threads_follow else min(max_cores, float(self.threads or 1))

    def set_threads(self, threads: int) -> None:
        """Compute with this many threads."""
        self.threads, self.threads_follow = threads, False

    @property
    def next_turn_at(self) -> float:
        """Return the time of its next event at the present speed; infinite while it does not run."""
        return self.at + (self.next_turn - self.done) / self.rate if self.rate > 0 else inf

    def take_turn(self) -> bool:
        """Begin or end training; returns True if the job has ended instead."""
        if self.next_turn >= self.goal:
            return True
        self.is_training = not self.is_training
        self.next_turn = min(self.spec.work - self.spec.finish, self.goal) if self.is_training else self.goal
        return False

    def done_at(self, now: float) -> float:
        """Return the core-seconds of work done by `now`."""
        return min(self.done + self.rate * (now - self.at), self.goal)

    def used_at(self, now: float) -> float:
        """Return the core-seconds used by `now`."""
        return self.cpu_seconds + self.share * (now - self.at)

    def count_values(self, work: float) -> int:
        """Return how many values are printed after this much work."""
        count, max_count = (
            int((work - self.training_begins) / self.work_per_value + ROUNDING),
            len(self.levels),
        )
        return count if count < max_count else max_count

    def note_shown(self, until: float) -> None:
        """Count the values printed by `until` as shown."""
        if self.rate > 0:
            self.printed = max(self.printed, self.count_values(self.done + self.rate * (until - self.at)))

    def collect(self, now: float, work: float) -> None:
        """Collect the values printed since the last collection, with their times."""
        last = self.count_values(work)
        if last > self.printed and self.rate > 0:
            self.readings += readings_between(self, self, self.printed, last, now)
            self.printed = last

    def segment(self, number: int) -> LineSegment:
        """Return its segment for an observation with this number; takes the collected readings."""
        node, per_work, rate = self.node, self.steps_per_work, self.rate
        news, self.readings = tuple(self.readings), []
        return LineSegment(
            self,
            number,
            self.spec.id,
            self.state,
            None if node is None else node.spec.id,
            self.spec.checkpoint_s is not None,
            self.started,
            self.limit,
            self.weight,
            self.threads,
            self.at,
            self.done,
            self.cpu_seconds,
            self.share,
            rate,
            self.printed,
            news,
            None if per_work is None or rate <= 0 else 1.0 / (per_work * rate),
            self.memory_limit,
        )

    def steps_at(self, work: float) -> int:
        """Return the training steps after this much work."""
        steps = int((work - self.training_begins) * (self.steps_per_work or 0.0) + ROUNDING)
        return min(max(steps, 0), self.spec.steps or 0)

    def settle(self, now: float, share: float, rate: float) -> None:
        """End the straight line at `now`, and begin one with another share and speed."""
        if self.rate > 0:
            work = self.done_at(now)
            self.collect(now, work)
            self.done, self.cpu_seconds = work, self.used_at(now)
        self.at, self.share, self.rate = now, share, rate

    def reach_goal(self, now: float) -> None:
        """End the straight line at `now` with all work done, whatever the rounding."""
        self.collect(now, self.goal)
        self.settle(now, 0.0, 0.0)
        self.done = self.goal
