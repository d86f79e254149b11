"""Where a job's time went: waiting, running, paused, moving; and how often its cores and threads changed.

What a job is at an observation it has been since the one before, as whatever changes is seen: its state, its
limit and its threads belong to the interval that ends with the observation.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from core.scheduling.model import JobState

if TYPE_CHECKING:
    from core.scheduling.model import Job

_AWAY = (JobState.WAITING, JobState.PAUSED, JobState.MIGRATING, JobState.REFUSED)
"""States in which a job uses no processor."""


@dataclass(slots=True)
class _Life:
    """What was seen of one job so far."""

    seen: float
    state: JobState
    limit: float | None
    threads: int | None
    used_before: float
    paused: float = 0.0
    moving: float = 0.0
    pauses: int = 0
    resizes: int = 0
    thread_changes: int = 0
    allocated: float = 0.0
    unlimited: bool = False


@dataclass(frozen=True, slots=True)
class JobTimes:
    """Where the time of a job that ended went; times in seconds."""

    #: As `waiting_time` and `service_time` define them; None where it never ran. `paused` is the time in
    #: which it held its place without running.
    waiting: float | None
    service: float | None
    paused: float | None
    #: Core-seconds that it used since it was first seen.
    used: float
    #: How often it was paused, and how often its limit and its threads changed while it was placed.
    pauses: int
    resizes: int
    thread_changes: int
    #: Core-seconds that its limits allowed while it ran; None where it ran without one for a while.
    allocated: float | None


def waiting_time(arrived: float, started: float | None) -> float | None:
    """Seconds from a job's submission to its first run; None where it never ran."""
    return None if started is None else started - arrived


def service_time(started: float | None, ended: float, paused: float, moving: float) -> float | None:
    """Seconds that a job ran, neither paused nor moved, from its first run to its end; None if it never ran.

    With its waiting time, its paused time and the time of its migrations it makes its total time.
    """
    return None if started is None else max(ended - started - paused - moving, 0.0)


class Lives:
    """Accumulates what is seen of jobs, observation by observation."""

    def __init__(self) -> None:
        self._lives: dict[str, _Life] = {}

    def see(self, job: Job, now: float) -> None:
        """Take a job as it is at an observation."""
        life = self._lives.get(job.id)
        if life is None:
            self._lives[job.id] = _Life(now, job.state, job.limit, job.threads, job.cpu_seconds)
            return
        if job.state not in _AWAY and now > life.seen:
            life.unlimited |= job.limit is None
            life.allocated += (job.limit or 0.0) * (now - life.seen)
        if job.state is not life.state or job.state is not JobState.RUNNING:
            self._change(life, job.state, now)
        if job.limit != life.limit or job.threads != life.threads:
            _resize(life, job)
        life.seen, life.state = now, job.state

    @staticmethod
    def _change(life: _Life, state: JobState, now: float) -> None:
        if state is JobState.PAUSED:
            life.paused += now - life.seen
            life.pauses += life.state is not JobState.PAUSED
        elif state is JobState.MIGRATING:
            life.moving += now - life.seen

    def ended(self, job: Job, now: float) -> JobTimes:
        """Where the time of a job went that ended now; it was seen at its end, and is then forgotten."""
        life = self._lives.pop(job.id)
        return JobTimes(
            waiting=waiting_time(job.arrived, job.started),
            service=service_time(job.started, now, life.paused, life.moving),
            paused=None if job.started is None else life.paused,
            used=job.cpu_seconds - life.used_before,
            pauses=life.pauses,
            resizes=life.resizes,
            thread_changes=life.thread_changes,
            allocated=None if life.unlimited else life.allocated,
        )


def _resize(life: _Life, job: Job) -> None:
    """Count a change of cores and of threads; what a job begins with is none."""
    if life.state.placed:
        life.resizes += job.limit != life.limit
        life.thread_changes += job.threads != life.threads
    life.limit, life.threads = job.limit, job.threads
