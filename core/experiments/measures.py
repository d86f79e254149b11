"""The measures of a run's jobs beside completion and the loss: queues, deadlines, and what steering frees.

Every measure is one function of a run's jobs, and its docstring is its definition; a mean is over jobs that
were done. The registers name each, its unit, and which way is better. Measures of queues are shown only where
jobs wait, are paused or are refused, those of deadlines where jobs have some (`informative_measures`).
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from core.scheduling.model import JobState

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from core.scheduling.model import Reading
    from core.scheduling.policies.autopilot.steering_evidence import Evidence


@dataclass(frozen=True, slots=True)
class JobOutcome:
    """One job of a run; times in seconds."""

    #: Its name and kind.
    id: str
    model: str
    #: On the run's clock.
    arrived: float
    started: float | None
    ended: float
    #: From arrival to end.
    completion: float
    #: From arrival until its loss has fallen by 90, 95 and 99% of its whole fall, or None.
    t90: float | None
    t95: float | None
    t99: float | None
    #: What it would take under fair sharing, and how many times that it took; None where not known.
    fair: float | None
    slowdown: float | None
    #: How often it was moved.
    migrations: int
    #: ``"done"``, ``"failed"``, or ``"refused"``.
    state: str
    #: As in `core.experiments.outcome.JobTimes`; None in results of earlier releases.
    waiting: float | None = None
    service: float | None = None
    paused: float | None = None
    used: float | None = None
    pauses: int | None = None
    resizes: int | None = None
    thread_changes: int | None = None
    #: Seconds after its arrival within which it should end, or None.
    deadline: float | None = None
    #: Whether the policy admitted it with this deadline; None for policies without admission.
    promised: bool | None = None
    #: Its first predicted end, on the run's clock; None without a prediction.
    predicted_end: float | None = None
    #: Core-seconds that its limits allowed while it ran; None where it had none, or ran without for a while.
    allocated: float | None = None


GOALS = (0.90, 0.95, 0.99)
"""Shares of the whole fall of a loss whose times are reported."""


class PrintedLosses:
    """The losses that one job has printed: numbers in arrays, so that long runs stay small."""

    def __init__(self) -> None:
        self._times, self._values = array("d"), array("d")

    def add(self, readings: Sequence[Reading]) -> None:
        """Take values in the order in which they were printed."""
        for time, value in readings:
            self._times.append(time)
            self._values.append(value)

    def at(self, goals: Sequence[float], start: float) -> tuple[float, ...]:
        """When it had printed so many values; a fraction lies between two."""
        times = np.concatenate(([start], np.array(self._times)))
        return tuple(float(np.interp(goal, np.arange(len(times)), times)) for goal in goals)

    def first_below(self) -> tuple[float | None, ...]:
        """When the printed loss had first fallen by each of `GOALS` of its whole fall."""
        values = np.array(self._values)
        targets = [values[0] - goal * (values[0] - values.min()) for goal in GOALS]
        return tuple(self._times[int(np.argmax(values <= target))] for target in targets)


@dataclass(frozen=True, slots=True)
class Run:
    """The jobs, capacity and evidence of a run, from which measures are computed."""

    #: All jobs that ended, refused ones included, in order of arrival.
    jobs: Sequence[JobOutcome]
    #: Cores of all workers.
    capacity: float
    #: What steering freed; None where usage was not observed.
    evidence: Evidence | None = None

    @property
    def done(self) -> list[JobOutcome]:
        """Jobs that were done."""
        return [job for job in self.jobs if job.state == JobState.DONE.value]


@dataclass(frozen=True, slots=True)
class Measure:
    """One measure."""

    #: What it is called, in full and over a column.
    label: str
    short: str
    #: The function, whose docstring defines it.
    of: Callable[[Run], float | None]
    #: ``s``, ``jobs/h``, ``core-s``, ``cores``, ``bytes``, ``share`` (of 1), or empty for a count.
    unit: str = ""
    #: Whether more is better.
    rising: bool = False


def mean_of_present(values: Sequence[float | None]) -> float | None:
    """The mean of the values that are not None; None without any."""
    present = [value for value in values if value is not None]
    return sum(present) / len(present) if present else None


# Queues: how long jobs wait, run and are paused, and what cores are used for.

HOUR = 3600.0
_NO_WAIT = 0.01
"""Share of jobs' time below which waiting is the start of a container, not a queue."""


