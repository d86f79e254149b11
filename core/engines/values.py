"""Labels, descriptions and counters of containers and hosts, common to all engines."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from core.scheduling.model import Job


class HasLabels(Protocol):
    """Anything with labels."""

    @property
    def labels(self) -> Mapping[str, str]:
        """The labels."""


LOGS_EVERY: Final = 0.9
"""Seconds between two reads of a container's log for a policy that uses losses; each is a request."""

MIN_CORES: Final = 0.01
"""The smallest limit of cores: the kernel takes no quota below 1 ms in a period of 100 ms."""

MANAGED: Final = "phasedock"
"""The label that allows PhaseDock to change a container."""

RUN: Final = "phasedock.run"
"""The label with the run of a container."""

JOB: Final = "phasedock.job"
"""The label with the job of a container."""

SUBMISSION: Final = "phasedock.submission"
"""The label with the submission id of a container's job."""

DATA: Final = "phasedock.data"
"""The label with one word for a container's training data, if its command does not name them."""

LOSS: Final = "phasedock.loss"
"""The label with the key of E (the evaluation function) in logs, or a regular expression with one group."""

GOAL: Final = "phasedock.goal"
"""The label with the goal of E: to fall (``min``), to rise (``max``), or its best value."""

AGENT: Final = "phasedock.agent"
"""The label with the folder of the job's agent on the host."""


REPEATED: Final = "#"
"""Before the number of a name that occurs again in a run; no container's own name has it."""


def name_occurrence(name: str, occurrence: int) -> str:
    """Return a job's name in a run; the second job of one name is ``name#2``."""
    return name if occurrence == 1 else f"{name}{REPEATED}{occurrence}"


def count_occurrences(names: Iterable[str]) -> dict[str, int]:
    """Return how many jobs have had each name, from their names in a run."""
    counts: dict[str, int] = {}
    for each in names:
        name, _, number = each.partition(REPEATED)
        counts[name] = max(counts.get(name, 0), int(number or 1))
    return counts


@dataclass(frozen=True, slots=True)
class EarlierPart:
    """The part of a run before its worker ended, for the engine that goes on with the run."""

    #: Seconds of the run's clock: now, and at its last observation.
    now: float
    observed_at: float
    #: Its jobs then, by the ids of their containers and submissions.
    jobs: Mapping[str, Job]
    #: How many jobs have had each name.
    occurrences: Mapping[str, int]

    def find(self, *ids: str) -> Job | None:
        """Return the job of a container or a submission; None for a new one."""
        return next((self.jobs[each] for each in ids if each in self.jobs), None)


NO_EARLIER_PART: Final = EarlierPart(0.0, float("-inf"), {}, {})
"""What was before a run that begins."""


@dataclass(frozen=True, slots=True)
class FollowOptions:
    """How a run follows containers that are there."""

    #: Seconds for which a lost engine is waited for; Docker takes a few to start again.
    reconnect_within: float = 60.0
    #: Seconds between two reads of a container's log.
    logs_every: float = LOGS_EVERY
    #: Whether limits that owners set are no bounds (`core.engines.owner_limits`).
    may_raise: bool = False
    #: What was before, if the run goes on.
    earlier_part: EarlierPart = NO_EARLIER_PART


class EngineKey(NamedTuple):
    """The identity of an engine: its name in the settings and its permanent id.

    The id is empty before the first connection, or if the engine has none.
    """

    name: str
    id: str = ""


@dataclass(frozen=True, slots=True)
class HostInfo:
    """The description of a host."""

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
    #: Whether its containers' control groups are readable here.
    local: bool
    #: Its id, permanent like its containers; empty without one.
    id: str = ""

    @property
    def key(self) -> EngineKey:
        """The identity of its engine."""
        return EngineKey(self.name, self.id)


@dataclass(frozen=True, slots=True)
class Ending:
    """How a container's program last ended, and how often it was started again."""

    #: Unix seconds of the end, or None if it has not ended yet.
    at: float | None = None
    #: Its exit code, or None if unknown.
    exit_code: int | None = None
    #: How often the kernel killed it, or one of its processes, for lack of memory; at least.
    kills: int = 0
    #: How often the engine started it again.
    restarts: int = 0
    #: Why it could not be started, in the engine's words; empty if it could.
    error: str = ""


@dataclass(frozen=True, slots=True)
class Counters:
    """One reading of a container's counters; None for each that was not measured."""

    #: Seconds of this machine's monotonic clock.
    time: float
    #: Core-seconds used.
    cpu_seconds: float | None
    #: Working set in bytes.
    memory: int | None
    #: Bytes from and to block devices.
    io_read: int | None = None
    io_written: int | None = None
    #: Bytes over its own network interfaces, without the loopback.
    net_received: int | None = None
    net_sent: int | None = None
    #: Passed periods of its quota, and throttled ones.
    periods: int | None = None
    throttled_periods: int | None = None
    #: Throttled thread-seconds.
    throttled_seconds: float | None = None
    #: Why something was not measured, in a sentence, if the engine's answer was odd; else empty.
    unreadable: str = ""


def has_label(container: HasLabels) -> bool:
    """Whether a container has PhaseDock's label, with any value."""
    return MANAGED in container.labels


def why_not_restarted(labels: Collection[str]) -> str:
    """Return why a container with these labels is not restarted by hand; empty if it may be."""
    if RUN in labels:
        return "A run starts and ends it; stop that run instead."
    if SUBMISSION in labels:
        return "It is a submitted job; submit the job again instead."
    return ""
