"""``elastic``: requests, a queue, and cores and threads that bend together (Libutti)."""

from __future__ import annotations

from core.scheduling.policies.elastic.policy import ELASTIC, POLICIES, ElasticSettings

__all__ = ["ELASTIC", "POLICIES", "ElasticSettings"]