def makespan(run: Run) -> float:
    """Seconds from the first arrival to the last end, of jobs that were not refused; 0 without any."""
    ran = [job for job in run.jobs if job.state != JobState.REFUSED.value]
    return max(job.ended for job in ran) - min(job.arrived for job in ran) if ran else 0.0


def waiting(run: Run) -> float | None:
    """Mean seconds from submission to the first run."""
    return mean_of_present([job.waiting for job in run.done])


def longest_wait(run: Run) -> float | None:
    """The most seconds that any job waited from submission to its first run."""
    return max((job.waiting for job in run.done if job.waiting is not None), default=None)


def service(run: Run) -> float | None:
    """Mean seconds that a job ran, neither paused nor moved."""
    return mean_of_present([job.service for job in run.done])


def paused(run: Run) -> float | None:
    """Mean seconds for which a job was paused."""
    return mean_of_present([job.paused for job in run.done])


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
    """The number of pauses of all jobs."""
    return float(sum(job.pauses or 0 for job in run.jobs))


def resizes(run: Run) -> float:
    """The number of changes of a job's cores while it was on a worker."""
    return float(sum(job.resizes or 0 for job in run.jobs))


def thread_changes(run: Run) -> float:
    """The number of changes of a job's threads while it was on a worker."""
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
    if waits > _NO_WAIT * (waits + runs):
        return True
    return bool(means.get("pauses") or means.get("refused"))


# Deadlines, of jobs that have one. A job is *admitted* if its policy promised it its deadline; policies that
# promise nothing admit all that they do not refuse.

_ROUNDING = 1e-6
"""Seconds by which a job may end after its deadline and still have met it."""


def with_deadline(jobs: Sequence[JobOutcome]) -> list[JobOutcome]:
    """Jobs with a deadline."""
    return [job for job in jobs if job.deadline is not None]


def in_time(job: JobOutcome) -> bool:
    """Whether a job was done before its deadline."""
    is_done = job.state == JobState.DONE.value
    return is_done and job.deadline is not None and job.completion <= job.deadline + _ROUNDING


def admitted(job: JobOutcome) -> bool:
    """Whether a job's deadline was promised, or else whether it was not refused."""
    return job.state != JobState.REFUSED.value if job.promised is None else job.promised


def late_by(job: JobOutcome) -> float:
    """Seconds by which a job that was done ended after its deadline, at least 0."""
    return max(0.0, job.completion - (job.deadline or 0.0))


def met(run: Run) -> float | None:
    """Jobs that met their deadlines, of all that have one: the completion rate."""
    jobs = with_deadline(run.jobs)
    return sum(map(in_time, jobs)) / len(jobs) if jobs else None


def promised(run: Run) -> float | None:
    """Jobs that were admitted, of all that have a deadline."""
    jobs = with_deadline(run.jobs)
    return sum(map(admitted, jobs)) / len(jobs) if jobs else None


def kept(run: Run) -> float | None:
    """Jobs that met their deadlines, of all that were admitted."""
    jobs = [job for job in with_deadline(run.jobs) if admitted(job)]
    return sum(map(in_time, jobs)) / len(jobs) if jobs else None


def _late(run: Run) -> list[float]:
    jobs = [job for job in with_deadline(run.jobs) if job.state == JobState.DONE.value]
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


def prediction_error_of(job: JobOutcome) -> float | None:
    """Error of a job's first predicted end, as a share of the time from arrival to end."""
    if job.predicted_end is None or job.state != JobState.DONE.value or job.completion <= 0:
        return None
    return abs(job.predicted_end - job.ended) / job.completion


