"""The oracles of AI4DL (Figure 4): statistics of the coming cycle itself, known beforehand.

``current.step.max`` is the maximum, ``current.step.rules`` mean + 2·sd, which is no upper bound.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.provisioning.cycles import by_cycle, maximum, mean_plus_two_sd
from core.provisioning.policy import Allocate, Policy, PolicyKind

if TYPE_CHECKING:
    from core.progress_reporting import Progress
    from core.provisioning.fleet import Demand, Floats
    from core.settings_fields import NoSettings


def current_max(demand: Demand) -> Floats:
    """The maximum of the coming cycle, shape (n,)."""
    return demand.fleet.per_sample(by_cycle(maximum, demand))


def current_rules(demand: Demand) -> Floats:
    """Mean + 2·sd of the coming cycle, shape (n,)."""
    return demand.fleet.per_sample(by_cycle(mean_plus_two_sd, demand))


def _fit_max(_training: Demand, _settings: NoSettings, _progress: Progress | None) -> Allocate:
    return current_max


def _fit_rules(_training: Demand, _settings: NoSettings, _progress: Progress | None) -> Allocate:
    return current_rules


CURRENT_STEP_MAX = Policy(
    "current.step.max",
    PolicyKind.ORACLE,
    "The maximum of the coming cycle, known beforehand.",
    _fit_max,
    foresight=True,
    usual=True,
    title="Oracle: coming interval’s maximum",
)
CURRENT_STEP_RULES = Policy(
    "current.step.rules",
    PolicyKind.ORACLE,
    "Mean + 2·sd of the coming cycle, known beforehand; it can fall short.",
    _fit_rules,
    foresight=True,
    usual=True,
    title="Oracle: coming interval’s mean + 2·sd",
)
POLICIES = (CURRENT_STEP_MAX, CURRENT_STEP_RULES)
