"""Policies that run every job with its request or not at all: the baselines of ``deadline``."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from math import inf
from typing import TYPE_CHECKING, NamedTuple

from core.scheduling.actions import Reason
from core.scheduling.deadline_planning.speed import deadline_of, estimate_seconds_left
from core.scheduling.model import JobState
from core.scheduling.ports import Decision, SchedulingPolicy
from core.scheduling.queueing import default_request_setting, memory_setting
from core.scheduling.refusals import START_TIMEOUT, PendingStart, update_pending_starts
from core.scheduling.shares import plan_changes
from core.settings_fields import setting
from core.units import format_cores

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from core.scheduling.model import Job, Observation


@dataclass(frozen=True)
class RequestSettings:
    """The request of a job without one."""

    unasked: float = default_request_setting()
    memory: float = memory_setting()


@dataclass(frozen=True)
class LaxitySettings(RequestSettings):
    """With the interval at which laxities are compared."""

    interval: float = setting(
        30.0, label="Interval", low=1.0, high=3600, unit="s", help="Time after which the order is found anew."
    )


TINY = 1e-9


@dataclass(frozen=True, slots=True)
class RequestState:
    """The state between two decisions."""

    #: As configured.
    settings: RequestSettings
    #: The number of the last observation.
    number: int = -1
    #: Unconfirmed starts, by job name.
    pending_starts: Mapping[str, PendingStart] = field(default_factory=dict)
    #: The last reason of the first waiting job.
    last_text: str = ""
    #: The last requested wake-up time.
    wake: float | None = None


class RequestContext:
    """One decision: the observation, and the cores and memory still free."""

    def __init__(self, state: RequestState, observation: Observation) -> None:
        self.settings, self.observation, self.now = state.settings, observation, observation.time
        self.capacity = {worker.id: worker.capacity for worker in observation.workers}
        self.free = dict(self.capacity)
        self.largest_capacity = max(self.capacity.values(), default=0.0)
        self.memory = {worker.id: worker.free_memory(self.settings.memory) for worker in observation.workers}
        self.targets: list[tuple[Job, str, float]] = []
        self.pending_starts, self.reasons = update_pending_starts(state.pending_starts, observation)
        self.jobs: list[Job] = []
        for job in observation.jobs:
            self._count_job(job)

    def request(self, job: Job) -> float:
        """Return the requested cores, at most those of the largest worker."""
        return min(job.request or self.settings.unasked, self.largest_capacity)

    def seconds_left(self, job: Job) -> float:
        """Return the seconds to a job's end with its request; infinite if unknown."""
        seconds = estimate_seconds_left(job, self.request(job))
        return inf if seconds is None else seconds

    def fits(self, job: Job, worker: str) -> bool:
        """Return whether a worker has the requested cores and memory."""
        room = (
            job.state is not JobState.WAITING or (job.terms_or_default.memory or 0.0) <= self.memory[worker]
        )
        return room and self.request(job) <= self.free[worker] + TINY

    def choose_worker(self, job: Job) -> str | None:
        """Return the worker for a job: its own, or the least requested one on which it fits."""
        if job.worker is not None:
            return job.worker if job.worker in self.free and self.fits(job, job.worker) else None
        able = [worker for worker in self.free if self.fits(job, worker)]
        before = self.pending_starts.get(job.id)
        others = [worker for worker in able if before is None or worker != before.avoided_worker]
        return max(others or able, key=lambda each: self.free[each] / self.capacity[each], default=None)

    def run_job(self, job: Job, worker: str, rule: str) -> None:
        """Run a job with its request."""
        cores = self.request(job)
        self.free[worker] -= cores
        self.targets.append((job, worker, cores))
        if job.state is JobState.WAITING:
            self.memory[worker] -= job.terms_or_default.memory or 0.0
            before = self.pending_starts.get(job.id, PendingStart(None, 0.0))
            self.pending_starts[job.id] = before._replace(worker=worker, wait_until=self.now + START_TIMEOUT)
        if job.state is not JobState.RUNNING:
            verb = "starts" if job.state is JobState.WAITING else "goes on"
            text = f"{job.id} {verb} on {worker} with {format_cores(cores)}."
            self.reasons.append(Reason(rule, text, job.id, worker))

    def pause_job(self, job: Job, rule: str) -> None:
        """Pause a running job; any other stays as it is."""
        if job.state is JobState.RUNNING and job.worker is not None:
            self.targets.append((job, job.worker, 0.0))
            self.reasons.append(Reason(rule, f"{job.id} is paused for others.", job.id, job.worker))

    def _count_job(self, job: Job) -> None:
        before, worker = self.pending_starts.get(job.id), job.worker
        if job.state is JobState.WAITING:
            if before is not None and before.wait_until > self.now:
                if before.worker in self.free:  # its start was requested and is not confirmed
                    self.free[before.worker] -= self.request(job)
                    self.memory[before.worker] -= job.terms_or_default.memory or 0.0
                return
        elif job.state is JobState.MIGRATING and worker in self.free:
            self.free[worker] -= self.request(job)
            return
        self.jobs.append(job)


