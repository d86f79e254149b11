"""Policies that give every job its request or nothing: the baselines of ``deadline``."""

from __future__ import annotations

from core.scheduling.policies.by_request.policy import POLICIES

__all__ = ["POLICIES"]
