"""What a queue does to jobs, per run: how long they wait, run and are paused, and what cores are used for.

Every measure is one function of a run's jobs; a mean is over jobs that were done. The register
`QUEUE_MEASURES` says what each is called, its unit, and which way is better. Where nobody waits, is paused or
is refused, none of them has anything to say (`core.experiments.measures.further.telling`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.experiments.measures.measure import Measure
from core.scheduling.model import JobState

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from core.experiments.measures.measure import Run

HOUR = 3600.0
_NOBODY = 0.01
"""Share of jobs' time below which waiting is what starting takes, such as that of a container."""


def makespan(run: Run) -> float:
    """Seconds from the first arrival to the last end, of jobs that were not refused; 0 without any."""
    ran = [job for job in run.jobs if job.state != JobState.REFUSED.value]
    return max(job.ended for job in ran) - min(job.arrived for job in ran) if ran else 0.0


def waiting(run: Run) -> float | None:
    """Mean seconds from submission to the first run."""
    return _mean([job.waiting for job in run.done])


def longest_wait(run: Run) -> float | None:
    """The most seconds that any job waited from submission to its first run."""
    return max((job.waiting for job in run.done if job.waiting is not None), default=None)


def service(run: Run) -> float | None:
    """Mean seconds that a job ran, neither paused nor moved."""
    return _mean([job.service for job in run.done])


def paused(run: Run) -> float | None:
    """Mean seconds for which a job was paused."""
    return _mean([job.paused for job in run.done])


def jobs_per_hour(run: Run) -> float | None:
    """Jobs done per hour of the makespan."""
    long = makespan(run)
    return len(run.done) * HOUR / long if long > 0 else None


def used(run: Run) -> float | None:
    """Core-seconds that jobs used as a share of what all workers offer over the makespan."""
    offered = run.capacity * makespan(run)
    return sum(job.used or 0.0 for job in run.jobs) / offered if offered > 0 else None


def refused(run: Run) -> float:
    """Jobs that were refused at submission."""
    return float(sum(job.state == JobState.REFUSED.value for job in run.jobs))


def pauses(run: Run) -> float:
    """How often a job was paused."""
    return float(sum(job.pauses or 0 for job in run.jobs))


def resizes(run: Run) -> float:
    """How often the cores of a job changed while it was on a worker."""
    return float(sum(job.resizes or 0 for job in run.jobs))


def thread_changes(run: Run) -> float:
    """How often the threads of a job changed while it was on a worker."""
    return float(sum(job.thread_changes or 0 for job in run.jobs))


QUEUE_MEASURES: dict[str, Measure] = {
    "waiting": Measure("Mean waiting time", "Waiting", waiting, "s"),
    "longest_wait": Measure("Longest waiting time", "Longest wait", longest_wait, "s"),
    "service": Measure("Mean service time", "Service", service, "s"),
    "paused": Measure("Mean time paused", "Paused", paused, "s"),
    "jobs_per_hour": Measure("Jobs done per hour", "Jobs per hour", jobs_per_hour, "jobs/h", rising=True),
    "used": Measure("Share of cores used", "Cores used", used, "share", rising=True),
    "refused": Measure("Refused jobs per run", "Refused", refused),
    "pauses": Measure("Pauses per run", "Pauses", pauses),
    "resizes": Measure("Changes of cores per run", "Cores changed", resizes),
    "thread_changes": Measure("Changes of threads per run", "Threads changed", thread_changes),
}


def queues(means: Mapping[str, float | None]) -> bool:
    """Whether jobs of a policy wait, are paused or are refused, by its means over seeds."""
    waits, runs = means.get("waiting") or 0.0, means.get("service") or 0.0
    if waits > _NOBODY * (waits + runs):
        return True
    return bool(means.get("pauses") or means.get("refused"))


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None