# EASY backfilling (Lifka 1995): jobs that may start before the first of the queue without delaying it.
#
# The first job gets a reservation: where and when its request is free, by the predicted ends of running jobs.
# Another job may start now on that worker if it ends before, or needs only cores that the reservation leaves
# free.


class Reservation(NamedTuple):
    """A reservation: the worker, its start, and the cores that it leaves free."""

    worker: str
    begin: float
    spare: float


def reserve_first(context: RequestContext, first: Job) -> Reservation | None:
    """Return the reservation of the first job; None where no end is known."""
    running: dict[str, list[tuple[float, float]]] = {worker: [] for worker in context.free}
    for job, worker, cores in context.targets:
        running[worker].append((context.now + context.seconds_left(job), cores))
    soonest: Reservation | None = None
    for worker, ends in running.items():
        free = context.free[worker]
        if context.capacity[worker] < context.request(first) - TINY:
            continue
        for at, cores in sorted(ends):
            free += cores
            if free >= context.request(first) - TINY:
                if at < inf and (soonest is None or at < soonest.begin):
                    soonest = Reservation(worker, at, free - context.request(first))
                break
    return soonest


def try_backfill(
    context: RequestContext, job: Job, worker: str, reserved: Reservation
) -> tuple[Reservation, bool]:
    """Return whether a job may start now without delaying the first one, and the updated reservation."""
    if worker != reserved.worker or context.now + context.seconds_left(job) <= reserved.begin:
        return reserved, True
    spare = reserved.spare - context.request(job)
    return (reserved._replace(spare=spare), True) if spare >= -TINY else (reserved, False)


# ``fifo``, ``fifo.backfill``, ``kube.default``, ``edf``, ``edf.preemptive`` and ``least.laxity`` differ in
# the order of the queue, in whether a job that does not fit blocks it, and in preemption
# (docs/scheduling/by_request.md).


@dataclass(frozen=True, slots=True)
class QueueRule:
    """The distinguishing rule of one of these policies."""

    #: The policy's name.
    name: str
    #: The sort key, least first; ties by submission.
    key: Callable[[RequestContext, Job], float]
    #: Whether a job that does not fit blocks the queue.
    blocks: bool = False
    #: Whether later jobs may backfill.
    backfills: bool = False
    #: Whether running jobs are paused for others.
    preempts: bool = False


def _by_arrival(_: RequestContext, job: Job) -> float:
    return job.arrived


def _by_deadline(_: RequestContext, job: Job) -> float:
    return deadline_of(job)


def _by_laxity(context: RequestContext, job: Job) -> float:
    """Return how long a job could pause and still end in time."""
    seconds, until = context.seconds_left(job), deadline_of(job)
    return inf if until == inf else until - context.now - (seconds if seconds < inf else 0.0)


