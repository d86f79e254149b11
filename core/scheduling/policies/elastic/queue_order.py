"""One decision of ``elastic``: start waiting jobs, rotate, and distribute free cores."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from heapq import nsmallest
from operator import attrgetter
from typing import TYPE_CHECKING

from core.scheduling.actions import Reason
from core.scheduling.forecasting import fit_step_time
from core.scheduling.model import Trigger
from core.scheduling.policies.elastic.allocation import Admission, move_core_unit, reassign_free_cores
from core.scheduling.policies.elastic.book import TINY, Holding, WorkerBook, make_claim
from core.scheduling.policies.elastic.context import QueuedJob, effective_priority, queue_key, requeue_paused
from core.units import format_bytes, format_cores

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from core.scheduling.forecasting import StepTime
    from core.scheduling.policies.elastic.book import Claim
    from core.scheduling.policies.elastic.context import ElasticContext

_MAX_WORKERS_TRIED = 8
"""Workers tried for reclaiming cores for one job, those with the smallest requests first."""
_FREE, _HOLDINGS, _MEMORY = attrgetter("free"), attrgetter("holdings"), attrgetter("memory")


def _load(book: WorkerBook) -> float:
    return book.requested / book.capacity


def _least_requested(books: Iterable[WorkerBook]) -> list[str]:
    return [each.worker for each in nsmallest(_MAX_WORKERS_TRIED, books, key=_load)]


class ElasticRound:
    """One decision; it updates its context."""

    def __init__(self, context: ElasticContext) -> None:
        self.context, self.settings, self.now = context, context.settings, context.now
        self.books, self.queue = context.books, context.queue
        self.started: set[str] = set()
        self._memory: dict[str, float] = {}

    @cached_property
    def rule(self) -> Admission:
        """The admission rule; ``proportional`` reads all books, so it is built on first use."""
        factor = self.context.factor if self.settings.admission == "proportional" else 1.0
        return Admission(self.settings.admission, self.settings.first == "waiting", factor)

    def admit_jobs(self) -> None:
        """Start waiting jobs in order; a job without enough cores blocks the queue.

        A job without enough memory lets paused jobs go on, because they hold the memory it waits for.
        """
        key = queue_key(self.settings, self.now)
        able = {name: each for name, each in self.queue.items() if each.retry_at <= self.now}
        while able:
            first = min(able.values(), key=key)
            if not self._try_start(first):
                self._explain_wait(first, len(able) - 1)
                if not self._waits_for_memory(first):
                    return
                able = {name: each for name, each in able.items() if each.worker is not None}
            able.pop(first.claim.job, None)

    def _try_start(self, first: QueuedJob) -> bool:
        for name in self._candidate_workers(first):
            admitted = self.rule.try_admit(self._claim_on(first, name), self.context.read_worker(name))
            if admitted is not None:
                self._start(first, name, admitted.cores, admitted.book)
                return True
        return False

    def _candidate_workers(self, first: QueuedJob) -> Iterator[str]:
        """Return the workers to try: the one that keeps its place, or the freest and the least requested.

        The least requested come first where cores must be reclaimed, because full workers are all equally
        free.
        """
        if first.worker is not None:
            yield first.worker
            return
        books = list(self.books.values())
        if any(map(_MEMORY, self.context.observation.workers)):
            books = [each for each in books if self._has_memory(each.worker, first.claim.memory)]
        if not books:
            return
        freest = max(books, key=_FREE)
        if self.rule.rule == "equal":
            yield from _least_requested(books)
        elif not self.rule.reclaims or self._has_enough(freest, first):
            yield freest.worker
        else:
            yield from _least_requested(books)
            yield freest.worker

    def _has_enough(self, book: WorkerBook, first: QueuedJob) -> bool:
        """Return whether a worker has a job's entitlement without reclaiming."""
        return (
            book.free >= self.rule.entitled_cores(self._claim_on(first, book.worker), book.core_unit) - TINY
        )

    def _claim_on(self, first: QueuedJob, name: str) -> Claim:
        """Return a job's claim on a worker that may be smaller than the largest."""
        capacity = self.context.workers[name].capacity
        if first.claim.max_cores <= capacity + TINY:
            return first.claim
        return make_claim(self.context.jobs[first.claim.job], self.settings, capacity)

    def _has_memory(self, name: str, needed: float) -> bool:
        worker = self.context.workers[name]
        if worker.memory is None:
            return True
        if worker.memory_used is None:
            return needed <= 0
        claimed = sum(holding.claim.memory for holding in self.books[name].holdings.values())
        used = max(worker.memory_used + self._memory.get(name, 0.0), claimed)
        return bool(used + needed <= self.settings.memory * worker.memory)

    def _waits_for_memory(self, first: QueuedJob) -> bool:
        """Return whether every sufficiently large worker lacks the memory for a job."""
        large = (name for name, book in self.books.items() if book.capacity >= first.claim.min_cores - TINY)
        return first.worker is None and not any(self._has_memory(name, first.claim.memory) for name in large)

    def _start(self, first: QueuedJob, name: str, cores: float, after: WorkerBook) -> None:
        asks = self._claim_on(first, name)
        for each in after.running:
            before = self.books[name].holdings[each.claim.job].cores
            if each.cores < before - TINY:
                text = f"{each.claim.job} gives back {format_cores(before - each.cores)} for {asks.job}."
                self.context.reasons.append(Reason("elastic, taken back", text, each.claim.job, name))
        self.context.placed += asks.job not in after.holdings
        self.books[name] = after.with_holdings(
            Holding(asks, cores, self.now, cores_since=self.now, runs=first.runs + 1)
        )
        self.started.add(asks.job)
        self._memory[name] = self._memory.get(name, 0.0) + (asks.memory if first.worker is None else 0.0)
        values = (("request", asks.request), ("cores", cores), ("factor", self.rule.factor))
        verb = "starts" if first.worker is None else "goes on"
        text = f"{asks.job} {verb} on {name} with {format_cores(cores)}, and asks for {asks.request:g}."
        self.context.reasons.append(
            Reason(f"elastic, admission {self.settings.admission}", text, asks.job, name, values)
        )

    def _explain_wait(self, first: QueuedJob, behind: int) -> None:
        """Add a reason for the first waiting job, once per change of its numbers."""
        free, asks = max(map(_FREE, self.books.values()), default=0.0), first.claim
        text = f"{asks.job} asks for {format_cores(asks.request)}; at most {format_cores(free)} are free."
        if self._waits_for_memory(first):
            text = f"{asks.job} waits for memory: no worker has {format_bytes(asks.memory)} to spare."
        if text != first.last_text:
            self.queue[asks.job] = replace(first, last_text=text)
            values = (("free", free), ("waiting behind it", float(behind)))
            self.context.reasons.append(Reason("elastic, queue", text, asks.job, first.worker, values))

    def preempt_jobs(self) -> None:
        """In round-robin: pause jobs whose quantum is over, while that lets a waiting job start."""
        if not self._rotates:
            return
        key = queue_key(self.settings, self.now)
        while waiting := [
            each
            for name, each in self.queue.items()
            if name not in self.started and each.retry_at <= self.now and each.since < self.now
        ]:
            first = min(waiting, key=key)
            places = [first.worker] if first.worker is not None else list(self.books)
            if not any(self._make_room(first, name) for name in places):
                return

    def _make_room(self, first: QueuedJob, name: str) -> bool:
        before, victims = self.context.read_worker(name), self._preemptable(first, name)
        if first.worker is None and not self._has_memory(name, first.claim.memory):
            return False
        after, paused = before, []
        for victim in victims:
            paused.append(victim)
            after = after.with_holdings(replace(victim, cores=0.0, since=self.now, is_paused=True))
            admitted = self.rule.try_admit(self._claim_on(first, name), after)
            if admitted is not None:
                for each in paused:
                    self.queue[each.claim.job] = requeue_paused(each, name, self.now)
                    text = f"{each.claim.job} is paused for {first.claim.job}: its turn is over."
                    self.context.reasons.append(Reason("elastic, turns", text, each.claim.job, name))
                self.books[name] = after
                self._start(first, name, admitted.cores, admitted.book)
                return True
        return False

    @property
    def _rotates(self) -> bool:
        return self.settings.order == "round-robin" or (
            self.settings.order == "priority" and self.settings.feedback
        )

    def _preemptable(self, first: QueuedJob, name: str) -> list[Holding]:
        """Return the jobs that may be paused for another, in order."""
        over = self.settings.quantum - TINY
        victims = [each for each in self.books[name].running if self.now - each.since >= over]
        if self.settings.order == "priority":
            mine = effective_priority(first, self.settings, self.now)
            victims = [each for each in victims if each.claim.priority - 1 < mine]
        if self.settings.victim == "smallest":
            return sorted(victims, key=lambda each: (each.claim.request, each.order))
        return sorted(victims, key=lambda each: (each.since, each.order))

    def grow_jobs(self) -> None:
        """Distribute the free cores of changed workers."""
        rule = self.settings.reassign
        for name in self.context.changed:
            book = self.books[name]
            if book.free >= book.core_unit - TINY:
                self._resize(
                    book, reassign_free_cores(book, rule, self._speeds(book) if rule == "speedup" else {})
                )

    def move_cores(self) -> None:
        """At an interval: move a core unit where the gain clearly exceeds the loss."""
        if self.settings.reassign != "speedup" or self.context.observation.trigger is not Trigger.TICK:
            return
        for book in list(self.books.values()):
            if len(book.holdings) > 1:
                dues = {
                    each.claim.job: self.rule.entitled_cores(each.claim, book.core_unit)
                    for each in book.running
                }
                self._resize(book, move_core_unit(book, self._speeds(book), dues))

    def _resize(self, before: WorkerBook, after: WorkerBook) -> None:
        self.books[before.worker] = after
        for job, each in after.holdings.items():
            cores = before.holdings[job].cores
            if abs(each.cores - cores) > TINY:
                text = f"{job} has {format_cores(each.cores)} instead of {cores:g}."
                rule = f"elastic, reassignment {self.settings.reassign}"
                self.context.reasons.append(Reason(rule, text, job, after.worker))

    def _speeds(self, book: WorkerBook) -> dict[str, StepTime]:
        return {
            name: fit_step_time(tuple(self.context.measured[name].items()))
            for name in book.holdings
            if name in self.context.measured
        }

    def next_wake(self) -> float | None:
        """Return the next wake-up time: a retry, the end of a quantum, or the next interval."""
        waiting = [each for name, each in self.queue.items() if name not in self.started]
        times = [each.retry_at for each in waiting if each.retry_at > self.now]
        if waiting and self._rotates:
            ends = (
                holding.since + self.settings.quantum
                for book in self.books.values()
                for holding in book.running
            )
            times += [end for end in ends if end > self.now + TINY]
        if (
            self.settings.reassign == "speedup"
            and max(map(len, map(_HOLDINGS, self.books.values())), default=0) > 1
        ):
            times.append(self.now + self.settings.interval)
        return min(times, default=None)
