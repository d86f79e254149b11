"""Use cases of the command line for experiments: choose, change, run in this process, replay."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from core.errors import InputError, NotFoundError
from core.experiments.measures import admitted, in_time, with_deadline
from core.experiments.spec_reader import from_dict
from core.experiments.spec_values import SpecError, read_marked
from core.runs import bundled
from core.runs.values import Keep

if TYPE_CHECKING:
    from collections.abc import Sequence

    from core.application import Workspace
    from core.experiments.measures import JobOutcome
    from core.experiments.outcome import RunResult
    from core.experiments.spec import Experiment
    from core.progress_reporting import Progress


def choose_experiment(
    source: str, *, seeds: int = 0, policies: str = "", baseline: str = "", changes: Sequence[str] = ()
) -> Experiment:
    """An experiment with what the command line changes of it."""
    experiment = _with_changes(bundled.load(source), changes)
    if seeds < 0:
        raise InputError(f"--seeds cannot be {seeds}.", "Give a number above zero.")
    if seeds:
        experiment = experiment.with_seeds(seeds)
    if baseline:
        experiment = replace(experiment, baseline=_labels_of(experiment, baseline)[0])
    names = [name.strip() for name in policies.split(",") if name.strip()]
    if names:
        labels = {label for name in names for label in _labels_of(experiment, name)}
        arms = tuple(
            arm for arm in experiment.policies if arm.label in labels or arm.label == experiment.baseline
        )
        experiment = replace(experiment, policies=arms)
    return experiment


def read_keep(text: str) -> Keep:
    """Read which ledgers to save."""
    try:
        return Keep(text)
    except ValueError:
        raise InputError(
            f"--ledgers cannot be “{text}”.", f"Choose one of: {', '.join(each.value for each in Keep)}."
        ) from None


def simulate(
    workspace: Workspace,
    experiment: Experiment,
    keep: Keep,
    progress: Progress | None = None,
    *,
    jobs: bool = False,
) -> dict[str, Any]:
    """Run an experiment here and now."""
    info = workspace.runs.make(experiment, progress, keep)
    executed = info.experiment
    return {
        "experiment": info.id,
        "name": executed.name,
        "about": executed.about,
        "engine": executed.engine,
        "n_jobs": executed.n_jobs,
        "n_workers": sum(group.count for group in executed.workers),
        "world": asdict(executed.world),
        "seeds": list(executed.seeds),
        "baseline": executed.baseline,
        "runs": [
            _run(workspace, run, label, jobs=jobs)
            for label, runs in info.runs.items()
            for run in runs.values()
        ],
        "policies": list((info.report or {})["comparison"]),
        "predicted": (info.report or {}).get("predicted"),
    }


def replay(workspace: Workspace, run: str) -> dict[str, Any]:
    """Replay a run's ledger to its policy."""
    info = workspace.runs.get(run)
    differences = workspace.runs.replay(run)
    return {
        "run": info.id,
        "label": info.label,
        "policy": info.policy,
        "seed": info.seed,
        "ticks": info.ticks,
        "equal": not differences,
        "differences": [
            {
                "tick": each.number,
                "recorded": [str(action) for action in each.recorded],
                "decided": [str(action) for action in each.decided],
            }
            for each in differences
        ],
    }


def _run(workspace: Workspace, run: str, label: str, *, jobs: bool) -> dict[str, Any]:
    info, result = workspace.runs.get(run), workspace.runs.result(run)
    summary = deadlines(result)
    if summary is not None and jobs:
        summary["jobs"] = deadline_jobs(result.jobs)
    return {
        "run": run,
        "label": label,
        "policy": info.policy,
        "settings": dict(info.settings),
        "seed": info.seed,
        "ticks": info.ticks,
        **result.to_dict(),
        **({} if summary is None else {"deadlines": summary}),
    }


def deadlines(result: RunResult) -> dict[str, Any] | None:
    """Counts and measures of the jobs with deadlines of a run; None without any."""
    jobs = with_deadline(result.jobs)
    if not jobs:
        return None
    return {
        "submitted": len(jobs),
        "admitted": sum(map(admitted, jobs)),
        "met": sum(map(in_time, jobs)),
        "met_of_admitted": result.kept,
        "tardiness_mean": result.tardiness,
        "tardiness_p95": result.tardiness_p95,
        "utilisation": result.utilisation,
        "core_seconds_on_missed": result.lost or 0.0,
        "prediction_error_median": result.prediction_error,
        "prediction_error_p90": result.prediction_error_p90,
    }


def deadline_jobs(jobs: Sequence[JobOutcome]) -> list[dict[str, Any]]:
    """Each job with a deadline and how it ended; times on the run's clock, seconds."""
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
        for job in with_deadline(jobs)
    ]


def _labels_of(experiment: Experiment, name: str) -> list[str]:
    """The labels that a name stands for: a label itself, or all arms of a policy."""
    labels = [arm.label for arm in experiment.policies]
    matching = [name] if name in labels else [arm.label for arm in experiment.policies if arm.policy == name]
    if not matching:
        raise NotFoundError(
            f"The experiment has no policy labelled “{name}”.", f"It has: {', '.join(labels)}."
        )
    return matching


def _with_changes(experiment: Experiment, changes: Sequence[str]) -> Experiment:
    if not changes:
        return experiment
    values = experiment.to_dict()
    for change in changes:
        path, sign, written = change.partition("=")
        if not sign:
            raise InputError(f"--set {change} has no value.", "Write it as world.gamma=0.02.")
        owner, _, name = path.strip().rpartition(".")
        for inner in _changed_mappings(values, owner, name):
            inner[name] = read_marked(f"value: {written}").values["value"]
    try:
        return from_dict(values)
    except SpecError as error:
        field_name = ".".join(str(part) for part in error.path)
        raise InputError(f"--set {field_name}: {error.message}", error.hint) from None


def _changed_mappings(values: dict[str, Any], path: str, name: str) -> list[dict[str, Any]]:
    """The mappings that a change is made in: a part of the experiment, or the settings of its policies."""
    inner: Any = values
    for part in path.split(".") if path else ():
        inner = inner.get(part) if isinstance(inner, dict) else None
    if isinstance(inner, dict):
        return [inner]
    arms = [arm for arm in values["policies"] if arm.get("label", arm["policy"]) == path]
    arms = arms or [arm for arm in values["policies"] if arm["policy"] == path]
    if not arms:
        hint = "Write it as world.gamma=0.02 or flowcon.alpha=0.05."
        raise InputError(f"There is no field “{path}.{name}” to set.", hint)
    return [arm.setdefault("settings", {}) for arm in arms]
