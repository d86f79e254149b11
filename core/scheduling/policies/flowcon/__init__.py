"""``flowcon``: limits by growth efficiency, on every worker separately.

Jobs whose evaluation function still moves quickly per share of the processor keep it; those that near
convergence are held to a small limit. Settings and variants: `settings`; Algorithm 1: `lists` (lines 2 to
13) and `assignment` (lines 14 to 26); Algorithm 2: `node`.
Source: Zheng, "Efficient resource management for deep learning applications", 4.1, 5.1.
"""

from __future__ import annotations

from core.scheduling.policies.flowcon.policy import FLOWCON
from core.scheduling.policies.flowcon.settings import PRESETS, FlowConSettings

__all__ = ["FLOWCON", "POLICIES", "PRESETS", "FlowConSettings"]

POLICIES = (FLOWCON,)
