"""The policies there are: one module each, one line each in the register."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.provisioning.policies.conformal import SUFFIX, conformal
from core.registry import Registry, declared

if TYPE_CHECKING:
    from collections.abc import Sequence

    from core.provisioning.policy import Policy

POLICIES: Registry[Policy] = Registry("policy")
for _policies in declared(
    __name__,
    "POLICIES",
    "budget_oracle",
    "current_step",
    "static",
    "prev_step",
    "phase_rule",
    "phase_lookahead",
    "no_phase",
    "vpa",
    "quantile",
    "risk_budget",
    "event",
    "phasedock",
):
    for _policy in _policies:
        POLICIES.add(_policy.name, _policy)
for _name in ("prev.step.p95", "prev.step.rules", "phase.rule.shrunk"):
    POLICIES.add(f"{_name}{SUFFIX}", conformal(POLICIES[_name]))


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
