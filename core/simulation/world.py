"""The world: workers, jobs and one queue of events; exact between events, with no time step.

Only three kinds of event exist: a job arrives, a worker's next job ends, and a stage of a migration is over.
Each event carries its effect, so the world does not depend on the stages of a migration.
A worker's cores are shared again only when something about that worker changed; the completion that was
planned before is then recognised as void by its number and skipped when it comes up, so nothing is ever
searched for in the queue.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush
from itertools import count
from math import inf
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from core.errors import ConflictError
from core.scheduling.model import JobState, Trigger, Worker
from core.scheduling.shares import threads_for, water_fill
from core.simulation.chance import sample_printed_values
from core.simulation.job import NANOSECOND, Node, SimulatedJob
from core.simulation.speedup import speed_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from core.scheduling.model import Failure
    from core.simulation.job import LineSegment
    from core.simulation.scenario import Contention, JobSpec, Scenario


def contention_efficiency(shares: Sequence[float], gamma: float, contention: Contention) -> float:
    """η = 1/(1 + γ(n_e − 1)), with n_e the number of jobs or (Σa)²/Σa² of shares (docs/simulator.md)."""
    if gamma == 0 or not shares:
        return 1.0
    if contention == "count":
        jobs = float(len(shares))
    else:
        squares = sum(share * share for share in shares)
        jobs = sum(shares) ** 2 / squares if squares > 0 else 1.0
    return 1.0 / (1.0 + gamma * (jobs - 1.0))


Event: TypeAlias = tuple[float, int, "Callable[[World, Any], None]", Any, int | None]
"""Time, a number that breaks ties, the stage, its subject, and the plan's version.

