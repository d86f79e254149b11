"""Running containers as frozen values, detached from any engine.

CPU is in cores, memory in bytes, rates in bytes per second, moments in seconds since 1970. A value that is
not known is None (in arrays: NaN), never a guess; where a person would ask why, a sentence says so.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from core.scheduling.policies import display_name
from core.units import format_bytes, format_cores, plural

if TYPE_CHECKING:
    from collections.abc import Mapping

    from core.scheduling.policies.autopilot.steering_evidence import Evidence
    from core.workspace.records import TaskInfo


# Changes of running containers, by hand, by a policy or by a recorder, as frozen values.
#
# They are part of `core.sampling.values`, which every user imports.


class Mode(StrEnum):
    """Whether an attached policy only shows its decisions or carries them out."""

    WATCH = "watch"
    CONTROL = "control"

    def called(self, policy: str, engine: str) -> str:
        """Return the title of the task and the run of a policy on an engine."""
        return f"{display_name(policy)} {'controls' if self is Mode.CONTROL else 'watches'} {engine}"


@dataclass(frozen=True, slots=True)
class ActivityEntry:
    """One thing that an attached policy did, or in watch mode would have done."""

    #: When.
    at: float
    #: The container's name, or empty where it is about all.
    container: str
    #: One sentence.
    text: str
    #: Cores allowed before and after; None without a limit, or where it is not about a limit.
    before: float | None = None
    after: float | None = None
    #: The list that the container was in then.
    label: str = ""


@dataclass(frozen=True, slots=True)
class AttachedPolicy:
    """A policy that watches or controls an engine."""

    #: The task that it runs in.
    task: str
    #: The policy's name, and the settings that were given.
    policy: str
    #: See `Mode`.
    mode: Mode
    settings: Mapping[str, Any] = field(default_factory=dict)
    #: When it began.
    since: float = 0.0
    #: The time of its next decision at the latest, or None if it decides only on events.
    next_wake: float | None = None
    #: How many limits it has changed, or would have.
    resizes: int = 0
    #: Its last actions, newest first, at most 50.
    entries: tuple[ActivityEntry, ...] = ()
    #: What its run calls containers whose own names were taken by others of the run, by id.
    names: Mapping[str, str] = field(default_factory=dict)
    #: The id of its run, whose ledger the page of runs shows; empty until there is one.
    run: str = ""
    #: Its freed cores and bytes, in watch the possible ones; None for policies without samples.
    evidence: Evidence | None = None
    #: (seconds since 1970, cores freed, bytes freed, share of time short so far) over time, oldest first.
    course: tuple[tuple[float, float, float, float], ...] = ()
    #: Whether it is attached again by itself if its worker ends and one is back.
    reattach: bool = False
    #: When it last ended with its worker and was attached again, seconds since 1970; None if it never did.
    worker_ended_at: float | None = None
    reattached_at: float | None = None


@dataclass(frozen=True, slots=True)
class Recording:
    """A trace set that is being recorded."""

    #: The task that records, and what the trace set will be called.
    task: str
    name: str
    #: When it began.
    since: float = 0.0
    #: How much it has so far.
    samples: int = 0
    containers: int = 0
    #: Its size on the disk so far.
    bytes: int = 0
    #: The id by which it can be finished if its task is over; empty while it runs.
    recording: str = ""


@dataclass(frozen=True, slots=True)
class ContainerAllowance:
    """A container's limits: cores and bytes, None without one."""

    cores: float | None
    memory: float | None

    @property
    def cores_text(self) -> str:
        """Its cores for people."""
        return "no limit" if self.cores is None else format_cores(self.cores)

    @property
    def memory_text(self) -> str:
        """Its memory for people."""
        return "no limit" if self.memory is None else format_bytes(self.memory)


@dataclass(frozen=True, slots=True)
class LimitChange:
    """A limit that was changed by hand."""

    #: The container's name.
    container: str
    #: Its limits before and after.
    before: ContainerAllowance
    after: ContainerAllowance

    @property
    def sentence(self) -> str:
        """What changed, for people."""
        before, after, parts = self.before, self.after, []
        if before.cores != after.cores:
            parts.append(f"CPU from {before.cores_text} to {after.cores_text}")
        if before.memory != after.memory:
            parts.append(f"{'m' if parts else 'M'}emory from {before.memory_text} to {after.memory_text}")
        return f"{', '.join(parts)}." if parts else "Nothing changed."


