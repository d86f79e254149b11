"""The workers and planned jobs of a run on Docker."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from core.engines.docker_host.host.host import Host
    from core.scheduling.model import Terms


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
