"""Policies that give every job its request or nothing: the baselines of ``deadline``."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from math import inf
from typing import TYPE_CHECKING, NamedTuple

from core.scheduling.actions import Reason
from core.scheduling.deadline_planning.rates import deadline_of, estimate_seconds_left
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
    """What a job gets that says nothing."""

    unasked: float = default_request_setting()
    memory: float = memory_setting()


@dataclass(frozen=True)
class LaxitySettings(RequestSettings):
    """Also when laxities are looked at."""

    interval: float = setting(
        30.0, label="Interval", low=1.0, high=3600, unit="s", help="Time after which the order is found anew."
    )


TINY = 1e-9


@dataclass(frozen=True, slots=True)
class RequestState:
    """What is remembered between two decisions."""

    #: As chosen.
    settings: RequestSettings
    #: Of the last observation.
    number: int = -1
    #: Starts that were not confirmed, by the names of their jobs.
    asked: Mapping[str, PendingStart] = field(default_factory=dict)
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
        self.asked, self.reasons = update_pending_starts(state.asked, seen)
        self.jobs: list[Job] = []
        for job in seen.jobs:
            self._count(job)

    def request(self, job: Job) -> float:
        """Cores that a job asks for, at most those of the largest worker."""
        return min(job.request or self.settings.unasked, self.largest)

    def left(self, job: Job) -> float:
        """Seconds to its end with its request; infinite where that is not known."""
        found = estimate_seconds_left(job, self.request(job))
        return inf if found is None else found

    def fits(self, job: Job, worker: str) -> bool:
        """Whether a worker has what a job asks for."""
        room = (
            job.state is not JobState.WAITING or (job.terms_or_default.memory or 0.0) <= self.memory[worker]
        )
        return room and self.request(job) <= self.free[worker] + TINY

    def place(self, job: Job) -> str | None:
        """The worker that a job would run on: its own, or the least requested one on which it fits."""
        if job.worker is not None:
            return job.worker if job.worker in self.free and self.fits(job, job.worker) else None
        able = [worker for worker in self.free if self.fits(job, worker)]
        before = self.asked.get(job.id)
        others = [worker for worker in able if before is None or worker != before.avoided_worker]
        return max(others or able, key=lambda each: self.free[each] / self.capacity[each], default=None)

    def run(self, job: Job, worker: str, rule: str) -> None:
        """Let a job run with its request."""
        cores = self.request(job)
        self.free[worker] -= cores
        self.wanted.append((job, worker, cores))
        if job.state is JobState.WAITING:
            self.memory[worker] -= job.terms_or_default.memory or 0.0
            before = self.asked.get(job.id, PendingStart(None, 0.0))
            self.asked[job.id] = before._replace(worker=worker, wait_until=self.now + START_TIMEOUT)
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
            if before is not None and before.wait_until > self.now:
                if before.worker in self.free:  # its start was asked for and not confirmed
                    self.free[before.worker] -= self.request(job)
                    self.memory[before.worker] -= job.terms_or_default.memory or 0.0
                return
        elif job.state is JobState.MIGRATING and worker in self.free:
            self.free[worker] -= self.request(job)
            return
        self.jobs.append(job)


# Who may begin before the first of the queue without delaying it (EASY backfilling; Lifka 1995).
#
# The first one gets a reservation: where and when its request is free, by the predicted ends of those that
# run. Another may begin now on that worker if it ends before, or needs only what is left beside the
# reservation.


class Shadow(NamedTuple):
    """A reservation: on which worker, from when on, and how many cores it leaves free there."""

    worker: str
    begin: float
    spare: float


def shadow(scene: Scene, first: Job) -> Shadow | None:
    """The reservation of the first one; None where nobody's end is known."""
    running: dict[str, list[tuple[float, float]]] = {worker: [] for worker in scene.free}
    for job, worker, cores in scene.wanted:
        running[worker].append((scene.now + scene.left(job), cores))
    soonest: Shadow | None = None
    for worker, ends in running.items():
        free = scene.free[worker]
        if scene.capacity[worker] < scene.request(first) - TINY:
            continue
        for at, cores in sorted(ends):
            free += cores
            if free >= scene.request(first) - TINY:
                if at < inf and (soonest is None or at < soonest.begin):
                    soonest = Shadow(worker, at, free - scene.request(first))
                break
    return soonest


def passing(scene: Scene, job: Job, worker: str, reserved: Shadow) -> tuple[Shadow, bool]:
    """Whether a job may begin on a worker now without delaying the first one, and what is left then."""
    if worker != reserved.worker or scene.now + scene.left(job) <= reserved.begin:
        return reserved, True
    spare = reserved.spare - scene.request(job)
    return (reserved._replace(spare=spare), True) if spare >= -TINY else (reserved, False)


