"""Policies compared over seeds: paired differences with bootstrap intervals, never one lucky run.

On one seed every policy meets the same jobs, so their difference on it is paired. A difference is relative,
(policy − baseline) / baseline; below zero the policy is better. The interval holds 95% of the means of seeds
drawn with replacement (percentile method), the range holds the middle 90% of single seeds: a published single
run is reproduced where its figure lies within the range.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from core.experiments.measures.further import FURTHER_MEASURES
from core.provisioning.evaluation.intervals import bounds, resampled

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from core.experiments.outcome import RunResult

    Floats: TypeAlias = NDArray[np.float64]

MEASURES = {
    "mean": "Mean completion time",
    "median": "Median completion time",
    "p95": "95th percentile of completion times",
    "makespan": "Makespan",
    "t90": "Time to 90% of the fall of the loss",
    "t95": "Time to 95% of the fall of the loss",
    "t99": "Time to 99% of the fall of the loss",
    "worst_slowdown": "Worst slowdown against fair sharing",
}
EVERY_MEASURE = MEASURES | {name: each.label for name, each in FURTHER_MEASURES.items()}
"""These, and what becomes of deadlines and queues; results of earlier releases know only the former."""
DRAWS = 2000
_DONE = "done"
_SOONER = 1e-3
"""Seconds by which a job has to end sooner to count as sooner."""


@dataclass(frozen=True, slots=True)
class Difference:
    """A policy's relative difference from the baseline in one measure."""

    #: Mean over seeds.
    value: float | None
    #: Bounds of the 95% interval of that mean; None with fewer than two seeds.
    low: float | None
    high: float | None
    #: The middle 90% of single seeds.
    p5: float | None
    p95: float | None
    #: Mean absolute difference, in the measure's unit.
    seconds: float | None
    #: Seeds on which both have the measure; for a relative difference the baseline's is also above zero.
    n: int
    #: Bounds of the 95% interval of the mean absolute difference, which also exists where the baseline's
    #: measure is zero, as its waiting time may be; None with fewer than two seeds.
    seconds_low: float | None = None
    seconds_high: float | None = None


def difference(mine: Sequence[float | None], base: Sequence[float | None], draws: int = DRAWS) -> Difference:
    """The paired relative difference of two policies over the same seeds."""
    known = [(a, b) for a, b in zip(mine, base, strict=True) if a is not None and b is not None]
    if not known:
        return Difference(None, None, None, None, None, None, 0)
    apart = np.array([a - b for a, b in known])
    seconds = (float(apart.mean()), *_interval(apart, draws))
    relative = np.array([a / b - 1.0 for a, b in known if b > 0])
    if not len(relative):
        return Difference(None, None, None, None, None, seconds[0], 0, *seconds[1:])
    p5, p95 = np.percentile(relative, [5, 95])
    low, high = _interval(relative, draws)
    return Difference(
        float(relative.mean()), low, high, float(p5), float(p95), seconds[0], len(relative), *seconds[1:]
    )


def mean_of(values: Sequence[float | None], draws: int = DRAWS) -> tuple[float, float, float] | None:
    """A measure's mean over seeds and its 95% interval (the mean alone with one seed); None without any."""
    known = np.array([value for value in values if value is not None], dtype=float)
    if not len(known):
        return None
    mean, (low, high) = float(known.mean()), _interval(known, draws)
    return mean, mean if low is None else low, mean if high is None else high


def _interval(values: Floats, draws: int) -> tuple[float | None, float | None]:
    """The 95% interval of the mean of one value per seed; none with fewer than two."""
    if len(values) < 2:
        return None, None
    return bounds(resampled(values[:, None], draws, 0)[:, 0] / len(values))


def compare(
    results: Mapping[str, Mapping[int, RunResult]], baseline: str, draws: int = DRAWS
) -> list[dict[str, Any]]:
    """Every policy compared with the baseline."""
    base = results[baseline]
    rows = []
    for label, runs in results.items():
        seeds = [seed for seed in runs if seed in base]
        row: dict[str, Any] = {
            "label": label,
            "seeds": len(runs),
            "measures": {
                name: _average([getattr(run, name) for run in runs.values()]) for name in EVERY_MEASURE
            },
            "migrations": _average([float(run.migrations) for run in runs.values()]),
            "controller": _average([run.controller for run in runs.values()]),
            "failed_jobs": sum(run.failed_jobs for run in runs.values()),
            "differences": None,
        }
        if label != baseline and seeds:
            row["differences"] = {
                name: asdict(_measured(name, [runs[s] for s in seeds], [base[s] for s in seeds], draws))
                for name in EVERY_MEASURE
            }
            row["jobs"] = single_jobs([runs[s] for s in seeds], [base[s] for s in seeds])
        rows.append(row)
    return rows


def single_jobs(mine: Sequence[RunResult], base: Sequence[RunResult]) -> dict[str, Any]:
    """Compare single jobs as the thesis does; only jobs completed under both policies count."""
    changes: dict[str, list[float]] = {}
    told: dict[str, list[float]] = {"sooner": [], "best": [], "worst": []}
    for run, other in zip(mine, base, strict=True):
        before = {job.id: job.completion for job in other.jobs if job.state == _DONE and job.completion > 0}
        pairs = [(job.id, job.completion, before[job.id]) for job in run.jobs
                 if job.state == _DONE and job.id in before]  # fmt: skip
        for name, now, then in pairs:
            changes.setdefault(name, []).append(now / then - 1.0)
        if pairs:
            relative = [now / then - 1.0 for _, now, then in pairs]
            told["sooner"].append(sum(then - now > _SOONER for _, now, then in pairs) / len(pairs))
            told["best"].append(min(relative))
            told["worst"].append(max(relative))
    by_job = {name: sum(values) / len(values) for name, values in changes.items()}
    ends = (
        (min(by_job, key=lambda name: by_job[name]), max(by_job, key=lambda name: by_job[name]))
        if by_job
        else None
    )
    return {
        **{name: _average(values) for name, values in told.items()},
        "ranges": {name: _middle(values) for name, values in told.items()},
        "by_job": by_job,
        "best_job": [ends[0], by_job[ends[0]]] if ends else None,
        "worst_job": [ends[1], by_job[ends[1]]] if ends else None,
    }


def _middle(values: Sequence[float]) -> list[float] | None:
    """The middle 90% of single seeds; None without any."""
    if not values:
        return None
    low, high = np.percentile(values, [5, 95])
    return [float(low), float(high)]


def _measured(name: str, mine: Sequence[RunResult], base: Sequence[RunResult], draws: int) -> Difference:
    return difference([getattr(run, name) for run in mine], [getattr(run, name) for run in base], draws)


def _average(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None
