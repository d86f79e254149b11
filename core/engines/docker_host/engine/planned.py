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
    """A Docker host, or some of its processors, under a name.

    Parameters
    ----------
    name
        Its name; never used twice in a run.
    host
        The host.
    cpus
        Numbers of its processors, or None for all of them.
    shared
        Whether the run's folder is at the same path there; None: only if the host is this machine.
    """

    name: str
    host: Host
    cpus: tuple[int, ...] | None = None
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
    """A job that arrives in the course of a run, and gets a container of its own when it is started.

    Parameters
    ----------
    id
        Its name; never used twice in a run.
    image, command
        What it runs.
    arrival
        When it arrives, seconds of the run's clock.
    labels
        Of its container, beside PhaseDock's own.
    environment
        Of its program.
    memory
        Bytes that it may use at most, or None.
    request, terms
        Cores that its owner asked for, and what else was said of it; or None.
    can_migrate
        Whether its program writes checkpoints and resumes from them (`core.jobs.agent`).
    can_resize
        Whether its program follows its cores with its threads.
    volumes
        Folders of the host, and where its container sees them.
    network
        The network mode of its container.
    ports
        Ports of the host, and those inside its container.
    stays
        Whether its container outlives the run, which leaves it running without limits.
    container
        The name of its container; made up where it is empty. One of this name that was never started is
        replaced.
    """

    id: str
    image: str
    command: tuple[str, ...] = ()
    arrival: float = 0.0
    labels: Mapping[str, str] = field(default_factory=dict, hash=False)
    environment: Mapping[str, str] = field(default_factory=dict, hash=False)
    memory: int | None = None
    request: float | None = None
    terms: Terms | None = None
    can_migrate: bool = False
    can_resize: bool = False
    volumes: Mapping[str, str] = field(default_factory=dict, hash=False)
    network: str = "none"
    ports: Mapping[str, str] = field(default_factory=dict, hash=False)
    stays: bool = False
    container: str = ""