# ``fifo``, ``fifo.backfill``, ``kube.default``, ``edf``, ``edf.preemptive`` and ``least.laxity``.
#
# Every job runs with its request or not at all. They differ in the order of the queue, in whether one that
# does not fit holds up those behind it, and in whether running jobs are paused for others
# (docs/scheduling/by_request.md).


@dataclass(frozen=True, slots=True)
class Rule:
    """How such a policy differs from the others."""

    #: The policy's name.
    name: str
    #: Those with the least come first; of equal ones, those that were submitted first.
    key: Callable[[Scene, Job], float]
    #: Whether one that does not fit holds up all behind it.
    blocks: bool = False
    #: Whether those behind it may begin nevertheless if that does not delay it.
    backfills: bool = False
    #: Whether jobs that run are paused for others.
    preempts: bool = False


def _arrival(_: Scene, job: Job) -> float:
    return job.arrived


def _deadline(_: Scene, job: Job) -> float:
    return deadline_of(job)


def _laxity(scene: Scene, job: Job) -> float:
    """How long a job could rest and still be in time."""
    left, until = scene.left(job), deadline_of(job)
    return inf if until == inf else until - scene.now - (left if left < inf else 0.0)


def begin(settings: RequestSettings, seed: int) -> RequestState:  # noqa: ARG001 - nothing is left to chance
    """The state before the first observation."""
    return RequestState(settings)


def decide(rule: Rule, state: RequestState, seen: Observation) -> Decision[RequestState]:
    """Let jobs run in the order of the rule, as far as cores suffice."""
    if seen.number <= state.number:
        return Decision(state, wake=state.wake)
    scene = Scene(state, seen)
    queue = list(scene.jobs)
    if not rule.preempts:  # whoever runs keeps its cores
        for job in queue:
            if job.state is JobState.RUNNING and job.worker in scene.free:
                scene.run(job, job.worker, rule.name)
        queue = [job for job in queue if job.state is not JobState.RUNNING]
    queue.sort(key=lambda job: (rule.key(scene, job), job.arrived, job.id))
    told = _serve(rule, scene, queue)
    if told and told != state.told:
        scene.reasons.append(Reason(f"{rule.name}, queue", told))
    waits = [
        each.wait_until
        for each in scene.asked.values()
        if each.wait_until > scene.now and each.worker is None
    ]
    if isinstance(scene.settings, LaxitySettings) and len(scene.jobs) > 1:
        waits.append(scene.now + scene.settings.interval)
    wake = min(waits, default=None)
    after = replace(state, number=seen.number, asked=scene.asked, told=told, wake=wake)
    return Decision(after, plan_changes(scene.wanted), tuple(scene.reasons), wake=wake)


def _serve(rule: Rule, scene: Scene, queue: list[Job]) -> str:
    """Go through the queue; a sentence of the first one that has to wait."""
    told, reserved = "", None
    for job in queue:
        worker = scene.place(job)
        if worker is not None and reserved is not None:
            reserved, passes = passing(scene, job, worker, reserved)
            worker = worker if passes else None
        if worker is not None:
            scene.run(job, worker, rule.name)
            continue
        scene.rest(job, rule.name)
        if not told:
            told = f"{job.id} waits for {format_cores(scene.request(job))}."
            if rule.backfills:
                reserved = shadow(scene, job)
            elif rule.blocks:
                break
    return told


def _policy(
    rule: Rule, title: str, about: str, settings: type[RequestSettings] = RequestSettings
) -> SchedulingPolicy:
    return SchedulingPolicy(
        name=rule.name, title=title, about=about, begin=begin, decide=partial(decide, rule), settings=settings
    )


POLICIES = (
    _policy(
        Rule("fifo", _arrival, blocks=True),
        "FIFO",
        "Jobs run in order of submission, with their requests; whoever does not fit holds up all behind it.",
    ),
    _policy(
        Rule("fifo.backfill", _arrival, backfills=True),
        "FIFO, backfilling",
        "As fifo, but jobs further behind may begin as long as that does not delay the first one.",
    ),
    _policy(
        Rule("kube.default", _arrival),
        "Kubernetes’ default",
        "Jobs start in order of submission wherever their request fits; whoever does not fit stays pending.",
    ),
    _policy(
        Rule("edf", _deadline),
        "EDF",
        "Earliest deadline first: it starts first, with its request; what runs is left alone.",
    ),
    _policy(
        Rule("edf.preemptive", _deadline, preempts=True),
        "EDF, preemptive",
        "Earliest deadline first: it runs, with its request; others are paused for it.",
    ),
    _policy(
        Rule("least.laxity", _laxity, preempts=True),
        "Least laxity first",
        "Whoever can wait least runs, with its request; others are paused for it.",
        LaxitySettings,
    ),
)


__all__ = ["POLICIES"]
