"""A run's results, per job and in total, accumulated from its ledger.

Only what every engine shows is used, so that a simulated run and a real one are judged alike. What only a
simulator knows (when the noiseless loss reaches a goal, how long fair sharing would take) comes in as
`Truth`; without it, goals are read from printed values.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from core.experiments.measures import (
    EXTRA_MEASURES,
    GOALS,
    JobOutcome,
    PrintedLosses,
    Run,
    makespan,
    mean_of_present,
)
from core.scheduling.actions import Migrate
from core.scheduling.model import JobState
from core.scheduling.policies.autopilot.steering_evidence import EvidenceBook, evidence_from_dict

if TYPE_CHECKING:
    from collections.abc import Mapping

    from core.scheduling.actions import Mark
    from core.scheduling.loop import Entry
    from core.scheduling.model import Job, Worker
    from core.scheduling.policies.autopilot.steering_evidence import Evidence


_AWAY = (JobState.WAITING, JobState.PAUSED, JobState.MIGRATING, JobState.REFUSED)
"""States in which a job uses no processor."""


# Where a job's time went: waiting, running, paused, moving; and how often its cores and threads changed.
#
# What a job is at an observation it has been since the one before, as whatever changes is seen: its state,
# its limit and its threads belong to the interval that ends with the observation.


@dataclass(slots=True)
class _Life:
    """The observed times of one job so far."""

    last_time: float
    state: JobState
    limit: float | None
    threads: int | None
    used_before: float | None
    paused: float = 0.0
    moving: float = 0.0
    pauses: int = 0
    resizes: int = 0
    thread_changes: int = 0
    allocated: float = 0.0
    unlimited: bool = False


@dataclass(frozen=True, slots=True)
class JobTimes:
    """Waiting, service and paused time of an ended job, seconds."""

    #: As `waiting_time` and `service_time` define them; None where it never ran. `paused` is the time in
    #: which it held its place without running.
    waiting: float | None
    service: float | None
    paused: float | None
    #: Core-seconds that it used since it was first seen; None if they were not measured.
    used: float | None
    #: How often it was paused, and how often its limit and its threads changed while it was placed.
    pauses: int
    resizes: int
    thread_changes: int
    #: Core-seconds that its limits allowed while it ran; None where it ran without one for a while.
    allocated: float | None


def waiting_time(arrived: float, started: float | None) -> float | None:
    """Seconds from a job's submission to its first run; None where it never ran."""
    return None if started is None else started - arrived


def service_time(started: float | None, ended: float, paused: float, moving: float) -> float | None:
    """Seconds that a job ran, neither paused nor moved, from its first run to its end; None if it never ran.

    With its waiting time, its paused time and the time of its migrations it makes its total time.
    """
    return None if started is None else max(ended - started - paused - moving, 0.0)


class Lives:
    """Accumulates the times of jobs, observation by observation."""

    def __init__(self) -> None:
        self._lives: dict[str, _Life] = {}

    def see(self, job: Job, now: float) -> None:
        """Take a job as it is at an observation."""
        life = self._lives.get(job.id)
        if life is None:
            self._lives[job.id] = _Life(now, job.state, job.limit, job.threads, job.cpu_seconds)
            return
        if job.state not in _AWAY and now > life.last_time:
            life.unlimited |= job.limit is None
            life.allocated += (job.limit or 0.0) * (now - life.last_time)
        if job.state is not life.state or job.state is not JobState.RUNNING:
            self._change(life, job.state, now)
        if job.limit != life.limit or job.threads != life.threads:
            _resize(life, job)
        life.last_time, life.state = now, job.state

    @staticmethod
    def _change(life: _Life, state: JobState, now: float) -> None:
        if state is JobState.PAUSED:
            life.paused += now - life.last_time
            life.pauses += life.state is not JobState.PAUSED
        elif state is JobState.MIGRATING:
            life.moving += now - life.last_time

    def ended(self, job: Job, now: float) -> JobTimes:
        """The times of a job that ends now; removes the job."""
        life = self._lives.pop(job.id)
        return JobTimes(
            waiting=waiting_time(job.arrived, job.started),
            service=service_time(job.started, now, life.paused, life.moving),
            paused=None if job.started is None else life.paused,
            used=None
            if job.cpu_seconds is None or life.used_before is None
            else job.cpu_seconds - life.used_before,
            pauses=life.pauses,
            resizes=life.resizes,
            thread_changes=life.thread_changes,
            allocated=None if life.unlimited else life.allocated,
        )