An event is void once its node or job has another plan; arrivals are never void.
"""

_ARRIVAL: Final = attrgetter("arrival")


@dataclass(slots=True)
class SegmentIndex:
    """The segments of all jobs as last shown, so that an observation copies what did not change."""

    #: The jobs of each worker, by its place, in order of submission.
    by_worker: list[tuple[LineSegment, ...]]
    #: All jobs that have not ended, and the waiting ones, by id in order of submission.
    segments: dict[str, LineSegment] = field(default_factory=dict)
    waiting: dict[str, LineSegment] = field(default_factory=dict)


class World:
    """The complete state of a simulation at `now`."""

    def __init__(self, scenario: Scenario, seed: int) -> None:
        self.scenario, self.seed, self.now = scenario, seed, 0.0
        self.nodes = {worker.id: Node(worker, place) for place, worker in enumerate(scenario.workers)}
        self.workers = [_observe_worker(node, 0.0) for node in self.nodes.values()]
        self.jobs: dict[str, SimulatedJob] = {}
        self.ended: list[SimulatedJob] = []
        self.index = SegmentIndex([()] * len(self.nodes))
        self.places = {worker.id: place for place, worker in enumerate(scenario.workers)}
        self.stale: dict[SimulatedJob, None] = {}
        self.changed_nodes: set[Node] = set()
        self.shown, self.shown_at = -1, 0.0
        self.failures: list[Failure] = []
        self.happened: set[Trigger] = set()
        self.to_come = len(scenario.jobs)
        self._changed: dict[Node, None] = {}
        self._numbers = count()
        self._events: list[Event] = [
            (float(job.arrival), next(self._numbers), World._arrive, job, None) for job in scenario.jobs
        ]
        heapify(self._events)
        self._printed = sample_printed_values(sorted(scenario.jobs, key=_ARRIVAL), seed)

    def advance(self, until: float | None) -> None:
        """Let time pass until the next event for the scheduler, or until `until`.

        Raises ConflictError if nothing can ever happen again, or the scenario's horizon is passed.
        """
        until = inf if until is None else max(until, self.now)
        while not self.happened:
            time = self._next_event_time()
            if min(time, until) > self.scenario.horizon:
                raise self._horizon_error(min(time, until))
            self.now = until if until <= time + NANOSECOND else time
            if time <= self.now + NANOSECOND:
                self._run_due_events()
            if self.now >= until:
                break

    def schedule(self, time: float, stage: Callable[[World, SimulatedJob], None], job: SimulatedJob) -> None:
        """Schedule `stage` at `time`; it is void if the job's plan changes before."""
        heappush(self._events, (time, next(self._numbers), stage, job, job.plan))

    def mark_changed(self, node: Node) -> None:
        """Mark a worker whose cores must be shared again."""
        self._changed[node] = None

    def mark_stale(self, job: SimulatedJob) -> None:
        """Mark a job that is about to change; its values so far count as shown."""
        if job not in self.stale:
            self.stale[job] = None
            job.note_shown(self.shown_at)

    def is_shown_unchanged(self, job: SimulatedJob) -> bool:
        """Return whether the next observation shows a job that does not run as the last one did."""
        line = self.index.segments.get(job.spec.id)
        return job not in self.stale and line is not None and not (line.news and line.number == self.shown)

    def run_job(self, job: SimulatedJob, node: Node) -> None:
        """Let a job run on a worker from now on."""
        self.mark_stale(job)
        self.place_job(job, node)
        job.state = JobState.RUNNING
        node.running[job] = None
        self.mark_changed(node)

    def place_job(self, job: SimulatedJob, node: Node | None) -> None:
        """Give a job a place on a worker, or on none, and its memory with it."""
        if job.node is node:
            return
        self.mark_stale(job)
        if job.node is not None:
            self._count_holding(job.node, job, holds=False)
        if node is not None:
            self._count_holding(node, job, holds=True)
        job.node = node

    def _count_holding(self, node: Node, job: SimulatedJob, *, holds: bool) -> None:
        (node.members.add if holds else node.members.discard)(job)
        self.changed_nodes.add(node)
        if job.spec.memory is not None:
            node.memory_used += job.spec.memory if holds else -job.spec.memory
            self.mark_changed(node)

    def stop_running(self, job: SimulatedJob, state: JobState) -> None:
        """Take a job off its worker's processors, settled at this moment."""
        self.mark_stale(job)
        job.settle(self.now, 0.0, 0.0)
        job.state = state
        job.plan += 1
        if job.node is not None and job in job.node.running:
            del job.node.running[job]
            self.mark_changed(job.node)

    def end_job(self, job: SimulatedJob, state: JobState) -> None:
        """End a job for good."""
        self.stop_running(job, state)
        if job.node is not None:
            self._count_holding(job.node, job, holds=False)
        name = job.spec.id
        del self.jobs[name]
        self.index.segments.pop(name, None)
        self.index.waiting.pop(name, None)
        self.ended.append(job)
        self.happened.add(Trigger.DEPARTURE)

    def share_cores(self) -> None:
        """Share the cores of every worker that changed, and plan its next completion."""
        for node in self._changed:
            self._share_node(node)
        self._changed.clear()

    def _share_node(self, node: Node) -> None:
        jobs = list(node.running)
        shares = water_fill(node.spec.for_jobs, [job.cap for job in jobs], [job.weight for job in jobs])
        eta = contention_efficiency(shares, self.scenario.gamma, self.scenario.contention)
        soonest = inf
        for job, share in zip(jobs, shares, strict=True):
            spec, threads = job.spec, threads_for(share) if job.threads_follow else job.threads
            busy = threads if job.is_training or threads is None else 1
            rate = eta * speed_of(share, spec.speedup, busy, spec.thread_penalty)
            if rate != job.rate or share != job.share or threads != job.threads:
                self.mark_stale(job)
                job.settle(self.now, share, rate)
                job.threads = threads
            if (turns := job.next_turn_at) < soonest:
                soonest = turns
        self.workers[node.place] = _observe_worker(node, sum(shares))
        node.plan += 1
        if soonest < inf:
            heappush(self._events, (soonest, next(self._numbers), World._complete, node, node.plan))

    def _next_event_time(self) -> float:
        events = self._events
        while events:
            time, _, _, job, plan = events[0]
            if plan is None or plan == job.plan:
                return max(time, self.now)
            heappop(events)
        return inf

    def _run_due_events(self) -> None:
        due = True
        while due:
            _, _, stage, job, _ = heappop(self._events)
            stage(self, job)
            self.share_cores()
            due = self._next_event_time() <= self.now + NANOSECOND

    def _arrive(self, spec: JobSpec) -> None:
        number = len(self.scenario.jobs) - self.to_come
        job = SimulatedJob(spec, next(self._printed), threads=spec.threads, at=self.now, number=number)
        self.jobs[spec.id] = job
        self.mark_stale(job)
        self.to_come -= 1
        self.happened.add(Trigger.ARRIVAL)

    def _complete(self, node: Node) -> None:
        self.mark_changed(node)
        for job in [job for job in node.running if job.next_turn_at <= self.now + NANOSECOND]:
            if job.take_turn():
                self.mark_stale(job)
                job.reach_goal(self.now)
                self.end_job(job, JobState.DONE if job.spec.crash_at is None else JobState.FAILED)

    def _horizon_error(self, time: float) -> ConflictError:
        waiting = ", ".join(list(self.jobs)[:5])
        if time == inf:
            return ConflictError(
                f"Nothing more can happen after {self.now:.1f} s, but {len(self.jobs)} jobs have not "
                f"ended ({waiting}).",
                "Let the policy start every job that waits, and resume every job that it pauses.",
            )
        return ConflictError(
            f"The run passed its horizon of {self.scenario.horizon:g} s, and {len(self.jobs)} jobs have not "
            f"ended ({waiting}).",
            "Give the scenario a later horizon, or let the policy start every job.",
        )


def _observe_worker(node: Node, used: float) -> Worker:
    spec = node.spec
    return Worker(spec.id, spec.cores, used, spec.memory, None if spec.memory is None else node.memory_used)
