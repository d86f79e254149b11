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

from core.scheduling.quick_values import filled_by_slot

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


@filled_by_slot
@dataclass(frozen=True, slots=True)
class Worker:
    """One machine, or one named part of it.

    Parameters
    ----------
    id
        Its name.
    capacity
        Its cores.
    used
        Cores in use over the last moments, all containers together.
    memory, memory_used
        Bytes that it has, and that are taken of them; None where it does not say.
    """

    id: str
    capacity: float
    used: float = 0.0
    memory: float | None = None
    memory_used: float | None = None


@dataclass(frozen=True, slots=True)
class Profile:
    """How fast earlier runs of a job's kind were.

    Parameters
    ----------
    points
        (cores, seconds per step) as measured, by rising cores, each above zero.
    startup
        Seconds until the first step.
    curve
        Whether t(c) = a + b/c + d·c through these points is meant, which also speaks of more cores than were
        tried; otherwise the speed lies on straight lines between them, and is that of the last beyond it.
    steps
        Training steps that they had in all, or None.
    spread
        Their observed time per step over what was predicted for them: 10th and 90th percentile; None while
        too few are known.
    teardown
        Core-seconds from the last step to the end, for what writes and closes on one core at most.
    """

    points: tuple[tuple[float, float], ...]
    startup: float = 0.0
    curve: bool = False
    steps: int | None = None
    spread: tuple[float, float] | None = None
    teardown: float = 0.0


@dataclass(frozen=True, slots=True)
class Terms:
    """What is known of a job beforehand beside its request: what its owner said and was told, earlier runs.

    Parameters
    ----------
    min, max
        Cores that it can run with at least and at most, or None.
    memory
        Bytes that it needs, or None.
    priority
        From 0 to 9; the higher, the sooner.
    deadline
        Seconds after its submission within which it should end, or None.
    profile
        How fast its kind was before, or None.
    promised
        Whether it was promised its deadline before this run, which then tries to keep that.
    """

    min: float | None = None
    max: float | None = None
    memory: float | None = None
    priority: int = 0
    deadline: float | None = None
    profile: Profile | None = None
    promised: bool = False


HIGHEST_PRIORITY = 9
NO_TERMS = Terms()
"""The terms of a job whose owner said nothing."""


@dataclass(frozen=True, slots=True)
class Use:
    """What a job used since it was looked at before, about a second ago.

    Parameters
    ----------
    time
        Seconds of the run's clock.
    cores
        Cores used, the mean over that time.
    memory
        Bytes of its working set.
    throttled
        The share of its quota's periods in which it was held back; 0 without a quota.
    phase, code
        By a phase model: −1 and None while it warms up, and without one.
    strange
        Whether that model has seen nothing like this.
    withheld
        Cores that its quota kept from it: seconds for which its threads were throttled, per second.
    """

    time: float
    cores: float
    memory: float
    throttled: float = 0.0
    phase: int = -1
    code: tuple[float, ...] | None = None
    strange: bool = False
    withheld: float = 0.0


@dataclass(frozen=True, slots=True)
class Hidden:
    """What no scheduler can know, for the oracles that look on purpose.

    Parameters
    ----------
    work_left
        Core-seconds to completion.
    """

    work_left: float


@filled_by_slot
@dataclass(frozen=True, slots=True)
class Job:
    """One training job as it is now.

    Parameters
    ----------
    id
        Its name; never used twice in a run.
    state
        Where it is in its life.
    worker
        The worker that it is on; while it migrates, the one it goes to; None while it waits.
    arrived
        When it was submitted, seconds.
    started
        When it first ran, seconds, or None.
    cpu_seconds
        Core-seconds used so far, over all its starts.
    limit
        Cores that it may use at most, or None without a limit.
    weight
        Its share against the others on its worker where cores are scarce; 1 is the default.
    threads
        How many threads it computes with, or None where it does not say.
    readings
        Values of E printed since the previous observation, oldest first.
    steps, total_steps
        Training steps done and in total, or None where it does not say.
    request
        Cores that its owner asked for, or None.
    can_migrate
        Whether it writes checkpoints on request.
    can_resize
        Whether it adapts its threads to its cores.
    hidden
        What only oracles look at; None wherever it is not known.
    terms
        What else its owner said, or None; `said` is never None.
    step_seconds
        Seconds per training step with the cores and threads that it has now, as lately measured; None while
        that is not known.
    memory_limit
        Bytes that it may use at most, or None without a limit.
    use
        What it used lately; None where nobody looks.
    kills
        How often the kernel has killed one of its processes for want of memory since the run began.
    """

    id: str
    state: JobState
    worker: str | None = None
    arrived: float = 0.0
    started: float | None = None
    cpu_seconds: float = 0.0
    limit: float | None = None
    weight: float = 1.0
    threads: int | None = None
    readings: tuple[Reading, ...] = ()
    steps: int | None = None
    total_steps: int | None = None
    request: float | None = None
    can_migrate: bool = True
    can_resize: bool = False
    hidden: Hidden | None = None
    terms: Terms | None = None
    step_seconds: float | None = None
    memory_limit: float | None = None
    use: Use | None = None
    kills: int = 0

    @property
    def said(self) -> Terms:
        """What its owner said, or nothing of it."""
        return NO_TERMS if self.terms is None else self.terms


@dataclass(frozen=True, slots=True)
class Failure:
    """An action that did not work; it comes back as something seen, never as an exception.

    Parameters
    ----------
    action
        What was asked.
    why
        One sentence.
    """

    action: Action
    why: str


@filled_by_slot
@dataclass(frozen=True, slots=True)
class Observation:
    """Everything that a scheduler is shown at one moment.

    Parameters
    ----------
    number
        Counts the observations of a run from 0; a scheduler that is shown an older one again does nothing.
    time
        Seconds of the run's clock; never decreases.
    trigger
        Why it is asked now.
    workers
        All workers, in a fixed order.
    jobs
        Jobs that were submitted and have not ended, in order of submission; immutable.
        `core.scheduling.lookup` finds some of them without a look at all.
    ended
        Jobs that ended since the previous observation, as they were at their end.
    failures
        Actions that failed since the previous observation.
    """

    number: int
    time: float
    trigger: Trigger
    workers: tuple[Worker, ...]
    jobs: Sequence[Job]
    ended: tuple[Job, ...] = ()
    failures: tuple[Failure, ...] = ()
