"""Trace sets, models, tasks and so on as frozen values, detached from the database.

Screens and the command line get these; nothing in them changes after they were handed out.
"""

from __future__ import annotations

from dataclasses import dataclass
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


@dataclass(frozen=True, slots=True)
class TraceSetInfo:
    """A stored trace set: what it is called, how large it is, and where it came from.

    Parameters
    ----------
    id
        Its id in addresses.
    name
        Its name for people.
    created
        When it was stored (aware).
    n_executions, n_samples
        How much it holds.
    n_bytes
        Its size on disk.
    period
        Its sampling period in seconds.
    resampling
        The rule by which samples were brought to the period.
    features
        Its numeric columns.
    attributes
        The names of the further facts per execution.
    sample
        True when it came with PhaseDock.
    source
        The file it came from and its layout.
    fingerprint
        A digest of its samples; two sets with the same samples have the same.
    trashed
        When it went to the trash (aware), or None.
    """

    id: str
    name: str
    created: datetime
    n_executions: int
    n_samples: int
    n_bytes: int
    period: float
    resampling: Resampling
    features: tuple[Feature, ...]
    attributes: tuple[str, ...] = ()
    sample: bool = False
    source: str = ""
    fingerprint: str = ""
    trashed: datetime | None = None


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """A stored phase model: its name, what it learnt from, and how large it is.

    Parameters
    ----------
    id
        Its id in addresses.
    name
        Its name for people.
    created
        When it was stored (aware).
    origin
        ``"phasedock"`` or ``"ai4dl"``.
    encoder
        ``"crbm"``, ``"window"`` or ``"pca"``.
    phases
        The ids of its current phases; shown to people as φ{id + 1}.
    hidden, history
        The number of hidden units, and of past samples in a window.
    trace_set_id, trace_set_name
        What it was trained on; the id is None when that is not known here.
    features
        The names of the features it reads, in order.
    final_error
        Its reconstruction error after the last epoch, or None.
    sample
        True when it was trained on a trace set that came with PhaseDock.
    fingerprint
        A digest of its contents.
    trashed
        When it went to the trash (aware), or None.
    """

    id: str
    name: str
    created: datetime
    origin: str
    encoder: str
    phases: tuple[int, ...]
    hidden: int
    history: int
    trace_set_id: str | None
    trace_set_name: str
    features: tuple[str, ...]
    final_error: float | None = None
    sample: bool = False
    fingerprint: str = ""
    trashed: datetime | None = None


@dataclass(frozen=True, slots=True)
class TaskInfo:
    """One attempt at a piece of long work.

    Parameters
    ----------
    id
        Its id in addresses.
    kind, title
        What it does, for programs and for people.
    state
        See `TaskState`.
    progress
        0 to 1.
    message
        What it is doing now, or did last.
    params
        What it was asked to do; a retry gets the same.
    result
        What it gave, when done.
    error
        (message, hint) when it failed or was interrupted.
    created, started, finished
        Aware times; None before they happen.
    seconds_left
        Expected from the pace of its progress; None when it cannot be told.
    attempt
        1 for the first, 2 for its first retry and so on.
    retry_of
        The id of the attempt before this one, or None.
    cancelling
        True when a person asked it to stop and it has not stopped yet.
    """

    id: str
    kind: str
    title: str
    state: TaskState
    progress: float
    message: str
    params: Mapping[str, Any]
    result: Mapping[str, Any] | None
    error: tuple[str, str] | None
    created: datetime
    started: datetime | None
    finished: datetime | None
    seconds_left: float | None
    attempt: int
    retry_of: str | None
    cancelling: bool = False


@dataclass(frozen=True, slots=True)
class WorkerInfo:
    """Whether a worker does the queued work.

    Parameters
    ----------
    alive
        True when at least one worker process lives.
    count
        How many live.
    seconds_since_beat
        Since any worker's last heartbeat; None when there never was one.
    queued, running
        How many tasks wait, and how many are being done.
    """

    alive: bool
    count: int
    seconds_since_beat: float | None
    queued: int
    running: int


@dataclass(frozen=True, slots=True)
class UploadInfo:
    """A file that a person sent, or is sending.

    Parameters
    ----------
    id
        Its id in addresses.
    name
        The file's own name, without folders.
    size
        Its announced size in bytes.
    complete
        True when all of it arrived.
    created
        When it was announced (aware).
    """

    id: str
    name: str
    size: int
    complete: bool
    created: datetime


class TaskQueue(Protocol):
    """What of `core.tasks.store.Tasks` those need who submit long work."""

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
