"""One policy on one seed of an experiment: the engine, the loop, and those who listen to its entries."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

from core.engines.simulated import simulated
from core.experiments.drawing import scenario
from core.experiments.outcome import Outcome
from core.experiments.truth import truth
from core.scheduling.loop import drive, replay
from core.scheduling.policies import POLICIES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from core.experiments.outcome import RunResult
    from core.experiments.spec import Arm, Experiment
    from core.scheduling.loop import Difference, Entry

_FORMAT = 2


def run_arm(
    experiment: Experiment,
    arm: Arm,
    seed: int,
    listen: Callable[[Entry, Outcome], None] | None = None,
) -> RunResult:
    """Run one policy on one seed.

    Parameters
    ----------
    experiment
        What is run.
    arm
        The policy and its settings.
    seed
        Of the scenario and of the policy's own chance.
    listen
        Called with each entry and what the run has come to so far; it may raise to stop the run.

    Returns
    -------
    RunResult
        What it came to.

    Raises
    ------
    ConflictError
        If the policy leaves jobs that can never end.
    """
    world, policy = scenario(experiment, seed), POLICIES[arm.policy]
    outcome, engine = Outcome(truth(world)), simulated(world, seed, hidden=policy.oracle)
    for entry in drive(engine, policy, policy.chosen(arm.settings), seed):
        outcome.add(entry)
        if listen is not None:
            listen(entry, outcome)
    return outcome.result()


def replay_arm(
    policy: str, settings: Mapping[str, Any], seed: int, entries: Iterable[Entry]
) -> list[Difference]:
    """Show a policy what a ledger says it saw; gives the decisions that are not the recorded ones.

    Raises
    ------
    NotFoundError
        If there is no such policy any more.
    InputError
        If it does not have these settings any more.
    """
    known = POLICIES[policy]
    return list(replay(known, known.chosen(settings), seed, entries))


def scenario_key(experiment: Experiment) -> str:
    """The digest of what all policies of an experiment meet, seeds apart."""
    return _digest([_FORMAT, experiment.scenario_dict()])


def run_key(experiment: Experiment, arm: Arm, seed: int) -> str:
    """The digest of everything that a run depends on."""
    settings = asdict(POLICIES[arm.policy].chosen(arm.settings))
    return _digest([_FORMAT, _release(), scenario_key(experiment), arm.policy, settings, seed])


def _digest(parts: list[Any]) -> str:
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:32]


@lru_cache(maxsize=1)
def _release() -> str:
    try:
        return version("phasedock")
    except PackageNotFoundError:
        return ""
