"""The observation and the state of ``elastic`` during one decision: books of workers, and the queue.

Only workers that may have changed are read again (`ElasticContext._workers_to_read`), so a decision about one
of a thousand workers does not read the others.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from math import inf
from operator import attrgetter
from typing import TYPE_CHECKING

from core.scheduling import lookup
from core.scheduling.actions import Reason, Resume, Start
from core.scheduling.forecasting import SETTLE_SECONDS
from core.scheduling.model import Trigger
from core.scheduling.policies.elastic.book import TINY, WorkerBook, make_claim, read_book
from core.scheduling.refusals import START_TIMEOUT, retry_delay
from core.units import format_bytes, format_cores

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from core.scheduling.model import Job, Observation
    from core.scheduling.policies.elastic.book import Claim, Holding
    from core.scheduling.policies.elastic.settings import ElasticSettings


# The queue order: by arrival, by priority with ageing and feedback, or round-robin.
#
# Ageing (one step of priority for every `ageing` seconds of waiting) keeps any job from waiting forever; with
# feedback a job falls by one step each time it has run. In round-robin, a paused job rejoins the queue at its
# end.


@dataclass(frozen=True, slots=True)
class QueuedJob:
    """A job without cores that wants some."""

    #: Its claim on the largest worker.
    claim: Claim
    #: When it joined the queue: its arrival, or when it was paused.
    since: float
    #: The worker that keeps its place while paused; None before its first start.
    worker: str | None = None
    #: How often it was started before.
    runs: int = 0
    #: When a failed or unconfirmed start may be retried.
    retry_at: float = 0.0
    #: Consecutive failed starts.
    refusals: int = 0
    #: The text of its last reason.
    last_text: str = ""

    def with_priority(self, priority: int) -> QueuedJob:
        """Return the job with another priority."""
        if priority == self.claim.priority:
            return self
        return replace(self, claim=replace(self.claim, priority=priority))

    def after_start_request(self, now: float) -> QueuedJob:
        """Return the job after a start was requested."""
        return replace(self, retry_at=now + START_TIMEOUT)

    def after_failed_start(self, now: float) -> QueuedJob:
        """Return the job after a failed start; the delay before a retry doubles."""
        return replace(self, retry_at=now + retry_delay(self.refusals), refusals=self.refusals + 1)


def requeue_paused(holding: Holding, worker: str, now: float) -> QueuedJob:
    """Return the queue entry of a job that is being paused."""
    return QueuedJob(holding.claim, now, worker, holding.runs)


def queue_key(settings: ElasticSettings, now: float) -> Callable[[QueuedJob], tuple[float, float, str]]:
    """Return the sort key of the queue."""
    if settings.order == "priority":
        return lambda each: (-effective_priority(each, settings, now), each.claim.arrived, each.claim.job)
    return lambda each: (each.since, each.claim.arrived, each.claim.job)


def effective_priority(each: QueuedJob, settings: ElasticSettings, now: float) -> float:
    """Return the priority with ageing and feedback; the highest comes first."""
    aged = (now - each.since) / settings.ageing if settings.ageing > 0 else 0.0
    return each.claim.priority + aged - (each.runs if settings.feedback else 0)


_MAX_POINTS = 8
"""Numbers of cores per job whose time per step is remembered."""
# with a thousand workers, lambdas would take most of the time of a decision
_ID, _REQUESTED, _CAPACITY = attrgetter("id"), attrgetter("requested"), attrgetter("capacity")


@dataclass(frozen=True, slots=True)
class ElasticState:
    """The state of ``elastic``."""

    #: As configured.
    settings: ElasticSettings
    #: The number of the last observation.
    number: int = -1
    #: The book of every worker after the last decision.
    books: Mapping[str, WorkerBook] = field(default_factory=dict)
    #: Waiting and paused jobs, by name.
    queue: Mapping[str, QueuedJob] = field(default_factory=dict)
    #: Seconds per step of each job, by number of cores.
    measured: Mapping[str, Mapping[float, float]] = field(default_factory=dict)
    #: The number of jobs in all books.
    placed: int = 0
    #: The last requested wake-up time.
    wake: float | None = None


class ElasticContext:
    """One decision: the observation and the state, whose books and queue it updates."""

    def __init__(self, state: ElasticState, observation: Observation) -> None:
        self.settings, self.observation, self.now = state.settings, observation, observation.time
        self.workers = dict(zip(map(_ID, observation.workers), observation.workers, strict=True))
        self.books = dict(state.books)
        for name in self.books.keys() - self.workers.keys():
            del self.books[name]
        self.queue: dict[str, QueuedJob] = {}
        self.measured, self.placed = dict(state.measured), state.placed
        self.jobs: dict[str, Job] = {}
        self.changed: dict[str, None] = {}
        self.refusals: dict[str, str] = {}
        self.reasons: list[Reason] = []
        waiting = lookup.waiting_jobs(observation)
        for name in self._workers_to_read(state, len(waiting)):
            self.read_worker(name)
        for job in observation.ended:
            self.measured.pop(job.id, None)
        self._update_queue(state, waiting)
        self._take_failures()

    @cached_property
    def largest_capacity(self) -> float:
        """Cores of the largest worker."""
        return max(map(_CAPACITY, self.observation.workers), default=0.0)

    @cached_property
    def factor(self) -> float:
        """Return requested over available cores, at least 1."""
        if not self.books:
            return 1.0
        requested = sum(map(_REQUESTED, self.books.values())) + sum(
            each.claim.request for each in self.queue.values()
        )
        return max(1.0, float(requested / sum(map(_CAPACITY, self.books.values()))))

    def read_worker(self, name: str) -> WorkerBook:
        """Return the book of a worker, read once from the observation."""
        if name not in self.changed:
            jobs, before = lookup.jobs_on(self.observation, name), self.books.get(name)
            self.jobs.update((job.id, job) for job in jobs)
            self.books[name] = read_book(self.workers[name], jobs, self.settings, before, self.now)
            self.placed += len(jobs) - (len(before.holdings) if before is not None else 0)
            self.changed[name] = None
            self._measure(self.books[name])
        return self.books[name]

    def _take_failures(self) -> None:
        for failure in self.observation.failures:
            name = failure.action.job
            if name in self.queue and isinstance(failure.action, Start | Resume):
                self.queue[name] = self.queue[name].after_failed_start(self.now)
                text = f"{name} could not start: {failure.why}"
                self.reasons.append(Reason("elastic, failed start", text, name, self.queue[name].worker))

    def _workers_to_read(self, state: ElasticState, waiting: int) -> Iterable[str]:
        """Return the workers to read: all, or those that may have changed since the last decision."""
        freed = [job.worker for job in self.observation.ended if job.worker is not None]
        news = self.observation.trigger in (Trigger.TICK, Trigger.OUTCOME) or bool(self.observation.failures)
        if (
            news
            or len(self.books) < len(self.workers)
            or state.placed - len(freed) + waiting != len(self.observation.jobs)
        ):
            return list(self.workers)
        return [name for name in freed if name in self.workers]

    def _update_queue(self, state: ElasticState, waiting: Iterable[Job]) -> None:
        """Rebuild the queue: waiting jobs in order of submission, then paused ones."""
        for job in waiting:
            self.jobs[job.id] = job
            entry = state.queue.get(job.id)
            if entry is None or entry.worker is not None:
                entry = self._queue_new(job)
            if entry is not None:
                self.queue[job.id] = entry.with_priority(job.terms_or_default.priority)
        pausing_workers = (entry.worker for entry in state.queue.values() if entry.worker is not None)
        for worker in dict.fromkeys([*self.changed, *pausing_workers]):
            for holding in self.books[worker].paused_jobs if worker in self.books else ():
                entry = state.queue.get(holding.claim.job)
                if entry is None or entry.worker != worker:
                    entry = requeue_paused(holding, worker, self.now)
                self.queue[holding.claim.job] = entry

    def _queue_new(self, job: Job) -> QueuedJob | None:
        """Return the queue entry of a new job; None if it is refused."""
        asks = make_claim(job, self.settings, self.largest_capacity)
        why = self._why_impossible(job, asks) if self.largest_capacity else ""
        if why:
            self.refusals[job.id] = why
            self.reasons.append(Reason("elastic, refusal", why, job.id))
            return None
        return QueuedJob(asks, job.arrived)

    def _why_impossible(self, job: Job, asks: Claim) -> str:
        """Return why no worker can ever run a job, and what would be accepted; empty if one can."""
        max_cores = min(self.largest_capacity, self.settings.cap or self.largest_capacity)
        needed = asks.request if self.settings.admission == "strict" else asks.min_cores
        if needed > max_cores + TINY:
            what = "asks for" if needed > asks.min_cores else "needs at least"
            return (
                f"{job.id} {what} {format_cores(needed)}, and no job can have more than "
                f"{format_cores(max_cores)} here: it would be accepted with {format_cores(max_cores)}."
            )
        if asks.memory > 0 and asks.memory > (room := self._largest_room()):
            return (
                f"{job.id} needs {format_bytes(asks.memory)} of memory, and no worker may be filled beyond "
                f"{format_bytes(room)}: it would be accepted with that."
            )
        return ""

    def _largest_room(self) -> float:
        """Return the most bytes that jobs may use on any worker; infinite where that is unknown."""
        every = [worker.memory for worker in self.observation.workers]
        return max(inf if memory is None else memory * self.settings.memory for memory in every)

    def _measure(self, book: WorkerBook) -> None:
        """Record the time per step of every job whose cores are settled."""
        if self.settings.reassign != "speedup":
            return
        for name, each in book.holdings.items():
            seconds = self.jobs[name].step_seconds
            if seconds is not None and each.cores > 0 and self.now - each.cores_since >= SETTLE_SECONDS:
                others = {
                    cores: time for cores, time in self.measured.get(name, {}).items() if cores != each.cores
                }
                points = [*others.items(), (each.cores, seconds)]
                self.measured[name] = dict(points[-_MAX_POINTS:])
