"""Evaluating one policy: fitted and scaled on training containers, judged on held-out ones."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from core.provisioning.evaluation.metrics import TARGETS, Tally, factors, surplus_and_share, tally
from core.provisioning.evaluation.splitting import Split, folds
from core.provisioning.policies.budget_oracle import allocation_at, steps_of
from core.provisioning.policy import PolicyKind, fit_policy

if TYPE_CHECKING:
    from collections.abc import Mapping

    from core.progress_reporting import Progress
    from core.provisioning.fleet import Demand, Floats
    from core.provisioning.policy import Policy


COMMON = ("kappa", "under_time", "target")
"""Settings that a policy, if it has them, takes from the comparison unless they are chosen for it."""


@dataclass(frozen=True, eq=False)
class Point:
    """One point of a frontier: the factor, each container's surplus with it, and the time short."""

    factor: float
    surplus: Floats
    under_time: float


@dataclass(frozen=True, eq=False)
class Exam:
    """What a policy did, for one resource."""

    #: The policy.
    policy: Policy
    #: A of each held-out sample, as the policy gave it.
    allocation: Floats
    #: Its sums on held-out containers: of all samples, of first cycles, and of the others.
    sums: Tally
    cold: Tally
    warm: Tally
    #: The factor that matches its violation on training containers; 1 for a bound.
    factor: float
    #: Its over-allocation on training containers at that factor.
    training_over: float
    #: Its sums on held-out containers at that factor.
    matched: Tally
    #: The results at each of `TARGETS` on held-out containers, with the factors from training.
    frontier: tuple[Point, ...]
    #: Each held-out container's surplus with the factor that makes their own violation the target.
    exact: Floats


def settings_of(policy: Policy, values: Mapping[str, object], kappa: float, target: float) -> Any:
    """A policy's settings: what was chosen for it, and κ and the target where it has such settings.

    Raises
    ------
    InputError
        If a setting is unknown or out of bounds.
    """
    names = {each.name for each in fields(policy.settings)}
    common = dict(zip(COMMON, (kappa, target, target), strict=True))
    return policy.chosen({**{k: v for k, v in common.items() if k in names}, **values})


def sit(
    policy: Policy,
    training: Demand,
    held_out: Demand,
    settings: Any,
    target: float,
    seed: int,
    progress: Progress | None = None,
) -> Exam:
    """Examine a policy: fit and scale it on training containers, judge it on the others."""
    allocate = fit_policy(policy, training, settings, progress)
    given = allocate(held_out)
    cold = held_out.fleet.cold
    plain = (tally(held_out, given), tally(held_out, given, cold), tally(held_out, given, ~cold))
    if policy.kind is PolicyKind.BOUND:
        matched, path = plain[0], _bound_path(held_out)
        return Exam(policy, given, *plain, 1.0, float("nan"), matched, path, matched.surplus)
    learned = calibration(policy, training, settings, seed) if policy.memorises else allocate(training)
    at_target, *all_factors = factors(training, learned, (target, *TARGETS))
    path = tuple(Point(factor, *surplus_and_share(held_out, factor * given)) for factor in all_factors)
    own = factors(held_out, given, (target,))[0]
    return Exam(
        policy,
        given,
        *plain,
        at_target,
        _over(training, at_target * learned),
        tally(held_out, at_target * given),
        path,
        surplus_and_share(held_out, own * given)[0],
    )


def _over(demand: Demand, allocation: Floats) -> float:
    used = float((demand.values * demand.fleet.seconds).sum())
    return float(surplus_and_share(demand, allocation)[0].sum()) / used if used > 0 else float("inf")


def calibration(policy: Policy, training: Demand, settings: Any, seed: int, count: int = 3) -> Floats:
    """Allocations of training containers by fits that never saw them, shape (n,).

    Whole groups are left out in turn; with a single group, the fit on all of them is used.
    """
    everyone = np.arange(training.fleet.n_containers)
    parts = folds(training.fleet, count, seed) or [Split(everyone, everyone)]
    allocation = np.empty(training.fleet.n_samples)
    for part in parts:
        allocate = fit_policy(policy, training.only(part.training), settings)
        allocation[training.fleet.samples_of(part.held_out)] = allocate(training.only(part.held_out))
    return allocation


def _bound_path(held_out: Demand) -> tuple[Point, ...]:
    """The bound at every target: it needs no factor, because it is computed for each."""
    steps = steps_of(held_out)
    return tuple(
        Point(1.0, *surplus_and_share(held_out, allocation_at(held_out, steps, target))) for target in TARGETS
    )
