"""Restoring saved limits exactly, whichever process changed them and whether or not it still runs.

Saved limits belong to an engine's own id, so they are restored under whatever name that engine can be reached
now, and never on another one that has taken its name.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from core.engines.errors import ContainerGone, HostLost
from core.engines.owner_limits import keep_owner_changes
from core.errors import ConflictError, PhaseDockError
from core.live.control.saved_limits import BY_HAND
from core.sampling.values import EngineState, ReleaseResult

if TYPE_CHECKING:
    from collections.abc import Sequence

    from core.live.control.saved_limits import SavedLimits, SavedLimitsStore
    from core.sampling.engines import Engines


class LimitRestorer:
    """Restores saved limits."""

    def __init__(self, engines: Engines, saved_limits: SavedLimitsStore) -> None:
        self._engines = engines
        self._saved_limits = saved_limits

    def put_back(self, saved_limits: Sequence[SavedLimits]) -> ReleaseResult:
        """Restore limits in this order, and forget each once that was verified.

        What could not be restored is still saved, and the next restorer tries again.
        """
        outcome: dict[str, list[str]] = {"restored": [], "gone": []}
        failed: list[tuple[str, str]] = []
        lost: dict[str, str] = {}
        for saved in saved_limits:
            engine = saved.engine.id or saved.engine.name
            if engine in lost:
                failed.append((saved.name, lost[engine]))
                continue
            try:
                kind, name = self._restore_one(saved)
                outcome[kind].append(name)
            except PhaseDockError as error:
                failed.append((saved.name, str(error)))
                if isinstance(error, (HostLost, EngineNotReached)):
                    lost[engine] = str(error)
        restored, ended = (tuple(dict.fromkeys(outcome[kind])) for kind in ("restored", "gone"))
        return ReleaseResult(restored, ended, tuple(failed))

    def forget_ended(self) -> None:
        """Forget saved limits of the demo's containers that have ended."""
        for name in self._engines.names:
            if not self._engines.is_demo(name):
                continue
            for saved in self._saved_limits.all(self._engines.key(name)):
                self._forget_if_ended(saved, name)

    def _forget_if_ended(self, saved: SavedLimits, name: str) -> None:
        with contextlib.suppress(HostLost), self._engines.host(name) as host:
            try:
                host.inspect(saved.container)
            except ContainerGone:
                self._saved_limits.keeper(saved.owner).forget(host.key(), saved.container)

    def tie_old(self) -> None:
        """Find the engines of limits that an earlier version wrote, which knew an engine's name only."""
        for saved in self._saved_limits.all():
            if not saved.engine.id:
                self._tie_to_engine(saved)

    def _tie_to_engine(self, saved: SavedLimits) -> SavedLimits:
        """Saved limits with the engine that has their container: the one of that name first, then others."""
        ready = [info.name for info in self._engines.all() if info.state is EngineState.READY]
        for name in sorted(ready, key=lambda each: each != saved.engine.name):
            with contextlib.suppress(ContainerGone, HostLost), self._engines.host(name) as host:
                host.inspect(saved.container)
                return self._saved_limits.tie(saved, host.key())
        return saved

    def _restore_one(self, saved: SavedLimits) -> tuple[str, str]:
        saved = saved if saved.engine.id else self._tie_to_engine(saved)
        keeper = self._saved_limits.keeper(saved.owner)
        # a container with saved limits was changed by PhaseDock, whether or not it is still picked
        with self._engines.host(
            self._engine_name(saved), keeper, lambda each: each.id == saved.container
        ) as host:
            key = host.key()
            if saved.engine.id not in ("", key.id):
                raise _not_reached_error(saved)
            try:
                current = host.inspect(saved.container)
                if saved.paused and current.state == "paused":
                    host.unpause(saved.container)
                if saved.owner != BY_HAND:
                    keep_owner_changes(host, current, saved.new_limits)
                host.restore(saved.container)
            except ContainerGone:
                keeper.forget(key, saved.container)
                return "gone", saved.name
            host.free_threads(current)
            return "restored", current.name

    def _engine_name(self, saved: SavedLimits) -> str:
        """Return the present name of the engine of saved limits."""
        candidates = sorted(self._engines.all(), key=lambda info: info.name != saved.engine.name)
        silent = [info for info in candidates if info.state is not EngineState.READY]
        if saved.engine.id:
            names = [info.name for info in candidates if info.id == saved.engine.id]
            silent = [info for info in silent if info.name == saved.engine.name]
        else:
            # no engine that answers has the container, so it is gone if all of them do
            names = [info.name for info in candidates if info.name == saved.engine.name and not silent]
        if names:
            return names[0]
        if silent:
            raise EngineNotReached(silent[0].message, silent[0].hint)
        raise _not_reached_error(saved)


class EngineNotReached(ConflictError):  # noqa: N818 - it says what happened
    """The engine that a container is on cannot be reached under any name."""


def _not_reached_error(saved: SavedLimits) -> EngineNotReached:
    return EngineNotReached(
        f"The engine of {saved.name}, formerly called {saved.engine.name}, does not answer under any name.",
        "Start it, or add it to PHASEDOCK_DOCKER under any name; the limits stay saved until then.",
    )
