"""The policies there are: one module each, one entry each in the register."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from core.errors import InputError, NotFoundError
from core.provisioning.policies import (
    budget_oracle,
    current_step,
    event,
    no_phase,
    phase_lookahead,
    phase_rule,
    phasedock,
    prev_step,
    quantile,
    risk_budget,
    static,
    vpa,
)
from core.provisioning.policies.conformal import SUFFIX, conformal
from core.registry import Registry

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from core.provisioning.policy import Policy

POLICIES: Registry[Policy] = Registry("policy")
for _policies in (
    budget_oracle.POLICIES,
    current_step.POLICIES,
    static.POLICIES,
    prev_step.POLICIES,
    phase_rule.POLICIES,
    phase_lookahead.POLICIES,
    no_phase.POLICIES,
    vpa.POLICIES,
    quantile.POLICIES,
    risk_budget.POLICIES,
    event.POLICIES,
    phasedock.POLICIES,
):
    for _policy in _policies:
        POLICIES.add(_policy.name, _policy)
for _name in ("prev.step.p95", "prev.step.rules", "phase.rule.shrunk"):
    POLICIES.add(f"{_name}{SUFFIX}", conformal(POLICIES[_name]))


def usual() -> list[str]:
    """The names of the policies that are compared unless others are chosen."""
    return [name for name, each in POLICIES.items() if each.usual]


def policy(name: str) -> Policy:
    """A policy by name; any of them with ``+conformal`` appended is one, too.

    Raises
    ------
    NotFoundError
        If there is no such policy; its hint lists those there are.
    """
    if name not in POLICIES and name.endswith(SUFFIX):
        return conformal(POLICIES[name.removesuffix(SUFFIX)])
    return POLICIES[name]


def policy_title(name: str) -> str:
    """A policy’s name for people; `name` where there is no such policy or it has none."""
    try:
        return policy(name).title or name
    except NotFoundError:
        return name


def checked_settings(values_by_policy: Mapping[str, Mapping[str, object]]) -> dict[str, dict[str, Any]]:
    """Settings of single policies, converted to their types; policies without any are omitted.

    Raises
    ------
    NotFoundError
        If there is no such policy.
    InputError
        If a setting is unknown or out of bounds; the sentence names the policy.
    """
    checked: dict[str, dict[str, Any]] = {}
    for name, values in values_by_policy.items():
        try:
            settings = policy(name).chosen(values)
        except InputError as error:
            raise InputError(f"{name}: {error.message}", error.hint) from None
        if values:
            checked[name] = {each: getattr(settings, each) for each in values}
    return checked


def chosen(names: Sequence[str]) -> list[Policy]:
    """Policies by name, each once; ``all`` stands for every registered one, ``usual`` for the usual ones.

    Raises
    ------
    NotFoundError
        If there is no such policy.
    """
    sets = {"all": list(POLICIES), "usual": usual()}
    listed = [each for name in names for each in sets.get(name, [name])]
    return [policy(name) for name in dict.fromkeys(listed)]
