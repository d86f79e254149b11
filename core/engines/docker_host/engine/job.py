"""The engine's record of a job during a run."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from core.engines.docker_host.agent.readings import Place
from core.scheduling.model import Job, JobState

if TYPE_CHECKING:
    import threading

    from core.engines.docker_host.agent.files import AgentFolder, Says
    from core.engines.docker_host.agent.readings import Follower
    from core.engines.docker_host.engine.planned import DockerWorker, PlannedJob
    from core.engines.docker_host.host.limits import Limits
    from core.engines.values import Counters
    from core.scheduling.model import Reading, Terms


@dataclass(eq=False)
class LiveJob:
    """Everything that is known of one job."""

    #: Its name in the run.
    id: str
    #: Seconds of the run's clock.
    arrived: float
    #: What was planned, or None of an adopted container.
    plan: PlannedJob | None = None
    #: Where it is in its life, and in which container.
    state: JobState = JobState.WAITING
    worker: DockerWorker | None = None
    container: str = ""
    #: When it first ran, or None.
    started: float | None = None
    #: What was last requested, or what its container has.
    limit: float | None = None
    weight: float = 1.0
    memory_limit: float | None = None
    #: How often the kernel has killed one of its processes for want of memory.
    kills: int = 0
    #: Bytes that it uses, or None where that was not read yet.
    memory: float | None = None
    #: As its owner says.
    can_migrate: bool = False
    can_resize: bool = False
    #: Cores that the labels of an adopted container ask for, and what else they say; a planned job has its
    #: plan's.
    said: tuple[float | None, Terms | None] = (None, None)
    #: Its folder, or None.
    agent: AgentFolder | None = None
    #: Gives its readings, or None.
    follower: Follower | None = None
    silent: bool = False
    changed: bool = False
    #: Whether its policy set its number of threads, so that nothing else changes it.
    told: bool = False
    #: Whether it was planned, and its container was there before the run all the same.
    found: bool = False
    paused_here: bool = False
    giving_up: threading.Event | None = None
    readings: list[Reading] = field(default_factory=list)
    _latest: float = -math.inf
    _used_before: float = 0.0
    _counted: float = 0.0

    @property
    def adopted(self) -> bool:
        """True if its container was there before the run."""
        return self.plan is None or self.found

    @property
    def outlives(self) -> bool:
        """True if its container is left running when the run ends."""
        return self.plan is None or self.plan.stays

    @property
    def cpu_seconds(self) -> float:
        """Core-seconds used so far, all starts together."""
        return self._used_before + self._counted

    def count(self, counters: Counters) -> None:
        """Take a reading of its container; a counter that was reset is added to the total before."""
        self.memory = float(counters.memory)
        if counters.cpu_seconds < self._counted:
            self._used_before += self._counted
        self._counted = counters.cpu_seconds

    def begin_container(self, container: str) -> None:
        """Continue in another container."""
        self._used_before += self._counted
        self._counted = 0.0
        self.container = container

    def add(self, news: list[Reading], now: float) -> None:
        """Take readings by the run's clock; they stay in order even if the wall clock jumped.

        What an adopted container printed before the run has negative times.
        """
        for when, value in news:
            self._latest = min(max(when, self._latest), max(now, self._latest))
            self.readings.append((self._latest, value))

    def limit_stands(self, limits: Limits, cores: float) -> bool:
        """Whether a container on a machine with `cores` cores still has the limits last requested."""
        return limits.agrees(limits.with_cores(self.limit).with_weight(self.weight), cores)

    def shown(self) -> Job:
        """What a policy sees of it now; each reading is shown once."""
        readings, self.readings = tuple(self.readings), []
        says = self.agent.says() if self.agent is not None else None
        place = self._place(says)
        request, terms = self.said if self.plan is None else (self.plan.request, self.plan.terms)
        return Job(
            self.id,
            self.state,
            self.worker.name if self.worker is not None else None,
            self.arrived,
            self.started,
            self.cpu_seconds,
            self.limit,
            self.weight,
            says.threads if says is not None else None,
            readings,
            place.steps,
            place.total_steps,
            request,
            self.can_migrate,
            self.can_resize and not self._is_silent(says),
            terms=terms,
            step_seconds=place.step_seconds,
            memory_limit=self.memory_limit,
            kills=self.kills,
        )

    def _place(self, says: Says | None) -> Place:
        if says is not None and says.state:
            return Place(says.step, says.steps, says.step_seconds)
        return self.follower.place() if self.follower is not None else Place()

    def _is_silent(self, says: Says | None) -> bool:
        """True while it owes an answer that it did not give in time."""
        behind = says is None or self.agent is None or says.version < self.agent.wants.version
        return self.silent and behind
