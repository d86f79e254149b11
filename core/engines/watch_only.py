"""Dry-run engines: all actions of a policy are recorded only, or all except starts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.scheduling.actions import Refuse, Start
from core.scheduling.engine_wrapper import EngineWrapper

if TYPE_CHECKING:
    from collections.abc import Sequence

    from core.scheduling.actions import Action
    from core.scheduling.model import Failure, Observation
    from core.scheduling.ports import Engine


class WatchOnly(EngineWrapper):
    """The same port over another engine; `apply` changes nothing."""

    def __init__(self, engine: Engine) -> None:
        super().__init__(engine)
        self._time = 0.0
        self.would: list[tuple[float, Action]] = []
        """What would have been done, and when by the run's clock."""

    def observe(self) -> Observation:
        """Return the engine's observation."""
        observation = self._engine.observe()
        self._time = observation.time
        return observation

    def apply(self, actions: Sequence[Action]) -> tuple[Failure, ...]:
        """Note the actions; nothing is done, so nothing fails."""
        self.would += [(self._time, action) for action in actions]
        return ()


class StartOnly(EngineWrapper):
    """Engine wrapper that only starts or refuses jobs; they keep their first limits."""

    def apply(self, actions: Sequence[Action]) -> tuple[Failure, ...]:
        """Start and refuse jobs; nothing else is done, so nothing else fails."""
        return self._engine.apply([each for each in actions if isinstance(each, Start | Refuse)])
