"""The policies there are: one module each, one line each in the register."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.provisioning.policies.budget_oracle import BUDGET_ORACLE
from core.provisioning.policies.conformal import SUFFIX, conformal
from core.provisioning.policies.current_step import CURRENT_STEP_MAX, CURRENT_STEP_RULES
from core.provisioning.policies.event import EVENT
from core.provisioning.policies.no_phase import NO_PHASE
from core.provisioning.policies.phase_lookahead import PHASE_LOOKAHEAD
from core.provisioning.policies.phase_rule import PHASE_RULES
from core.provisioning.policies.phasedock import PHASEDOCK
from core.provisioning.policies.prev_step import PREV_STEP_MAX, PREV_STEP_P95, PREV_STEP_RULES
from core.provisioning.policies.quantile import QUANTILES
from core.provisioning.policies.risk_budget import RISK_BUDGET
from core.provisioning.policies.static import STATIC_P95, STATIC_PEAK, STATIC_REQUEST
from core.provisioning.policies.vpa import VPA
from core.registry import Registry

if TYPE_CHECKING:
    from collections.abc import Sequence

    from core.provisioning.policy import Policy

POLICIES: Registry[Policy] = Registry("policy")
for _policy in (
    BUDGET_ORACLE,
    CURRENT_STEP_MAX,
    CURRENT_STEP_RULES,
    STATIC_PEAK,
    PREV_STEP_MAX,
    PREV_STEP_RULES,
    PREV_STEP_P95,
    STATIC_REQUEST,
    STATIC_P95,
    *PHASE_RULES,
    PHASE_LOOKAHEAD,
    *NO_PHASE,
    VPA,
    conformal(PREV_STEP_P95),
    conformal(PREV_STEP_RULES),
    conformal(PHASE_RULES[2]),
    *QUANTILES,
    RISK_BUDGET,
    EVENT,
    PHASEDOCK,
):
    POLICIES.add(_policy.name, _policy)


def policy(name: str) -> Policy:
    """A policy by name; any of them with ``+conformal`` behind it is one too.

    Raises
    ------
    NotFoundError
        If there is no such policy; its hint lists those there are.
    """
    if name not in POLICIES and name.endswith(SUFFIX):
        return conformal(POLICIES[name.removesuffix(SUFFIX)])
    return POLICIES[name]


def chosen(names: Sequence[str]) -> list[Policy]:
    """Policies by name, each once; ``all`` stands for every registered one.

    Raises
    ------
    NotFoundError
        If there is no such policy.
    """
    listed = [each for name in names for each in (POLICIES if name == "all" else [name])]
    return [policy(name) for name in dict.fromkeys(listed)]
