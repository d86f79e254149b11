"""Restoring saved limits exactly, whoever changed them and whether or not that process still runs.

What is held belongs to an engine's own id, so it is put back under whatever name that engine can be reached
now, and never on another one that has taken its name.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from core.engines.errors import ContainerGone, HostLost
from core.errors import ConflictError, PhaseDockError
from core.runtime.live.view.values import EngineState, Released

if TYPE_CHECKING:
    from collections.abc import Sequence

    from core.runtime.live.control.saved_limits import SavedLimits, SavedLimitsStore
    from core.runtime.live.engines import Engines


class LimitRestorer:
    """Puts back what was held.

    Parameters
    ----------
    engines, holds
        Where containers are, and what their limits were.
    """

    def __init__(self, engines: Engines, holds: SavedLimitsStore) -> None:
        self._engines = engines
        self._holds = holds

    def put_back(self, holds: Sequence[SavedLimits]) -> Released:
        """Put limits back in this order, and forget each hold once that was verified.

        What could not be put back stays held, and whoever comes next tries again.
        """
        outcome: dict[str, list[str]] = {"restored": [], "gone": []}
        failed: list[tuple[str, str]] = []
        lost: dict[str, str] = {}
        for hold in holds:
            engine = hold.engine.id or hold.engine.name
            if engine in lost:
                failed.append((hold.name, lost[engine]))
                continue
            try:
                kind, name = self._one(hold)
                outcome[kind].append(name)
            except PhaseDockError as error:
                failed.append((hold.name, str(error)))
                if isinstance(error, (HostLost, EngineNotReached)):
                    lost[engine] = str(error)
        restored, gone = (tuple(dict.fromkeys(outcome[kind])) for kind in ("restored", "gone"))
        return Released(restored, gone, tuple(failed))

    def tie_old(self) -> None:
        """Find the engines of holds that an earlier version wrote, which knew an engine's name only."""
        for hold in self._holds.all():
            if not hold.engine.id:
                self._tied(hold)

    def _tied(self, hold: SavedLimits) -> SavedLimits:
        """A hold with the engine on which its container is: the one of that name first, then any other."""
        ready = [info.name for info in self._engines.all() if info.state is EngineState.READY]
        for name in sorted(ready, key=lambda each: each != hold.engine.name):
            with contextlib.suppress(ContainerGone, HostLost), self._engines.host(name) as host:
                host.inspect(hold.container)
                return self._holds.tie(hold, host.key())
        return hold

    def _one(self, hold: SavedLimits) -> tuple[str, str]:
        hold = hold if hold.engine.id else self._tied(hold)
        keeper = self._holds.keeper(hold.owner)
        # what is held was ours to change, whether or not it is picked still
        with self._engines.host(self._where(hold), keeper, lambda each: each.id == hold.container) as host:
            key = host.key()
            if hold.engine.id not in ("", key.id):
                raise _not_reached(hold)
            try:
                seen = host.inspect(hold.container)
                if hold.paused and seen.state == "paused":
                    host.unpause(hold.container)
                host.restore(hold.container)
            except ContainerGone:
                keeper.forget(key, hold.container)
                return "gone", hold.name
            host.free_threads(seen)
            return "restored", seen.name

    def _where(self, hold: SavedLimits) -> str:
        """The name under which the engine of a hold can be reached now."""
        known = sorted(self._engines.all(), key=lambda info: info.name != hold.engine.name)
        silent = [info for info in known if info.state is not EngineState.READY]
        if hold.engine.id:
            names = [info.name for info in known if info.id == hold.engine.id]
            silent = [info for info in silent if info.name == hold.engine.name]
        else:
            # no engine that answers has the container, so it is gone if all of them do
            names = [info.name for info in known if info.name == hold.engine.name and not silent]
        if names:
            return names[0]
        if silent:
            raise EngineNotReached(silent[0].message, silent[0].hint)
        raise _not_reached(hold)


class EngineNotReached(ConflictError):  # noqa: N818 - it says what happened
    """The engine that a container is on cannot be reached under any name."""


def _not_reached(hold: SavedLimits) -> EngineNotReached:
    return EngineNotReached(
        f"No engine that answers is the one of {hold.name}, which was then called {hold.engine.name}.",
        "Start it, or add it to PHASEDOCK_DOCKER under any name; the limits stay saved until then.",
    )
