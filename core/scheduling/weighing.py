"""Policies that divide each worker by weights, at every quantum and whenever its jobs change.

Each policy is one function that returns the weights of the jobs on one worker. Unused time always goes to
others; jobs are not limited, paused or moved.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import floor
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from core.scheduling.actions import Mark, Reason, SetLimit, Start
from core.scheduling.growth import update_tracks
from core.scheduling.model import JobState
from core.scheduling.placement import PlacementDecision, Placer, place
from core.scheduling.ports import Decision
from core.settings_fields import setting

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from core.scheduling.actions import Action
    from core.scheduling.growth import Tracks
    from core.scheduling.model import Job, Observation, Worker

_TIME_TOLERANCE = 1e-9


def quantum_setting() -> float:
    """Return the settings field for the quantum."""
    field: float = setting(
        10.0, label="Quantum", low=0.1, high=3600.0, unit="s", help="Time after which jobs are ordered anew."
    )
    return field


class JobWeight(NamedTuple):
    """The weight of one job, and its mark."""

    weight: float
    mark: Mark


Memory: TypeAlias = "Mapping[str, Any]"
"""What a policy remembers of each job besides its printed values; frozen values."""
WeighFunction: TypeAlias = "Callable[[Worker, Sequence[Job], Memory], Mapping[str, JobWeight]]"
LearnFunction: TypeAlias = "Callable[[Memory, Sequence[Job], Tracks], Memory]"


@dataclass(frozen=True, slots=True)
class WeighingState:
    """The state of a weighing policy."""

    #: Its settings, with a field `quantum` in seconds.
    settings: Any
    #: The default scheduler.
    placer: Placer
    #: The number of the last observation.
    number: int = -1
    #: The printed values of every job.
    tracks: Tracks = field(default_factory=dict)
    #: The policy's memory, updated at every quantum.
    memory: Memory = field(default_factory=dict)
    #: The jobs on each worker at its last division.
    members: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    #: Weight and mark of every job; weight 0 where the engine refused it.
    weights: Mapping[str, JobWeight] = field(default_factory=dict)
    #: When all workers are divided again: a multiple of the quantum.
    next_division: float = 0.0
    #: The last requested wake-up time.
    wake: float | None = None


def decide_by_weights(
    state: WeighingState,
    observation: Observation,
    rule: str,
    weigh: WeighFunction,
    learn: LearnFunction | None = None,
) -> Decision[WeighingState]:
    """Start waiting jobs, and divide the workers whose jobs changed; at a quantum, all workers."""
    if observation.number <= state.number:
        return Decision(state, wake=state.wake)
    ticks = observation.time >= state.next_division - _TIME_TOLERANCE
    tracks = state.tracks if learn is None else update_tracks(state.tracks, observation)
    memory = learn(state.memory, observation.jobs, tracks) if learn is not None and ticks else state.memory
    turn = _WeighingRound(state, observation, rule)
    for worker in observation.workers:
        if turn.changed(worker.id) or (ticks and worker.id in turn.jobs_by_worker):
            turn.divide(worker, weigh(worker, turn.jobs_by_worker[worker.id], memory))
    due = (floor(observation.time / state.settings.quantum + _TIME_TOLERANCE) + 1) * state.settings.quantum
    wake = turn.wake(due)
    after = WeighingState(
        state.settings,
        turn.placing.placer,
        observation.number,
        tracks,
        memory,
        turn.members,
        turn.weights,
        due,
        wake,
    )
    return Decision(after, tuple(turn.actions), tuple(turn.reasons), turn.marks(), wake)


class _WeighingRound:
    """One decision; it leaves the previous state unchanged."""

    def __init__(self, state: WeighingState, observation: Observation, rule: str) -> None:
        self.rule, self.before = rule, state.members
        self.placing = place(state.placer, observation)
        self.starting = frozenset(job.id for job, _ in self.placing.starts)
        self.jobs_by_worker = _group_by_worker(observation.jobs, self.placing)
        self.members = {
            worker: tuple([job.id for job in jobs]) for worker, jobs in self.jobs_by_worker.items()
        }
        self.refused = frozenset(f.action.job for f in observation.failures if isinstance(f.action, SetLimit))
        self.weights = _surviving_weights(state.weights, observation, self.refused)
        self.actions: list[Action] = []
        self.reasons = list(self.placing.reasons)

    def changed(self, worker: str) -> bool:
        """True if a worker's jobs changed, or one of them must be set again."""
        names = self.members.get(worker)
        if names is None:
            return False
        again = any(name in self.weights and self.weights[name].weight == 0.0 for name in names)
        return again or names != self.before.get(worker)

    def divide(self, worker: Worker, weights: Mapping[str, JobWeight]) -> None:
        """Add the actions for one worker: falling weights, starts, rising weights.

        A refused weight waits for the next observation, so an engine that refuses at once is not asked
        forever.
        """
        falls: list[Action] = []
        starts: list[Action] = []
        rises: list[Action] = []
        for job in self.jobs_by_worker[worker.id]:
            if job.id in self.refused:
                continue
            weight, mark = weights[job.id]
            old = self.weights.get(job.id)
            before = 1.0 if old is None else old.weight
            if job.id in self.starting:
                starts.append(Start(job.id, worker.id, None, weight))
            elif weight != before:
                (falls if weight < before else rises).append(SetLimit(job.id, None, weight))
            if job.id in self.starting or weight != before:
                self.reasons.append(_weight_reason(self.rule, job, worker.id, weight, mark))
            self.weights[job.id] = weights[job.id]
        self.actions += (*falls, *starts, *rises)

    def wake(self, due: float) -> float | None:
        """Return the next quantum while jobs compete, or the retry time of a refused start."""
        times = [due] if any(len(names) > 1 for names in self.members.values()) else []
        return min([*times, *([] if self.placing.wake is None else [self.placing.wake])], default=None)

    def marks(self) -> tuple[Mark, ...]:
        """Return the marks of all jobs that are on a worker."""
        weights = self.weights
        return tuple(
            [weights[name].mark for names in self.members.values() for name in names if name in weights]
        )


def _group_by_worker(jobs: Sequence[Job], placing: PlacementDecision) -> dict[str, list[Job]]:
    """Return the controllable jobs by worker, with those that start now or have an unconfirmed start."""
    here: dict[str, list[Job]] = {}
    soon = placing.starting_workers
    for job in jobs:
        worker = job.worker if job.worker is not None else soon.get(job.id)
        if worker is not None and job.state is not JobState.MIGRATING:
            here.setdefault(worker, []).append(job)
    return here


def _surviving_weights(
    weights: Mapping[str, JobWeight], observation: Observation, refused: frozenset[str]
) -> dict[str, JobWeight]:
    """Return the weights without ended jobs; refused ones become 0."""
    surviving = dict(weights)
    for job in observation.ended:
        surviving.pop(job.id, None)
    for name in refused & surviving.keys():
        surviving[name] = surviving[name]._replace(weight=0.0)
    return surviving


def _weight_reason(rule: str, job: Job, worker: str, weight: float, mark: Mark) -> Reason:
    gain = () if mark.growth is None else (("gain", mark.growth),)
    used = () if job.cpu_seconds is None else (("core-seconds", job.cpu_seconds),)
    values = (("weight", weight), *used, *gain)
    return Reason(rule, f"{job.id} weighs {weight:g} on {worker}.", job.id, worker, values)
