"""A keeper of limits in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from core.engines.values import EngineKey


class MemoryKeeper:
    """Saves limits in memory, for scripts and tests."""

    def __init__(self) -> None:
        self.kept_limits: dict[tuple[str, str], Mapping[str, Any]] = {}

    def keep(
        self,
        engine: EngineKey,
        container: str,
        limits: Mapping[str, Any],
        new_limits: Mapping[str, Any] | None = None,
    ) -> None:
        """Save a container's limits, unless some are saved already."""
        self.kept_limits.setdefault((engine.id or engine.name, container), limits)

    def saved_limits(self, engine: EngineKey, container: str) -> Mapping[str, Any] | None:
        """Return a container's saved limits, or None."""
        return self.kept_limits.get((engine.id or engine.name, container))

    def replace(self, engine: EngineKey, container: str, limits: Mapping[str, Any]) -> None:
        """Replace a container's saved limits, if some are saved."""
        if self.saved_limits(engine, container) is not None:
            self.kept_limits[engine.id or engine.name, container] = limits

    def forget(self, engine: EngineKey, container: str) -> None:
        """Forget a container's saved limits."""
        self.kept_limits.pop((engine.id or engine.name, container), None)
