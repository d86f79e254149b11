"""What policies ask of many jobs at once: which wait, which are on a worker, and how many are on each.

Over a plain tuple every question is one pass. An engine that keeps track of its jobs answers from what it
keeps (`IndexedJobs`), so that a policy that asks only these never looks at jobs that did not change.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING

from core.scheduling.model import Job, JobState

if TYPE_CHECKING:
    from collections.abc import Mapping

    from core.scheduling.model import Observation


class IndexedJobs(Sequence[Job]):
    """The jobs of an observation, by someone who knows where each of them is."""

    @abstractmethod
    def waiting(self) -> tuple[Job, ...]:
        """Jobs that wait, in order of submission."""

    @abstractmethod
    def on(self, worker: str) -> tuple[Job, ...]:
        """Jobs that hold a place on a worker, in order of submission."""

    @abstractmethod
    def counts(self) -> Mapping[str, int]:
        """How many jobs hold a place on each worker."""


def waiting(seen: Observation) -> tuple[Job, ...]:
    """Jobs that wait, in order of submission."""
    if isinstance(seen.jobs, IndexedJobs):
        return seen.jobs.waiting()
    return tuple([job for job in seen.jobs if job.state is JobState.WAITING])


def on(seen: Observation, worker: str) -> tuple[Job, ...]:
    """Jobs that hold a place on a worker, in order of submission; one that migrates is where it goes to."""
    if isinstance(seen.jobs, IndexedJobs):
        return seen.jobs.on(worker)
    return tuple([job for job in seen.jobs if job.worker == worker])


def counts(seen: Observation) -> Mapping[str, int]:
    """How many jobs hold a place on each worker, 0 included."""
    if isinstance(seen.jobs, IndexedJobs):
        return seen.jobs.counts()
    found = dict.fromkeys([worker.id for worker in seen.workers], 0)
    for job in seen.jobs:
        if job.worker in found:
            found[job.worker] += 1
    return found
