"""The reactive rules: a statistic of the cycle that just ended (AI4DL's "prev.step", and its p95)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.provisioning.cycles import maxima, quantiles, rules
from core.provisioning.policy import Allocate, Policy, PolicyKind

if TYPE_CHECKING:
    from core.progress_reporting import Progress
    from core.provisioning.fleet import Demand, Floats
    from core.settings_fields import NoSettings

LEVEL = 0.95


def previous_max(demand: Demand) -> Floats:
    """The maximum of the cycle that just ended, shape (n,); NaN in first cycles."""
    fleet = demand.fleet
    return fleet.per_sample(fleet.previous(maxima(demand.values, fleet)))


def previous_rules(demand: Demand) -> Floats:
    """Mean + 2·sd of the cycle that just ended, shape (n,); NaN in first cycles."""
    fleet = demand.fleet
    return fleet.per_sample(fleet.previous(rules(demand.values, fleet)))


def previous_p95(demand: Demand) -> Floats:
    """The 95th percentile of the cycle that just ended, shape (n,); NaN in first cycles."""
    fleet = demand.fleet
    return fleet.per_sample(fleet.previous(quantiles(demand.values, fleet, LEVEL)))


def _reactive(name: str, about: str, allocate: Allocate) -> Policy:
    def fit(_training: Demand, _settings: NoSettings, _progress: Progress | None) -> Allocate:
        return allocate

    return Policy(name, PolicyKind.REACTIVE, about, fit, usual=True)


PREV_STEP_MAX = _reactive("prev.step.max", "The maximum of the cycle that just ended.", previous_max)
PREV_STEP_RULES = _reactive("prev.step.rules", "Mean + 2·sd of the cycle that just ended.", previous_rules)
PREV_STEP_P95 = _reactive("prev.step.p95", "The 95th percentile of the cycle that just ended.", previous_p95)
POLICIES = (PREV_STEP_MAX, PREV_STEP_RULES, PREV_STEP_P95)
