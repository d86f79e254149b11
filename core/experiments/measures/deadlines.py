"""How many jobs end before their deadlines, whether promises are kept, and what is lost on those that miss.

Every measure is one function of a run's jobs, of those that have a deadline. A job is *admitted* if its
policy promised it its deadline; policies that promise nothing admit all that they do not refuse.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from core.experiments.measures.measure import Measure, Run
from core.scheduling.model import JobState

if TYPE_CHECKING:
    from collections.abc import Sequence

    from core.experiments.measures.measure import JobOutcome

_ROUNDING = 1e-6
"""Seconds by which a job may end after its deadline and still have met it."""


def timed(jobs: Sequence[JobOutcome]) -> list[JobOutcome]:
    """Jobs with a deadline."""
    return [job for job in jobs if job.deadline is not None]


def in_time(job: JobOutcome) -> bool:
    """Whether a job was done before its deadline."""
    done = job.state == JobState.DONE.value
    return done and job.deadline is not None and job.completion <= job.deadline + _ROUNDING


def admitted(job: JobOutcome) -> bool:
    """Whether a job's deadline was promised, or else whether it was not refused."""
    return job.state != JobState.REFUSED.value if job.promised is None else job.promised


def late_by(job: JobOutcome) -> float:
    """Seconds by which a job that was done ended after its deadline, at least 0."""
    return max(0.0, job.completion - (job.deadline or 0.0))


def met(run: Run) -> float | None:
    """Jobs that met their deadlines, of all that have one: the completion rate."""
    jobs = timed(run.jobs)
    return sum(map(in_time, jobs)) / len(jobs) if jobs else None


def promised(run: Run) -> float | None:
    """Jobs that were admitted, of all that have a deadline."""
    jobs = timed(run.jobs)
    return sum(map(admitted, jobs)) / len(jobs) if jobs else None


def kept(run: Run) -> float | None:
    """Jobs that met their deadlines, of all that were admitted."""
    jobs = [job for job in timed(run.jobs) if admitted(job)]
    return sum(map(in_time, jobs)) / len(jobs) if jobs else None


def _late(run: Run) -> list[float]:
    jobs = [job for job in timed(run.jobs) if job.state == JobState.DONE.value]
    return [late_by(job) for job in jobs if not in_time(job)]


def tardiness(run: Run) -> float | None:
    """Mean seconds by which jobs that missed their deadlines were done after them."""
    late = _late(run)
    return sum(late) / len(late) if late else None


def tardiness_p95(run: Run) -> float | None:
    """The 95th percentile of the same, by linear interpolation."""
    late = _late(run)
    return float(np.percentile(late, 95)) if late else None


def utilisation(run: Run) -> float | None:
    """Core-seconds that jobs used, of those that their limits allowed while they ran."""
    limited = [job for job in run.jobs if job.allocated]
    allowed = sum(job.allocated or 0.0 for job in limited)
    return sum(job.used or 0.0 for job in limited) / allowed if allowed > 0 else None


def wrong_by(job: JobOutcome) -> float | None:
    """By how much the end that a job was first expected to have was wrong, in times from arrival to end."""
    if job.predicted_end is None or job.state != JobState.DONE.value or job.completion <= 0:
        return None
    return abs(job.predicted_end - job.ended) / job.completion


def _errors(run: Run) -> list[float]:
    return [error for job in timed(run.jobs) if (error := wrong_by(job)) is not None]


def prediction_error(run: Run) -> float | None:
    """Median of `wrong_by`, of all jobs with a deadline whose end was predicted."""
    found = _errors(run)
    return float(np.median(found)) if found else None


def prediction_error_p90(run: Run) -> float | None:
    """The 90th percentile of the same, by linear interpolation."""
    found = _errors(run)
    return float(np.percentile(found, 90)) if found else None


def lost(run: Run) -> float | None:
    """Core-seconds used by jobs that then missed their deadlines."""
    jobs = timed(run.jobs)
    return sum((job.used or 0.0 for job in jobs if not in_time(job)), 0.0) if jobs else None


DEADLINE_MEASURES: dict[str, Measure] = {
    "met": Measure("Deadlines met", "Met", met, "share", rising=True),
    "promised": Measure("Jobs admitted", "Admitted", promised, "share", rising=True),
    "kept": Measure("Deadlines met of admitted jobs", "Kept", kept, "share", rising=True),
    "tardiness": Measure("Mean tardiness", "Tardiness", tardiness, "s"),
    "tardiness_p95": Measure("95th percentile of tardiness", "Tardiness p95", tardiness_p95, "s"),
    "utilisation": Measure(
        "Use of allocated cores", "Allocated cores used", utilisation, "share", rising=True
    ),
    "lost": Measure("Core time of jobs that missed", "Lost", lost, "core-s"),
    "prediction_error": Measure("Error of predicted ends", "Prediction error", prediction_error, "share"),
    "prediction_error_p90": Measure(
        "90th percentile of that error", "Prediction error p90", prediction_error_p90, "share"
    ),
}


@dataclass(frozen=True, slots=True)
class Deadlines:
    """What became of the deadlines of one run."""

    #: Jobs with a deadline, those of them that were admitted, and those that met it.
    submitted: int
    admitted: int
    met: int
    #: Share of the admitted ones that met it; None without any.
    met_of_admitted: float | None
    #: Seconds by which those were late that missed it and were done; None without any.
    tardiness_mean: float | None
    tardiness_p95: float | None
    #: Core-seconds used of those allocated, of all jobs; None where nothing was limited.
    utilisation: float | None
    #: Used by those that missed it.
    core_seconds_on_missed: float
    #: How far the ends that were first predicted lay from the real ones, as a share of the time from arrival
    #: to end; None where nothing was predicted.
    prediction_error_median: float | None
    prediction_error_p90: float | None


def deadlines_of(jobs: Sequence[JobOutcome]) -> Deadlines | None:
    """What became of the deadlines of a run's jobs; None if none has one."""
    run, own = Run(jobs, 0.0), timed(jobs)
    if not own:
        return None
    return Deadlines(
        submitted=len(own),
        admitted=sum(map(admitted, own)),
        met=sum(map(in_time, own)),
        met_of_admitted=kept(run),
        tardiness_mean=tardiness(run),
        tardiness_p95=tardiness_p95(run),
        utilisation=utilisation(run),
        core_seconds_on_missed=lost(run) or 0.0,
        prediction_error_median=prediction_error(run),
        prediction_error_p90=prediction_error_p90(run),
    )


def each_of(jobs: Sequence[JobOutcome]) -> list[dict[str, Any]]:
    """What became of each job with a deadline; times on the run's clock, seconds."""
    return [
        {
            "id": job.id,
            "submitted": job.arrived,
            "deadline": job.arrived + (job.deadline or 0.0),
            "admitted": admitted(job),
            "started": job.started,
            "ended": job.ended,
            "predicted_end": job.predicted_end,
            "core_seconds": job.used,
            "state": job.state,
            "met": in_time(job),
        }
        for job in timed(jobs)
    ]
