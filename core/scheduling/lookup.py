"""Queries over all jobs of an observation: waiting jobs, jobs on a worker, positions, printed values.

Over a plain tuple each query is one pass. An engine that indexes its jobs answers from the index
(`IndexedJobs`), so a policy that asks only these never reads jobs that did not change.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol, Self, TypeAlias, cast

from core.scheduling.model import Job, JobState

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from core.scheduling.model import Observation


PrintedValues: TypeAlias = "Sequence[tuple[str, Sequence[float]]]"
"""Values of E by job id, oldest first; jobs without new values are left out."""


class JobPosition(Protocol):
    """The part of a job that changes only at events; see `core.scheduling.model.Job`."""

    @property
    def id(self) -> str:
        """Its name."""

    @property
    def state(self) -> JobState:
        """Its state."""

    @property
    def worker(self) -> str | None:
        """The worker it is on or goes to; None while it waits."""

    @property
    def can_migrate(self) -> bool:
        """Whether it writes checkpoints on request."""


class IndexedJobs(Sequence[Job]):
    """The jobs of an observation with an index."""

    @abstractmethod
    def waiting_jobs(self) -> tuple[Job, ...]:
        """Return the waiting jobs, in order of submission."""

    @abstractmethod
    def jobs_on(self, worker: str) -> tuple[Job, ...]:
        """Return the jobs that hold a place on a worker, in order of submission."""

    @abstractmethod
    def count_by_worker(self) -> Mapping[str, int]:
        """Return the number of jobs that hold a place on each worker."""

    @abstractmethod
    def job_positions(self) -> Sequence[JobPosition]:
        """Return the positions of all jobs, in order of submission."""

    @abstractmethod
    def new_values(self) -> PrintedValues:
        """Return the values of E printed since the previous observation."""

    @abstractmethod
    def values_since(self, earlier: Self, names: Collection[str]) -> Mapping[str, Sequence[float]]:
        """Return the values of E that these jobs printed after an earlier observation of the same run."""


def _as_indexed(observation: Observation) -> IndexedJobs | None:
    jobs = observation.jobs
    # `isinstance` consults the abstract class, which takes ten times as long
    return cast("IndexedJobs", jobs) if IndexedJobs in type(jobs).__mro__ else None


def waiting_jobs(observation: Observation) -> tuple[Job, ...]:
    """Return the waiting jobs, in order of submission."""
    if (indexed := _as_indexed(observation)) is not None:
        return indexed.waiting_jobs()
    return tuple([job for job in observation.jobs if job.state is JobState.WAITING])


def jobs_on(observation: Observation, worker: str) -> tuple[Job, ...]:
    """Return the jobs that hold a place on a worker, by submission; a migrating job is on its target."""
    if (indexed := _as_indexed(observation)) is not None:
        return indexed.jobs_on(worker)
    return tuple([job for job in observation.jobs if job.worker == worker])


def count_by_worker(observation: Observation) -> Mapping[str, int]:
    """Return the number of jobs that hold a place on each worker, 0 included."""
    if (indexed := _as_indexed(observation)) is not None:
        return indexed.count_by_worker()
    counts = dict.fromkeys([worker.id for worker in observation.workers], 0)
    for job in observation.jobs:
        if job.worker in counts:
            counts[job.worker] += 1
    return counts


def job_positions(observation: Observation) -> Sequence[JobPosition]:
    """Return the positions of all jobs, in order of submission."""
    return observation.jobs if (indexed := _as_indexed(observation)) is None else indexed.job_positions()


def new_values(observation: Observation) -> PrintedValues:
    """Return the values of E printed since the previous observation."""
    if (indexed := _as_indexed(observation)) is not None:
        return indexed.new_values()
    return [(job.id, [value for _, value in job.readings]) for job in observation.jobs if job.readings]


def values_since(
    earlier: Observation | None, unread: Sequence[Observation], names: Collection[str]
) -> Mapping[str, Sequence[float]]:
    """Return the values of E printed in several observations; jobs without values are left out."""
    before, after = None if earlier is None else _as_indexed(earlier), _as_indexed(unread[-1])
    if before is not None and type(before) is type(after):
        return after.values_since(before, names)
    joined: dict[str, list[float]] = {}
    for observation in unread:
        for name, values in new_values(observation):
            if name in names:
                joined.setdefault(name, []).extend(values)
    return joined
