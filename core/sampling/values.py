"""What is done to running containers, by hand, by a policy or by a recorder: frozen values.

They are part of `core.sampling.values`, from where everybody takes them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from core.scheduling.policies import display_name

if TYPE_CHECKING:
    from collections.abc import Mapping

    from core.scheduling.policies.autopilot.steering_evidence import Evidence
    from core.workspace.records import TaskInfo


class Mode(StrEnum):
    """What an attached policy may do: say what it would do, or do it."""

    WATCH = "watch"
    CONTROL = "control"

    def called(self, policy: str, engine: str) -> str:
        """What a policy does to an engine, as its task and its run are called."""
        return f"{display_name(policy)} {'controls' if self is Mode.CONTROL else 'watches'} {engine}"


@dataclass(frozen=True, slots=True)
class ActivityEntry:
    """One thing that an attached policy did, or in watch mode would have done.

    Parameters
    ----------
    at
        When.
    container
        The container's name, or empty where it is about all.
    text
        One sentence.
    before, after
        Cores allowed before and after; None without a limit, or where it is not about a limit.
    label
        The list that the container was in then.
    """

    at: float
    container: str
    text: str
    before: float | None = None
    after: float | None = None
    label: str = ""


@dataclass(frozen=True, slots=True)
class Attached:
    """A policy that watches or controls an engine.

    Parameters
    ----------
    task
        The task that it runs in.
    policy, settings
        The policy's name, and the settings that were given.
    mode
        See `Mode`.
    since
        When it began.
    next_wake
        When it is asked next at the latest, or None where it is asked only on events.
    resizes
        How many limits it has changed, or would have.
    said
        What it did last, newest first, at most 50.
    run
        The id of its run, whose ledger the page of runs shows; empty until there is one.
    evidence
        What it would have freed, or did; None of policies that steer by no samples.
    course
        (seconds since 1970, cores freed, bytes freed, share of time short so far) over time, oldest first.
    """

    task: str
    policy: str
    mode: Mode
    settings: Mapping[str, Any] = field(default_factory=dict)
    since: float = 0.0
    next_wake: float | None = None
    resizes: int = 0
    said: tuple[ActivityEntry, ...] = ()
    run: str = ""
    evidence: Evidence | None = None
    course: tuple[tuple[float, float, float, float], ...] = ()


@dataclass(frozen=True, slots=True)
class Recording:
    """A trace set that is being recorded.

    Parameters
    ----------
    task, name
        The task that records, and what the trace set will be called.
    since
        When it began.
    samples, containers
        How much it has so far.
    bytes
        Its size on the disk so far.
    recording
        The id by which it can be finished if its task is over; empty while it runs.
    """

    task: str
    name: str
    since: float = 0.0
    samples: int = 0
    containers: int = 0
    bytes: int = 0
    recording: str = ""


@dataclass(frozen=True, slots=True)
class Allowed:
    """A container's limits: cores and bytes, None without one."""

    cores: float | None
    memory: float | None


@dataclass(frozen=True, slots=True)
class Change:
    """A limit that was changed by hand.

    Parameters
    ----------
    container
        The container's name.
    before, after
        Its limits before and after.
    """

    container: str
    before: Allowed
    after: Allowed


@dataclass(frozen=True, slots=True)
class Released:
    """The outcome of a release.

    Parameters
    ----------
    restored
        Names of containers whose limits are the original ones again.
    gone
        Names of containers that are not there any more.
    failed
        Containers whose limits could not be restored: (name, sentence).
    """

    restored: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()
    failed: tuple[tuple[str, str], ...] = ()


__all__ = [
    "ActivityEntry",
    "Allowed",
    "Attached",
    "Change",
    "ContainerRow",
    "EngineInfo",
    "EngineState",
    "History",
    "Line",
    "LiveView",
    "Mode",
    "Recording",
    "Released",
    "Totals",
]

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
    """A Docker Engine that the settings name.

    Parameters
    ----------
    name, address
        Its name in the settings, and where it is; an empty address is Docker's own default.
    state
        ``"ready"``; ``"missing"``: nothing answers there; ``"denied"``: it answers, but not to this user;
        ``"lost"``: it answered before and does not now.
    message, hint
        One sentence about the state and one about what to do; both empty when it is ready.
    cores, memory
        Its size: cores and bytes, or None.
    version
        The version of Docker, or empty.
    id
        Its own id, whatever the settings call it; empty until it has been reached.
    """

    name: str
    address: str
    state: EngineState
    message: str = ""
    hint: str = ""
    cores: float | None = None
    memory: float | None = None
    version: str = ""
    id: str = ""


