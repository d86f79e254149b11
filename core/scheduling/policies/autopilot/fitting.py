"""Fits a provisioning policy for steering on all containers of a trace set.

As in a comparison at equal violation (`core.provisioning.evaluation.comparison`), its advice is multiplied by
the factor with which it falls short for the tolerated share of time on its training data.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from core.errors import InputError
from core.phases import encode, predict
from core.progress_reporting import scale_progress, silent
from core.provisioning.advice import Scaled
from core.provisioning.evaluation.comparison import calibration, settings_of
from core.provisioning.evaluation.metrics import factors
from core.provisioning.fleet import Resource, prepare, require_past
from core.provisioning.policies import POLICIES
from core.provisioning.policy import Need, PolicyKind, fit_policy
from core.scheduling.policies.autopilot.settings import FittedPolicy, measure_growth
from core.units import Unit

if TYPE_CHECKING:
    from collections.abc import Mapping

    from core.phases import PhaseModel
    from core.progress_reporting import Progress
    from core.provisioning.advice import Adviser
    from core.provisioning.fleet import Demand, Provisioning
    from core.provisioning.policy import Policy
    from core.traces.model import TraceSet

_SEED, _KAPPA = 0, 20.0
_UNITS = {Resource.CPU: Unit.CORES, Resource.MEMORY: Unit.BYTES}


@dataclass(frozen=True)
class Lesson:
    """The inputs of fitting a policy."""

    #: The provisioning policy's name.
    policy: str
    #: Seconds of a rescaling cycle.
    cycle: float
    #: The tolerated share of time with too little.
    tolerance: float
    #: Whether memory is fitted beside CPU.
    memory: bool


def fit_to_steer(
    traces: TraceSet, model: PhaseModel | None, lesson: Lesson, progress: Progress = silent
) -> FittedPolicy:
    """Fit a policy on a trace set.

    Raises
    ------
    NotFoundError
        If there is no such policy.
    InputError
        If the policy looks into the future or needs missing inputs, or the traces do not say how many
        cores were used.
    MismatchError
        If the model does not fit the traces.
    """
    policy = POLICIES[lesson.policy]
    provisioning = prepare(traces, lesson.cycle)
    require_past(provisioning.fleet)
    if model is not None:
        codes = encode(model, traces) if Need.CODES in policy.needs else None
        provisioning = provisioning.with_phases(predict(model, traces), codes)
    resources = (Resource.CPU, Resource.MEMORY) if lesson.memory else (Resource.CPU,)
    demands = {resource: _require_demand(provisioning, resource) for resource in resources}
    fallback = None
    if model is not None:
        rule = _best_reactive(demands[Resource.CPU], lesson)
        fallback = _fit_advisers(rule, demands, lesson, silent)
    grown = measure_growth(demands[Resource.MEMORY]) if lesson.memory else None
    return replace(_fit_advisers(policy, demands, lesson, progress), fallback=fallback, growth=grown)


def _require_demand(provisioning: Provisioning, resource: Resource) -> Demand:
    demand = provisioning.demands.get(resource)
    if demand is None or demand.unit is not _UNITS[resource]:
        raise InputError(
            f"The trace set does not say how many {_UNITS[resource].value} were used.",
            "Learn from a recording of running containers, or from a set with these units.",
        )
    return demand


def _fit_advisers(
    policy: Policy, demands: Mapping[Resource, Demand], lesson: Lesson, progress: Progress
) -> FittedPolicy:
    advisers: dict[Resource, Adviser] = {}
    for number, (resource, demand) in enumerate(demands.items()):
        part = scale_progress(progress, number / len(demands), (number + 1) / len(demands))
        advisers[resource] = _fit_adviser(policy, demand, lesson, part)
    period = demands[Resource.CPU].fleet.period
    return FittedPolicy(
        policy.name, lesson.cycle, period, advisers[Resource.CPU], advisers.get(Resource.MEMORY)
    )


def _best_reactive(demand: Demand, lesson: Lesson) -> Policy:
    """Return the reactive rule with the smallest allocation at the tolerated share of time."""
    rules = [each for _, each in POLICIES.items() if each.kind is PolicyKind.REACTIVE]

    def total_allocation(policy: Policy) -> float:
        allocation = fit_policy(policy, demand)(demand)
        factor = factors(demand, allocation, (lesson.tolerance,))[0]
        return factor * float((allocation * demand.fleet.seconds).sum())

    return min(rules, key=total_allocation)


def _fit_adviser(policy: Policy, demand: Demand, lesson: Lesson, progress: Progress) -> Adviser:
    settings = settings_of(policy, {}, _KAPPA, lesson.tolerance)
    fitted = fit_policy(policy, demand, settings, progress)
    if fitted.adviser is None:
        raise InputError(
            f"{policy.name} looks into the future, so nothing can be steered by it.", "Choose another policy."
        )
    learned = calibration(policy, demand, settings, _SEED) if policy.memorises else fitted(demand)
    return Scaled(fitted.adviser, factors(demand, learned, (lesson.tolerance,))[0])
