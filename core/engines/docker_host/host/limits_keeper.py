"""The port through which a container's original limits are saved before PhaseDock first changes them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from core.engines.values import EngineKey


class MemoryKeeper:
    """Keeps limits for as long as the process lives; for scripts and tests."""

    def __init__(self) -> None:
        self.kept_limits: dict[tuple[str, str], Mapping[str, Any]] = {}

    def keep(self, engine: EngineKey, container: str, limits: Mapping[str, Any]) -> None:
        """Save a container's limits, unless some are saved already."""
        self.kept_limits.setdefault((engine.id or engine.name, container), limits)

    def kept(self, engine: EngineKey, container: str) -> Mapping[str, Any] | None:
        """A container's saved limits, or None if there are none."""
        return self.kept_limits.get((engine.id or engine.name, container))

    def forget(self, engine: EngineKey, container: str) -> None:
        """Forget a container's saved limits."""
        self.kept_limits.pop((engine.id or engine.name, container), None)
