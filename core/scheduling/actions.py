"""The actions of a scheduler. An engine performs them in order and reports which of them failed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, TypeAlias

from core.scheduling.fast_frozen_init import fast_frozen_init


@fast_frozen_init
@dataclass(frozen=True, slots=True)
class Start:
    """Start a waiting job on a worker, with a limit in cores or without.

    `threads` is the number of threads it starts with; None leaves that to the engine.
    """

    job: str
    worker: str
    limit: float | None = None
    weight: float = 1.0
    threads: int | None = None


@dataclass(frozen=True, slots=True)
class Refuse:
    """Refuse a job that has not run yet; `why` says what would be accepted."""

    job: str
    why: str


@fast_frozen_init
@dataclass(frozen=True, slots=True)
class SetLimit:
    """Give a job at most `limit` cores (None: no limit), and `weight` where cores are scarce."""

    job: str
    limit: float | None
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class SetMemory:
    """Give a job at most `limit` bytes of memory (None: no limit)."""

    job: str
    limit: float | None


@dataclass(frozen=True, slots=True)
class SetThreads:
    """Ask a job to compute with this many threads."""

    job: str
    threads: int


@fast_frozen_init
@dataclass(frozen=True, slots=True)
class Migrate:
    """Checkpoint a job, stop it, and start it from the checkpoint on another worker."""

    job: str
    to: str


@fast_frozen_init
@dataclass(frozen=True, slots=True)
class Pause:
    """Pause a job; it keeps its place and its memory."""

    job: str


@fast_frozen_init
@dataclass(frozen=True, slots=True)
class Resume:
    """Let a paused job run again."""

    job: str


@dataclass(frozen=True, slots=True)
class Stop:
    """End a job."""

    job: str


Action: TypeAlias = Start | Refuse | SetLimit | SetMemory | SetThreads | Migrate | Pause | Resume | Stop


@fast_frozen_init
@dataclass(frozen=True, slots=True)
class Reason:
    """Why a scheduler did something or left it."""

    #: The line of the algorithm or the name of the rule, such as ``"Algorithm 1, line 22"``.
    rule: str
    #: One sentence for the screen.
    text: str
    #: The job and the worker it is about, or None.
    job: str | None = None
    worker: str | None = None
    #: The numbers that decided, by name, in a fixed order.
    values: tuple[tuple[str, float], ...] = ()


LIST_WORDS: Final = {
    "NL": "new",
    "WL": "watching",
    "CL": "converging",
    "PC": "progressing",
    "WC": "watched",
    "CC": "converged",
}
"""FlowCon's lists and SpeCon's categories in words, by their letters in the thesis."""


def list_word(label: str) -> str:
    """Return a policy's list in words; a label without letters of its own is one already."""
    return LIST_WORDS.get(label, label)


@fast_frozen_init
@dataclass(frozen=True, slots=True)
class Mark:
    """The scheduler's view of a job at this moment; shown beside its usage."""

    #: The job.
    job: str
    #: Its list or category, such as ``"NL"``, or empty.
    label: str = ""
    #: Its growth (efficiency) as the scheduler computes it; None if unknown.
    growth: float | None = None
    #: Whether the policy guarantees its deadline; None for policies without guarantees.
    promised: bool | None = None
    #: Expected finish time, seconds of the run's clock, or None.
    ends: float | None = None
    #: The interval that contains its finish time in eight of ten cases; None if unknown.
    between: tuple[float, float] | None = None