def _errors(run: Run) -> list[float]:
    return [error for job in with_deadline(run.jobs) if (error := prediction_error_of(job)) is not None]


def prediction_error(run: Run) -> float | None:
    """Median of `prediction_error_of`, of all jobs with a deadline whose end was predicted."""
    errors = _errors(run)
    return float(np.median(errors)) if errors else None


def prediction_error_p90(run: Run) -> float | None:
    """The 90th percentile of the same, by linear interpolation."""
    errors = _errors(run)
    return float(np.percentile(errors, 90)) if errors else None


def lost(run: Run) -> float | None:
    """Core-seconds used by jobs that then missed their deadlines."""
    jobs = with_deadline(run.jobs)
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


# Steering: what limits reserve and free, and how often they are too low.


def reserved(run: Run) -> float | None:
    """Core-seconds that limits reserved for running jobs, used or not."""
    limited = [job.allocated for job in run.jobs if job.allocated]
    return sum(limited) if limited else None


def freed(run: Run) -> float | None:
    """Cores requested by jobs and not reserved, summed over jobs: the mean over time.

    Where the policy only watches, what they would not have had.
    """
    return None if run.evidence is None else run.evidence.freed_cores


def freed_memory(run: Run) -> float | None:
    """Memory freed below the requests, bytes; None where each limit equals the request."""
    evidence = run.evidence
    return None if evidence is None or not evidence.freed_bytes else evidence.freed_bytes


def held_back(run: Run) -> float | None:
    """The share of periods in which jobs were throttled."""
    return None if run.evidence is None else run.evidence.held_back_share


def killed(run: Run) -> float | None:
    """Processes killed because memory ran out."""
    return None if run.evidence is None else float(run.evidence.killed)


def short(run: Run) -> float | None:
    """The share of jobs' time that was short (`core.scheduling.policies.autopilot.steering_evidence`)."""
    return None if run.evidence is None else run.evidence.short_share


def too_low(run: Run) -> float | None:
    """The number of times that a limit was raised because the job was throttled."""
    return None if run.evidence is None else float(run.evidence.violations)


STEERING_MEASURES: dict[str, Measure] = {
    "reserved": Measure("Core time reserved", "Reserved", reserved, "core-s"),
    "freed": Measure("Cores freed", "Freed", freed, "cores", rising=True),
    "freed_memory": Measure("Memory freed", "Memory", freed_memory, "bytes", rising=True),
    "short": Measure("Time short", "Short", short, "share"),
    "held_back": Measure("Throttled periods", "Throttled", held_back, "share"),
    "too_low": Measure("Limits that were too low", "Too low", too_low),
    "killed": Measure("Killed for want of memory", "Killed", killed),
}


EXTRA_MEASURES = {**DEADLINE_MEASURES, **STEERING_MEASURES, **QUEUE_MEASURES}
RISING = frozenset(name for name, each in EXTRA_MEASURES.items() if each.rising)
"""Measures where more is better; less is better in all others."""
COUNTS = frozenset(name for name, each in EXTRA_MEASURES.items() if not each.unit)


def informative_measures(rows: Sequence[Mapping[str, float | None]]) -> dict[str, tuple[str, ...]]:
    """The measures that are not trivial for some policies, in order, by their subject."""
    by_subject: dict[str, tuple[str, ...]] = {}
    if any(row.get("met") is not None for row in rows):
        present = (name for name in DEADLINE_MEASURES if any(row.get(name) is not None for row in rows))
        by_subject["deadlines"] = tuple(present)
    if any(row.get("short") is not None for row in rows):
        present = (name for name in STEERING_MEASURES if any(row.get(name) is not None for row in rows))
        by_subject["steering"] = tuple(present)
    if any(queues(row) for row in rows):
        by_subject["queue"] = tuple(name for name in QUEUE_MEASURES if any(row.get(name) for row in rows))
    return by_subject
