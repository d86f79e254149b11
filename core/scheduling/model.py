"""What a scheduler sees: workers and jobs at one moment, as frozen values.

Times are seconds of the run's clock, which may be virtual; CPU is in cores and core-seconds. Nothing here
says how it was measured: a simulator, a Docker host and a cluster fill in the same values. Usage is a
cumulative counter, so that a policy takes the mean over whatever interval it looks back on, and evaluation
values are only those that were printed since the previous observation, so that a ledger keeps each once.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, TypeAlias

from core.scheduling.fast_frozen_init import fast_frozen_init

if TYPE_CHECKING:
    from collections.abc import Sequence

    from core.scheduling.actions import Action

Reading: TypeAlias = tuple[float, float]
"""When a value of the evaluation function was printed, and the value: (seconds, E, lower is better)."""


class JobState(StrEnum):
    """Where a job is in its life."""

    WAITING = "waiting"
    RUNNING = "running"
    PAUSED = "paused"
    MIGRATING = "migrating"
    DONE = "done"
    FAILED = "failed"
    REFUSED = "refused"

    @property
    def ended(self) -> bool:
        """True once it will never run again."""
        return self in (JobState.DONE, JobState.FAILED, JobState.REFUSED)

    @property
    def placed(self) -> bool:
        """True while it holds a place on a worker."""
        return self in (JobState.RUNNING, JobState.PAUSED, JobState.MIGRATING)


class Trigger(StrEnum):
    """Why the scheduler is asked now."""

    TICK = "tick"
    ARRIVAL = "arrival"
    DEPARTURE = "departure"
    OUTCOME = "outcome"


@fast_frozen_init
@dataclass(frozen=True, slots=True)
class Worker:
    """One machine, or one named part of it."""

    #: Its name.
    id: str
    #: Its cores.
    capacity: float
    #: Cores in use over the last moments, all containers together.
    used: float = 0.0
    #: Bytes that it has, and that are taken of them; None where it does not say.
    memory: float | None = None
    memory_used: float | None = None


@dataclass(frozen=True, slots=True)
class Profile:
    """How fast earlier runs of a job's kind were."""

    #: (cores, seconds per step) as measured, by rising cores, each above zero.
    points: tuple[tuple[float, float], ...]
    #: Seconds until the first step.
    startup: float = 0.0
    #: Whether t(c) = a + b/c + d·c through these points is meant, which also speaks of more cores than were
    #: tried; otherwise the speed lies on straight lines between them, and is that of the last beyond it.
    curve: bool = False
    #: Training steps that they had in all, or None.
    steps: int | None = None
    #: Their observed time per step over what was predicted for them: 10th and 90th percentile; None while too
    #: few are known.
    spread: tuple[float, float] | None = None
    #: Core-seconds from the last step to the end, for what writes and closes on one core at most.
    teardown: float = 0.0


@dataclass(frozen=True, slots=True)
class Terms:
    """What is known of a job before it starts: its owner's terms, its deadline's admission, earlier runs."""

    #: Cores that it can run with at least and at most, or None.
    min: float | None = None
    max: float | None = None
    #: Bytes that it needs, or None.
    memory: float | None = None
    #: From 0 to 9; the higher, the sooner.
    priority: int = 0
    #: Seconds after its submission within which it should end, or None.
    deadline: float | None = None
    #: How fast its kind was before, or None.
    profile: Profile | None = None
    #: Whether it was promised its deadline before this run, which then tries to keep that.
    promised: bool = False


HIGHEST_PRIORITY = 9
NO_TERMS = Terms()
"""The terms of a job whose owner said nothing."""


@dataclass(frozen=True, slots=True)
class Use:
    """What a job used since it was looked at before, about a second ago."""

    #: Seconds of the run's clock.
    time: float
    #: Cores used, the mean over that time.
    cores: float
    #: Bytes of its working set.
    memory: float
    #: The share of its quota's periods in which it was held back; 0 without a quota.
    throttled: float = 0.0
    #: By a phase model: −1 and None while it warms up, and without one.
    phase: int = -1
    code: tuple[float, ...] | None = None
    #: Whether that model has seen nothing like this.
    strange: bool = False
    #: Cores that its quota kept from it: seconds for which its threads were throttled, per second.
    withheld: float = 0.0


@dataclass(frozen=True, slots=True)
class Hidden:
    """What no scheduler can know, for the oracles that look on purpose."""

    #: Core-seconds to completion.
    work_left: float


@fast_frozen_init
@dataclass(frozen=True, slots=True)
class Job:
    """One training job as it is now."""

    #: Its name; never used twice in a run.
    id: str
    #: Where it is in its life.
    state: JobState
    #: The worker that it is on; while it migrates, the one it goes to; None while it waits.
    worker: str | None = None
    #: When it was submitted, seconds.
    arrived: float = 0.0
    #: When it first ran, seconds, or None.
    started: float | None = None
    #: Core-seconds used so far, over all its starts.
    cpu_seconds: float = 0.0
    #: Cores that it may use at most, or None without a limit.
    limit: float | None = None
    #: Its share against the others on its worker where cores are scarce; 1 is the default.
    weight: float = 1.0
    #: How many threads it computes with, or None where it does not say.
    threads: int | None = None
    #: Values of E printed since the previous observation, oldest first.
    readings: tuple[Reading, ...] = ()
    #: Training steps done and in total, or None where it does not say.
    steps: int | None = None
    total_steps: int | None = None
    #: Cores that its owner asked for, or None.
    request: float | None = None
    #: Whether it writes checkpoints on request.
    can_migrate: bool = True
    #: Whether it adapts its threads to its cores.
    can_resize: bool = False
    #: What only oracles look at; None wherever it is not known.
    hidden: Hidden | None = None
    #: What else its owner said, or None; `said` is never None.
    terms: Terms | None = None
    #: Seconds per training step with the cores and threads that it has now, as lately measured; None while
    #: that is not known.
    step_seconds: float | None = None
    #: Bytes that it may use at most, or None without a limit.
    memory_limit: float | None = None
    #: What it used lately; None where nobody looks.
    use: Use | None = None
    #: How often the kernel has killed one of its processes for want of memory since the run began.
    kills: int = 0

    @property
    def terms_or_default(self) -> Terms:
        """What its owner said, or nothing of it."""
        return NO_TERMS if self.terms is None else self.terms


@dataclass(frozen=True, slots=True)
class Failure:
    """An action that did not work; it comes back as something seen, never as an exception."""

    #: What was asked.
    action: Action
    #: One sentence.
    why: str


@fast_frozen_init
@dataclass(frozen=True, slots=True)
class Observation:
    """Everything that a scheduler is shown at one moment."""

    #: Counts the observations of a run from 0; a scheduler that is shown an older one again does nothing.
    number: int
    #: Seconds of the run's clock; never decreases.
    time: float
    #: Why it is asked now.
    trigger: Trigger
    #: All workers, in a fixed order.
    workers: tuple[Worker, ...]
    #: Jobs that were submitted and have not ended, in order of submission; immutable.
    #: `core.scheduling.lookup` finds some of them without a look at all.
    jobs: Sequence[Job]
    #: Jobs that ended since the previous observation, as they were at their end.
    ended: tuple[Job, ...] = ()
    #: Actions that failed since the previous observation.
    failures: tuple[Failure, ...] = ()
