"""Policies compared over seeds: paired differences with bootstrap intervals, never one lucky run.

On one seed every policy meets the same jobs, so their difference on it is paired. A difference is relative,
(policy − baseline) / baseline; below zero the policy is better. The interval holds 95% of the means of seeds
drawn with replacement (percentile method), the range holds the middle 90% of single seeds: a published single
run is reproduced where its figure lies within the range.

All figures of a leaderboard are taken over the same seeds, those that every policy in it has been run on, so
that means can be compared as well as differences. An interval is for one policy against the baseline: of
twenty policies that differ in nothing, one is expected to have an interval without zero.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from core.bootstrap_intervals import mean_interval
from core.experiments.measures import EXTRA_MEASURES, informative_measures, mean_of_present

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from core.experiments.outcome import RunResult
    from core.experiments.parts import PublishedFigure

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
ALL_MEASURES = MEASURES | {name: each.label for name, each in EXTRA_MEASURES.items()}
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
    pairs = [(a, b) for a, b in zip(mine, base, strict=True) if a is not None and b is not None]
    if not pairs:
        return Difference(None, None, None, None, None, None, 0)
    differences = np.array([a - b for a, b in pairs])
    seconds = (float(differences.mean()), *mean_interval(differences, draws))
    relative = np.array([a / b - 1.0 for a, b in pairs if b > 0])
    if not len(relative):
        return Difference(None, None, None, None, None, seconds[0], 0, *seconds[1:])
    p5, p95 = np.percentile(relative, [5, 95])
    low, high = mean_interval(relative, draws)
    return Difference(
        float(relative.mean()), low, high, float(p5), float(p95), seconds[0], len(relative), *seconds[1:]
    )


def mean_of(values: Sequence[float | None], draws: int = DRAWS) -> tuple[float, float, float] | None:
    """A measure's mean over seeds and its 95% interval (the mean alone with one seed); None without any."""
    present = np.array([value for value in values if value is not None], dtype=float)
    if not len(present):
        return None
    mean, (low, high) = float(present.mean()), mean_interval(present, draws)
    return mean, mean if low is None else low, mean if high is None else high


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
                name: mean_of_present([getattr(run, name) for run in runs.values()]) for name in ALL_MEASURES
            },
            "migrations": mean_of_present([float(run.migrations) for run in runs.values()]),
            "controller": mean_of_present([run.controller for run in runs.values()]),
            "failed_jobs": sum(run.failed_jobs for run in runs.values()),
            "differences": None,
        }
        if label != baseline and seeds:
            row["differences"] = {
                name: asdict(_measured(name, [runs[s] for s in seeds], [base[s] for s in seeds], draws))
                for name in ALL_MEASURES
            }
            row["jobs"] = single_jobs([runs[s] for s in seeds], [base[s] for s in seeds])
        rows.append(row)
    return rows


