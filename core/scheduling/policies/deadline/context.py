"""The observation and the state of ``deadline`` during one decision.

Only workers that may have changed are read: where a job ended, a decision is due, an action failed, or a new
job is tried. So a decision costs as much with a thousand workers as with ten.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from math import floor, inf
from typing import TYPE_CHECKING, NamedTuple

from core.scheduling import lookup
from core.scheduling.actions import Reason, Resume, Start
from core.scheduling.deadline_planning.speed import MAX_RATIOS, ratio_reserve, ratio_spread
from core.scheduling.model import Trigger
from core.scheduling.policies.deadline.job_estimate import JobEstimate, first_estimate, update_estimate

if TYPE_CHECKING:
    from collections.abc import Mapping

    from core.scheduling.deadline_planning.plan import AllocationRequest, Plan
    from core.scheduling.model import Job, Observation
    from core.scheduling.policies.deadline.settings import DeadlineSettings

_MAX_DOUBT = 0.5
"""Remaining doubt below which a job's own steps show how well it was predicted."""
_ROUNDING = 1e-9


class WorkerRecord(NamedTuple):
    """The state of a worker between decisions."""

    #: Its cores at the last look.
    capacity: float
    #: Unit-seconds guaranteed to its jobs then.
    promised_work: float = 0.0
    #: Unallocated units, and units not needed by a guarantee or a spare allocation.
    spare_units: int = 0
    idle_units: int = 0
    #: The time of its next decision.
    next_decision: float = inf
    #: The time of its last event.
    changed_at: float = 0.0
    #: Whether the last look would have changed something.
    wants_change: bool = False
    #: Whether a start was unconfirmed then, so that its cores could not change.
    is_blocked: bool = False
    #: The plan for its guaranteed jobs.
    plan: Plan | None = None


@dataclass(frozen=True, slots=True)
class DeadlineState:
    """The state of ``deadline``."""

    #: As configured.
    settings: DeadlineSettings
    #: The number of the last observation.
    number: int = -1
    #: Every job that has not ended.
    estimates: Mapping[str, JobEstimate] = field(default_factory=dict)
    #: Every worker.
    records: Mapping[str, WorkerRecord] = field(default_factory=dict)
    #: (arrival, unit-seconds that its deadline needs at least) of the latest jobs.
    costs: tuple[tuple[float, float], ...] = ()
    #: Observed over predicted time per step of the latest jobs.
    ratios: tuple[float, ...] = ()
    #: The last requested wake-up time.
    wake: float | None = None


