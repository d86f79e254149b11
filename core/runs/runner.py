"""One policy on one seed of an experiment: the loop over its engine, and those who listen to its entries."""

from __future__ import annotations

import hashlib
import json
import time
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from core.engines.simulated import simulated
from core.engines.watch_only import StartOnly
from core.experiments.outcome import Outcome
from core.experiments.truth import truth
from core.runs.stages import Stage, simulated_stage
from core.scheduling.loop import drive, replay
from core.scheduling.policies import POLICIES
from core.workspace.code_version import code_digest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from core.experiments.outcome import RunResult
    from core.experiments.spec import Arm, Experiment
    from core.scheduling.loop import Difference, Entry
    from core.simulation.scenario import Scenario

_FORMAT = 2
# the code that a run depends on, and what a simulated one depends on besides: a real engine has no sources
_DECIDING = ("core.scheduling", "core.progress", "core.settings_fields")
_LEARNING = ("core.provisioning", "core.phases", "core.traces")
_SIMULATING = ("core.simulation", "core.experiments", "core.engines.simulated")


def run_arm(
    experiment: Experiment,
    arm: Arm,
    seed: int,
    listen: Callable[[Entry, Outcome], None] | None = None,
    stage: Stage | None = None,
) -> RunResult:
    """Run one policy on one seed.

    Raises
    ------
    ConflictError
        If the policy leaves jobs that can never end.
    """
    where, policy = stage or simulated_stage(experiment, arm, seed), POLICIES[arm.policy]
    outcome = Outcome(where.truth)
    begun, used = time.monotonic(), time.process_time()
    engine = StartOnly(where.engine) if arm.watch else where.engine
    for entry in drive(engine, policy, where.settings(arm), seed, where.pace):
        outcome.add(entry)
        if listen is not None:
            listen(entry, outcome)
    if where.pace is None:
        return outcome.result()
    share = (time.process_time() - used) / (time.monotonic() - begun)
    return replace(outcome.result(), controller=share)


def run_scenario(scenario: Scenario, arm: Arm, seed: int) -> RunResult:
    """Simulate one policy on a scenario, such as one that was calibrated from a recording."""
    outcome, policy = Outcome(truth(scenario)), POLICIES[arm.policy]
    for entry in drive(simulated(scenario, seed), policy, policy.build_settings(arm.settings), seed):
        outcome.add(entry)
    return outcome.result()


def replay_arm(
    policy: str,
    settings: Mapping[str, Any],
    seed: int,
    entries: Iterable[Entry],
    ready: Callable[[Any], Any] = lambda chosen: chosen,
) -> list[Difference]:
    """Show a policy what a ledger says it saw; returns the decisions that differ from the recorded ones.

    Raises
    ------
    NotFoundError
        If there is no such policy any more.
    InputError
        If it does not have these settings any more.
    """
    known = POLICIES[policy]
    return list(replay(known, ready(known.build_settings(settings)), seed, entries))


def scenario_key(experiment: Experiment) -> str:
    """The digest of what all policies of an experiment meet, seeds apart."""
    return _digest([_FORMAT, experiment.scenario_dict()])


def run_key(experiment: Experiment, arm: Arm, seed: int, asked: str) -> str:
    """The digest of everything that a run depends on; a real run belongs to the experiment that `asked`."""
    policy = POLICIES[arm.policy]
    settings = asdict(policy.build_settings(arm.settings))
    real = [asked, arm.threads] if experiment.real else []
    watched = ["watched"] if arm.watch else []
    deciding = (*_DECIDING, *_LEARNING) if policy.sees_use else _DECIDING
    code = code_digest(deciding if real else (*deciding, *_SIMULATING), [policy])
    return _digest([_FORMAT, code, scenario_key(experiment), arm.policy, settings, seed, *real, *watched])


def _digest(parts: list[Any]) -> str:
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:32]
