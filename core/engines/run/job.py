"""The nodes, planned jobs and live jobs of a run."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from core.engines.owner_limits import OwnerLimits
from core.engines.run.agent import JobProgress
from core.scheduling.model import Job, JobState, at_most

if TYPE_CHECKING:
    import threading
    from collections.abc import Mapping

    from core.engines.ports import Limits
    from core.engines.run.agent import AgentFolder, AgentReport, Follower
    from core.engines.run.host import ContainerHost
    from core.engines.values import Counters
    from core.scheduling.model import Reading, Terms


@dataclass(frozen=True, slots=True)
class Node:
    """A host, or some of its processors, as a worker of a run."""

    #: Its name, unique in a run.
    name: str
    host: ContainerHost
    #: Numbers of its processors, or None for all of them.
    cpus: tuple[int, ...] | None = None
    #: Whether the run's folder is at the same path there; None: only if the host is this machine.
    shared: bool | None = None

    @property
    def capacity(self) -> float:
        """Its cores."""
        return float(len(self.cpus)) if self.cpus is not None else self.host.info().cores

    @property
    def has_folder(self) -> bool:
        """Whether its containers can mount a folder of this machine."""
        return self.host.info().local if self.shared is None else self.shared


@dataclass(frozen=True, slots=True)
class PlannedJob:
    """A job that arrives during a run and gets its container when it is started."""

    #: Its name, unique in a run.
    id: str
    image: str
    command: tuple[str, ...] = ()
    #: Arrival in seconds of the run's clock.
    arrival: float = 0.0
    #: Labels of its container, beside PhaseDock's.
    labels: Mapping[str, str] = field(default_factory=dict, hash=False)
    #: Environment variables of its program.
    environment: Mapping[str, str] = field(default_factory=dict, hash=False)
    #: Memory limit in bytes, or None.
    memory: int | None = None
    #: Requested cores and terms, or None.
    request: float | None = None
    terms: Terms | None = None
    #: Whether its program writes checkpoints and resumes from them (`core.jobs.agent`).
    can_migrate: bool = False
    #: Whether its program follows its cores with its threads.
    can_resize: bool = False
    #: Folders of the host and their paths in the container.
    volumes: Mapping[str, str] = field(default_factory=dict, hash=False)
    #: The network mode of its container.
    network: str = "none"
    #: Ports of the host and ports in the container.
    ports: Mapping[str, str] = field(default_factory=dict, hash=False)
    #: Whether its container outlives the run, without limits.
    stays: bool = False
    #: The name of its container, generated if empty; replaces a container of this name that never started.
    container: str = ""


@dataclass(eq=False)
class LiveJob:
    """The state of one job in a run."""

    #: Its name in the run.
    id: str
    #: Arrival in seconds of the run's clock.
    arrived: float
    #: Its plan, or None for an adopted container.
    plan: PlannedJob | None = None
    state: JobState = JobState.WAITING
    worker: Node | None = None
    container: str = ""
    #: Time of its first start, or None.
    started: float | None = None
    #: The limits last requested, or those of its container.
    limit: float | None = None
    weight: float = 1.0
    memory_limit: float | None = None
    #: Number of processes killed by the kernel for lack of memory.
    kills: int = 0
    #: Memory in use in bytes, or None before the first reading.
    memory: float | None = None
    #: What its container's owner allows.
    owner: OwnerLimits = field(default_factory=OwnerLimits)
    #: Whether its owner declares it able to migrate and to change its threads.
    can_migrate: bool = False
    can_resize: bool = False
    #: Requested cores and terms in the labels of an adopted container.
    labelled_terms: tuple[float | None, Terms | None] = (None, None)
    #: Its folder, or None.
    agent: AgentFolder | None = None
    #: Gives its readings, or None.
    follower: Follower | None = None
    owes_answer: bool = False
    changed: bool = False
    #: Whether its policy sets its number of threads, so that nothing else changes it.
    threads_set_by_policy: bool = False
    #: Whether the container of its plan was running before the run.
    was_running: bool = False
    paused_here: bool = False
    aborting: threading.Event | None = None
    readings: list[Reading] = field(default_factory=list)
    _latest: float = -math.inf
    _shown_until: float = -math.inf
    _is_measured: bool = True
    _used_before: float = 0.0
    _counted: float = 0.0

    @property
    def adopted(self) -> bool:
        """Whether its container existed before the run."""
        return self.plan is None or self.was_running

    @property
    def outlives_run(self) -> bool:
        """Whether its container keeps running after the run."""
        return self.plan is None or self.plan.stays

    @property
    def cpu_seconds(self) -> float | None:
        """Core-seconds used so far, over all starts; None if the last reading lacks them."""
        return self._used_before + self._counted if self._is_measured else None

    def count(self, counters: Counters) -> None:
        """Add a reading of its container; a reset counter continues the total."""
        self.memory = None if counters.memory is None else float(counters.memory)
        self._is_measured = counters.cpu_seconds is not None
        if counters.cpu_seconds is None:
            return
        if counters.cpu_seconds < self._counted:
            self._used_before += self._counted
        self._counted = counters.cpu_seconds

    def mark_unmeasured(self) -> None:
        """Note that nobody knows what its container has used, until it is read."""
        self._is_measured = False

    @property
    def max_cores(self) -> float | None:
        """The most cores that its owner and its terms allow; None without a bound."""
        _, terms = self._requested_terms
        return at_most(self.owner.cores, None if terms is None else terms.max)

    def begin_container(self, container: str) -> None:
        """Continue in another container."""
        self._used_before += self._counted
        self._counted = 0.0
        self.container = container

    def go_on(self, earlier: Job, observed_at: float) -> None:
        """Continue a job of the run's part before its worker ended, which was last observed then."""
        self.arrived, self.started, self.kills = earlier.arrived, earlier.started, earlier.kills
        self.labelled_terms = (earlier.request, earlier.terms)
        self._counted = earlier.cpu_seconds or 0.0
        self._shown_until = observed_at

    def add(self, news: list[Reading], now: float) -> None:
        """Add readings by the run's clock, in order even if the wall clock jumped.

        Readings of an adopted container from before the run have negative times.
        """
        for when, value in news:
            if when <= self._shown_until:
                continue
            self._latest = min(max(when, self._latest), max(now, self._latest))
            self.readings.append((self._latest, value))

    def has_requested_limits(self, limits: Limits, cores: float) -> bool:
        """Whether a container on a machine with `cores` cores still has the requested limits."""
        return limits.agrees(limits.with_cores(self.limit).with_weight(self.weight), cores)

    def snapshot(self) -> Job:
        """Return the job as a policy observes it; each reading is returned once."""
        readings, self.readings = tuple(self.readings), []
        report = self.agent.read_report() if self.agent is not None else None
        progress = self._progress(report)
        request, terms = self._requested_terms
        return Job(
            self.id,
            self.state,
            self.worker.name if self.worker is not None else None,
            self.arrived,
            self.started,
            self.cpu_seconds,
            self.limit,
            self.weight,
            report.threads if report is not None else None,
            readings,
            progress.steps,
            progress.total_steps,
            request,
            self.can_migrate,
            self.can_resize and not self._is_silent(report),
            terms=terms,
            step_seconds=progress.step_seconds,
            memory_limit=self.memory_limit,
            kills=self.kills,
            owner_cores=self.owner.cores,
            owner_memory=self.owner.memory,
        )

    @property
    def _requested_terms(self) -> tuple[float | None, Terms | None]:
        return self.labelled_terms if self.plan is None else (self.plan.request, self.plan.terms)

    def _progress(self, report: AgentReport | None) -> JobProgress:
        if report is not None and report.state:
            return JobProgress(report.step, report.steps, report.step_seconds)
        return self.follower.progress() if self.follower is not None else JobProgress()

    def _is_silent(self, report: AgentReport | None) -> bool:
        """Whether an answer to a request is overdue."""
        is_behind = report is None or self.agent is None or report.version < self.agent.request.version
        return self.owes_answer and is_behind
