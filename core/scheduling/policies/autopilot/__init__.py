"""``autopilot``: each container is given what its phase needs, as a fitted provisioning policy says."""

from __future__ import annotations

from core.scheduling.policies.autopilot.policy import AUTOPILOT, POLICIES
from core.scheduling.policies.autopilot.settings import AutopilotSettings, ReadySettings

__all__ = ["AUTOPILOT", "POLICIES", "AutopilotSettings", "ReadySettings"]
