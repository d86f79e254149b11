"""Any number of policies of one experiment in one table: who is best, by how much, and how sure that is.

All figures of a table are taken over the same seeds, those that every policy in it has been run on, so that
means can be compared as well as differences. Differences, intervals and single jobs are those of
`core.experiments.compare`. An interval is for one policy against the baseline: of twenty policies that differ
in nothing, one is expected to have an interval without zero.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from core.experiments.compare import DRAWS, EVERY_MEASURE, Difference, compare
from core.experiments.measures.further import telling

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from core.experiments.outcome import RunResult

JOB_MEASURES = ("sooner", "best", "worst")
"""What a standing says of single jobs, beside `core.experiments.compare.EVERY_MEASURE`."""


@dataclass(frozen=True, slots=True)
class SingleJobs:
    """How single jobs fare against the baseline; changes are relative, below zero is sooner."""

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
    #: Means over these seeds of every measure of `core.experiments.compare.EVERY_MEASURE`, times in seconds;
    #: None where no run has it, and those of the queue missing in reports of earlier releases.
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
    """Every policy's row, in the order given."""
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


def further_columns(rows: Sequence[Standing]) -> dict[str, tuple[str, ...]]:
    """The further measures with something to say of these policies, by what they are about."""
    return telling([row.measures for row in rows])


def _standing(row: Mapping[str, Any]) -> Standing:
    found = row.get("jobs")
    jobs = None
    if found and found["best_job"]:
        ends = {name: (found[name][0], found[name][1]) for name in ("best_job", "worst_job")}
        ranges = {name: (each[0], each[1]) for name, each in found["ranges"].items() if each}
        jobs = SingleJobs(**{**found, **ends, "ranges": ranges})
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
    """What a row is sorted by."""
    if name in EVERY_MEASURE:
        return row.measures.get(name)
    if name.startswith("difference."):
        found = row.differences.get(name.removeprefix("difference."))
        return 0.0 if found is None else found.value
    if name in JOB_MEASURES:
        if row.jobs is None:
            return None
        ends = {"sooner": row.jobs.sooner, "best": row.jobs.best_job[1], "worst": row.jobs.worst_job[1]}
        return ends[name]
    return {"migrations": row.migrations, "controller": row.controller}.get(name, row.label)


def ranked(rows: Sequence[Standing], name: str, *, falling: bool = False) -> list[Standing]:
    """The rows sorted by one column; rows without a value are last either way, equal ones in order."""
    known = [row for row in rows if value_of(row, name) is not None]
    rest = [row for row in rows if value_of(row, name) is None]
    if name == "label":
        known.sort(key=lambda row: row.label.casefold(), reverse=falling)
    else:
        sign = -1.0 if falling else 1.0
        known.sort(key=lambda row: sign * float(value_of(row, name) or 0.0))
    return [*known, *rest]
