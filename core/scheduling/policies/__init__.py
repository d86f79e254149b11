"""The scheduling policies there are: one module or package each, one entry each in the register."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.registry import Registry
from core.scheduling.policies import (
    autopilot,
    by_request,
    deadline,
    elastic,
    flowcon,
    free,
    las,
    phasedock,
    resizes,
    slaq,
    specon,
    srpt,
)
from core.scheduling.ports import PolicyGroup

if TYPE_CHECKING:
    from core.scheduling.ports import SchedulingPolicy

POLICIES: Registry[SchedulingPolicy] = Registry("scheduling policy")
for _policies in (
    free.POLICIES,
    flowcon.POLICIES,
    specon.POLICIES,
    las.POLICIES,
    srpt.POLICIES,
    slaq.POLICIES,
    phasedock.POLICIES,
    elastic.POLICIES,
    deadline.POLICIES,
    autopilot.POLICIES,
    by_request.POLICIES,
    resizes.POLICIES,
):
    for _policy in _policies:
        POLICIES.add(_policy.name, _policy)


def group_policies(*, oracles: bool) -> dict[PolicyGroup, list[str]]:
    """Return the names of all policies in their groups, with oracles or without."""
    names = [name for name in POLICIES if oracles or not POLICIES[name].oracle]
    return {group: [name for name in names if POLICIES[name].group is group] for group in PolicyGroup}


def display_name(name: str) -> str:
    """Return a policy's name as its authors write it; unchanged if there is no such policy."""
    return (POLICIES[name].title if name in POLICIES else "") or name
