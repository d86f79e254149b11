"""Who waits begins where what it asks for is free; what was taken back from others lets it begin sooner."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, NamedTuple

from core.scheduling.actions import Reason, Start
from core.scheduling.model import JobState
from core.scheduling.retries import PATIENCE, Asked, after_failures
from core.scheduling.shares.threads import threads_for
from core.units import format_cores

if TYPE_CHECKING:
    from collections.abc import Mapping

    from core.scheduling.model import Job, Observation
    from core.scheduling.policies.autopilot.settings import AutopilotSettings

_TINY = 1e-9


class Begun(NamedTuple):
    """Who begins now."""

    #: Starts that were not confirmed, by the names of their jobs.
    asked: Mapping[str, Asked]
    #: What is done, and why.
    starts: tuple[Start, ...]
    reasons: tuple[Reason, ...]
    #: When a start that failed is tried again, or None.
    wake: float | None


def begin(settings: AutopilotSettings, before: Mapping[str, Asked], seen: Observation) -> Begun:
    """Start waiting jobs in order of submission, each where its request is free."""
    waiting = [job for job in seen.jobs if job.state is JobState.WAITING]
    if not waiting:
        return Begun({}, (), (), None)
    asked, reasons = after_failures(before, seen)
    room = _Room(settings, seen)
    starts = []
    for job in waiting:
        tried = asked.get(job.id)
        if tried is not None and tried.until > seen.time:
            if tried.worker is not None:  # asked for, and not confirmed yet
                room.take(job, tried.worker)
            continue
        worker = room.place(job, None if tried is None else tried.avoids)
        if worker is None:
            continue
        cores = room.request(job)
        room.take(job, worker)
        first = Asked(None, 0.0) if tried is None else tried
        asked[job.id] = first._replace(worker=worker, until=seen.time + PATIENCE)
        starts.append(Start(job.id, worker, cores, threads=threads_for(cores) if job.can_resize else None))
        text = f"{job.id} starts on {worker} with the {format_cores(cores)} that it asks for."
        reasons.append(Reason("autopilot, start", text, job.id, worker))
    waits = [each.until for each in asked.values() if each.worker is None and each.until > seen.time]
    return Begun(asked, tuple(starts), tuple(reasons), min(waits, default=None))


class _Room:
    """Cores and bytes of each worker that nobody has a limit for."""

    def __init__(self, settings: AutopilotSettings, seen: Observation) -> None:
        self._unasked = settings.unasked
        self._free = {worker.id: worker.capacity for worker in seen.workers}
        self._largest = max(self._free.values(), default=0.0)
        self._memory = {
            worker.id: inf
            if worker.memory is None
            else settings.filled * worker.memory - (worker.memory_used or 0.0)
            for worker in seen.workers
        }
        for job in seen.jobs:
            if job.worker in self._free:
                self._free[job.worker] -= self.request(job) if job.limit is None else job.limit

    def request(self, job: Job) -> float:
        """Cores that a job asks for, at most those of the largest worker."""
        return min(job.request or self._unasked, self._largest)

    def place(self, job: Job, avoids: str | None) -> str | None:
        """The worker with most cores free on which a job fits; not where it failed if there is another."""
        able = [
            name
            for name, free in self._free.items()
            if self.request(job) <= free + _TINY and (job.said.memory or 0.0) <= self._memory[name]
        ]
        others = [name for name in able if name != avoids]
        return max(others or able, key=self._free.__getitem__, default=None)

    def take(self, job: Job, worker: str) -> None:
        """Count a job as begun."""
        if worker in self._free:
            self._free[worker] -= self.request(job)
            self._memory[worker] -= job.said.memory or 0.0