@dataclass(frozen=True, slots=True)
class ReleaseResult:
    """The outcome of a release."""

    #: Names of containers whose limits are the original ones again.
    restored: tuple[str, ...] = ()
    #: Names of containers that are not there any more.
    gone: tuple[str, ...] = ()
    #: Containers whose limits could not be restored: (name, sentence).
    failed: tuple[tuple[str, str], ...] = ()


__all__ = [
    "FIELDS",
    "TOTALS",
    "ActivityEntry",
    "AttachedPolicy",
    "ContainerAllowance",
    "ContainerRow",
    "EngineInfo",
    "EngineState",
    "History",
    "LimitChange",
    "Line",
    "LiveView",
    "Mode",
    "Recording",
    "ReleaseResult",
    "Totals",
]

FIELDS = (
    *("cpu", "cpu_limit", "memory", "memory_limit", "loss", "throttled", "io", "network"),
    *("gpu", "gpu_memory", "gpu_power", "withheld", "pressure"),
)
"""What a sample has of a container, in this order."""
TOTALS = "*"
"""In place of a container's id: sums over all that are sampled, beside the size of the host."""

Line = npt.NDArray[np.float32]
"""One value per sample, shape (n,); NaN where there is none."""


class EngineState(StrEnum):
    """Whether an engine can be used."""

    READY = "ready"
    MISSING = "missing"
    DENIED = "denied"
    LOST = "lost"


@dataclass(frozen=True, slots=True)
class EngineInfo:
    """A Docker Engine that the settings name."""

    #: Its name in the settings, and where it is; an empty address is Docker's own default.
    name: str
    address: str
    #: ``"ready"``; ``"missing"``: nothing answers there; ``"denied"``: it answers, but not to this user;
    #: ``"lost"``: it answered before and does not now.
    state: EngineState
    #: One sentence about the state and one about what to do; both empty when it is ready.
    message: str = ""
    hint: str = ""
    #: Its size: cores and bytes, or None.
    cores: float | None = None
    memory: float | None = None
    #: The version of Docker, or empty.
    version: str = ""
    #: Its own id, whatever the settings call it; empty until it has been reached.
    id: str = ""


