"""What a scheduler can do. An engine performs these in order, and says of each whether it worked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from core.scheduling.fast_frozen_init import fast_frozen_init


@fast_frozen_init
@dataclass(frozen=True, slots=True)
class Start:
    """Start a waiting job on a worker, with a limit in cores or without.

    With `threads` it begins with so many threads; None leaves that to the engine, as does a job that cannot
    change its threads.
    """

    job: str
    worker: str
    limit: float | None = None
    weight: float = 1.0
    threads: int | None = None


@dataclass(frozen=True, slots=True)
class Refuse:
    """Turn away a job that has not run yet, for good; `why` says what would be accepted."""

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
    """Take the processor from a job without ending it."""

    job: str


@fast_frozen_init
@dataclass(frozen=True, slots=True)
class Resume:
    """Give a paused job the processor back."""

    job: str


@dataclass(frozen=True, slots=True)
class Stop:
    """End a job."""

    job: str


Action: TypeAlias = Start | Refuse | SetLimit | SetMemory | SetThreads | Migrate | Pause | Resume | Stop


@fast_frozen_init
@dataclass(frozen=True, slots=True)
class Reason:
    """Why a scheduler did, or did not do, something."""

    #: The line of the algorithm or the name of the rule, such as ``"Algorithm 1, line 22"``.
    rule: str
    #: One sentence for people.
    text: str
    #: What it is about, or None.
    job: str | None = None
    worker: str | None = None
    #: Figures that decided: names and numbers, in a fixed order.
    values: tuple[tuple[str, float], ...] = ()


@fast_frozen_init
@dataclass(frozen=True, slots=True)
class Mark:
    """What a scheduler thinks of a job at this moment; drawn as bands and lines beside its usage."""

    #: The job.
    job: str
    #: The list or category that it is in, such as ``"NL"``, or empty.
    label: str = ""
    #: Its growth (efficiency) as the scheduler computes it, or None where it is not known.
    growth: float | None = None
    #: Whether its end before its deadline is promised; None of policies that promise nothing.
    promised: bool | None = None
    #: When it is expected to end, seconds of the run's clock, or None.
    ends: float | None = None
    #: Between which moments it ends eight times out of ten, as far as others were predicted well; None where
    #: that is not known.
    between: tuple[float, float] | None = None
