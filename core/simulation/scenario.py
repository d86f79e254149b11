"""The input of a simulation: workers, jobs and the rules of their world, as frozen and validated values.

The seed of `core.engines.simulated.simulated` adds chance. `core.simulation.observe` builds the observations
of schedulers.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, isfinite
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from core.errors import InputError
from core.scheduling.model import HIGHEST_PRIORITY, NO_TERMS, Profile, Terms
from core.simulation.loss import FAMILIES
from core.simulation.speedup import PENALTY

if TYPE_CHECKING:
    from collections.abc import Iterable

    from core.simulation.loss import LossCurve
    from core.simulation.speedup import Scaling

Contention: TypeAlias = Literal["count", "effective"]

_VAE: Final = FAMILIES["exponential"]["VAE"]


def _scenario_error(owner: str, what: str, hint: str) -> None:
    raise InputError(f"{owner}: {what}.", hint)


def _require_positive(owner: str, **values: float | None) -> None:
    for name, value in values.items():
        if value is not None and not (isfinite(value) and value > 0):
            _scenario_error(owner, f"{name} is {value:g}", "Give a number above zero.")


def _require_not_negative(owner: str, **values: float | None) -> None:
    for name, value in values.items():
        if value is not None and not (isfinite(value) and value >= 0):
            _scenario_error(owner, f"{name} is {value:g}", "Give zero or more.")


@dataclass(frozen=True, slots=True)
class WorkerSpec:
    """One machine."""

    #: Its name.
    id: str
    #: Its processors, above zero.
    cores: float
    #: Bytes of memory; None: unlimited.
    memory: float | None = None
    #: Cores that other work of the machine takes while jobs use the rest; schedulers do not see them.
    lost: float = 0.0

    def __post_init__(self) -> None:
        _require_positive(f"Worker {self.id}", cores=self.cores, memory=self.memory, jobs=self.for_jobs)
        _require_not_negative(f"Worker {self.id}", lost=self.lost)

    @property
    def for_jobs(self) -> float:
        """The cores that its jobs can have together."""
        return self.cores - self.lost


@dataclass(frozen=True, slots=True)
class JobSpec:
    """A training job as it is; schedulers see only a part of it."""

    #: Its name.
    id: str
    #: Core-seconds on one core without contention.
    work: float
    #: When it is submitted, seconds.
    arrival: float = 0.0
    #: The most cores that it can use; None: unlimited.
    demand: float | None = None
    #: Its loss against the share of its training that is done.
    loss: LossCurve = _VAE
    #: The number of values of E; value i is printed after i/values of the training.
    values: int = 200
    #: Standard deviation of the noise of a printed value.
    noise_sigma: float = 0.003
    #: Correlation of the noise of one printed value with that of the next (AR(1)).
    noise_phi: float = 0.5
    #: Requested cores, or None.
    request: float | None = None
    #: Seconds to write a checkpoint (None: it writes none) and to start from it.
    checkpoint_s: float | None = 1.5
    restore_s: float = 2.0
    #: Training steps in total; None: it prints no steps.
    steps: int | None = 200
    #: The steps that it claims, as a factor of `steps`.
    size_error: float = 1.0
    #: Seconds from its arrival to its deadline, or None.
    deadline: float | None = None
    #: Its threads; None: as many as its cores.
    threads: int | None = None
    #: Whether it adapts its threads to its cores (has the agent).
    resizable: bool = False
    #: Whether it sets one thread per available core itself until its policy sets them; `threads` then has no
    #: effect.
    follows: bool = False
    #: Its speed on its cores; None: proportional to them.
    speedup: Scaling | None = None
    #: Seconds lost per useful second and excess thread per core (`core.simulation.speedup`).
    thread_penalty: float = PENALTY
    #: Share of its work at which it fails, or None.
    crash_at: float | None = None
    #: Name of its kind in tables.
    model: str = ""
    #: Core-seconds before its first and after its last training step: it loads libraries and data, tests and
    #: saves, and prints nothing.
    prepare: float = 0.0
    finish: float = 0.0
    #: The fewest and the most cores of its terms, or None.
    min: float | None = None
    max: float | None = None
    #: Bytes that it takes on a worker, or None.
    memory: float | None = None
    #: From 0 to 9.
    priority: int = 0
    #: The profile that schedulers are given, accurate or not, or None.
    profile: Profile | None = None

    def __post_init__(self) -> None:
        owner = f"Job {self.id}"
        _require_positive(owner, work=self.work, demand=self.demand, request=self.request, values=self.values)
        _require_positive(owner, steps=self.steps, threads=self.threads, deadline=self.deadline)
        _require_positive(owner, size_error=self.size_error, min=self.min, max=self.max, memory=self.memory)
        _require_not_negative(
            owner, arrival=self.arrival, noise_sigma=self.noise_sigma, restore_s=self.restore_s
        )
        _require_not_negative(owner, checkpoint_s=self.checkpoint_s, thread_penalty=self.thread_penalty)
        _require_not_negative(owner, prepare=self.prepare, finish=self.finish)
        if self.training <= 0:
            _scenario_error(
                owner, "preparing and finishing take all of its work", "Leave work for its training."
            )
        if not -1 < self.noise_phi < 1:
            _scenario_error(owner, f"noise_phi is {self.noise_phi:g}", "Give a number between −1 and 1.")
        if self.crash_at is not None and not 0 < self.crash_at < 1:
            _scenario_error(
                owner, f"crash_at is {self.crash_at:g}", "Give a share of the work between 0 and 1."
            )
        if not 0 <= self.priority <= HIGHEST_PRIORITY:
            _scenario_error(owner, f"priority is {self.priority}", "Give a whole number from 0 to 9.")
        if not (self.min or 0.0) <= (self.request or self.min or 0.0) <= (self.max or inf):
            _scenario_error(
                owner, "its request is not between its min and its max", "Give min ≤ request ≤ max."
            )
        if (self.min or 0.0) > (self.max or inf):
            _scenario_error(owner, "its min is above its max", "Give min ≤ max.")

    @property
    def training(self) -> float:
        """Core-seconds of its training steps."""
        return self.work - self.prepare - self.finish

    @property
    def terms(self) -> Terms | None:
        """Its terms; None without any."""
        terms = Terms(self.min, self.max, self.memory, self.priority, self.deadline, self.profile)
        return None if terms == NO_TERMS else terms


@dataclass(frozen=True, slots=True)
class Scenario:
    """A simulated world: workers, jobs and rules."""

    #: At least one of each; every id once.
    workers: tuple[WorkerSpec, ...]
    jobs: tuple[JobSpec, ...]
    #: γ ≥ 0: a worker's speed with n jobs is 1/(1 + γ(n_e − 1)) of its cores.
    gamma: float = 0.0
    #: n_e is the ``count`` of runnable jobs, or their ``effective`` number (Σa)²/Σa² with shares a.
    contention: Contention = "count"
    #: Seconds of a migration besides checkpoint and restore.
    control_s: float = 1.1
    #: Probability that a job does not answer the request for a checkpoint and goes on.
    checkpoint_failure: float = 0.0
    #: Probability that a migrated job does not start on its target and is restored at its origin.
    restore_failure: float = 0.0
    #: Seconds after which a run that does not end is stopped.
    horizon: float = 1e7

    def __post_init__(self) -> None:
        owner = "The scenario"
        if not self.workers or not self.jobs:
            _scenario_error(owner, "it has no workers or no jobs", "Give at least one of each.")
        _require_unique("worker", (worker.id for worker in self.workers))
        _require_unique("job", (job.id for job in self.jobs))
        _require_not_negative(owner, gamma=self.gamma, control_s=self.control_s)
        _require_positive(owner, horizon=self.horizon)
        if self.contention not in ("count", "effective"):
            _scenario_error(owner, f"contention is “{self.contention}”", "Choose “count” or “effective”.")
        for name in ("checkpoint_failure", "restore_failure"):
            if not 0 <= getattr(self, name) <= 1:
                _scenario_error(owner, f"{name} is {getattr(self, name):g}", "Give a probability.")


def _require_unique(what: str, ids: Iterable[str]) -> None:
    unique: set[str] = set()
    for name in ids:
        if name in unique:
            _scenario_error(
                "The scenario", f"there are two {what}s “{name}”", f"Give every {what} its own id."
            )
        unique.add(name)
