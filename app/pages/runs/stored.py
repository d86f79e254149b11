"""Stored experiments and runs as the Runs pages need them."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from app.context import cached, workspace
from core.errors import ConflictError, NotFoundError
from core.experiments.outcome import RunResult
from core.experiments.spec import ENGINES
from core.scheduling.policies import display_name
from core.units import format_change, format_duration, format_number
from core.workspace.records import RunState, TaskState

if TYPE_CHECKING:
    from collections.abc import Mapping

    from core.experiments.spec import Experiment
    from core.runs.values import ExperimentInfo
    from core.scheduling.loop import Entry
    from core.workspace.records import TaskInfo


_FEW = 2
ROUNDS_TO_ZERO = 0.0005
"""A relative change that is written as 0.0%."""


def describe_machines(experiment: Experiment) -> str:
    """The workers in one term: ``4 × 8 cores``."""
    groups = [f"{group.count:,} × {format_number(group.cores, 0 if group.cores == round(group.cores) else 2)}"
              for group in experiment.workers]  # fmt: skip
    return f"{' + '.join(groups)} core{'s' if groups != ['1 × 1'] else ''}"


def describe_arrivals(experiment: Experiment) -> str:
    """The arrivals of an experiment in one term."""
    arrivals = experiment.arrivals
    gap = format_duration(arrivals.spacing)
    words = {
        "spacing": f"one every {gap}",
        "normal": f"one about every {gap} (σ {format_duration(arrivals.spread)})",
        "uniform": f"arrivals uniform in {format_duration(arrivals.within)}",
        "poisson": f"Poisson arrivals, {gap} apart",
        "load": f"arrivals at load {arrivals.load:g}",
    }
    if arrivals.by == "together" and all(job.at is None for job in experiment.jobs):
        return "all at once"
    return words.get(arrivals.by, "listed arrivals")


def describe_seeds(experiment: Experiment) -> str:
    """The number of seeds."""
    n = len(experiment.seeds)
    return f"{n:,} seeds" if n != 1 else f"seed {experiment.seeds[0]}"


def describe_experiment(experiment: Experiment) -> str:
    """An experiment in one line."""
    engine_text = f"Real, on {ENGINES[experiment.engine].title}" if experiment.real else "Simulated"
    words = [engine_text, describe_machines(experiment)]
    words.append(f"{experiment.n_jobs:,} job{'s' if experiment.n_jobs != 1 else ''}")
    if experiment.world.gamma:
        words.append(f"contention {experiment.world.gamma:g}")
    words += [describe_arrivals(experiment), describe_seeds(experiment)]
    return ", ".join(words)


def policy_title(label: str, policy: str) -> str:
    """The display title of a policy's label: ``fewest`` is ``Fewest jobs``.

    ``NA`` is what the theses call running without a policy; files keep it.
    """
    name, separator, other_experiment = label.partition(" · ")
    if name == policy:
        name = display_name(policy)
    elif policy == "free" and name.partition(" ")[0] == "NA":
        name = ", ".join(filter(None, (display_name(policy), name[3:])))
    return f"{name}{separator}{other_experiment}"


def format_relative(value: float) -> str:
    """A relative change; one that would be written as ``−0.0%`` is ``0.0%``."""
    return format_change(value if abs(value) >= ROUNDS_TO_ZERO else 0.0)


def list_policies(experiment: Experiment) -> str:
    """Its policies by their labels, the first few."""
    labels = [policy_title(arm.label, arm.policy) for arm in experiment.policies]
    more = f" and {len(labels) - _FEW} more" if len(labels) > _FEW + 1 else ""
    return ", ".join(labels[: _FEW + 1] if not more else labels[:_FEW]) + more


KIND = "simulate"
UNDER_WAY = (TaskState.QUEUED, TaskState.RUNNING)
_SEPARATOR = "@"
_LOOK_BACK = 500


@dataclass(frozen=True, slots=True)
class Side:
    """One policy of an experiment with its finished runs."""

    #: Its name in addresses: its label, and the id of its experiment if it is another one.
    key: str
    #: Its label, and the policy's name in the register.
    label: str
    policy: str
    #: The policy's settings.
    settings: Mapping[str, Any] = field(default_factory=dict)
    #: The id of its experiment.
    experiment: str = ""
    #: The id of its run on each seed.
    runs: Mapping[int, str] = field(default_factory=dict)

    @property
    def title(self) -> str:
        """The title on the screen."""
        return policy_title(self.label, self.policy)


def sides(info: ExperimentInfo) -> dict[str, Side]:
    """The policies of an experiment by key, in order."""
    return {
        arm.label: Side(
            arm.label, arm.label, arm.policy, arm.settings, info.id, dict(info.runs.get(arm.label, {}))
        )
        for arm in info.experiment.policies
    }


def rivals(info: ExperimentInfo) -> dict[str, Side]:
    """Policies of other experiments with the same machines, jobs and rules, by key."""
    by_key: dict[str, Side] = {}
    scenario = info.experiment.scenario_dict()
    for other in workspace().runs.experiments():
        if other.id == info.id or other.experiment.scenario_dict() != scenario:
            continue
        for side in sides(other).values():
            if side.runs:
                key = f"{side.label}{_SEPARATOR}{other.id}"
                by_key[key] = Side(
                    key, f"{side.label} · {other.name}", side.policy, side.settings, other.id, side.runs
                )
    return by_key


def result(run: str) -> RunResult:
    """A run's result, cached after the first read."""
    return RunResult.from_dict(cached(lambda: workspace().runs.result(run).to_dict(), "run-result", run))