def begin(settings: RequestSettings, seed: int) -> RequestState:  # noqa: ARG001 - nothing is left to chance
    """Return the initial state."""
    return RequestState(settings)


def decide(rule: QueueRule, state: RequestState, observation: Observation) -> Decision[RequestState]:
    """Run jobs in the order of the rule while cores suffice."""
    if observation.number <= state.number:
        return Decision(state, wake=state.wake)
    context = RequestContext(state, observation)
    queue = list(context.jobs)
    if not rule.preempts:  # running jobs keep their cores
        for job in queue:
            if job.state is JobState.RUNNING and job.worker in context.free:
                context.run_job(job, job.worker, rule.name)
        queue = [job for job in queue if job.state is not JobState.RUNNING]
    queue.sort(key=lambda job: (rule.key(context, job), job.arrived, job.id))
    text = _serve_queue(rule, context, queue)
    if text and text != state.last_text:
        context.reasons.append(Reason(f"{rule.name}, queue", text))
    waits = [
        each.wait_until
        for each in context.pending_starts.values()
        if each.wait_until > context.now and each.worker is None
    ]
    if isinstance(context.settings, LaxitySettings) and len(context.jobs) > 1:
        waits.append(context.now + context.settings.interval)
    wake = min(waits, default=None)
    after = replace(
        state, number=observation.number, pending_starts=context.pending_starts, last_text=text, wake=wake
    )
    return Decision(after, plan_changes(context.targets), tuple(context.reasons), wake=wake)


def _serve_queue(rule: QueueRule, context: RequestContext, queue: list[Job]) -> str:
    """Go through the queue; returns the reason of the first job that has to wait."""
    text, reserved = "", None
    for job in queue:
        worker = context.choose_worker(job)
        if worker is not None and reserved is not None:
            reserved, passes = try_backfill(context, job, worker, reserved)
            worker = worker if passes else None
        if worker is not None:
            context.run_job(job, worker, rule.name)
            continue
        context.pause_job(job, rule.name)
        if not text:
            text = f"{job.id} waits for {format_cores(context.request(job))}."
            if rule.backfills:
                reserved = reserve_first(context, job)
            elif rule.blocks:
                break
    return text


def _make_policy(
    rule: QueueRule, title: str, about: str, settings: type[RequestSettings] = RequestSettings
) -> SchedulingPolicy:
    return SchedulingPolicy(
        name=rule.name, title=title, about=about, begin=begin, decide=partial(decide, rule), settings=settings
    )


POLICIES = (
    _make_policy(
        QueueRule("fifo", _by_arrival, blocks=True),
        "First come, first served",
        "Jobs run in order of submission with their requests; a job that does not fit blocks the queue.",
    ),
    _make_policy(
        QueueRule("fifo.backfill", _by_arrival, backfills=True),
        "First come, with backfilling",
        "As fifo, but jobs further behind may begin as long as that does not delay the first one.",
    ),
    _make_policy(
        QueueRule("kube.default", _by_arrival),
        "Kubernetes’ default",
        "Jobs start in order of submission where their request fits; a job that does not fit stays pending.",
    ),
    _make_policy(
        QueueRule("edf", _by_deadline),
        "Earliest deadline first",
        "The job whose deadline is next starts first, with its request; what runs is left alone.",
    ),
    _make_policy(
        QueueRule("edf.preemptive", _by_deadline, preempts=True),
        "Earliest deadline, preemptive",
        "The job whose deadline is next runs, with its request; others are paused for it.",
    ),
    _make_policy(
        QueueRule("least.laxity", _by_laxity, preempts=True),
        "Least laxity first",
        "The job with the least laxity runs with its request; others are paused for it.",
        LaxitySettings,
    ),
)


__all__ = ["POLICIES"]
