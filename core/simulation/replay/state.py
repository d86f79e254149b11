"""A host that replays recordings: what it is, and how far each of its jobs is, as frozen values.

Time is the replay's own, in seconds: it begins at 0 and only passes where somebody lets it pass.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from core.simulation.replay.recording import Recording

KEPT: Final = 60.0
"""Seconds for which a job that has ended can still be asked how it ended."""

NO_PLACE: Final = -1
"""The place of jobs that were submitted: they begin beside those of the plan."""

DONE, STOPPED, KILLED = "done", "stopped", "killed"
"""How a job ends: it has finished, was stopped, or needed more memory than it was allowed."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where jobs run, one after the other, and what each is allowed when it begins."""

    #: Cores at most; None without a limit.
    cores: float | None = None
    #: Bytes at most; None without a limit.
    memory: float | None = None
    #: When its first job begins, seconds.
    first: float = 0.0
    #: Whether its jobs are meant to be steered.
    labelled: bool = True


@dataclass(frozen=True)
class ReplayPlan:
    """A host and what is replayed on it."""

    #: Its processors.
    cores: float
    #: Its bytes of memory.
    memory: float
    #: Taken in turn, as jobs begin.
    recordings: tuple[Recording, ...]
    #: How many jobs there can be at once, and what is allowed to them.
    places: tuple[Place, ...]
    #: Seconds between the end of a job and the beginning of the next in its place; infinite: there is none.
    pause: float = 10.0

    def recording(self, job: ReplayedJob) -> Recording:
        """What a job follows."""
        asked = job.submitted
        return self.recordings[(job.number if asked is None else asked.recording) % len(self.recordings)]


@dataclass(frozen=True, slots=True)
class Submitted:
    """What somebody asked for who let a job begin beside those of the plan."""

    #: The id under which it was submitted, and what it is called.
    id: str
    name: str
    #: What its container is called.
    container: str
    #: Which recording it follows.
    recording: int


@dataclass(frozen=True, slots=True)
class ReplayedJob:
    """One job of a replay."""

    #: Counts the jobs from 0; says which recording it follows.
    number: int
    #: Which of the places it has; `NO_PLACE` of one that was submitted.
    place: int
    #: When it began, seconds.
    begun: float
    #: Cores at most (None: no limit), and its weight where cores are scarce; 1 is usual.
    limit: float | None = None
    weight: float = 1.0
    #: Bytes at most, or None.
    memory_limit: float | None = None
    #: Whether it stands still.
    paused: bool = False
    #: When each step that is over ended, seconds.
    left: tuple[float, ...] = ()
    #: How much of the present step is done, 0 to 1.
    part: float = 0.0
    #: Core-seconds used.
    used: float = 0.0
    #: Seconds for which it ran under a limit.
    limited: float = 0.0
    #: Seconds for which that limit was less than it would have used.
    held_back: float = 0.0
    #: Core-seconds by which it was less.
    withheld: float = 0.0
    #: When it ended, and how; None and empty before.
    ended: float | None = None
    outcome: str = ""
    #: What was asked for, of a job that is remembered until it is removed; None of a job of the plan.
    submitted: Submitted | None = None

    @property
    def runs(self) -> bool:
        """Whether it makes progress, if it gets cores."""
        return self.ended is None and not self.paused

    def memory(self, recording: Recording) -> float:
        """Bytes that it holds now."""
        return recording.memory[min(len(self.left), recording.steps - 1)]

    def moved(self, recording: Recording) -> float:
        """Bytes that it has read and written."""
        step = len(self.left)
        if step >= recording.steps:
            return recording.moved[-1]
        return recording.moved[step] + self.part * recording.io[step] * recording.period


@dataclass(frozen=True, slots=True)
class Replay:
    """A replay at one moment."""

    #: Seconds of its own time.
    at: float
    #: When the next job of each place begins; infinite while one is there.
    due: tuple[float, ...]
    #: Those that run, and those that ended within `KEPT` seconds, in order of their beginnings.
    jobs: tuple[ReplayedJob, ...] = field(default=())
    #: How many have begun in all.
    begun: int = 0

    @classmethod
    def start(cls, plan: ReplayPlan) -> Replay:
        """The replay of a plan at its beginning."""
        return cls(0.0, tuple(place.first for place in plan.places))

    def job(self, number: int) -> ReplayedJob | None:
        """A job that has not ended, or None."""
        return next((job for job in self.jobs if job.number == number and job.ended is None), None)

    def changed(self, number: int, **values: Any) -> Replay:
        """The same with other values of one job that has not ended."""
        return replace(
            self,
            jobs=tuple(
                replace(job, **values) if job.number == number and job.ended is None else job
                for job in self.jobs
            ),
        )

    def stopped(self, plan: ReplayPlan, number: int, outcome: str = STOPPED) -> Replay:
        """The same with one job ended; the next one in its place comes after the plan's pause."""
        job = self.job(number)
        if job is None:
            return self
        due = list(self.due)
        if job.place != NO_PLACE:
            due[job.place] = self.at + plan.pause
        return replace(self.changed(number, ended=self.at, outcome=outcome), due=tuple(due))

    def with_submitted(
        self, asked: Submitted, limit: float | None, weight: float, memory: float | None
    ) -> Replay:
        """The same with one job more, which begins now; its number is `begun`."""
        job = ReplayedJob(self.begun, NO_PLACE, self.at, limit, weight, memory_limit=memory, submitted=asked)
        return replace(self, jobs=(*self.jobs, job), begun=self.begun + 1)

    def without(self, number: int) -> Replay:
        """The same without a job that was submitted."""
        left = (job for job in self.jobs if job.number != number or job.submitted is None)
        return replace(self, jobs=tuple(left))

    @property
    def next_due(self) -> float:
        """When the next job begins; infinite where none is to come before another ends."""
        return min(self.due, default=math.inf)
