"""The workers and planned jobs of a run on Docker."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from core.engines.docker_host.agent import Place
from core.scheduling.model import Job, JobState

if TYPE_CHECKING:
    import threading
    from collections.abc import Mapping

    from core.engines.docker_host.agent import AgentFolder, Follower, Says
    from core.engines.docker_host.host import Host
    from core.engines.docker_host.limits import Limits
    from core.engines.values import Counters
    from core.scheduling.model import Reading, Terms


@dataclass(frozen=True, slots=True)
class DockerWorker:
    """A Docker host, or some of its processors, under a name."""

    #: Its name; never used twice in a run.
    name: str
    #: The host.
    host: Host
    #: Numbers of its processors, or None for all of them.
    cpus: tuple[int, ...] | None = None
    #: Whether the run's folder is at the same path there; None: only if the host is this machine.
    shared: bool | None = None

    @property
    def capacity(self) -> float:
        """Its cores."""
        return float(len(self.cpus)) if self.cpus is not None else self.host.info().cores

    @property
    def cpuset(self) -> str:
        """Its processors as Docker writes them; empty for all."""
        return ",".join(map(str, self.cpus)) if self.cpus is not None else ""

    @property
    def has_folder(self) -> bool:
        """True if a folder of this machine can be given to its containers."""
        return self.host.info().local if self.shared is None else self.shared


@dataclass(frozen=True, slots=True)
class PlannedJob:
    """A job that arrives in the course of a run, and gets a container of its own when it is started."""

    #: Its name; never used twice in a run.
    id: str
    #: What it runs.
    image: str
    command: tuple[str, ...] = ()
    #: When it arrives, seconds of the run's clock.
    arrival: float = 0.0
    #: Of its container, beside PhaseDock's own.
    labels: Mapping[str, str] = field(default_factory=dict, hash=False)
    #: Of its program.
    environment: Mapping[str, str] = field(default_factory=dict, hash=False)
    #: Bytes that it may use at most, or None.
    memory: int | None = None
    #: Cores that its owner asked for, and what else was said of it; or None.
    request: float | None = None
    terms: Terms | None = None
    #: Whether its program writes checkpoints and resumes from them (`core.jobs.agent`).
    can_migrate: bool = False
    #: Whether its program follows its cores with its threads.
    can_resize: bool = False
    #: Folders of the host, and where its container sees them.
    volumes: Mapping[str, str] = field(default_factory=dict, hash=False)
    #: The network mode of its container.
    network: str = "none"
    #: Ports of the host, and those inside its container.
    ports: Mapping[str, str] = field(default_factory=dict, hash=False)
    #: Whether its container outlives the run, which leaves it running without limits.
    stays: bool = False
    #: The name of its container; made up where it is empty. One of this name that was never started is
    #: replaced.
    container: str = ""


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
