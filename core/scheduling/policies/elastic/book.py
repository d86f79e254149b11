"""Who holds how many cores of a worker: read from what is seen, changed by decisions, compared at the end.

Cores are multiples of the grain wherever a decision made them. A paused job holds its place and its memory,
and no cores.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import floor
from operator import attrgetter
from typing import TYPE_CHECKING

from core.scheduling.model import JobState

if TYPE_CHECKING:
    from collections.abc import Iterable

    from core.scheduling.model import Job, Worker
    from core.scheduling.policies.elastic.settings import ElasticSettings

TINY = 1e-9
_ORDER = attrgetter("order")


def round_down(cores: float, grain: float) -> float:
    """The largest multiple of `grain` that is not above `cores`."""
    return floor(cores / grain + TINY) * grain


@dataclass(frozen=True, slots=True)
class Claim:
    """What a job asks for, on a worker of a certain size."""

    #: Its name.
    job: str
    #: When it was submitted, seconds.
    arrived: float
    #: Cores that it asks for, and that it can run with at least and at most.
    request: float
    min_cores: float
    max_cores: float
    #: Bytes.
    memory: float = 0.0
    #: From 0 to 9.
    priority: int = 0


def make_claim(job: Job, settings: ElasticSettings, capacity: float, found: float | None = None) -> Claim:
    """What a job asks for where there are `capacity` cores; `found`: what it had when it was found running.

    A program that cannot change its threads uses no more cores than it has threads.
    """
    terms, cap = job.terms_or_default, settings.cap or capacity
    most = min(capacity, cap, terms.max if terms.max is not None else capacity)
    if not job.can_resize and job.threads is not None:
        most = min(most, float(job.threads))
    unsaid = found if found is not None else min(settings.unasked, capacity)
    request = job.request if job.request is not None else unsaid
    request = min(request, settings.cap or request)
    least = terms.min if terms.min is not None else min(settings.grain, request, capacity)
    return Claim(
        job.id,
        job.arrived,
        max(request, least),
        least,
        max(most, least),
        terms.memory or 0.0,
        terms.priority,
    )


@dataclass(frozen=True, slots=True)
class Holding:
    """A job that holds a place on a worker."""

    #: What it asks for here.
    claim: Claim
    #: What it holds; 0 while it is paused.
    cores: float
    #: When it last began to run or to be paused, seconds.
    since: float
    #: Whether it is paused.
    is_paused: bool = False
    #: Whether it is on its way to here, so that nothing can be done to it.
    is_moving: bool = False
    #: When it got the cores that it holds, seconds.
    cores_since: float = 0.0
    #: How often it was run.
    runs: int = 1

    @property
    def order(self) -> tuple[float, str]:
        """By arrival."""
        return self.claim.arrived, self.claim.job


@dataclass(frozen=True, slots=True)
class WorkerBook:
    """A worker and who holds its cores."""

    #: Its name.
    worker: str
    #: Its cores.
    capacity: float
    #: Cores are given in multiples of this, which is never more than the worker has.
    grain: float
    #: Its jobs by their names.
    holdings: dict[str, Holding]
    #: Cores that nobody holds.
    free: float
    #: Cores that the jobs which hold cores ask for together.
    requested: float

    @property
    def allocated(self) -> float:
        """Cores that are held, which may be more than there are where jobs were found running."""
        return sum(each.cores for each in self.holdings.values() if not each.is_paused)

    @property
    def running(self) -> list[Holding]:
        """Jobs that hold cores and can be given others, in order of arrival."""
        able = [each for each in self.holdings.values() if not each.is_paused and not each.is_moving]
        return sorted(able, key=_ORDER)

    @property
    def paused_jobs(self) -> list[Holding]:
        """Jobs that are paused."""
        return [each for each in self.holdings.values() if each.is_paused]

    def with_holdings(self, *changed: Holding) -> WorkerBook:
        """The same with other holdings of some jobs, or with new ones."""
        return make_book(
            self.worker,
            self.capacity,
            self.grain,
            {**self.holdings, **{each.claim.job: each for each in changed}},
        )

    def with_cores(self, cores: dict[str, float]) -> WorkerBook:
        """The same with other cores for some jobs."""
        return self.with_holdings(*(replace(self.holdings[name], cores=each) for name, each in cores.items()))


def make_book(worker: str, capacity: float, grain: float, holdings: dict[str, Holding]) -> WorkerBook:
    """A worker's book of these jobs."""
    active = [each for each in holdings.values() if not each.is_paused]
    free = max(0.0, capacity - sum(each.cores for each in active))
    return WorkerBook(
        worker, capacity, min(grain, capacity), holdings, free, sum(each.claim.request for each in active)
    )


def read_book(
    worker: Worker, jobs: Iterable[Job], settings: ElasticSettings, before: WorkerBook | None, now: float
) -> WorkerBook:
    """Read who holds what from the jobs on a worker, as they are seen now."""
    holdings = {}
    for job in jobs:
        paused = job.state is JobState.PAUSED
        known = None if before is None else before.holdings.get(job.id)
        asks = make_claim(job, settings, worker.capacity, job.limit if known is None else known.claim.request)
        cores = job.limit if job.limit is not None else min(asks.request, worker.capacity)
        cores = 0.0 if paused else cores
        same = known is not None and known.is_paused == paused
        holdings[job.id] = Holding(
            asks,
            cores,
            known.since if same and known is not None else now,
            paused,
            job.state is JobState.MIGRATING,
            known.cores_since if same and known is not None and known.cores == cores else now,
            1 if known is None else known.runs,
        )
    return make_book(worker.id, worker.capacity, settings.grain, holdings)
