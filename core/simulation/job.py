"""A job while it lives in the simulated world: how far it is, and what it prints on the way.

Between two changes of its speed everything is a straight line from `at`: the work is `done` + rate·(t − at),
the counter of its usage `cpu_seconds` + share·(t − at). Looking at a job changes neither, so how often a
policy looks cannot move a completion by a rounding error.
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
"""Times closer than this count as the same."""

ROUNDING: Final = 1e-9
"""Part of a printed value, or of a training step, that rounding may leave undone at its boundary."""


@dataclass(eq=False, slots=True)
class Node:
    """A worker with the jobs that run on it."""

    #: What was given.
    spec: WorkerSpec
    #: Its index among all workers.
    place: int
    #: Runnable jobs, in order of their start; the values mean nothing.
    running: dict[SimulatedJob, None] = field(default_factory=dict)
    #: Jobs that hold a place here, running or not.
    members: set[SimulatedJob] = field(default_factory=set)
    #: Bytes that the jobs which hold a place here take, running or not.
    memory_used: float = 0.0
    #: Number of the plan that its next completion belongs to; older ones are void.
    plan: int = 0


@dataclass(eq=False, slots=True)
class LineSegment:
    """A job between two changes, as observations keep it; all but `value` stays as it was made.

    It is what `core.scheduling.lookup.standing` shows.
    """

    #: The job; only what never changes of it is looked at.
    job: SimulatedJob
    #: Of the first observation that shows it.
    number: int
    #: As `core.scheduling.model.Job` shows them.
    id: str
    state: JobState
    worker: str | None
    can_migrate: bool
    started: float | None
    limit: float | None
    weight: float
    threads: int | None
    #: The straight line itself; see the module.
    at: float
    done: float
    cpu_seconds: float
    share: float
    rate: float
    #: Values that were shown before, or are in `news`.
    printed: int
    #: Values to be shown by the first observation, beside those of this line.
    news: tuple[Reading, ...]
    #: Seconds per training step, or None while it does not run or says no steps.
    step_seconds: float | None
    memory_limit: float | None = None
    #: What is shown of it, once that no longer depends on the observation.
    value: Job | None = None

    def readings(self, since: float, now: float, number: int) -> tuple[Reading, ...]:
        """Values for the observation of this number, made at `now`; the one before it was made at `since`."""
        news = self.news if number == self.number else ()
        shown, last = self._printed(since, now, number)
        return (*news, *readings_between(self.job, self, shown, last, now)) if last > shown else news

    def values(self, since: float, now: float, number: int) -> list[float]:
        """The same without their moments."""
        shown, last = self._printed(since, now, number)
        found = self.job.levels[shown:last] if last > shown else []
        return [*(value for _, value in self.news), *found] if self.news and number == self.number else found

    def _printed(self, since: float, now: float, number: int) -> tuple[int, int]:
        """Which values were printed on this line after `since` and by `now`: the first, and the one after."""
        if self.rate <= 0:
            return 0, 0
        job, shown = self.job, self.printed
        if number != self.number:
            shown = max(shown, job.count_values(self.done + self.rate * (since - self.at)))
        return shown, job.count_values(self.done + self.rate * (now - self.at))

    def count_shown(self, now: float) -> int:
        """How many values are shown in all by an observation made at `now`."""
        if self.rate <= 0:
            return self.printed
        reached = self.job.count_values(self.done + self.rate * (now - self.at))
        return reached if reached > self.printed else self.printed


def readings_between(
    job: SimulatedJob, line: LineSegment | SimulatedJob, first: int, last: int, now: float
) -> list[Reading]:
    """Values `first`…`last` − 1, at the moments when they were printed on a line, `now` at the latest."""
    per_value, levels = job.work_per_value / line.rate, job.levels
    begin = line.at + (job.training_begins - line.done) / line.rate + per_value
    found = [(begin + per_value * i, levels[i]) for i in range(first, last)]
    if found[-1][0] > now:
        found[-1] = (now, found[-1][1])
    if found[0][0] < line.at:
        found[0] = (line.at, found[0][1])
    return found


@dataclass(eq=False, slots=True)
class SimulatedJob:
    """One job that was submitted."""

    #: What was given.
    spec: JobSpec
    #: E as it prints it, value by value.
    levels: list[float]
    #: As `core.scheduling.model.Job` shows them.
    state: JobState = JobState.WAITING
    node: Node | None = None
    started: float | None = None
    limit: float | None = None
    weight: float = 1.0
    threads: int | None = None
    memory_limit: float | None = None
    #: The straight line that it is on; see the module.
    at: float = 0.0
    done: float = 0.0
    cpu_seconds: float = 0.0
    share: float = 0.0
    rate: float = 0.0
    #: Values that were already collected.
    printed: int = 0
    #: Values collected but not shown yet.
    readings: list[Reading] = field(default_factory=list)
    #: The migration under way, where it came from, and how many there were.
    migration: Migrate | None = None
    origin: Node | None = None
    moves: int = 0
    #: Number of what is planned for it; raised whenever it stops to run.
    plan: int = 0
    #: How many were submitted before it.
    number: int = 0
    #: Core-seconds of work at which it ends, by completion or by its own fault.
    goal: float = field(init=False)
    #: Core-seconds of work before its training begins, and for each printed value after that.
    training_begins: float = field(init=False)
    work_per_value: float = field(init=False)
    #: Whether all of its threads compute; before its training and after it only one does.
    is_training: bool = field(init=False)
    #: Core-seconds of work at which that changes next, or it ends.
    next_turn: float = field(init=False)
    #: What its owner says of it beside its request, or None.
    terms: Terms | None = field(init=False)
    #: Training steps for each core-second of training, and how many it says it has in all, true or not.
    steps_per_work: float | None = field(init=False, default=None)
    claimed_steps: int | None = field(init=False, default=None)
    #: Whether its threads are as many as its cores.
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
        """Most cores that it may and can use."""
        most = inf if self.limit is None else self.limit
        if self.spec.demand is not None and self.spec.demand < most:
            most = self.spec.demand
        if self.threads is None and not self.threads_follow:
            return most
        if not self.is_training:
            return min(most, 1.0)
        return most if self.threads_follow else min(most, float(self.threads or 1))

    def set_threads(self, threads: int) -> None:
        """Compute with so many threads from now on, as its policy says."""
        self.threads, self.threads_follow = threads, False

    @property
    def next_turn_at(self) -> float:
        """When it comes to its next turn if nothing changes; infinite while it does not run."""
        return self.at + (self.next_turn - self.done) / self.rate if self.rate > 0 else inf

    def take_turn(self) -> bool:
        """Go on to its training or to what comes after it, and return whether it has ended instead."""
        if self.next_turn >= self.goal:
            return True
        self.is_training = not self.is_training
        self.next_turn = min(self.spec.work - self.spec.finish, self.goal) if self.is_training else self.goal
        return False

    def done_at(self, now: float) -> float:
        """Core-seconds of work done by `now`."""
        return min(self.done + self.rate * (now - self.at), self.goal)

    def used_at(self, now: float) -> float:
        """Core-seconds used by `now`."""
        return self.cpu_seconds + self.share * (now - self.at)

    def count_values(self, done: float) -> int:
        """How many values are printed once so many core-seconds of work are done."""
        count, most = int((done - self.training_begins) / self.work_per_value + ROUNDING), len(self.levels)
        return count if count < most else most

    def note_shown(self, until: float) -> None:
        """Count what was printed by `until` as shown; its line was shown then, and ends now."""
        if self.rate > 0:
            self.printed = max(self.printed, self.count_values(self.done + self.rate * (until - self.at)))

    def collect(self, now: float, done: float) -> None:
        """Note the values printed since the last collection, at the moments when they were printed."""
        last = self.count_values(done)
        if last > self.printed and self.rate > 0:
            self.readings += readings_between(self, self, self.printed, last, now)
            self.printed = last

    def segment(self, number: int) -> LineSegment:
        """Its straight line, first shown by the observation of this number; takes the collected readings."""
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

    def steps_at(self, done: float) -> int:
        """Training steps when so much work is done, for a job that says so."""
        steps = int((done - self.training_begins) * (self.steps_per_work or 0.0) + ROUNDING)
        return min(max(steps, 0), self.spec.steps or 0)

    def settle(self, now: float, share: float, rate: float) -> None:
        """End the straight line at `now` and begin one with another share and speed."""
        if self.rate > 0:
            done = self.done_at(now)
            self.collect(now, done)
            self.done, self.cpu_seconds = done, self.used_at(now)
        self.at, self.share, self.rate = now, share, rate

    def reach_goal(self, now: float) -> None:
        """End the straight line at `now` with all of its work done, however it was rounded."""
        self.collect(now, self.goal)
        self.settle(now, 0.0, 0.0)
        self.done = self.goal
