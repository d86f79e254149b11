"""A run's time series, accumulated from its ledger: what jobs use, have and wait for, workers, moves.

Values belong to the interval that ends with their observation: within it limits do not change, so a
processor's share drawn as steps is what was really used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from core.scheduling.actions import Migrate, Pause, Refuse, Resume, Start, Stop
from core.scheduling.model import JobState

if TYPE_CHECKING:
    from collections.abc import Sequence

    from core.scheduling.actions import Mark, Reason
    from core.scheduling.loop import Entry
    from core.scheduling.model import Job, Observation

_DIGITS = 6
_NO_WAIT = (Start, Resume, Refuse, Stop)
_STILL = (JobState.WAITING, JobState.PAUSED)
BEHIND = "waiting behind it"
"""The value of a reason that counts the jobs waiting behind its job."""
REBALANCING = "Algorithm 5"
"""The rule of moves that even out the number of jobs; all others follow from its own progress (the thesis'
figure 6.22 tells "Job-ID-R" from "Job-ID-M")."""


class Series:
    """Accumulates the plotted time series from a run's entries, taken in order."""

    def __init__(self) -> None:
        self._times: list[float | None] = []
        self._triggers: list[str] = []
        self._jobs: dict[str, dict[str, Any]] = {}
        self._before: dict[str, tuple[float, float | None]] = {}
        self._workers: dict[str, dict[str, Any]] = {}
        self._moves: list[dict[str, Any]] = []
        self._waits: list[dict[str, Any]] = []
        self._told: dict[str, str] = {}

    def add(self, entry: Entry) -> None:
        """Take one entry."""
        observation = entry.observation
        marks = {mark.job: mark for mark in entry.marks}
        for job in (*observation.jobs, *observation.ended):
            self._job(job, observation.time, marks.get(job.id))
        self._use(observation)
        if entry.reasons:
            self._why(entry)
        self._times.append(_short(observation.time))
        self._triggers.append(observation.trigger.value)
        worker_of_job = {job.id: job.worker for job in observation.jobs}
        for failure in observation.failures:
            if isinstance(failure.action, Migrate):
                self._fail(failure.action)
        for action in entry.actions:
            if isinstance(action, Migrate):
                self._moves.append(
                    _move(action, observation.time, worker_of_job.get(action.job), entry.reasons)
                )

    def to_dict(self) -> dict[str, Any]:
        """The series as plain values."""
        return {
            "time": self._times,
            "trigger": self._triggers,
            "jobs": self._jobs,
            "workers": self._workers,
            "moves": self._moves,
            "waits": self._waits,
        }

    def _fail(self, action: Migrate) -> None:
        for move in reversed(self._moves):
            if move["job"] == action.job and move["to"] == action.to:
                move["failed"] = True
                return

    def _why(self, entry: Entry) -> None:
        """Take the reasons why jobs keep waiting, or are paused now."""
        still = {job.id for job in entry.observation.jobs if job.state in _STILL}
        still |= {action.job for action in entry.actions if isinstance(action, Pause)}
        still -= {action.job for action in entry.actions if isinstance(action, _NO_WAIT)}
        for reason in entry.reasons:
            if reason.job in still and self._told.get(reason.job) != reason.text:
                self._told[reason.job] = reason.text
                self._waits.append(
                    {
                        "number": len(self._times),
                        "job": reason.job,
                        "rule": reason.rule,
                        "text": reason.text,
                        "behind": dict(reason.values).get(BEHIND),
                    }
                )

    def _job(self, job: Job, now: float, mark: Mark | None) -> None:
        lines = self._jobs.get(job.id)
        if lines is None:
            names = (
                "cpu",
                "limit",
                "weight",
                "threads",
                "steps",
                "worker",
                "state",
                "label",
                "growth",
                "loss",
            )
            lines = self._jobs[job.id] = {"first": len(self._times), **{name: [] for name in names}}
            if job.terms_or_default.deadline is not None:
                lines["due"] = _short(job.arrived + job.terms_or_default.deadline)
        if mark is not None and mark.ends is not None:
            self._foresee(lines, mark)
        # what was running already had used something before, which belongs to no interval
        time, used = self._before.get(job.id, (now, job.cpu_seconds))
        if job.cpu_seconds is None or used is None:
            cores = None
        else:
            cores = (job.cpu_seconds - used) / (now - time) if now > time else 0.0
        self._before[job.id] = (now, job.cpu_seconds)
        lines["cpu"].append(_short(cores))
        lines["limit"].append(_short(job.limit))
        lines["weight"].append(_short(job.weight))
        lines["threads"].append(job.threads)
        lines["steps"].append(job.steps)
        lines["worker"].append(job.worker)
        lines["state"].append(job.state.value)
        lines["label"].append(mark.label if mark else "")
        lines["growth"].append(_short(mark.growth) if mark else None)
        last = lines["loss"][-1] if lines["loss"] else None
        lines["loss"].append(_short(job.readings[-1][1]) if job.readings else last)

    def _foresee(self, lines: dict[str, Any], mark: Mark) -> None:
        prediction = [_short(each) for each in (mark.ends, *(mark.between or (None, None)))]
        predictions = lines.setdefault("ends", [])
        if not predictions or predictions[-1][1:] != prediction:
            predictions.append([len(self._times), *prediction])

    def _use(self, observation: Observation) -> None:
        for worker in observation.workers:
            self._workers.setdefault(worker.id, {"capacity": worker.capacity, "cpu": [], "jobs": []})
        cpu: dict[str, float | None] = dict.fromkeys(self._workers, 0.0)
        jobs = dict.fromkeys(self._workers, 0)
        for job in (*observation.jobs, *observation.ended):
            if job.worker is not None and job.worker in cpu:
                so_far, cores = cpu[job.worker], self._jobs[job.id]["cpu"][-1]
                cpu[job.worker] = None if so_far is None or cores is None else so_far + cores
                jobs[job.worker] += 0 if job.state.ended else 1
        for name, lines in self._workers.items():
            lines["cpu"].append(_short(cpu[name]))
            lines["jobs"].append(jobs[name])


def _move(action: Migrate, now: float, origin: str | None, reasons: Sequence[Reason]) -> dict[str, Any]:
    rule = _rule_of(action, reasons)
    return {
        "time": _short(now),
        "job": action.job,
        "from": origin,
        "to": action.to,
        "rule": rule,
        "rebalanced": rule.startswith(REBALANCING),
        "failed": False,
    }


def _rule_of(action: Migrate, reasons: Sequence[Reason]) -> str:
    """The rule that moved a job: of all reasons about it, the one that names its target, else the last.

    At the same moment a policy may also say why the job is in another list now, but it says that first.
    """
    about = [reason for reason in reasons if reason.job == action.job]
    named = [reason for reason in about if reason.worker == action.to]
    return (named or about)[-1].rule if about else ""


def _short(value: float | None) -> float | None:
    return None if value is None else round(float(value), _DIGITS)
