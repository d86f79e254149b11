"""``specon``: migrate what has nearly converged, once, and spread again when all have.

Settings: `settings`; Algorithm 3: `monitor`; Algorithm 4: `reallocation`; Algorithm 5: `rebalancing`;
migrations under way: `moving`.
Source: Zheng, "Efficient resource management for deep learning applications", 4.2, 5.2.
"""

from __future__ import annotations

from core.scheduling.policies.specon.monitor import PRESETS, SpeConSettings
from core.scheduling.policies.specon.policy import SPECON

__all__ = ["POLICIES", "PRESETS", "SPECON", "SpeConSettings"]

POLICIES = (SPECON,)
