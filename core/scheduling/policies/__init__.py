"""The scheduling policies there are: one module or package each, one line each in the register."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.registry import Registry
from core.scheduling.policies.flowcon import FLOWCON
from core.scheduling.policies.free import DEFAULT_SCHEDULERS, FREE
from core.scheduling.policies.las import LAS
from core.scheduling.policies.phasedock import PHASEDOCK
from core.scheduling.policies.slaq import SLAQ
from core.scheduling.policies.specon import SPECON
from core.scheduling.policies.srpt import SRPT

if TYPE_CHECKING:
    from core.scheduling.ports import SchedulingPolicy

POLICIES: Registry[SchedulingPolicy] = Registry("scheduling policy")
for _policy in (FREE, *DEFAULT_SCHEDULERS, FLOWCON, SPECON, LAS, SRPT, SLAQ, PHASEDOCK):
    POLICIES.add(_policy.name, _policy)


def spelt(name: str) -> str:
    """A policy's name as its authors write it; as it is, if there is no such policy."""
    return (POLICIES[name].title if name in POLICIES else "") or name
