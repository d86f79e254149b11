"""Trace sets, models, tasks and so on as frozen values, detached from the database.

Screens and the command line get these; nothing in them changes after they were handed out.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from datetime import datetime

    from core.traces.model import Feature, Resampling


class TaskState(StrEnum):
    """The states of a task. From the last four there is no way back: a retry is a new task."""

    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"
    INTERRUPTED = "interrupted"

    @property
    def ended(self) -> bool:
        """True when nothing more will happen to the task."""
        return self not in (TaskState.QUEUED, TaskState.RUNNING)


RECORDED = "recorded from "
"""How the source of a trace set begins that was recorded from running containers."""


@dataclass(frozen=True, slots=True)
class TraceSetInfo:
    """A stored trace set: its name, its size and its source."""

    #: Its id in addresses.
    id: str
    #: Its name for people.
    name: str
    #: When it was stored (aware).
    created: datetime
    #: How much it holds.
    n_executions: int
    n_samples: int
    #: Its size on disk.
    n_bytes: int
    #: Its sampling period in seconds.
    period: float
    #: The rule by which samples were brought to the period.
    resampling: Resampling
    #: Its numeric columns.
    features: tuple[Feature, ...]
    #: The names of the further facts per execution.
    attributes: tuple[str, ...] = ()
    #: True when it came with PhaseDock.
    sample: bool = False
    #: The file it came from and its layout.
    source: str = ""
    #: True when it was recorded from running containers.
    recorded: bool = False
    #: A digest of its samples; two sets with the same samples have the same.
    fingerprint: str = ""
    #: When it went to the trash (aware), or None.
    trashed: datetime | None = None


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """A stored phase model: its name, its trace set and its size."""

    #: Its id in addresses.
    id: str
    #: Its name for people.
    name: str
    #: When it was stored (aware).
    created: datetime
    #: ``"phasedock"`` or ``"ai4dl"``.
    origin: str
    #: ``"crbm"``, ``"window"`` or ``"pca"``.
    encoder: str
    #: The ids of its current phases; shown to people as φ{id + 1}.
    phases: tuple[int, ...]
    #: The number of hidden units, and of past samples in a window.
    hidden: int
    history: int
    #: What it was trained on; the id is None when that is not known here.
    trace_set_id: str | None
    trace_set_name: str
    #: The names of the features it reads, in order.
    features: tuple[str, ...]
    #: Its reconstruction error after the last epoch, or None.
    final_error: float | None = None
    #: True when it was trained on a trace set that came with PhaseDock.
    sample: bool = False
    #: A digest of its contents.
    fingerprint: str = ""
    #: When it went to the trash (aware), or None.
    trashed: datetime | None = None
    #: The names that people gave to its phases, by id.
    phase_names: Mapping[int, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TaskInfo:
    """One attempt at a piece of long work."""

    #: Its id in addresses.
    id: str
    #: What it does, for programs and for people.
    kind: str
    title: str
    #: See `TaskState`.
    state: TaskState
    #: 0 to 1.
    progress: float
    #: What it is doing now, or did last.
    message: str
    #: What it was asked to do; a retry gets the same.
    params: Mapping[str, Any]
    #: What it gave, when done.
    result: Mapping[str, Any] | None
    #: (message, hint) when it failed or was interrupted.
    error: tuple[str, str] | None
    #: Aware times; None before they happen.
    created: datetime
    started: datetime | None
    finished: datetime | None
    #: Expected from the pace of its progress; None when it cannot be told.
    seconds_left: float | None
    #: 1 for the first, 2 for its first retry and so on.
    attempt: int
    #: The id of the attempt before this one, or None.
    retry_of: str | None
    #: True when a person asked it to stop and it has not stopped yet.
    cancelling: bool = False


@dataclass(frozen=True, slots=True)
class WorkerInfo:
    """Whether a worker does the queued work."""

    #: True when at least one worker process lives.
    alive: bool
    #: How many live.
    count: int
    #: Since any worker's last heartbeat; None when there never was one.
    seconds_since_beat: float | None
    #: How many tasks wait, and how many are being done.
    queued: int
    running: int


@dataclass(frozen=True, slots=True)
class UploadInfo:
    """A file that a person sent, or is sending."""

    #: Its id in addresses.
    id: str
    #: The file's own name, without folders.
    name: str
    #: Its announced size in bytes.
    size: int
    #: True when all of it arrived.
    complete: bool
    #: When it was announced (aware).
    created: datetime


class TaskQueue(Protocol):
    """The part of `core.tasks.store.Tasks` that submits long work."""

    def submit(self, kind: str, title: str, params: Mapping[str, Any]) -> str:
        """Ask for work; returns the task's id."""

    def list(
        self,
        limit: int = 100,
        states: Collection[TaskState | str] | None = None,
        kinds: Collection[str] | None = None,
    ) -> Sequence[TaskInfo]:
        """The tasks, the newest first."""


NO_EXPERIMENT = ""
"""The experiment of a run that belongs to none: that of a policy which was attached to running containers."""


class RunState(StrEnum):
    """The states of a run."""

    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"
    INTERRUPTED = "interrupted"
