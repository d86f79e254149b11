"""An engine over another one: it passes on what it does not do itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from core.scheduling.actions import Action
    from core.scheduling.model import Failure, Observation
    from core.scheduling.ports import Engine


class EngineWrapper:
    """`core.scheduling.ports.Engine` over another engine; whoever stands on it changes a part of that."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    @property
    def finished(self) -> bool:
        """As the engine says."""
        return self._engine.finished

    def wait(self, until: float | None) -> None:
        """Let time pass."""
        self._engine.wait(until)

    def observe(self) -> Observation:
        """Show what the engine shows."""
        return self._engine.observe()

    def apply(self, actions: Sequence[Action]) -> tuple[Failure, ...]:
        """Do what was decided."""
        return self._engine.apply(actions)

    def close(self) -> None:
        """Let go of the other engine, which goes on."""
        if isinstance(self._engine, EngineWrapper):
            self._engine.close()
