"""An engine whose jobs teach those that come after them how fast their kind is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.scheduling.deadlines.earlier import Courses
from core.scheduling.over import OverEngine

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from core.runtime.earlier_runs.kinds import Kind
    from core.runtime.earlier_runs.store import EarlierRuns
    from core.scheduling.actions import Action
    from core.scheduling.model import Failure, Observation, Profile
    from core.scheduling.ports import Engine


class LearningEngine(OverEngine):
    """Passes everything on, and remembers each run that is over.

    Parameters
    ----------
    engine
        The engine.
    kinds, profiles
        The kind of each of its jobs, and what was expected of it.
    earlier
        Where runs are remembered.
    """

    def __init__(
        self,
        engine: Engine,
        kinds: Mapping[str, Kind],
        profiles: Mapping[str, Profile | None],
        earlier: EarlierRuns,
    ) -> None:
        super().__init__(engine)
        self._kinds, self._earlier = dict(kinds), earlier
        self._courses = Courses()
        for job in kinds:
            self._courses.follow(job, profiles.get(job))

    def observe(self) -> Observation:
        """Show what the engine shows."""
        seen = super().observe()
        self._learn(seen)
        return seen

    def apply(self, actions: Sequence[Action]) -> tuple[Failure, ...]:
        """Do what was decided."""
        failures = super().apply(actions)
        self._courses.given(actions, failures)
        return failures

    def _learn(self, seen: Observation) -> None:
        self._courses.see(seen)
        for job in seen.ended:
            self._remember(job.id)

    def _remember(self, job: str) -> None:
        if job in self._kinds:
            self._earlier.add(self._kinds.pop(job), self._courses.leave(job))
