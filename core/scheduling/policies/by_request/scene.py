"""Who holds which cores of which worker, as far as policies that give every job its request need to know."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf
from typing import TYPE_CHECKING

from core.scheduling.actions import Reason
from core.scheduling.deadlines.time_left import seconds_left
from core.scheduling.model import JobState
from core.scheduling.retries import PATIENCE, Asked, after_failures
from core.units import format_cores

if TYPE_CHECKING:
    from collections.abc import Mapping

    from core.scheduling.model import Job, Observation
    from core.scheduling.policies.by_request.settings import RequestSettings

TINY = 1e-9


@dataclass(frozen=True, slots=True)
class RequestState:
    """What is remembered between two decisions."""

    #: As chosen.
    settings: RequestSettings
    #: Of the last observation.
    number: int = -1
    #: Starts that were not confirmed, by the names of their jobs.
    asked: Mapping[str, Asked] = field(default_factory=dict)
    #: Why the first of the queue waits, as it was said last.
    told: str = ""
    #: When it last asked to be woken.
    wake: float | None = None


class Scene:
    """What is seen now; decisions change `free`, `memory` and `wanted`."""

    def __init__(self, state: RequestState, seen: Observation) -> None:
        self.settings, self.seen, self.now = state.settings, seen, seen.time
        self.capacity = {worker.id: worker.capacity for worker in seen.workers}
        self.free = dict(self.capacity)
        self.largest = max(self.capacity.values(), default=0.0)
        self.memory = {
            worker.id: inf
            if worker.memory is None
            else self.settings.memory * worker.memory - (worker.memory_used or 0.0)
            for worker in seen.workers
        }
        self.wanted: list[tuple[Job, str, float]] = []
        self.asked, self.reasons = after_failures(state.asked, seen)
        self.jobs: list[Job] = []
        for job in seen.jobs:
            self._count(job)

    def request(self, job: Job) -> float:
        """Cores that a job asks for, at most those of the largest worker."""
        return min(job.request or self.settings.unasked, self.largest)

    def left(self, job: Job) -> float:
        """Seconds to its end with its request; infinite where that is not known."""
        found = seconds_left(job, self.request(job))
        return inf if found is None else found

    def fits(self, job: Job, worker: str) -> bool:
        """Whether a worker has what a job asks for."""
        room = job.state is not JobState.WAITING or (job.said.memory or 0.0) <= self.memory[worker]
        return room and self.request(job) <= self.free[worker] + TINY

    def place(self, job: Job) -> str | None:
        """The worker that a job would run on: its own, or the least requested one on which it fits."""
        if job.worker is not None:
            return job.worker if job.worker in self.free and self.fits(job, job.worker) else None
        able = [worker for worker in self.free if self.fits(job, worker)]
        before = self.asked.get(job.id)
        others = [worker for worker in able if before is None or worker != before.avoids]
        return max(others or able, key=lambda each: self.free[each] / self.capacity[each], default=None)

    def run(self, job: Job, worker: str, rule: str) -> None:
        """Let a job run with its request."""
        cores = self.request(job)
        self.free[worker] -= cores
        self.wanted.append((job, worker, cores))
        if job.state is JobState.WAITING:
            self.memory[worker] -= job.said.memory or 0.0
            before = self.asked.get(job.id, Asked(None, 0.0))
            self.asked[job.id] = before._replace(worker=worker, until=self.now + PATIENCE)
        if job.state is not JobState.RUNNING:
            verb = "starts" if job.state is JobState.WAITING else "goes on"
            text = f"{job.id} {verb} on {worker} with {format_cores(cores)}."
            self.reasons.append(Reason(rule, text, job.id, worker))

    def rest(self, job: Job, rule: str) -> None:
        """Let a job that runs be paused; any other stays where it is."""
        if job.state is JobState.RUNNING and job.worker is not None:
            self.wanted.append((job, job.worker, 0.0))
            self.reasons.append(Reason(rule, f"{job.id} is paused for others.", job.id, job.worker))

    def _count(self, job: Job) -> None:
        before, worker = self.asked.get(job.id), job.worker
        if job.state is JobState.WAITING:
            if before is not None and before.until > self.now:
                if before.worker in self.free:  # its start was asked for and not confirmed
                    self.free[before.worker] -= self.request(job)
                    self.memory[before.worker] -= job.said.memory or 0.0
                return
        elif job.state is JobState.MIGRATING and worker in self.free:
            self.free[worker] -= self.request(job)
            return
        self.jobs.append(job)
