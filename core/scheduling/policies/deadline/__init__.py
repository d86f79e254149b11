"""``deadline``: jobs say when they need to be done, and cores follow from that."""

from __future__ import annotations

from core.scheduling.policies.deadline.policy import DEADLINE, POLICIES, DeadlineSettings

__all__ = ["DEADLINE", "POLICIES", "DeadlineSettings"]
