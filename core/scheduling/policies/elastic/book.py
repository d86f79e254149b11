"""The allocation of one worker's cores: read from the observation, changed by decisions.

Decisions allocate cores in multiples of the core unit. A paused job keeps its place and its memory, without
cores.
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


def round_down(cores: float, core_unit: float) -> float:
    """Return the largest multiple of `core_unit` that is not above `cores`."""
    return floor(cores / core_unit + TINY) * core_unit


@dataclass(frozen=True, slots=True)
class Claim:
    """The request of a job on a worker of a given size."""

    #: Its name.
    job: str
    #: When it was submitted, seconds.
    arrived: float
    #: The requested, fewest and most cores.
    request: float
    min_cores: float
    max_cores: float
    #: Requested bytes.
    memory: float = 0.0
    #: Priority, 0 to 9.
    priority: int = 0


def make_claim(
    job: Job, settings: ElasticSettings, capacity: float, present_limit: float | None = None
) -> Claim:
    """Return a job's claim on `capacity` cores; `present_limit` is that of a job found running.

    A program that cannot change its threads uses no more cores than it has threads.
    """
    terms, cap = job.terms_or_default, settings.cap or capacity
    max_cores = min(capacity, cap, terms.max if terms.max is not None else capacity)
    if not job.can_resize and job.threads is not None:
        max_cores = min(max_cores, float(job.threads))
    default_request = present_limit if present_limit is not None else min(settings.unasked, capacity)
    request = job.request if job.request is not None else default_request
    request = min(request, settings.cap or request)
    min_cores = terms.min if terms.min is not None else min(settings.grain, request, capacity)
    return Claim(
        job.id,
        job.arrived,
        max(request, min_cores),
        min_cores,
        max(max_cores, min_cores),
        terms.memory or 0.0,
        terms.priority,
    )


@dataclass(frozen=True, slots=True)
class Holding:
    """A job with a place on a worker."""

    #: Its claim on this worker.
    claim: Claim
    #: Its cores; 0 while paused.
    cores: float
    #: When it last started or was paused, seconds.
    since: float
    #: Whether it is paused.
    is_paused: bool = False
    #: Whether it is migrating to this worker, so that it cannot change.
    is_moving: bool = False
    #: When it got its present cores, seconds.
    cores_since: float = 0.0
    #: How often it was started.
    runs: int = 1

    @property
    def order(self) -> tuple[float, str]:
        """By arrival."""
        return self.claim.arrived, self.claim.job


@dataclass(frozen=True, slots=True)
class WorkerBook:
    """A worker and its holdings."""

    #: Its name.
    worker: str
    #: Its cores.
    capacity: float
    #: The step of allocations, at most the worker's cores.
    core_unit: float
    #: Its jobs by name.
    holdings: dict[str, Holding]
    #: Unallocated cores.
    free: float
    #: The requests of the jobs with cores, together.
    requested: float

    @property
    def allocated(self) -> float:
        """Allocated cores; more than the capacity where jobs were found running."""
        return sum(each.cores for each in self.holdings.values() if not each.is_paused)

    @property
    def running(self) -> list[Holding]:
        """Jobs with cores that can change, in order of arrival."""
        able = [each for each in self.holdings.values() if not each.is_paused and not each.is_moving]
        return sorted(able, key=_ORDER)

    @property
    def paused_jobs(self) -> list[Holding]:
        """Jobs that are paused."""
        return [each for each in self.holdings.values() if each.is_paused]

    def with_holdings(self, *changed: Holding) -> WorkerBook:
        """Return the book with other or new holdings."""
        return make_book(
            self.worker,
            self.capacity,
            self.core_unit,
            {**self.holdings, **{each.claim.job: each for each in changed}},
        )

    def with_cores(self, cores: dict[str, float]) -> WorkerBook:
        """Return the book with other cores for some jobs."""
        return self.with_holdings(*(replace(self.holdings[name], cores=each) for name, each in cores.items()))


def make_book(worker: str, capacity: float, core_unit: float, holdings: dict[str, Holding]) -> WorkerBook:
    """Return the book of a worker's holdings."""
    active = [each for each in holdings.values() if not each.is_paused]
    free = max(0.0, capacity - sum(each.cores for each in active))
    return WorkerBook(
        worker, capacity, min(core_unit, capacity), holdings, free, sum(each.claim.request for each in active)
    )


def read_book(
    worker: Worker, jobs: Iterable[Job], settings: ElasticSettings, before: WorkerBook | None, now: float
) -> WorkerBook:
    """Read a worker's book from its observed jobs."""
    holdings = {}
    for job in jobs:
        paused = job.state is JobState.PAUSED
        earlier = None if before is None else before.holdings.get(job.id)
        asks = make_claim(
            job, settings, worker.capacity, job.limit if earlier is None else earlier.claim.request
        )
        cores = job.limit if job.limit is not None else min(asks.request, worker.capacity)
        cores = 0.0 if paused else cores
        same = earlier is not None and earlier.is_paused == paused
        holdings[job.id] = Holding(
            asks,
            cores,
            earlier.since if same and earlier is not None else now,
            paused,
            job.state is JobState.MIGRATING,
            earlier.cores_since if same and earlier is not None and earlier.cores == cores else now,
            1 if earlier is None else earlier.runs,
        )
    return make_book(worker.id, worker.capacity, settings.grain, holdings)