class DeadlineContext:
    """One decision: the observation and the state, which it updates."""

    def __init__(self, state: DeadlineState, observation: Observation) -> None:
        self.settings, self.observation, self.now = state.settings, observation, observation.time
        self.workers = {worker.id: worker for worker in observation.workers}
        self.estimates, self.records, self.ratios = dict(state.estimates), dict(state.records), state.ratios
        self.jobs: dict[str, Job] = {}
        self.jobs_on: dict[str, tuple[str, ...]] = {}
        self.changed_workers: dict[str, None] = {}
        self.due_workers: set[str] = set()
        self.newly_predictable: list[str] = []
        self.refusals: dict[str, str] = {}
        self.reasons: list[Reason] = []
        for job in observation.ended:
            self.estimates.pop(job.id, None)
        for name in self._changed_since(state.estimates):
            self.mark_changed(name)
        due = [
            name
            for name, record in self.records.items()
            if record.next_decision <= self.now and name not in self.changed_workers
        ]
        for name in due:
            self.mark_changed(name)
        self.due_workers.update(due)
        self.waiting = self._read_waiting()
        new = [name for name in self.waiting if name not in state.estimates]
        # guarantees of an earlier run come before new ones
        self.new_jobs = sorted(new, key=lambda name: not self.jobs[name].terms_or_default.promised)
        if observation.trigger is Trigger.ARRIVAL and not new:
            self._find_started()
        self._take_failures()

    @cached_property
    def largest_capacity(self) -> float:
        """Cores of the largest worker."""
        return max((worker.capacity for worker in self.observation.workers), default=1.0)

    @cached_property
    def core_unit(self) -> float:
        """The step in which cores are allocated."""
        return min(self.settings.grain, self.largest_capacity)

    @cached_property
    def reserve(self) -> float:
        """By how much jobs may be slower than predicted."""
        return ratio_reserve(self.ratios) if self.settings.learn else 1.0

    @cached_property
    def spread(self) -> tuple[float, float] | None:
        """The 10th and 90th percentile of observed over predicted time per step."""
        return ratio_spread(self.ratios)

    def allocation_request(self, estimate: JobEstimate, *, grace: bool = False) -> AllocationRequest:
        """Return what a job needs to end in time; see `JobEstimate.allocation_request`."""
        return estimate.allocation_request(self.reserve, self.now, self.settings.early, grace=grace)

    def units(self, worker: str) -> int:
        """Return the number of core units of a worker."""
        return floor(self.workers[worker].capacity / self.core_unit + _ROUNDING)

    def explain(self, rule: str, text: str, job: str, **values: float) -> None:
        """Add a reason about a job, unless it was its last one."""
        estimate = self.estimates[job]
        if text != estimate.last_text:
            self.estimates[job] = replace(estimate, last_text=text)
            self.reasons.append(
                Reason(f"deadline, {rule}", text, job, estimate.worker, tuple(values.items()))
            )

    def mark_changed(self, worker: str) -> None:
        """Mark a worker whose cores are divided again in this decision."""
        self.read_worker(worker)
        self.changed_workers[worker] = None
        self.due_workers.discard(worker)

    def read_worker(self, worker: str) -> tuple[str, ...]:
        """Return the names of the jobs on a worker, read once."""
        if worker not in self.jobs_on:
            jobs = lookup.jobs_on(self.observation, worker)
            for job in jobs:
                self._update_job(job)
            self.jobs_on[worker] = tuple(job.id for job in jobs)
        return self.jobs_on[worker]

    def _update_job(self, job: Job) -> None:
        self.jobs[job.id] = job
        estimate = self.estimates.get(job.id) or first_estimate(job, self.settings, self.largest_capacity)
        before, estimate = (
            estimate,
            update_estimate(estimate, job, self.now, self.settings, self.largest_capacity),
        )
        speaks = estimate.prediction is not None and before.prediction is None
        if (speaks or (estimate.is_predictable and not estimate.was_considered)) and not estimate.is_waiting:
            self.newly_predictable.append(job.id)
        if (
            not estimate.was_judged
            and estimate.prediction is not None
            and estimate.prediction.remaining_doubt() < _MAX_DOUBT
        ):
            estimate = replace(estimate, was_judged=True)
            if estimate.prediction is not None and estimate.prediction.profiled:
                self.ratios = (*self.ratios, estimate.prediction.factor)[-MAX_RATIOS:]
        self.estimates[job.id] = estimate

    def _changed_since(self, before: Mapping[str, JobEstimate]) -> list[str]:
        """Return the workers on which something happened."""
        changed: set[str | None] = {
            name
            for name, worker in self.workers.items()
            if (record := self.records.get(name)) is None
            or record.is_blocked
            or record.capacity != worker.capacity
        }
        for name in [name for name in self.records if name not in self.workers]:
            del self.records[name]
        acted = [job.id for job in self.observation.ended] + [
            failure.action.job for failure in self.observation.failures
        ]
        changed |= {before[name].worker for name in acted if name in before}
        return [name for name in self.workers if name in changed]

    def _read_waiting(self) -> list[str]:
        """Return the waiting jobs."""
        waiting = lookup.waiting_jobs(self.observation)
        for job in waiting:
            self.jobs[job.id] = job
            if job.id not in self.estimates:
                self._update_job(job)
        return [job.id for job in waiting]

    def _find_started(self) -> None:
        """Mark workers with jobs that were started by someone else."""
        for job in self.observation.jobs:
            if job.id not in self.estimates and job.worker in self.workers:
                self.mark_changed(job.worker)

    def _take_failures(self) -> None:
        for failure in self.observation.failures:
            name = failure.action.job
            if name in self.estimates and isinstance(failure.action, Start | Resume):
                self.estimates[name] = self.estimates[name].after_failed_start(self.now)
                self.explain("failed start", f"{name} could not start: {failure.why}", name)
                if name in self.waiting and name not in self.new_jobs:
                    self.new_jobs.append(name)
