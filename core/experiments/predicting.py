"""Predicting real runs with the simulator, calibrated on the run without a policy.

For each repeat the baseline's own run is the recording: its γ, works and loss curves make a scenario
(`core.simulation.calibration`), on which every policy of the experiment is then simulated. So a
prediction never sees the run that it is compared with, except for the baseline, whose row says how good the
fit itself is.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from core.errors import InputError
from core.experiments.leaderboard import compare
from core.simulation.calibration import calibrate

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from core.experiments.outcome import RunResult
    from core.experiments.spec import Arm, Experiment
    from core.scheduling.model import Observation
    from core.simulation.calibration import Calibration
    from core.simulation.scenario import Scenario


@dataclass(frozen=True, slots=True)
class Prediction:
    """The simulator's prediction of an experiment."""

    #: As `core.experiments.leaderboard.compare` gives it, of simulated runs on the same seeds.
    comparison: list[dict[str, Any]]
    #: For each seed: its γ, whether that is known, and the errors of the fit.
    fits: dict[int, dict[str, Any]]
    #: Seeds whose baseline could not be fitted, with the reason.
    missing: dict[int, str]

    def to_dict(self) -> dict[str, Any]:
        """The prediction as plain values."""
        return {
            "comparison": self.comparison,
            "fits": {str(seed): fit for seed, fit in self.fits.items()},
            "missing": {str(seed): reason for seed, reason in self.missing.items()},
        }


def predict(
    experiment: Experiment,
    baselines: Mapping[int, Sequence[Observation]],
    simulate: Callable[[Scenario, Arm, int], RunResult],
) -> Prediction | None:
    """Simulate every policy of an experiment on scenarios calibrated from its baseline's runs."""
    results: dict[str, dict[int, RunResult]] = {arm.label: {} for arm in experiment.policies}
    fits, missing = {}, {}
    for seed, observations in baselines.items():
        try:
            fitted = calibrate(observations)
        except InputError as error:
            missing[seed] = error.message
            continue
        fits[seed] = _describe_fit(fitted)
        scenario = _with_costs(fitted.scenario, experiment, observations)
        for arm in experiment.policies:
            threads = arm.threads or experiment.docker.threads
            results[arm.label][seed] = simulate(_with_threads(scenario, threads), arm, seed)
    if not fits:
        return None
    return Prediction(compare(results, experiment.baseline), fits, missing)


def _describe_fit(fitted: Calibration) -> dict[str, Any]:
    return {
        "gamma": fitted.scenario.gamma,
        "gamma_known": fitted.gamma_known,
        "thread_penalty": fitted.scenario.jobs[0].thread_penalty,
        "thread_penalty_known": fitted.penalty_known,
        "progress_error": fitted.progress_error,
        "curve_error": max(fitted.curve_errors, default=0.0),
        "left_out": list(fitted.left_out),
    }


def _with_costs(scenario: Scenario, experiment: Experiment, observations: Sequence[Observation]) -> Scenario:
    """Add the costs of migration, which its baseline cannot show, as the experiment declares them."""
    kinds = experiment.kinds.values()
    writes = {job.id: job.can_migrate for observation in observations for job in observation.jobs}
    spans = [kind.checkpoint for kind in kinds if kind.checkpoint is not None] or [(1.5, 1.5)]
    checkpoint = sum(low + high for low, high in spans) / (2 * len(spans))
    restores = [kind.restore for kind in kinds] or [(2.0, 2.0)]
    restore = sum(low + high for low, high in restores) / (2 * len(restores))
    jobs = tuple(
        replace(job, checkpoint_s=checkpoint if writes.get(job.id, True) else None, restore_s=restore)
        for job in scenario.jobs
    )
    return replace(scenario, jobs=jobs, control_s=experiment.world.control)


def _with_threads(scenario: Scenario, threads: str) -> Scenario:
    """Give jobs the threads of a policy's containers, one of `core.experiments.parts.THREADS`."""
    cores = math.ceil(max(worker.cores for worker in scenario.workers))
    fixed = {"one": 1, "static": cores}.get(threads)
    follows = fixed is None
    jobs = (replace(job, threads=fixed, resizable=follows, follows=follows) for job in scenario.jobs)
    return replace(scenario, jobs=tuple(jobs))