@dataclass(frozen=True, slots=True)
class ContainerRow:
    """One container as it was at the last sample."""

    #: Its full id, its name, and the image it was made of.
    id: str
    name: str
    image: str = ""
    #: Whether it carries PhaseDock's label, and whether a person picked it; only such ones are changed.
    labelled: bool = False
    picked: bool = False
    #: ``"running"``, ``"paused"`` and so on, as Docker says it.
    state: str = "running"
    #: Cores used over the last second, and allowed; the limit is None without one.
    cpu: float | None = None
    cpu_limit: float | None = None
    #: Bytes.
    memory: float | None = None
    memory_limit: float | None = None
    #: Bytes read and written, and received and sent, per second.
    io: float | None = None
    network: float | None = None
    #: The share of the last second's scheduling periods in which it wanted more than its limit, 0 to 1.
    throttled: float | None = None
    #: The last value of its evaluation function; where there is none, a sentence that says why.
    loss: float | None = None
    loss_why: str = ""
    #: The list or category that the attached policy has it in, and its growth; None without a policy.
    label: str | None = None
    growth: float | None = None
    #: The id of its phase by the chosen model; None without a model and while the window fills.
    phase: int | None = None
    #: Whether its limits are not its original ones; releasing restores those.
    held: bool = False
    #: Whether it follows its cores with its threads; None where that is not known.
    malleable: bool | None = None
    #: Which of its labels cannot be understood, and why, in sentences; empty where all can.
    wrong: str = ""
    #: The share of its GPUs' time, bytes of their memory, and watts; None where no GPU is read.
    gpu: float | None = None
    gpu_memory: float | None = None
    gpu_power: float | None = None
    #: Cores that its limit kept from it in the last second.
    withheld: float | None = None
    #: The share of the last seconds in which something on its host waited for CPU or memory, or None.
    pressure: float | None = None
    #: When it was last started, or None.
    started: float | None = None
    #: When its program last ended, and its exit code; None if it never did, or that is unknown.
    ended: float | None = None
    exit_code: int | None = None
    #: How often it was killed for lack of memory, at least, and how often the engine restarted it.
    kills: int = 0
    restarts: int = 0
    #: Why it could not be started, in the engine's words; empty if it could.
    error: str = ""
    #: Why it is not restarted by hand, in a sentence; empty if it may be.
    no_restart: str = ""
    #: The most cores that its label ``phasedock.max`` allows a policy to give, or None.
    max_cores: float | None = None
    #: Which of the engine's answers about it could not be read, in a sentence; empty if all could.
    unreadable: str = ""

    @property
    def is_running(self) -> bool:
        """Whether it has processes, paused ones included."""
        return self.state in ("running", "paused")

    @property
    def trouble(self) -> tuple[str, str, str] | None:
        """Its last end: ``"bad"``, ``"warn"`` or empty, a word and details; None if it just runs."""
        if self.is_running and not (self.kills or self.restarts):
            return None
        if self.error and not self.is_running:
            kind, word = "bad", "does not start"
        elif self.state == "restarting":
            kind, word = "bad", "restarting"
        elif self.kills:
            kind, word = "warn" if self.is_running else "bad", "out of memory"
        elif self.is_running:
            kind, word = "warn", "restarted"
        else:
            kind, word = "bad" if self.exit_code else "", "exited"
        details = [
            "" if self.exit_code is None or self.is_running else f"exit {self.exit_code}",
            f"killed {self.kills}×" if self.kills else "",
            plural(self.restarts, "restart") if self.restarts else "",
        ]
        return kind, word, ", ".join(filter(None, details))


@dataclass(frozen=True, slots=True)
class Totals:
    """Sums over the containers that are shown, beside the size of the host."""

    #: Cores used, and there.
    cpu: float | None = None
    cores: float | None = None
    #: Bytes used, and there.
    memory: float | None = None
    memory_total: float | None = None
    #: The mean share of throttled periods over containers with a limit, or None.
    throttled: float | None = None
    #: The share of the last seconds in which something on the host waited for CPU or memory, or None.
    pressure: float | None = None
    #: How many containers are shown.
    containers: int = 0
    #: How many containers the attached policy has in each of its lists: (label, n).
    labels: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class LiveView:
    """All values of the page of running containers at one time."""

    #: The engine and its state.
    engine: EngineInfo
    #: When the sample was taken, or None before the first.
    at: float | None = None
    #: The containers that are labelled or picked, with what they use.
    rows: tuple[ContainerRow, ...] = ()
    #: How many running containers of the host are neither labelled nor picked.
    others: int = 0
    #: Those others, by id, name, image and state only; they are not measured, and may be picked.
    foreign: tuple[ContainerRow, ...] = ()
    #: Sums over the containers that are labelled or picked, beside the size of the host.
    totals: Totals = field(default_factory=Totals)
    #: The attached policy and the running recording, or None.
    attached: AttachedPolicy | None = None
    recording: Recording | None = None
    #: The id of the model that gives the phases, or None.
    model: str | None = None
    #: The task of the policy that was to be attached last and failed lately, or None.
    failed: TaskInfo | None = None
    #: Labelled or picked containers that have ended or are about to be restarted, the last ended first.
    stopped: tuple[ContainerRow, ...] = ()


@dataclass(frozen=True, slots=True)
class History:
    """The last minutes of one container, or of all together; every array has shape (n,)."""

    #: Seconds since 1970, float64, increasing.
    time: npt.NDArray[np.float64]
    #: Cores; the limit is NaN without one. Of all together: the host's cores.
    cpu: Line
    cpu_limit: Line
    #: Bytes; as for CPU.
    memory: Line
    memory_limit: Line
    #: Values of the evaluation function.
    loss: Line
    #: Share of throttled periods, 0 to 1.
    throttled: Line
