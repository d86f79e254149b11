"""``autopilot``: gives each container what its phase needs, by a fitted provisioning policy."""

from __future__ import annotations

from core.scheduling.policies.autopilot.policy import AUTOPILOT, POLICIES
from core.scheduling.policies.autopilot.settings import AutopilotSettings, ReadySettings

__all__ = ["AUTOPILOT", "POLICIES", "AutopilotSettings", "ReadySettings"]
