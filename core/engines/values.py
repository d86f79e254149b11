"""What every engine with containers reports of them, in terms that belong to no single engine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping


class HasLabels(Protocol):
    """Whatever has labels."""

    @property
    def labels(self) -> Mapping[str, str]:
        """The labels."""


LOGS_EVERY: Final = 0.9
"""Seconds between two reads of a container's log, where a policy goes by losses; each is a request."""

MIN_CORES: Final = 0.01
"""The smallest limit of cores: the kernel takes no quota below 1 ms in a period of 100 ms."""

MANAGED: Final = "phasedock"
"""The label whose presence lets PhaseDock change a container."""

RUN: Final = "phasedock.run"
"""The label that names the run which a container belongs to."""

JOB: Final = "phasedock.job"
"""The label that names the job which a container runs."""

SUBMISSION: Final = "phasedock.submission"
"""The label with the id under which the job of a container was submitted."""

DATA: Final = "phasedock.data"
"""The label that says in a word what a container trains on, where its command does not say it."""

LOSS: Final = "phasedock.loss"
"""The label that says how E (the evaluation function) is found in logs: a key, or a regex with one group."""

GOAL: Final = "phasedock.goal"
"""The label that says whether E is to fall (``min``), to rise (``max``) or is a distance from the best."""

AGENT: Final = "phasedock.agent"
"""The label with the folder, on the host, in which the job's agent reads and writes."""


class EngineKey(NamedTuple):
    """Which engine: what the settings call it today, and its own id, which does not change with the name.

    The id is empty where the engine has not been reached, or has none.
    """

    name: str
    id: str = ""


@dataclass(frozen=True, slots=True)
class HostInfo:
    """What a host is."""

    #: Its name in the settings.
    name: str
    #: Its processors.
    cores: float
    #: Its bytes of memory.
    memory: int
    #: The version of its engine.
    version: str
    #: The version of its control groups: 1 or 2.
    cgroup: int
    #: True if its containers' control groups can be read from here.
    local: bool
    #: Its own id, which it keeps for as long as it keeps its containers; empty where it has none.
    id: str = ""

    @property
    def key(self) -> EngineKey:
        """Which engine this is."""
        return EngineKey(self.name, self.id)


@dataclass(frozen=True, slots=True)
class Counters:
    """One reading of a container."""

    #: Seconds of this machine's monotonic clock when it was read.
    time: float
    #: Core-seconds used.
    cpu_seconds: float
    #: Bytes of its working set now.
    memory: int
    #: Bytes from and to block devices.
    io_read: int = 0
    io_written: int = 0
    #: Bytes over its own network interfaces, the loopback apart.
    net_received: int = 0
    net_sent: int = 0
    #: Periods of its quota that passed, and those in which it was throttled.
    periods: int = 0
    throttled_periods: int = 0
    #: Thread-seconds for which it was throttled.
    throttled_seconds: float = 0.0


def has_label(container: HasLabels) -> bool:
    """True if a container carries PhaseDock's label, whatever its value."""
    return MANAGED in container.labels
