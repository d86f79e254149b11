"""Containers that people start themselves: earlier runs of their kind tell how fast they are.

Their kind is their image, their command, and the label ``phasedock.data`` where the command does not say
what they train on; they teach it in turn. They are followed from when a policy finds them running, so how
long they took to start is not known.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from core.engines.values import DATA, SUBMISSION
from core.runtime.earlier_runs.kinds import Kind
from core.runtime.earlier_runs.learning import LearningEngine

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from core.engines.ports import Container
    from core.runtime.earlier_runs.store import EarlierRuns
    from core.scheduling.model import Job, Observation
    from core.scheduling.ports import Engine


class OwnContainers(LearningEngine):
    """Tells a policy how fast containers are that nobody submitted, and remembers how fast they were.

    Parameters
    ----------
    engine
        The engine.
    containers
        The id of the container that each of its jobs is in.
    known
        A container as it was last seen, by id; None if it never was.
    earlier
        Where runs are remembered.
    """

    def __init__(
        self,
        engine: Engine,
        containers: Callable[[], Mapping[str, str]],
        known: Callable[[str], Container | None],
        earlier: EarlierRuns,
    ) -> None:
        super().__init__(engine, {}, {}, earlier)
        self._containers, self._known = containers, known

    def observe(self) -> Observation:
        """Show what the engine shows, with what earlier runs say."""
        seen, containers = self._engine.observe(), self._containers()
        for job in seen.jobs:
            if job.id not in self._kinds:
                self._follow(job, self._known(containers.get(job.id, "")))
        self._learn(seen)
        return replace(seen, jobs=tuple(map(self._told, seen.jobs)))

    def close(self) -> None:
        """Remember what was seen of containers that go on without a policy."""
        for job in list(self._kinds):
            self._remember(job)
        super().close()

    def _follow(self, job: Job, container: Container | None) -> None:
        if container is not None and SUBMISSION not in container.labels:
            kind = Kind(container.image, container.command, container.labels.get(DATA, "").strip())
            self._kinds[job.id] = kind
            self._courses.follow(job.id, self._earlier.profile(kind), whole=False)

    def _told(self, job: Job) -> Job:
        profile = self._courses.profile(job.id) if job.id in self._kinds else None
        return job if profile is None else replace(job, terms=replace(job.said, profile=profile))
