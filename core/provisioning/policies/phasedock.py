"""``phasedock``: resizes on events, to a level set by one fleet-wide price on violations; with a fallback.

At every sample the forest's distribution F of demand over the coming cycle length is known from the
container's past alone. The allocation is changed when another one costs so much less, at one price λ on
time short for all containers, that it is worth a resize (`core.provisioning.violation_price`). The demand
that exceeds its allocation and the slack that lasts are the usual reasons. A container is resized at most as
many times as it has begun cycles, and once more; the average training container at most once a cycle.

The hurdle, and whether phases are looked at, are chosen on training containers, each predicted by a forest
that never saw its group; λ is such that the fleet is short for the wanted share of time. Where the best
reactive rule is clearly better there, that rule is what containers get.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from core.provisioning.cycles import PreviousCycle, fold_cycles, maximum, mean_plus_two_sd, p95
from core.provisioning.demand_forecast import MAY, Outlook, learn
from core.provisioning.evaluation.metrics import factors, over, resizes_per_cycle, tally
from core.provisioning.policy import Fitted, Policy, PolicyKind, by_cycles
from core.provisioning.violation_price import Payer, Prices, fitted_price, follow
from core.settings_fields import setting

if TYPE_CHECKING:
    from core.progress_reporting import Progress
    from core.provisioning.cycles import Statistic
    from core.provisioning.demand_forecast import Shares
    from core.provisioning.fleet import Demand, Floats, Integers
    from core.provisioning.recent import Recent

HORIZON = 1.0
HURDLES = (0.02, 0.06, 0.12, 0.25)
PHASES = {
    "helpful": "Phases where they help in training",
    "never": "Never phases",
    "always": "Always phases, where there is a model",
}
RESIZE_TIMES = {"act": "samples", "wait": "warm"}
FIRST_CHOICES = {"act": "Act as soon as there are samples", "wait": "The cold-start value all through"}
_CLEARLY = 0.95
_RESIZES = 1.0
_PHASES_HELP = 0.99

REACTIVE: tuple[Statistic, ...] = (maximum, mean_plus_two_sd, p95)


@dataclass(frozen=True)
class PhasedockSettings:
    """The risk of the fleet, and the features of the forecast."""

    under_time: float = setting(
        0.05,
        label="Time short",
        low=0.001,
        high=0.5,
        help="The share of the fleet’s time that may fall short.",
    )
    cap: float = setting(
        1.5, label="Cap", low=0.5, high=1000.0,
        help="A container short for more than so many times the fleet’s share pays steeply more for it.",
    )  # fmt: skip
    phases: str = setting(
        "helpful", label="Phases", choices=PHASES, help="Whether the forest looks at phases."
    )
    first_cycle: str = setting(
        "act", label="First cycle", choices=FIRST_CHOICES, help="What a container gets in its first cycle."
    )
    fallback: bool = setting(
        True, label="Fallback", help="Take the best reactive rule where it was clearly better in training."
    )
    seed: int = setting(0, label="Seed", low=0, high=2**31 - 1, help="Seeds the forest.")


@dataclass(frozen=True, eq=False)
class Plan:
    """Chosen prices, with their over-allocation and resizes per cycle in training."""

    outlook: Outlook
    prices: Prices
    first_cycle: str
    over: float
    resizes: float

    def give(self, demand: Demand, past: Recent, row: Integers, shares: Shares) -> Floats:
        """The allocation of each sample, shape (n,)."""
        return follow(demand, past.level, row, shares, self.outlook.forest.grid, self.prices)


def planned(outlook: Outlook, hurdle: float, settings: PhasedockSettings) -> Plan:
    """The price of a violation for a hurdle, and what that costs in training."""
    cap = settings.cap * settings.under_time
    plain = Prices(0.0, hurdle * outlook.unit, cap, settings.under_time, outlook.start)

    def give(violation: float) -> Floats:
        plan = Plan(outlook, replace(plain, violation=violation), settings.first_cycle, 0.0, 0.0)
        return outlook.calibrated(MAY[RESIZE_TIMES[settings.first_cycle]], plan.give)

    violation = fitted_price(outlook.demand, settings.under_time, give, outlook.unit)
    allocation = give(violation)
    matched = matched_over(outlook.demand, allocation, settings.under_time)
    resizes = float(resizes_per_cycle(tally(outlook.demand, allocation)).mean())
    return Plan(outlook, replace(plain, violation=violation), settings.first_cycle, matched, resizes)


def matched_over(demand: Demand, allocation: Floats, under_time: float) -> float:
    """The over-allocation at the factor that makes an allocation short for a share of the time."""
    factor = factors(demand, allocation, (under_time,))[0]
    return float(over(tally(demand, factor * allocation).pooled())[0])


def best_plan(outlook: Outlook, settings: PhasedockSettings) -> Plan:
    """The hurdle with the least over-allocation in training."""
    plans = [planned(outlook, hurdle, settings) for hurdle in HURDLES]
    fitting = [plan for plan in plans if plan.resizes <= _RESIZES]
    return min(fitting or plans, key=lambda plan: plan.over if fitting else plan.resizes)


def _fit(training: Demand, settings: PhasedockSettings, progress: Progress | None) -> Fitted:
    def plan_with(features: str, fraction: float, message: str) -> Plan:
        if progress is not None:
            progress(fraction, message)
        return best_plan(learn(training, HORIZON, features, settings.seed), settings)

    plan = plan_with("phase" if settings.phases == "always" else "none", 0.0, "Learning what comes")
    if settings.phases == "helpful" and training.fleet.labels is not None:
        other = plan_with("phase", 0.5, "Learning what phases tell")
        plan = other if other.over < _PHASES_HELP * plan.over else plan
    if settings.fallback:
        rules = [PreviousCycle(statistic, training.fleet.cycle) for statistic in REACTIVE]
        costs = [_rule_cost(rule, plan.outlook, settings.under_time) for rule in rules]
        best = int(np.argmin(costs))
        if costs[best] < _CLEARLY * plan.over:
            return by_cycles(rules[best])
    times = RESIZE_TIMES[plan.first_cycle]
    payer = Payer(plan.outlook.forecaster, plan.prices, times)
    return Fitted(lambda demand: plan.outlook.by_parts(demand, MAY[times], plan.give), payer)


def _rule_cost(rule: PreviousCycle, outlook: Outlook, under_time: float) -> float:
    """The over-allocation of a reactive rule on the containers to calibrate on."""
    allocation = fold_cycles(rule, outlook.demand)
    return matched_over(outlook.demand, np.where(np.isnan(allocation), outlook.start, allocation), under_time)


PHASEDOCK = Policy(
    "phasedock",
    PolicyKind.OURS,
    "Resizes when it pays, to what costs least when time short has one price for the whole fleet.",
    _fit,
    PhasedockSettings,
    memorises=True,
    usual=True,
    title="PhaseDock: resizes when it pays",
)
POLICIES = (PHASEDOCK,)
