"""Stored runs side by side: those of one experiment, or any that a person chooses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from core.experiments.compare import compare

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from core.experiments.outcome import RunResult
    from core.experiments.spec import Experiment
    from core.runs.values import RunInfo


def report(
    experiment: Experiment, runs: Sequence[tuple[str, int, str]], result: Callable[[str], RunResult]
) -> dict[str, Any]:
    """The report on an experiment's runs.

    Parameters
    ----------
    experiment
        The experiment, with its baseline.
    runs
        Label, seed and id of each run.
    result
        Gives a run's result by its id.

    Returns
    -------
    dict
        ``comparison``, as `core.experiments.compare.compare` gives it, and ``baseline``.
    """
    results: dict[str, dict[int, RunResult]] = {arm.label: {} for arm in experiment.policies}
    for label, seed, run in runs:
        results[label][seed] = result(run)
    return {"comparison": compare(results, experiment.baseline), "baseline": experiment.baseline}


def side_by_side(infos: Sequence[RunInfo], results: Mapping[str, RunResult], baseline: str) -> dict[str, Any]:
    """Any runs, grouped by their labels; see `core.runs.service.Runs.compare`."""
    names = labels(infos)
    grouped: dict[str, dict[int, RunResult]] = {}
    for info in infos:
        grouped.setdefault(names[info.id], {})[info.seed] = results[info.id]
    return {
        "comparison": compare(grouped, names[baseline]),
        "baseline": names[baseline],
        "labels": names,
        "paired": len({info.scenario for info in infos}) == 1,
    }


def labels(infos: Sequence[RunInfo]) -> dict[str, str]:
    """A label for each run; runs of different arms that share a label get their experiment's name or id."""
    arms: dict[str, set[tuple[str, str]]] = {}
    for info in infos:
        arms.setdefault(info.label, set()).add((info.experiment, info.name))
    several = {label for label, owners in arms.items() if len(owners) > 1}
    names = {info.id: info.label for info in infos}
    for info in infos:
        if info.label in several:
            alike = len({name for _, name in arms[info.label]}) < len(arms[info.label])
            names[info.id] = f"{info.label} · {info.name}{f' ({info.experiment[:6]})' if alike else ''}"
    return names
