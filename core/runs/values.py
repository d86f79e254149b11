"""Experiments and their runs as frozen values, detached from the database."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from core.experiments.spec import Experiment
    from core.workspace.database_schema import ExperimentRow, RunRow
    from core.workspace.records import RunState


class Keep(StrEnum):
    """The runs of an experiment that keep their ledgers and time series."""

    FIRST = "first"
    ALL = "all"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class RunInfo:
    """One policy on one seed of an experiment."""

    #: Its id in addresses.
    id: str
    #: The experiment that made it: id and name; `NO_EXPERIMENT` and what it did where, if none did.
    experiment: str
    name: str
    #: What it was called there, the policy, and the settings that were given.
    label: str
    policy: str
    settings: Mapping[str, Any]
    #: The seed.
    seed: int
    #: A digest of the workers, jobs and rules; runs that share it and the seed can be compared as pairs.
    scenario: str
    #: See `RunState`.
    state: RunState
    #: The task that makes or made it, or None.
    task: str | None
    #: When it began (aware).
    created: datetime
    #: How many entries its stored ledger has; 0 without one.
    ticks: int
    #: Every measure of `core.experiments.leaderboard.ALL_MEASURES`, ``migrations``, ``failed_actions``,
    #: ``failed_jobs`` and ``decisions``; None until it is done.
    summary: Mapping[str, Any] | None


@dataclass(frozen=True, slots=True)
class ExperimentInfo:
    """An experiment that was submitted or run here."""

    #: Its id in addresses, and its name.
    id: str
    name: str
    #: When it was submitted (aware).
    created: datetime
    #: The task that runs it, or None where the command line ran it.
    task: str | None
    #: What is run.
    experiment: Experiment
    #: Ids of its runs per label and seed; runs made earlier for another experiment are among them.
    runs: Mapping[str, Mapping[int, str]]
    #: As `core.experiments.leaderboard.compare` gives it under ``comparison``; None until all runs are done.
    report: Mapping[str, Any] | None


def run_info(row: RunRow, state: RunState) -> RunInfo:
    """Return a row as a value, in its real state."""
    return RunInfo(
        id=row.id,
        experiment=row.experiment,
        name=row.name,
        label=row.label,
        policy=row.policy,
        settings=row.settings,
        seed=row.seed,
        scenario=row.scenario,
        state=state,
        task=row.task,
        created=datetime.fromtimestamp(row.created, UTC),
        ticks=row.entries,
        summary=row.summary,
    )


def experiment_info(row: ExperimentRow, experiment: Experiment) -> ExperimentInfo:
    """Return a row as a value."""
    runs: dict[str, dict[int, str]] = {}
    for label, seed, run in row.runs:
        runs.setdefault(label, {})[seed] = run
    return ExperimentInfo(
        id=row.id,
        name=row.name,
        created=datetime.fromtimestamp(row.created, UTC),
        task=row.task,
        experiment=experiment,
        runs=runs,
        report=row.report,
    )
