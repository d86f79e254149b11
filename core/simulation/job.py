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
    from core.scheduling.model import Job, Reading
    from core.simulation.scenario import JobSpec, WorkerSpec

NANOSECOND: Final = 1e-9
"""Times closer than this count as the same."""

ROUNDING: Final = 1e-9
"""Part of a printed value, or of a training step, that rounding may leave undone at its boundary."""


@dataclass(eq=False, slots=True)
class Node:
    """A worker with the jobs that run on it.

    Parameters
    ----------
    spec
        What was given.
    place
        Its index among all workers.
    running
        Runnable jobs, in order of their start; the values mean nothing.
    plan
        Number of the plan that its next completion belongs to; older ones are void.
    """

    spec: WorkerSpec
    place: int
    running: dict[SimulatedJob, None] = field(default_factory=dict)
    plan: int = 0


@dataclass(eq=False, slots=True)
class SimulatedJob:
    """One job that was submitted.

    Parameters
    ----------
    spec
        What was given.
    levels
        E as it prints it, value by value.
    state, node, started, limit, weight, threads
        As `core.scheduling.model.Job` shows them.
    at, done, cpu_seconds, share, rate
        The straight line that it is on; see the module.
    printed
        Values that were already collected.
    readings
        Values collected but not shown yet.
    move, origin, moves
        The migration under way, where it came from, and how many there were.
    shown
        What was shown of it last, while that stays true.
    goal
        Core-seconds of work at which it ends, by completion or by its own fault.
    begin, each
        Core-seconds of work before its training begins, and for each printed value after that.
    steps_per_work, claimed_steps
        Training steps for each core-second of training, and how many it says it has in all, true or not.
    """

    spec: JobSpec
    levels: list[float]
    state: JobState = JobState.WAITING
    node: Node | None = None
    started: float | None = None
    limit: float | None = None
    weight: float = 1.0
    threads: int | None = None
    at: float = 0.0
    done: float = 0.0
    cpu_seconds: float = 0.0
    share: float = 0.0
    rate: float = 0.0
    printed: int = 0
    readings: list[Reading] = field(default_factory=list)
    move: Migrate | None = None
    origin: Node | None = None
    moves: int = 0
    shown: Job | None = None
    goal: float = field(init=False)
    begin: float = field(init=False)
    each: float = field(init=False)
    steps_per_work: float | None = field(init=False, default=None)
    claimed_steps: int | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        spec = self.spec
        self.goal = spec.work * (spec.crash_at or 1.0)
        self.begin, self.each = spec.prepare, spec.training / spec.values
        if spec.steps is not None:
            self.steps_per_work = spec.steps / spec.training
            self.claimed_steps = max(1, round(spec.steps * spec.size_error))

    @property
    def cap(self) -> float:
        """Most cores that it may and can use."""
        most = inf if self.limit is None else self.limit
        if self.spec.demand is not None and self.spec.demand < most:
            most = self.spec.demand
        return most if self.threads is None else min(most, float(self.threads))

    @property
    def finish(self) -> float:
        """When it ends if nothing changes; infinite while it does not run."""
        return self.at + (self.goal - self.done) / self.rate if self.rate > 0 else inf

    def done_at(self, now: float) -> float:
        """Core-seconds of work done by `now`."""
        return min(self.done + self.rate * (now - self.at), self.goal)

    def used_at(self, now: float) -> float:
        """Core-seconds used by `now`."""
        return self.cpu_seconds + self.share * (now - self.at)

    def collect(self, now: float, done: float) -> None:
        """Note the values printed since the last collection, at the moments when they were printed."""
        each = self.each
        reached = min(int((done - self.begin) / each + ROUNDING), self.spec.values)
        if reached <= self.printed or self.rate <= 0:
            return
        per_value, levels = each / self.rate, self.levels
        first = self.at + (self.begin - self.done) / self.rate + per_value
        found = [(first + per_value * i, levels[i]) for i in range(self.printed, reached)]
        if found[-1][0] > now:
            found[-1] = (now, found[-1][1])
        if found[0][0] < self.at:
            found[0] = (self.at, found[0][1])
        self.readings += found
        self.printed = reached

    def steps_at(self, done: float) -> int:
        """Training steps when so much work is done, for a job that says so."""
        steps = int((done - self.begin) * (self.steps_per_work or 0.0) + ROUNDING)
        return min(max(steps, 0), self.spec.steps or 0)

    def settle(self, now: float, share: float, rate: float) -> None:
        """End the straight line at `now` and begin one with another share and speed."""
        self.collect(now, self.done_at(now))
        self.done, self.cpu_seconds = self.done_at(now), self.used_at(now)
        self.at, self.share, self.rate = now, share, rate

    def reach_goal(self, now: float) -> None:
        """End the straight line at `now` with all of its work done, however it was rounded."""
        self.collect(now, self.goal)
        self.settle(now, 0.0, 0.0)
        self.done = self.goal
