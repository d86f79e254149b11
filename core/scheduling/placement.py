"""The default scheduler: chooses the worker on which a waiting job starts.

Its rule (`fewest`, `random`, `half`, `requested`) decides much of the result of any policy that migrates jobs
later, so every policy on several workers names it. A start that fails is retried on the other workers, and
then on all of them after ever longer delays.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from core.scheduling import lookup
from core.scheduling.actions import Reason, Start
from core.scheduling.fast_frozen_init import fast_frozen_init
from core.scheduling.refusals import START_TIMEOUT, retry_delay
from core.settings_fields import setting

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from core.scheduling.model import Job, Observation


_MASK = (1 << 64) - 1
_STEP = 0x9E3779B97F4A7C15


# Random numbers without side effects: the policy's state holds the generator's state, so a seed fixes its
# choices.
#
# The generator is SplitMix64, a mixed counter. Drawing returns the number and the next state. Source: Steele,
# Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014.


def _mix_bits(value: int) -> int:
    value = ((value ^ (value >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    value = ((value ^ (value >> 27)) * 0x94D049BB133111EB) & _MASK
    return value ^ (value >> 31)


def seed_state(seed: int) -> int:
    """Return the initial generator state; neighbouring seeds give unrelated states."""
    return _mix_bits((seed + _STEP) & _MASK)


def draw_uniform(chance: int) -> tuple[float, int]:
    """Return a number in [0, 1) and the next generator state."""
    following = (chance + _STEP) & _MASK
    return (_mix_bits(following) >> 11) * 2.0**-53, following


def draw_below(chance: int, count: int) -> tuple[int, int]:
    """Return a whole number from 0 to below `count`, uniformly, and the next generator state."""
    number, following = draw_uniform(chance)
    return int(number * count), following


PLACEMENTS = {
    "fewest": "The worker with the fewest jobs; chance decides ties",
    "random": "Any worker",
    "half": "A fair coin between fewest and random",
    "requested": "The least allocated worker, by declared requests",
}
UNREQUESTED = 0.1
"""Cores counted for a job without a request, as in kube-scheduler's scoring (100 millicores)."""


def placement_setting() -> str:
    """Return the settings field that names the default scheduler."""
    help_ = "Which worker a new job starts on."
    field: str = setting("fewest", label="Default scheduler", choices=PLACEMENTS, help=help_)
    return field


class Attempt(NamedTuple):
    """The last start attempt of a waiting job: the worker, and when it may be retried."""

    worker: str | None
    retry_at: float
    refused_by: tuple[str, ...] = ()
    rounds: int = 0


_UNTRIED = Attempt(None, 0.0)


@fast_frozen_init
@dataclass(frozen=True, slots=True)
class Placer:
    """The default scheduler's state: its rule, its random state, and unconfirmed starts."""

    rule: str
    chance: int
    attempts: Mapping[str, Attempt] = field(default_factory=dict)


class PlacementDecision(NamedTuple):
    """The decision of the default scheduler."""

    #: Its next state.
    placer: Placer
    #: The worker of each waiting job whose start is unconfirmed.
    pending: Mapping[str, str]
    #: Jobs to start now, each with its worker.
    starts: tuple[tuple[Job, str], ...] = ()
    #: Why, one for each start and each refusal.
    reasons: tuple[Reason, ...] = ()
    #: The next wake-up time, or None.
    wake: float | None = None

    @property
    def actions(self) -> tuple[Start, ...]:
        """The starts, without limits."""
        return tuple([Start(job.id, worker) for job, worker in self.starts])

    @property
    def starting_workers(self) -> Mapping[str, str]:
        """The worker of each waiting job that starts now or has an unconfirmed start."""
        if not self.starts:
            return self.pending
        return {**self.pending, **{job.id: worker for job, worker in self.starts}}


def placer(rule: str, seed: int) -> Placer:
    """Return a default scheduler in its initial state."""
    return Placer(rule, seed_state(seed))