@dataclass(frozen=True, slots=True)
class ContainerRow:
    """One container as it was at the last sample.

    Parameters
    ----------
    id, name, image
        Its full id, its name, and the image it was made of.
    labelled, picked
        Whether it carries PhaseDock's label, and whether a person picked it; only such ones are changed.
    state
        ``"running"``, ``"paused"`` and so on, as Docker says it.
    cpu, cpu_limit
        Cores used over the last second, and allowed; the limit is None without one.
    memory, memory_limit
        Bytes.
    io, network
        Bytes read and written, and received and sent, per second.
    throttled
        The share of the last second's scheduling periods in which it wanted more than its limit, 0 to 1.
    withheld
        Cores that its limit kept from it in the last second.
    loss, loss_why
        The last value of its evaluation function; where there is none, a sentence that says why.
    label, growth
        The list or category that the attached policy has it in, and its growth; None without a policy.
    phase
        The id of its phase by the chosen model; None without a model and while the window fills.
    held
        Whether its limits are not its original ones; releasing restores those.
    malleable
        Whether it follows its cores with its threads; None where that is not known.
    wrong
        Which of its labels cannot be understood, and why, in sentences; empty where all can.
    gpu, gpu_memory, gpu_power
        The share of its GPUs' time, bytes of their memory, and watts; None where no GPU is read.
    """

    id: str
    name: str
    image: str = ""
    labelled: bool = False
    picked: bool = False
    state: str = "running"
    cpu: float | None = None
    cpu_limit: float | None = None
    memory: float | None = None
    memory_limit: float | None = None
    io: float | None = None
    network: float | None = None
    throttled: float | None = None
    loss: float | None = None
    loss_why: str = ""
    label: str | None = None
    growth: float | None = None
    phase: int | None = None
    held: bool = False
    malleable: bool | None = None
    wrong: str = ""
    gpu: float | None = None
    gpu_memory: float | None = None
    gpu_power: float | None = None
    withheld: float | None = None


@dataclass(frozen=True, slots=True)
class Totals:
    """Sums over the containers that are shown, beside the size of the host.

    Parameters
    ----------
    cpu, cores
        Cores used, and there.
    memory, memory_total
        Bytes used, and there.
    throttled
        The mean share of throttled periods over containers with a limit, or None.
    containers
        How many containers are shown.
    labels
        How many containers the attached policy has in each of its lists: (label, n).
    """

    cpu: float | None = None
    cores: float | None = None
    memory: float | None = None
    memory_total: float | None = None
    throttled: float | None = None
    containers: int = 0
    labels: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class LiveView:
    """Everything that the page of running containers shows at one moment.

    Parameters
    ----------
    engine
        The engine and its state.
    at
        When the sample was taken, or None before the first.
    rows
        The containers that are labelled or picked, with what they use.
    others
        How many running containers of the host are neither labelled nor picked.
    foreign
        Those others, by id, name, image and state only; they are not measured, and may be picked.
    totals
        Sums over the containers that are labelled or picked, beside the size of the host.
    attached, recording
        The attached policy and the running recording, or None.
    model
        The id of the model that gives the phases, or None.
    failed
        The task of the policy that was to be attached last and failed lately, or None.
    """

    engine: EngineInfo
    at: float | None = None
    rows: tuple[ContainerRow, ...] = ()
    others: int = 0
    foreign: tuple[ContainerRow, ...] = ()
    totals: Totals = field(default_factory=Totals)
    attached: Attached | None = None
    recording: Recording | None = None
    model: str | None = None
    failed: TaskInfo | None = None


@dataclass(frozen=True, slots=True)
class History:
    """The last minutes of one container, or of all together; every array has shape (n,).

    Parameters
    ----------
    time
        Seconds since 1970, float64, increasing.
    cpu, cpu_limit
        Cores; the limit is NaN without one. Of all together: the host's cores.
    memory, memory_limit
        Bytes; as for CPU.
    loss
        Values of the evaluation function.
    throttled
        Share of throttled periods, 0 to 1.
    """

    time: npt.NDArray[np.float64]
    cpu: Line
    cpu_limit: Line
    memory: Line
    memory_limit: Line
    loss: Line
    throttled: Line
