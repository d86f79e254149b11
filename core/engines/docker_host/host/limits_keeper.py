"""Who remembers what a container's limits were before PhaseDock first changed them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from core.engines.docker_host.host.limits import Limits


class Keeper(Protocol):
    """Keeps limits durably, so that they can be put back whatever happens to who changed them."""

    def keep(self, host: str, container: str, limits: Limits) -> None:
        """Keep what a container had; what was kept first counts."""

    def kept(self, host: str, container: str) -> Limits | None:
        """What a container had, or None if nothing was kept."""

    def forget(self, host: str, container: str) -> None:
        """Forget it: it was put back, and that was verified."""


class MemoryKeeper:
    """Keeps limits for as long as the process lives; for scripts and tests."""

    def __init__(self) -> None:
        self.holds: dict[tuple[str, str], Limits] = {}

    def keep(self, host: str, container: str, limits: Limits) -> None:
        """Keep what a container had; what was kept first counts."""
        self.holds.setdefault((host, container), limits)

    def kept(self, host: str, container: str) -> Limits | None:
        """What a container had, or None if nothing was kept."""
        return self.holds.get((host, container))

    def forget(self, host: str, container: str) -> None:
        """Forget it."""
        self.holds.pop((host, container), None)