def _resize(life: _Life, job: Job) -> None:
    """Count a change of cores and of threads; what a job begins with is none."""
    if life.state.placed:
        life.resizes += job.limit != life.limit
        life.thread_changes += job.threads != life.threads
    life.limit, life.threads = job.limit, job.threads


@dataclass(frozen=True, slots=True)
class Truth:
    """Ground truth of a simulated run, which its ledger does not have."""

    #: Of each job: after how many printed values (a fraction between two) its loss has fallen by each of
    #: `GOALS`, without noise.
    goals: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    #: Seconds that each job would take under fair sharing.
    fair: Mapping[str, float] = field(default_factory=dict)
    #: What kind each job is.
    models: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RunResult:
    """One policy on one seed; times in seconds."""

    #: In order of arrival.
    jobs: tuple[JobOutcome, ...]
    #: Of completion times of jobs that were done; `p95` by linear interpolation.
    mean: float | None
    p95: float | None
    #: From the first arrival to the last end; refused jobs do not count.
    makespan: float
    #: Mean over jobs that got there; None where none did.
    t90: float | None
    t95: float | None
    t99: float | None
    #: The largest against fair sharing, or None.
    worst_slowdown: float | None
    #: Counts; a refused job has not failed.
    migrations: int
    failed_actions: int
    failed_jobs: int
    decisions: int
    median: float | None = None
    #: On a real engine, the processor seconds that the observing and controlling process used per second;
    #: None in the simulator, whose time is not real.
    controller: float | None = None
    #: Every measure of `core.experiments.measures.QUEUE_MEASURES`; None in results of earlier
    #: releases.
    waiting: float | None = None
    longest_wait: float | None = None
    service: float | None = None
    paused: float | None = None
    jobs_per_hour: float | None = None
    used: float | None = None
    refused: float | None = None
    pauses: float | None = None
    resizes: float | None = None
    thread_changes: float | None = None
    #: Every measure of `core.experiments.measures.DEADLINE_MEASURES`; None where no job has a
    #: deadline, and in results of earlier releases.
    met: float | None = None
    promised: float | None = None
    kept: float | None = None
    tardiness: float | None = None
    tardiness_p95: float | None = None
    utilisation: float | None = None
    lost: float | None = None
    prediction_error: float | None = None
    prediction_error_p90: float | None = None
    #: Every measure of `core.experiments.measures.STEERING_MEASURES`; None where nothing was limited
    #: or usage was not observed, and in results of earlier releases.
    reserved: float | None = None
    freed: float | None = None
    freed_memory: float | None = None
    short: float | None = None
    held_back: float | None = None
    too_low: float | None = None
    killed: float | None = None
    #: What steering freed, or would have; None where usage was not observed.
    evidence: Evidence | None = None

    def to_dict(self) -> dict[str, Any]:
        """The result as plain values."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> RunResult:
        """From `to_dict`'s plain values."""
        jobs = tuple(JobOutcome(**job) for job in values["jobs"])
        return cls(**{**values, "jobs": jobs, "evidence": evidence_from_dict(values.get("evidence"))})