def place(state: Placer, observation: Observation) -> PlacementDecision:
    """Choose a worker for every waiting job without an unconfirmed start."""
    waiting = lookup.waiting_jobs(observation)
    if not waiting or not observation.workers:
        return PlacementDecision(
            state if waiting or not state.attempts else Placer(state.rule, state.chance), {}
        )
    attempts, reasons = _record_failures(state, observation, waiting)
    pending = {
        name: a.worker
        for name, a in attempts.items()
        if a.worker is not None and a.retry_at > observation.time
    }
    ready = [
        job for job in waiting if job.id not in attempts or attempts[job.id].retry_at <= observation.time
    ]
    load, chance, starts = _Load(state.rule, observation, waiting, pending), state.chance, []
    for job in ready:
        before = attempts.get(job.id, _UNTRIED)
        worker, why, chance = load.choose(job, before.refused_by, chance)
        attempts[job.id] = Attempt(worker, observation.time + START_TIMEOUT, before.refused_by, before.rounds)
        starts.append((job, worker))
        reasons.append(why)
    retries = [attempt.retry_at for attempt in attempts.values() if attempt.worker is None]
    after = Placer(state.rule, chance, attempts)
    return PlacementDecision(after, pending, tuple(starts), tuple(reasons), min(retries, default=None))


def _record_failures(
    state: Placer, observation: Observation, waiting: Sequence[Job]
) -> tuple[dict[str, Attempt], list[Reason]]:
    """Update the attempts of the jobs that still wait with the failures of this observation."""
    attempts = {job.id: state.attempts[job.id] for job in waiting if job.id in state.attempts}
    reasons = []
    for failure in observation.failures:
        action = failure.action
        if isinstance(action, Start) and (before := attempts.get(action.job)) is not None:
            attempts[action.job] = _after_refusal(before, action.worker, observation)
            text = f"{action.job} could not start on {action.worker}: {failure.why}"
            reasons.append(Reason("Default scheduler, failed start", text, action.job, action.worker))
    return attempts, reasons


def _after_refusal(before: Attempt, worker: str, observation: Observation) -> Attempt:
    """Exclude a worker; once all have refused, retry all of them after a delay that doubles."""
    refused = (*before.refused_by, worker)
    if any(each.id not in refused for each in observation.workers):
        return Attempt(None, observation.time, refused, before.rounds)
    return Attempt(None, observation.time + retry_delay(before.rounds), (), before.rounds + 1)


class _Load:
    """The load of each worker by the rule's own measure, updated by each start."""

    def __init__(
        self, rule: str, observation: Observation, waiting: Sequence[Job], pending: Mapping[str, str]
    ) -> None:
        self._rule = rule
        self._capacity = {worker.id: worker.capacity for worker in observation.workers}
        if rule == "requested":
            self._load = dict.fromkeys(self._capacity, 0.0)
            for job in observation.jobs:
                if job.worker is not None:
                    self._add(job, job.worker)
        else:
            self._load = {
                worker: float(count) for worker, count in lookup.count_by_worker(observation).items()
            }
        for job in waiting:
            if job.id in pending:
                self._add(job, pending[job.id])

    def _share(self, job: Job, worker: str) -> float:
        if self._rule != "requested":
            return 1.0
        return (UNREQUESTED if job.request is None else job.request) / self._capacity[worker]

    def _add(self, job: Job, worker: str) -> None:
        if worker in self._load:
            self._load[worker] += self._share(job, worker)

    def choose(self, job: Job, refused: tuple[str, ...], chance: int) -> tuple[str, Reason, int]:
        """Return the job's worker, the reason, and the next random state."""
        free = [worker for worker in self._load if worker not in refused] or list(self._load)
        rule = self._rule
        if rule == "half":
            coin, chance = draw_uniform(chance)
            rule = "fewest" if coin < 0.5 else "random"
        ties = free if rule == "random" else self._least_loaded(job, free)
        place, chance = draw_below(chance, len(ties)) if len(ties) > 1 else (0, chance)
        worker = ties[place]
        values = (("load", self._load[worker]), ("ties", float(len(ties))))
        self._add(job, worker)
        text = f"{job.id} starts on {worker}."
        return worker, Reason(f"Default scheduler, {rule}", text, job.id, worker, values), chance

    def _least_loaded(self, job: Job, free: list[str]) -> list[str]:
        if self._rule == "requested":
            loads = [self._load[worker] + self._share(job, worker) for worker in free]
        else:
            loads = [self._load[worker] for worker in free]
        lowest = min(loads)
        return [worker for worker, load in zip(free, loads, strict=True) if load == lowest]
