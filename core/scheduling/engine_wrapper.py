"""Base class for engine wrappers: delegates everything by default."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from core.scheduling.actions import Action
    from core.scheduling.model import Failure, Observation
    from core.scheduling.ports import Engine


class EngineWrapper:
    """An engine around another engine; a subclass overrides the part that it changes."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    @property
    def finished(self) -> bool:
        """True once the wrapped engine has finished."""
        return self._engine.finished

    def wait(self, until: float | None) -> None:
        """Let time pass on the wrapped engine."""
        self._engine.wait(until)

    def observe(self) -> Observation:
        """Return the wrapped engine's observation."""
        return self._engine.observe()

    def apply(self, actions: Sequence[Action]) -> tuple[Failure, ...]:
        """Apply the actions on the wrapped engine."""
        return self._engine.apply(actions)

    def close(self) -> None:
        """Release the wrapped engine, which keeps running."""
        if isinstance(self._engine, EngineWrapper):
            self._engine.close()