def single_jobs(mine: Sequence[RunResult], base: Sequence[RunResult]) -> dict[str, Any]:
    """Compare single jobs as the thesis does; only jobs completed under both policies count."""
    changes: dict[str, list[float]] = {}
    shares: dict[str, list[float]] = {"sooner": [], "best": [], "worst": []}
    for run, other in zip(mine, base, strict=True):
        before = {job.id: job.completion for job in other.jobs if job.state == _DONE and job.completion > 0}
        pairs = [(job.id, job.completion, before[job.id]) for job in run.jobs
                 if job.state == _DONE and job.id in before]  # fmt: skip
        for name, now, then in pairs:
            changes.setdefault(name, []).append(now / then - 1.0)
        if pairs:
            relative = [now / then - 1.0 for _, now, then in pairs]
            shares["sooner"].append(sum(then - now > _SOONER for _, now, then in pairs) / len(pairs))
            shares["best"].append(min(relative))
            shares["worst"].append(max(relative))
    by_job = {name: sum(values) / len(values) for name, values in changes.items()}
    ends = (
        (min(by_job, key=lambda name: by_job[name]), max(by_job, key=lambda name: by_job[name]))
        if by_job
        else None
    )
    return {
        **{name: mean_of_present(values) for name, values in shares.items()},
        "ranges": {name: _middle(values) for name, values in shares.items()},
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


JOB_MEASURES = ("sooner", "best", "worst")
"""What a standing has of single jobs, beside `ALL_MEASURES`."""


@dataclass(frozen=True, slots=True)
class SingleJobs:
    """Completion times of single jobs relative to the baseline; below zero is sooner."""

    #: Means over seeds of the share of a run's jobs that ended sooner, and of the change of its best and of
    #: its worst job.
    sooner: float
    best: float
    worst: float
    #: The middle 90% of single seeds of these three.
    ranges: Mapping[str, tuple[float, float]]
    #: (name, mean change over seeds) of the job that gains and of the one that loses most on average.
    best_job: tuple[str, float]
    worst_job: tuple[str, float]
    #: The mean change of each job.
    by_job: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Standing:
    """One policy's row."""

    #: Its label.
    label: str
    #: How many seeds it and all others were run on.
    seeds: int
    #: Means over these seeds of every one of `ALL_MEASURES`, times in seconds; None where no run has it, and
    #: those of the queue missing in reports of earlier releases.
    measures: Mapping[str, float | None]
    #: The paired relative difference from the baseline in each measure; empty for the baseline.
    differences: Mapping[str, Difference]
    #: How single jobs fare; None for the baseline, and where no job was done under both.
    jobs: SingleJobs | None
    #: Migrations per run, and failed jobs of all runs: they are in no mean.
    migrations: float
    failed_jobs: int
    #: PhaseDock's own share of a core; None in simulated runs.
    controller: float | None = None


def shared_seeds(runs: Mapping[str, Mapping[int, Any]]) -> list[int]:
    """The seeds that every policy has been run on, in order."""
    sets = [set(each) for each in runs.values()]
    return sorted(set.intersection(*sets)) if sets else []


def leaderboard(
    results: Mapping[str, Mapping[int, RunResult]], baseline: str, draws: int = DRAWS
) -> list[Standing]:
    """The rows of all policies, in the order of the experiment."""
    seeds = shared_seeds(results)
    if not seeds:
        return []
    same = {label: {seed: runs[seed] for seed in seeds} for label, runs in results.items()}
    return [_standing(row) for row in compare(same, baseline, draws)]


def standings(comparison: Sequence[Mapping[str, Any]]) -> list[Standing] | None:
    """The rows of a stored report; None where it is of an earlier release, which named no jobs."""
    if any(row.get("jobs") and "best_job" not in row["jobs"] for row in comparison) or not comparison:
        return None
    return [_standing(row) for row in comparison]


def extra_columns(rows: Sequence[Standing]) -> dict[str, tuple[str, ...]]:
    """The further measures that are not trivial for these policies, by their subject."""
    return informative_measures([row.measures for row in rows])


def _standing(row: Mapping[str, Any]) -> Standing:
    comparison = row.get("jobs")
    jobs = None
    if comparison and comparison["best_job"]:
        ends = {name: (comparison[name][0], comparison[name][1]) for name in ("best_job", "worst_job")}
        ranges = {name: (each[0], each[1]) for name, each in comparison["ranges"].items() if each}
        jobs = SingleJobs(**{**comparison, **ends, "ranges": ranges})
    return Standing(
        label=row["label"],
        seeds=row["seeds"],
        measures=row["measures"],
        differences={name: Difference(**each) for name, each in (row["differences"] or {}).items()},
        jobs=jobs,
        migrations=row["migrations"] or 0.0,
        failed_jobs=row["failed_jobs"],
        controller=row.get("controller"),
    )


def value_of(row: Standing, name: str) -> float | str | None:
    """The value that a row is sorted by."""
    if name in ALL_MEASURES:
        return row.measures.get(name)
    if name.startswith("difference."):
        against_base = row.differences.get(name.removeprefix("difference."))
        return 0.0 if against_base is None else against_base.value
    if name in JOB_MEASURES:
        if row.jobs is None:
            return None
        ends = {"sooner": row.jobs.sooner, "best": row.jobs.best_job[1], "worst": row.jobs.worst_job[1]}
        return ends[name]
    return {"migrations": row.migrations, "controller": row.controller}.get(name, row.label)


def ranked(rows: Sequence[Standing], name: str, *, falling: bool = False) -> list[Standing]:
    """The rows sorted by one column; rows without a value are last either way, equal ones in order."""
    with_value = [row for row in rows if value_of(row, name) is not None]
    without_value = [row for row in rows if value_of(row, name) is None]
    if name == "label":
        with_value.sort(key=lambda row: row.label.casefold(), reverse=falling)
    else:
        sign = -1.0 if falling else 1.0
        with_value.sort(key=lambda row: sign * float(value_of(row, name) or 0.0))
    return [*with_value, *without_value]


# What was published, and whether the runs reproduce it.
#
# A published figure is a single run against the experiment's own baseline. With fewer than 30 seeds the range
# of single seeds says too little, and nothing is claimed.

ENOUGH_SEEDS = 30


def published_of(published: Sequence[PublishedFigure], label: str) -> list[PublishedFigure]:
    """The published figures of one policy, in order."""
    return [each for each in published if each.policy == label]


def measured_change(published: PublishedFigure, row: Standing) -> float | None:
    """The mean change over seeds in the measure of a published figure, or None."""
    if published.measure in ("mean", "makespan"):
        difference = row.differences.get(published.measure)
        return None if difference is None else difference.value
    if row.jobs is None:
        return None
    if published.measure == "completion":
        return row.jobs.by_job.get(published.job)
    return {"sooner": row.jobs.sooner, "best": row.jobs.best, "worst": row.jobs.worst}[published.measure]


def reproduced(published: PublishedFigure, row: Standing) -> bool | None:
    """Whether the published change lies within the middle 90% of single seeds; None: too few seeds."""
    span = _middle_range(published, row)
    if span is None or row.seeds < ENOUGH_SEEDS:
        return None
    return span[0] <= published.change <= span[1]


def _middle_range(published: PublishedFigure, row: Standing) -> tuple[float, float] | None:
    if published.measure in ("mean", "makespan"):
        difference = row.differences.get(published.measure)
        if difference is None or difference.p5 is None or difference.p95 is None:
            return None
        return difference.p5, difference.p95
    return row.jobs.ranges.get(published.measure) if row.jobs is not None else None
