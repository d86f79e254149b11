"""Recorded jobs, replayed as the containers of one host without a real one."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import accumulate
from math import inf
from typing import TYPE_CHECKING, Any, Final

from core.scheduling.shares import water_fill

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True)
class Recording:
    """One recorded job; every column has one value per step.

    Raises ValueError if there is no step, or a column has another length than the others.
    """

    #: Its name.
    name: str
    #: Seconds per step.
    period: float
    #: Cores used in each step: the demand.
    cores: tuple[float, ...]
    #: Bytes held in each step.
    memory: tuple[float, ...]
    #: The last value printed by the end of each step; NaN before the first.
    loss: tuple[float, ...]
    #: Bytes per second read and written in each step.
    io: tuple[float, ...]

    def __post_init__(self) -> None:
        """Refuse columns of different lengths."""
        if not self.cores or len({len(self.cores), len(self.memory), len(self.loss), len(self.io)}) > 1:
            raise ValueError(f"the columns of {self.name} are not of one length above 0")
        if self.period <= 0 or min(self.cores) < 0:
            raise ValueError(f"{self.name} has a step that takes no time or less than no work")

    @property
    def steps(self) -> int:
        """The number of steps."""
        return len(self.cores)

    @cached_property
    def work(self) -> float:
        """Core-seconds of the whole job."""
        return math.fsum(self.cores) * self.period

    @cached_property
    def io_total(self) -> tuple[float, ...]:
        """Bytes read and written before each step and at the end, shape (steps + 1,)."""
        return tuple(accumulate((rate * self.period for rate in self.io), initial=0.0))

    def values_at(self, moments: Sequence[float]) -> list[tuple[float, float]]:
        """Return (time, loss) for each step that printed a new value."""
        lines, last = [], math.nan
        for time, value in zip(moments, self.loss, strict=False):
            if math.isfinite(value) and value != last:
                lines.append((time, value))
                last = value
        return lines


KEEP_SECONDS: Final = 60.0
"""Seconds for which an ended job keeps its outcome."""

NO_PLACE: Final = -1
"""The place of submitted jobs, which run beside those of the plan."""

DONE, STOPPED, KILLED = "done", "stopped", "killed"
"""Outcomes of a job: finished, stopped, or killed for lack of memory."""


# A host that replays recordings, and the progress of its jobs, as frozen values.
#
# Time is the replay's own, in seconds: it begins at 0 and passes only when the caller advances it.


@dataclass(frozen=True, slots=True)
class StartingPlace:
    """A place where jobs run one after the other, with their initial limits."""

    #: Limit in cores, or None.
    cores: float | None = None
    #: Limit in bytes, or None.
    memory: float | None = None
    #: When its first job begins, seconds.
    first: float = 0.0
    #: Whether its jobs carry the label for steering.
    labelled: bool = True


@dataclass(frozen=True)
class ReplayPlan:
    """A host and its recordings."""

    #: Its processors.
    cores: float
    #: Its bytes of memory.
    memory: float
    #: The recordings in order of use.
    recordings: tuple[Recording, ...]
    #: The places.
    places: tuple[StartingPlace, ...]
    #: Seconds between the end of a job and the next start in its place; infinite: no next one.
    pause: float = 10.0

    def recording(self, job: ReplayedJob) -> Recording:
        """Return the recording of a job."""
        submitted = job.submitted
        return self.recordings[
            (job.number if submitted is None else submitted.recording) % len(self.recordings)
        ]


@dataclass(frozen=True, slots=True)
class Submitted:
    """The request of a submitted job."""

    #: Its id and name.
    id: str
    name: str
    #: The name of its container.
    container: str
    #: The index of its recording.
    recording: int


@dataclass(frozen=True, slots=True)
class ReplayedJob:
    """One job of a replay."""

    #: Counts the jobs from 0; selects the recording.
    number: int
    #: The index of its place; `NO_PLACE` for submitted jobs.
    place: int
    #: When it began, seconds.
    begun: float
    #: Limit in cores (None: none), and weight; 1 by default.
    limit: float | None = None
    weight: float = 1.0
    #: Memory limit in bytes, or None.
    memory_limit: float | None = None
    #: Whether it is paused.
    paused: bool = False
    #: When each finished step ended, seconds.
    left: tuple[float, ...] = ()
    #: The share of the present step that is done, 0 to 1.
    part: float = 0.0
    #: Core-seconds used.
    used: float = 0.0
    #: Seconds for which it ran under a limit.
    limited: float = 0.0
    #: Seconds for which that limit was below its demand.
    held_back: float = 0.0
    #: Core-seconds that the limit withheld.
    withheld: float = 0.0
    #: When and how it ended; None and empty before.
    ended: float | None = None
    outcome: str = ""
    #: The request of a submitted job; None for jobs of the plan.
    submitted: Submitted | None = None

    @property
    def runs(self) -> bool:
        """Whether it progresses if it gets cores."""
        return self.ended is None and not self.paused

    def memory(self, recording: Recording) -> float:
        """Return the bytes that it holds now."""
        return recording.memory[min(len(self.left), recording.steps - 1)]

    def io_total(self, recording: Recording) -> float:
        """Return the bytes read and written."""
        step = len(self.left)
        if step >= recording.steps:
            return recording.io_total[-1]
        return recording.io_total[step] + self.part * recording.io[step] * recording.period


@dataclass(frozen=True, slots=True)
class Replay:
    """A replay at one time."""

    #: Seconds of its own time.
    at: float
    #: When the next job of each place starts; infinite while one runs.
    due: tuple[float, ...]
    #: Running jobs, and those that ended within `KEEP_SECONDS`, in order of start.
    jobs: tuple[ReplayedJob, ...] = field(default=())
    #: The number of jobs started.
    begun: int = 0

    @classmethod
    def start(cls, plan: ReplayPlan) -> Replay:
        """Return the replay of a plan at its start."""
        return cls(0.0, tuple(place.first for place in plan.places))

    def job(self, number: int) -> ReplayedJob | None:
        """Return a job that has not ended, or None."""
        return next((job for job in self.jobs if job.number == number and job.ended is None), None)

    def changed(self, number: int, **values: Any) -> Replay:
        """Return the replay with other values of one job."""
        return replace(
            self,
            jobs=tuple(
                replace(job, **values) if job.number == number and job.ended is None else job
                for job in self.jobs
            ),
        )

    def stopped(self, plan: ReplayPlan, number: int, outcome: str = STOPPED) -> Replay:
        """Return the replay with one job ended; the next job of its place starts after the pause."""
        job = self.job(number)
        if job is None:
            return self
        due = list(self.due)
        if job.place != NO_PLACE:
            due[job.place] = self.at + plan.pause
        return replace(self.changed(number, ended=self.at, outcome=outcome), due=tuple(due))

    def with_submitted(
        self, submitted: Submitted, limit: float | None, weight: float, memory: float | None
    ) -> Replay:
        """Return the replay with one more job, which starts now; its number is `begun`."""
        job = ReplayedJob(
            self.begun, NO_PLACE, self.at, limit, weight, memory_limit=memory, submitted=submitted
        )
        return replace(self, jobs=(*self.jobs, job), begun=self.begun + 1)

    def without(self, number: int) -> Replay:
        """Return the replay without a submitted job."""
        remaining = (job for job in self.jobs if job.number != number or job.submitted is None)
        return replace(self, jobs=tuple(remaining))

    @property
    def next_due(self) -> float:
        """The time of the next start; infinite if no job is due before another ends."""
        return min(self.due, default=math.inf)


_ROUNDING: Final = 1e-9
"""Share of a limit that rounding may miss."""


# Letting time pass on a host that replays recordings.
#
# A job uses in each step the cores that were recorded, or less where its limit or the host's other jobs leave
# it less: weighted water-filling over the cores of the host, as in the simulator. It then takes longer for
# the step, by just so much that the core-seconds of the step stay what they were:
#
#     d(step)/dt = share / (demand · period)
#
# A step in which nothing was used passes at its recorded pace. So a lower limit makes a job slower, its loss
# falls later, and every job has used the recorded core-seconds when it ends, whatever happened to it.


def advance_replay(plan: ReplayPlan, now: Replay, until: float) -> Replay:
    """Let time pass until `until`; a time in the past changes nothing."""
    while True:
        now = _forget_ended(_begin_jobs(plan, now))
        if now.at >= until:
            return now
        cores = share_cores(plan, now)
        ends = [_step_ends(plan, job, now.at, share) for job, share in cores]
        now = _pass_time(plan, now, cores, ends, min([until, now.next_due, *ends]))


def is_short(plan: ReplayPlan, now: Replay) -> bool:
    """Whether the running jobs want more cores than there are, within their limits."""
    return sum(_cap(demand_of(plan, job), job.limit) for job in now.jobs if job.runs) > plan.cores


def share_cores(plan: ReplayPlan, now: Replay) -> list[tuple[ReplayedJob, float]]:
    """Return the cores of each running job."""
    running = [job for job in now.jobs if job.runs]
    caps = [_cap(demand_of(plan, job), job.limit) for job in running]
    filled = water_fill(plan.cores, caps, [job.weight for job in running])
    return list(zip(running, filled, strict=True))


def demand_of(plan: ReplayPlan, job: ReplayedJob) -> float:
    """Return the cores that a job would use now."""
    return plan.recording(job).cores[len(job.left)]


def _cap(demand: float, limit: float | None) -> float:
    return demand if limit is None else min(demand, limit)


def _step_rate(plan: ReplayPlan, job: ReplayedJob, share: float) -> float:
    """Return steps per second."""
    recording, demand = plan.recording(job), demand_of(plan, job)
    return (share / demand if demand > 0 else 1.0) / recording.period


def _step_ends(plan: ReplayPlan, job: ReplayedJob, at: float, share: float) -> float:
    pace = _step_rate(plan, job, share)
    return at + max(1.0 - job.part, 0.0) / pace if pace > 0 else inf


def _pass_time(
    plan: ReplayPlan,
    now: Replay,
    cores: list[tuple[ReplayedJob, float]],
    ends: list[float],
    time: float,
) -> Replay:
    """Advance all jobs to a time at which no job is beyond its present step."""
    seconds = time - now.at
    moved = {
        job.number: _work_job(plan, job, share, seconds, time if end <= time else None)
        for (job, share), end in zip(cores, ends, strict=True)
    }
    later = replace(now, at=time, jobs=tuple(moved.get(job.number, job) for job in now.jobs))
    for job in moved.values():
        later = _end_jobs(plan, later, job)
    return later


def _work_job(
    plan: ReplayPlan, job: ReplayedJob, share: float, seconds: float, over: float | None
) -> ReplayedJob:
    """Return a job after some seconds of one step; `over` is when the step ended, or None."""
    limited = 0.0 if job.limit is None else seconds
    demand = demand_of(plan, job)
    binds = job.limit is not None and share >= job.limit * (1.0 - _ROUNDING) and share < demand
    return replace(
        job,
        left=job.left if over is None else (*job.left, over),
        part=job.part + _step_rate(plan, job, share) * seconds if over is None else 0.0,
        used=job.used + share * seconds,
        limited=job.limited + limited,
        held_back=job.held_back + (seconds if binds else 0.0),
        withheld=job.withheld + ((demand - share) * seconds if binds else 0.0),
    )


def _end_jobs(plan: ReplayPlan, now: Replay, job: ReplayedJob) -> Replay:
    """End a job whose recording is over or whose memory exceeds its limit."""
    recording = plan.recording(job)
    if len(job.left) >= recording.steps:
        return now.stopped(plan, job.number, DONE)
    if job.memory_limit is not None and job.memory(recording) > job.memory_limit:
        return now.stopped(plan, job.number, KILLED)
    return now


def _begin_jobs(plan: ReplayPlan, now: Replay) -> Replay:
    """Start the jobs that are due."""
    if now.next_due > now.at:
        return now
    due, jobs, number = list(now.due), list(now.jobs), now.begun
    for place in sorted(range(len(due)), key=lambda each: due[each]):
        if due[place] <= now.at:
            start = plan.places[place]
            jobs.append(ReplayedJob(number, place, now.at, start.cores, memory_limit=start.memory))
            due[place], number = inf, number + 1
    return Replay(now.at, tuple(due), tuple(jobs), number)


def _forget_ended(now: Replay) -> Replay:
    remembered = tuple(
        job
        for job in now.jobs
        if job.ended is None or job.submitted is not None or now.at - job.ended <= KEEP_SECONDS
    )
    return now if len(remembered) == len(now.jobs) else replace(now, jobs=remembered)