class Outcome:
    """Accumulates a run's entries, taken in order, into its result."""

    def __init__(self, truth: Truth | None = None) -> None:
        self._truth = truth or Truth()
        self._printed: dict[str, PrintedLosses] = {}
        self._ended: dict[str, JobOutcome] = {}
        self._moves: dict[str, int] = {}
        self._promised: dict[str, bool] = {}
        self._predicted: dict[str, float] = {}
        self._lives = Lives()
        self._book = EvidenceBook()
        self._workers: tuple[Worker, ...] = ()
        self._failed_actions = 0
        self._decisions = 0

    @property
    def ended(self) -> int:
        """The number of ended jobs so far."""
        return len(self._ended)

    def add(self, entry: Entry) -> None:
        """Take one entry."""
        observation = entry.observation
        self._decisions += 1
        self._workers = observation.workers
        has_use = False
        for job in (*observation.jobs, *observation.ended):
            if job.readings:
                self._printed.setdefault(job.id, PrintedLosses()).add(job.readings)
            self._lives.see(job, observation.time)
            has_use = has_use or job.use is not None
        for job in observation.ended:
            self._ended[job.id] = self._job(observation.time, job)
        if has_use:
            self._book.add_entry(entry)
        for mark in entry.marks:
            self._note(mark)
        for action in entry.actions:
            self._count(action, 1)
        # what failed at once is in the next observation, too
        for failure in observation.failures:
            self._failed_actions += 1
            self._count(failure.action, -1)

    def result(self) -> RunResult:
        """The result of the entries so far."""
        ended = sorted(self._ended.values(), key=lambda job: job.arrived)
        jobs = tuple(replace(job, migrations=self._moves.get(job.id, 0)) for job in ended)
        completions = [job.completion for job in jobs if job.state == JobState.DONE.value]
        slowdowns = [job.slowdown for job in jobs if job.slowdown is not None]
        evidence = self._book.evidence()
        run = Run(jobs, sum(worker.capacity for worker in self._workers), evidence)
        return RunResult(
            jobs=jobs,
            mean=mean_of_present(completions),
            p95=float(np.percentile(completions, 95)) if completions else None,
            makespan=makespan(run),
            t90=mean_of_present([job.t90 for job in jobs]),
            t95=mean_of_present([job.t95 for job in jobs]),
            t99=mean_of_present([job.t99 for job in jobs]),
            worst_slowdown=max(slowdowns, default=None),
            migrations=sum(self._moves.values()),
            failed_actions=self._failed_actions,
            failed_jobs=sum(job.state == JobState.FAILED.value for job in jobs),
            decisions=self._decisions,
            median=float(np.median(completions)) if completions else None,
            evidence=evidence,
            **{name: each.of(run) for name, each in EXTRA_MEASURES.items()},
        )

    def _note(self, mark: Mark) -> None:
        if mark.promised is not None:
            self._promised[mark.job] = mark.promised or self._promised.get(mark.job, False)
        if mark.ends is not None:
            self._predicted.setdefault(mark.job, mark.ends)

    def _count(self, action: object, by: int) -> None:
        if isinstance(action, Migrate):
            self._moves[action.job] = self._moves.get(action.job, 0) + by

    def _job(self, end: float, job: Job) -> JobOutcome:
        completion = end - job.arrived
        fair = self._truth.fair.get(job.id)
        is_done = job.state is JobState.DONE
        reached = self._reached(job) if is_done else (None,) * len(GOALS)
        times = self._lives.ended(job, end)
        return JobOutcome(
            id=job.id,
            model=self._truth.models.get(job.id, ""),
            arrived=job.arrived,
            started=job.started,
            ended=end,
            completion=completion,
            t90=reached[0],
            t95=reached[1],
            t99=reached[2],
            fair=fair,
            slowdown=completion / fair if fair and is_done else None,
            migrations=0,
            state=job.state.value,
            deadline=job.terms_or_default.deadline,
            promised=self._promised.pop(job.id, None),
            predicted_end=self._predicted.pop(job.id, None),
            **{each.name: getattr(times, each.name) for each in fields(times)},
        )

    def _reached(self, job: Job) -> tuple[float | None, ...]:
        printed = self._printed.pop(job.id, None)
        if printed is None:
            return (None,) * len(GOALS)
        goals = self._truth.goals.get(job.id)
        start = job.started if job.started is not None else job.arrived
        times = printed.first_below() if goals is None else printed.at(goals, start)
        return tuple(None if time is None else time - job.arrived for time in times)
