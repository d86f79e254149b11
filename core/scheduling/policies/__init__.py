"""The scheduling policies there are: one module or package each, one line each in the register."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.registry import Registry, declared

if TYPE_CHECKING:
    from core.scheduling.ports import SchedulingPolicy

POLICIES: Registry[SchedulingPolicy] = Registry("scheduling policy")
for _policies in declared(
    __name__,
    "POLICIES",
    "free",
    "flowcon",
    "specon",
    "las",
    "srpt",
    "slaq",
    "phasedock",
    "elastic",
    "deadline",
    "autopilot",
    "by_request",
    "resizes",
):
    for _policy in _policies:
        POLICIES.add(_policy.name, _policy)


def spelt(name: str) -> str:
    """A policy's name as its authors write it; unchanged if there is no such policy."""
    return (POLICIES[name].title if name in POLICIES else "") or name