def series(run: str) -> dict[str, Any] | None:
    """A run's time series; None if it is not stored, or not yet."""
    try:
        return workspace().runs.ledgers.series(run)
    except NotFoundError:
        return None


@lru_cache(maxsize=4)
def _kept_series(_home: str, run: str) -> dict[str, Any]:
    return workspace().runs.ledgers.series(run)


def recent_series(run: str) -> dict[str, Any] | None:
    """A run's time series, cached in memory for steps through its ledger; do not modify it.

    None where it is not stored, or not yet.
    """
    try:
        return _kept_series(str(workspace().settings.home), run)
    except NotFoundError:
        return None


def summary(run: str) -> Mapping[str, Any] | None:
    """A run's measures by name; None if it was removed or is not finished."""
    try:
        return workspace().runs.get(run).summary
    except NotFoundError:
        return None


def tasks_by_experiment() -> dict[str, TaskInfo]:
    """The newest task of each experiment."""
    newest: dict[str, TaskInfo] = {}
    for task in workspace().tasks.list(_LOOK_BACK):
        if task.kind == KIND:
            newest.setdefault(str(task.params.get("experiment")), task)
    return newest


def task_of(info: ExperimentInfo) -> TaskInfo | None:
    """The newest task of an experiment; None if it was cleared."""
    return tasks_by_experiment().get(info.id)


def state_of(info: ExperimentInfo, tasks: Mapping[str, TaskInfo] | None = None) -> str:
    """The state of an experiment: queued, running, done, failed, cancelled or interrupted."""
    if info.report is not None:
        return RunState.DONE.value
    task = (tasks if tasks is not None else tasks_by_experiment()).get(info.id)
    return RunState.INTERRUPTED.value if task is None else task.state.value


def entry(run: str, tick: int) -> Entry:
    """One entry of a run's ledger."""
    return workspace().runs.ledgers.entry(run, tick)


def delete(experiment: str) -> int:
    """Remove an experiment with its runs; returns how many runs there were."""
    info = workspace().runs.experiment(experiment)
    if state_of(info) in UNDER_WAY:
        raise ConflictError(f"“{info.name}” is still running.", "Cancel its task first.")
    return workspace().runs.delete_experiment(experiment)
