"""What ``deadline`` sees at one decision, and what it remembers between two.

Only workers on which something may have changed are read: where a job ended, where a look is due, where
something failed, and those that a new job is tried on. So a decision costs as much with a thousand workers as
with ten.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from math import floor, inf
from typing import TYPE_CHECKING, NamedTuple

from core.scheduling import lookup
from core.scheduling.actions import Reason, Resume, Start
from core.scheduling.deadline_planning.foresight import REMEMBERED, reserve, spread
from core.scheduling.model import Trigger
from core.scheduling.policies.deadline.job_estimate import JobEstimate, first_estimate, updated_estimate

if TYPE_CHECKING:
    from collections.abc import Mapping

    from core.scheduling.deadline_planning.plan import AllocationRequest, Plan
    from core.scheduling.model import Job, Observation
    from core.scheduling.policies.deadline.settings import DeadlineSettings

_JUDGED = 0.5
"""Doubt below which a job's own steps say how well it was predicted."""
_ROUNDING = 1e-9


class Home(NamedTuple):
    """What is remembered of a worker."""

    #: Its cores when it was looked at last.
    capacity: float
    #: Grain-seconds that its jobs were promised then.
    promised: float = 0.0
    #: Grains that were left over, and those that no promise or hope needed.
    spare: int = 0
    idle: int = 0
    #: When it is looked at again.
    due: float = inf
    #: When something last happened there.
    since: float = 0.0
    #: Whether the last look would have changed something.
    wishes: bool = False
    #: Whether a start was not confirmed then, so that its cores could not be touched.
    blocked: bool = False
    #: For those that it is promised to.
    plan: Plan | None = None


@dataclass(frozen=True, slots=True)
class DeadlineState:
    """What ``deadline`` remembers."""

    #: As chosen.
    settings: DeadlineSettings
    #: Of the last observation.
    number: int = -1
    #: Every job that has not ended.
    known: Mapping[str, JobEstimate] = field(default_factory=dict)
    #: Every worker.
    homes: Mapping[str, Home] = field(default_factory=dict)
    #: (when it came, grain-seconds that its deadline needs at least) of the latest jobs.
    costs: tuple[tuple[float, float], ...] = ()
    #: Observed over predicted time per step of the latest jobs.
    ratios: tuple[float, ...] = ()
    #: When it last asked to be woken.
    wake: float | None = None


class Scene:
    """What is seen, beside what is remembered; decisions change it."""

    def __init__(self, state: DeadlineState, seen: Observation) -> None:
        self.settings, self.seen, self.now = state.settings, seen, seen.time
        self.workers = {worker.id: worker for worker in seen.workers}
        self.known, self.homes, self.ratios = dict(state.known), dict(state.homes), state.ratios
        self.jobs: dict[str, Job] = {}
        self.on: dict[str, tuple[str, ...]] = {}
        self.changed_workers: dict[str, None] = {}
        self.looked: set[str] = set()
        self.learned: list[str] = []
        self.refused: dict[str, str] = {}
        self.reasons: list[Reason] = []
        for job in seen.ended:
            self.known.pop(job.id, None)
        for name in self._changed(state.known):
            self.stir(name)
        due = [
            name
            for name, home in self.homes.items()
            if home.due <= self.now and name not in self.changed_workers
        ]
        for name in due:
            self.stir(name)
        self.looked.update(due)
        self.waiting = self._wait()
        new = [name for name in self.waiting if name not in state.known]
        # promises of a run before this one come before new ones
        self.new = sorted(new, key=lambda name: not self.jobs[name].said.promised)
        if seen.trigger is Trigger.ARRIVAL and not new:
            self._find()
        self._take_failures()

    @cached_property
    def largest(self) -> float:
        """Cores of the largest worker."""
        return max((worker.capacity for worker in self.seen.workers), default=1.0)

    @cached_property
    def grain(self) -> float:
        """Cores are given in multiples of this."""
        return min(self.settings.grain, self.largest)

    @cached_property
    def reserve(self) -> float:
        """By how much jobs may be slower than was predicted."""
        return reserve(self.ratios) if self.settings.learn else 1.0

    @cached_property
    def spread(self) -> tuple[float, float] | None:
        """Between which factors jobs were slower than was predicted, eight times out of ten."""
        return spread(self.ratios)

    def wish(self, known: JobEstimate, *, grace: bool = False) -> AllocationRequest:
        """What a job needs to end in time; see `Known.wish`."""
        return known.wish(self.reserve, self.now, self.settings.early, grace=grace)

    def grains(self, worker: str) -> int:
        """How many grains a worker has."""
        return floor(self.workers[worker].capacity / self.grain + _ROUNDING)

    def tell(self, rule: str, text: str, job: str, **values: float) -> None:
        """Say something of a job, unless it was said last."""
        known = self.known[job]
        if text != known.told:
            self.known[job] = replace(known, told=text)
            self.reasons.append(Reason(f"deadline, {rule}", text, job, known.worker, tuple(values.items())))

    def stir(self, worker: str) -> None:
        """Share the cores of a worker anew at this decision."""
        self.read(worker)
        self.changed_workers[worker] = None
        self.looked.discard(worker)

    def read(self, worker: str) -> tuple[str, ...]:
        """Names of the jobs on a worker, looked at once."""
        if worker not in self.on:
            jobs = lookup.on(self.seen, worker)
            for job in jobs:
                self._look(job)
            self.on[worker] = tuple(job.id for job in jobs)
        return self.on[worker]

    def _look(self, job: Job) -> None:
        self.jobs[job.id] = job
        known = self.known.get(job.id) or first_estimate(job, self.settings, self.largest)
        before, known = known, updated_estimate(known, job, self.now, self.settings, self.largest)
        speaks = known.foresight is not None and before.foresight is None
        if (speaks or (known.known and not known.considered)) and not known.waits:
            self.learned.append(job.id)
        if not known.judged and known.foresight is not None and known.foresight.doubt() < _JUDGED:
            known = replace(known, judged=True)
            if known.foresight is not None and known.foresight.profiled:
                self.ratios = (*self.ratios, known.foresight.factor)[-REMEMBERED:]
        self.known[job.id] = known

    def _changed(self, before: Mapping[str, JobEstimate]) -> list[str]:
        """Workers on which something happened."""
        changed: set[str | None] = {
            name
            for name, worker in self.workers.items()
            if (home := self.homes.get(name)) is None or home.blocked or home.capacity != worker.capacity
        }
        for name in [name for name in self.homes if name not in self.workers]:
            del self.homes[name]
        acted = [job.id for job in self.seen.ended] + [failure.action.job for failure in self.seen.failures]
        changed |= {before[name].worker for name in acted if name in before}
        return [name for name in self.workers if name in changed]

    def _wait(self) -> list[str]:
        """Jobs that wait; each is looked at, though nothing of it changes."""
        waiting = lookup.waiting(self.seen)
        for job in waiting:
            self.jobs[job.id] = job
            if job.id not in self.known:
                self._look(job)
        return [job.id for job in waiting]

    def _find(self) -> None:
        """Look where a job has come that runs already, since somebody else started it."""
        for job in self.seen.jobs:
            if job.id not in self.known and job.worker in self.workers:
                self.stir(job.worker)

    def _take_failures(self) -> None:
        for failure in self.seen.failures:
            name = failure.action.job
            if name in self.known and isinstance(failure.action, Start | Resume):
                self.known[name] = self.known[name].failed(self.now)
                self.tell("failed start", f"{name} could not start: {failure.why}", name)
                if name in self.waiting and name not in self.new:
                    self.new.append(name)
