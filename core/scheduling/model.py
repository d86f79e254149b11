"""The observation of a scheduler: workers and jobs at one time, as frozen values.

Times are seconds of the run's clock, which may be virtual; CPU is in cores and core-seconds. The simulator, a
Docker host and a cluster fill in the same values. Usage is a cumulative counter, so a policy can take the
mean over any interval. Printed values are those since the previous observation, so a ledger stores each once.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from math import inf
from typing import TYPE_CHECKING, TypeAlias

from core.scheduling.fast_frozen_init import fast_frozen_init

if TYPE_CHECKING:
    from collections.abc import Sequence

    from core.scheduling.actions import Action

Reading: TypeAlias = tuple[float, float]
"""The time of a printed value of the evaluation function, and the value: (seconds, E, lower is better)."""


class JobState(StrEnum):
    """The state of a job."""

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
    """The event that triggers a decision."""

    TICK = "tick"
    ARRIVAL = "arrival"
    DEPARTURE = "departure"
    OUTCOME = "outcome"


@fast_frozen_init
@dataclass(frozen=True, slots=True)
class Worker:
    """A machine, or a named part of it."""

    #: Its name.
    id: str
    #: Its cores.
    capacity: float
    #: Cores in use lately, all containers together; None if unknown.
    used: float | None = 0.0
    #: Bytes in total and in use; None if unknown.
    memory: float | None = None
    memory_used: float | None = None

    def free_memory(self, share: float) -> float:
        """Return the unused bytes of a share of its memory: infinite without a size, 0 without its usage."""
        if self.memory is None:
            return inf
        return 0.0 if self.memory_used is None else share * self.memory - self.memory_used


@dataclass(frozen=True, slots=True)
class Profile:
    """The speed of earlier runs of this kind of job."""

    #: Measured (cores, seconds per step), by rising cores, each above zero.
    points: tuple[tuple[float, float], ...]
    #: Seconds until the first step.
    startup: float = 0.0
    #: Whether a curve t(c) = a + b/c + d·c runs through the points and holds beyond them; otherwise the speed
    #: is linear between points and constant after the last.
    curve: bool = False
    #: Training steps in total, or None.
    steps: int | None = None
    #: Observed over predicted time per step, 10th and 90th percentile; None while too few are known.
    spread: tuple[float, float] | None = None
    #: Core-seconds from the last step to the end, on one core at most.
    teardown: float = 0.0


@dataclass(frozen=True, slots=True)
class Terms:
    """The terms of a job before it starts: requests, priority, deadline, earlier runs."""

    #: The fewest and the most cores that it can run with, or None.
    min: float | None = None
    max: float | None = None
    #: Bytes that it needs, or None.
    memory: float | None = None
    #: From 0 to 9; higher starts sooner.
    priority: int = 0
    #: Seconds from its submission to its deadline, or None.
    deadline: float | None = None
    #: How fast earlier runs were, or None.
    profile: Profile | None = None
    #: Whether its deadline was guaranteed before this run.
    promised: bool = False


HIGHEST_PRIORITY = 9
NO_TERMS = Terms()
"""The terms of a job without any."""


@dataclass(frozen=True, slots=True)
class Use:
    """The usage of a job since its previous sample, about a second ago."""

    #: Seconds of the run's clock.
    time: float
    #: Mean cores used since then.
    cores: float
    #: Bytes of its working set; None if unknown.
    memory: float | None
    #: The throttled share of its quota's periods; 0 without a quota.
    throttled: float = 0.0
    #: Phase and code by a phase model: −1 and None during warm-up and without a model.
    phase: int = -1
    code: tuple[float, ...] | None = None
    #: Whether the sample is out of distribution for that model.
    strange: bool = False
    #: Cores withheld by its quota: throttled seconds of its threads, per second.
    withheld: float = 0.0
    #: The share of the time in which something on its host waited for CPU or memory; 0 where unknown.
    pressure: float = 0.0


@dataclass(frozen=True, slots=True)
class Hidden:
    """The remaining work, which only oracles may read."""

    #: Core-seconds to completion.
    work_left: float


def at_most(bound: float | None, limit: float | None) -> float | None:
    """Return a limit that is at most `bound`; None for either is none."""
    if bound is None or limit is None:
        return bound if limit is None else limit
    return min(bound, limit)


@fast_frozen_init
@dataclass(frozen=True, slots=True)
class Job:
    """A training job at one time."""

    #: Its name, unique in a run.
    id: str
    #: Its state.
    state: JobState
    #: The worker it is on; its target while it migrates; None while it waits.
    worker: str | None = None
    #: When it was submitted, seconds.
    arrived: float = 0.0
    #: When it first ran, seconds, or None.
    started: float | None = None
    #: Core-seconds used so far, over all starts; None while they are not measured.
    cpu_seconds: float | None = 0.0
    #: Its limit in cores, or None.
    limit: float | None = None
    #: Its weight against other jobs of its worker where cores are scarce; 1 by default.
    weight: float = 1.0
    #: The number of its threads, or None if unknown.
    threads: int | None = None
    #: Values of E printed since the previous observation, oldest first.
    readings: tuple[Reading, ...] = ()
    #: Training steps done and in total, or None if unknown.
    steps: int | None = None
    total_steps: int | None = None
    #: The requested cores, or None.
    request: float | None = None
    #: Whether it writes checkpoints on request.
    can_migrate: bool = True
    #: Whether it adapts its threads to its cores.
    can_resize: bool = False
    #: For oracles only; otherwise None.
    hidden: Hidden | None = None
    #: Its terms, or None; `terms_or_default` is never None.
    terms: Terms | None = None
    #: Recently measured seconds per training step with its present cores and threads, or None.
    step_seconds: float | None = None
    #: Its memory limit in bytes, or None.
    memory_limit: float | None = None
    #: Its latest usage; None without sampling.
    use: Use | None = None
    #: How many of its processes the kernel killed for lack of memory since the run began.
    kills: int = 0
    #: The most cores and bytes that its owner lets a policy give, beside its terms; None without a bound.
    owner_cores: float | None = None
    owner_memory: float | None = None

    @property
    def max_cores(self) -> float | None:
        """The most cores that its owner and its terms allow; None without a bound."""
        return at_most(self.owner_cores, self.terms_or_default.max)

    @property
    def terms_or_default(self) -> Terms:
        """Its terms; the defaults if it has none."""
        return NO_TERMS if self.terms is None else self.terms


@dataclass(frozen=True, slots=True)
class Failure:
    """An action that did not work; part of an observation, never an exception."""

    #: The action.
    action: Action
    #: One sentence.
    why: str


@fast_frozen_init
@dataclass(frozen=True, slots=True)
class Observation:
    """The input of a policy at one time."""

    #: Counts the observations of a run from 0; a policy ignores one that is not newer than the last.
    number: int
    #: Seconds of the run's clock; never decreases.
    time: float
    #: The event that triggers a decision.
    trigger: Trigger
    #: All workers, in a fixed order.
    workers: tuple[Worker, ...]
    #: Jobs that were submitted and have not ended, in order of submission; immutable.
    #: `core.scheduling.lookup` finds some of them without reading all.
    jobs: Sequence[Job]
    #: Jobs that ended since the previous observation, in their final state.
    ended: tuple[Job, ...] = ()
    #: Actions that failed since the previous observation.
    failures: tuple[Failure, ...] = ()
