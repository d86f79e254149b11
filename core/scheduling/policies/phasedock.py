"""PhaseDock's own policy: jobs near their milestones first, as long as no job waits much longer than fair.

On each worker jobs are ordered by the worth per core-second of their best milestone: 90, 95 and 99% of the
loss reduction, and the end (shortest remaining work first, extended to chains of milestones). The order holds
only while every job can still finish within (1 + delta) times its time under fair sharing, and while no job
that cannot use a whole worker would end after all others. Jobs that are not needed to fill the worker pause,
so that they do not contend. A job that does not print its steps cannot be predicted and keeps its fair share.

A job starts where it delays the sum of completion times least, and migrates only if that saves more than
three times the cost (`core.scheduling.queueing`).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import inf
from typing import TYPE_CHECKING

import numpy as np

from core.scheduling.actions import Action, Mark, Migrate, Pause, Reason, Resume, SetLimit, Start
from core.scheduling.forecasting import (
    GOALS,
    JobHistory,
    best_prefix,
    estimate_remaining,
    update_history,
)
from core.scheduling.model import JobState
from core.scheduling.ports import Decision, PolicyGroup, SchedulingPolicy
from core.scheduling.queueing import FULL_SHARE, ServedJob, best_move, best_worker
from core.scheduling.shares import FairShare, advance_fair_shares, compute_slack, estimate_fair_finishes
from core.settings_fields import setting

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from core.scheduling.forecasting import RemainingWork
    from core.scheduling.model import Job, Observation, Worker


@dataclass(frozen=True)
class PhaseDockSettings:
    """Settings of PhaseDock's policy."""

    delta: float = setting(
        0.3,
        label="Patience",
        low=0.0,
        high=10.0,
        help="How much longer than under fair sharing a job may take.",
    )
    goal: float = setting(
        1.0, label="Weight of 90%", low=0.0, high=100.0,
        help="Worth of reaching 90% of the loss reduction, against 1 for ending.",
    )  # fmt: skip
    goal95: float = setting(
        0.4, label="Weight of 95%", low=0.0, high=100.0,
        help="Worth of reaching 95% of the loss reduction, against 1 for ending.",
    )  # fmt: skip
    goal99: float = setting(
        0.2, label="Weight of 99%", low=0.0, high=100.0,
        help="Worth of reaching 99% of the loss reduction, against 1 for ending.",
    )  # fmt: skip
    stretch: float = setting(
        0.02,
        label="Stretch",
        low=0.0,
        high=10.0,
        help="How much later than the earliest possible end everything may finish.",
    )
    interval: float = setting(
        5.0, label="Interval", low=0.1, high=3600.0, unit="s", help="How often the order is looked at again."
    )
    pause: bool = setting(True, label="Pause", help="Pause jobs that are not needed to fill their worker.")
    migrate: bool = setting(True, label="Migrate", help="Move jobs between workers where that pays.")
    cost: float = setting(
        6.0, label="Cost of moving", low=0.0, high=3600.0, unit="s", help="What one migration takes."
    )

    @property
    def weights(self) -> tuple[float, float, float]:
        """The worth of reaching each of `core.scheduling.forecasting.GOALS`; the end is worth 1."""
        return (self.goal, self.goal95, self.goal99)


_MIN_PROBABILITY = 0.02


def worth_index(remaining: RemainingWork, weights: Sequence[float]) -> float:
    """Return the worth per core-second of serving a job to its best milestone.

    The place of a milestone is uncertain: each possible place counts with its probability.
    """
    works, chance = remaining.milestones_ahead()
    return best_prefix(np.append(works, remaining.to_end), np.append(chance * np.array(weights), 1.0))


def milestones_of(remaining: RemainingWork, weights: Sequence[float]) -> tuple[tuple[float, float], ...]:
    """Return the mean place of each milestone ahead, and its worth times its probability."""
    works, chance = remaining.milestones_ahead()
    likely = chance.sum(axis=0)
    places = (works * chance).sum(axis=0) / np.maximum(likely, _MIN_PROBABILITY)
    points = [
        (min(place, remaining.to_end), weight * chance)
        for place, weight, chance in zip(places.tolist(), weights, likely.tolist(), strict=True)
        if chance > _MIN_PROBABILITY
    ]
    return (*sorted(points), (remaining.to_end, 1.0))


@dataclass(frozen=True, slots=True)
class PhaseDockState:
    """The state of the policy between two observations."""

    #: As configured.
    settings: PhaseDockSettings
    #: The number and the time of the last observation.
    number: int = -1
    time: float = 0.0
    #: The history of each job that has not ended.
    histories: Mapping[str, JobHistory] = field(default_factory=dict)
    #: The virtual fair-share worker beside each worker.
    fair_shares: Mapping[str, Mapping[str, FairShare]] = field(default_factory=dict)
    #: Total core-seconds of each job, ended jobs included, as far as known.
    totals: Mapping[str, float] = field(default_factory=dict)
    #: The finish time that each job is promised, seconds of the run's clock.
    promised: Mapping[str, float] = field(default_factory=dict)
    #: The worker of each job.
    workers: Mapping[str, str] = field(default_factory=dict)
    #: When the first of the present jobs arrived.
    busy_since: float = 0.0


@dataclass(frozen=True, slots=True)
class View:
    """An observation with its predictions."""

    #: The observation.
    observation: Observation
    #: The state after the observation.
    state: PhaseDockState
    #: The remaining work of each job; None if unknown.
    remaining: Mapping[str, RemainingWork | None]
    #: The worth of a core-second for each predictable job.
    worth: Mapping[str, float]
    #: Core-seconds assumed for a job of unknown size, above zero: the mean of the known sizes.
    typical: float

    def demand(self, name: str, capacity: float) -> float:
        """Return the most cores that a job can use on a worker; all of them until it used fewer."""
        fastest = self.state.histories[name].max_cores if name in self.state.histories else 0.0
        return min(fastest, capacity) if fastest > 0 else capacity

    def work(self, job: Job) -> float:
        """Return the core-seconds left of a job; the typical size if unknown."""
        estimate = self.remaining[job.id]
        return self.typical if estimate is None else estimate.to_end


def build_view(state: PhaseDockState, observation: Observation) -> View:
    """Add an observation: the remaining work of each job, and its progress under fair sharing."""
    histories = {
        job.id: update_history(
            state.histories.get(job.id) or JobHistory(time=job.started or observation.time),
            job,
            observation.time,
        )
        for job in observation.jobs
    }
    remaining = {job.id: estimate_remaining(job, histories[job.id]) for job in observation.jobs}
    worth = {name: worth_index(each, state.settings.weights) for name, each in remaining.items() if each}
    totals = dict(state.totals) | {name: each.total for name, each in remaining.items() if each}
    totals |= {job.id: job.cpu_seconds for job in observation.ended if job.cpu_seconds is not None}
    sizes = [each for each in totals.values() if each > 0]
    typical = sum(sizes) / len(sizes) if sizes else 1.0
    view = View(observation, replace(state, histories=histories, totals=totals), remaining, worth, typical)
    fair: dict[str, Mapping[str, FairShare]] = {}
    promised = {job.id: state.promised[job.id] for job in observation.jobs if job.id in state.promised}
    for worker in observation.workers:
        on_it = _advance_virtual(view, worker)
        fair[worker.id] = on_it
        needs = {name: view.state.totals.get(name, view.typical) for name in on_it}
        demands = {name: view.demand(name, worker.capacity) for name in on_it}
        for name, end in estimate_fair_finishes(
            on_it, needs, demands, worker.capacity, observation.time
        ).items():
            arrived = on_it[name].arrived
            if name in histories and not (histories[name].moves and name in promised):
                promised[name] = arrived + (1 + state.settings.delta) * (end - arrived)
    home = {job.id: job.worker for job in observation.jobs if job.worker is not None}
    busy_since = state.busy_since if observation.jobs and state.histories else observation.time
    state = replace(
        view.state,
        number=observation.number,
        time=observation.time,
        fair_shares=fair,
        promised=promised,
        workers=home,
        busy_since=busy_since,
    )
    return replace(view, state=state)


def _advance_virtual(view: View, worker: Worker) -> dict[str, FairShare]:
    """Return the virtual worker's jobs as of now: those already on it, and new ones."""
    before = view.state.fair_shares.get(worker.id, {})
    here = {job.id: job for job in view.observation.jobs if job.worker == worker.id and job.state.placed}
    elsewhere = {job.id for job in view.observation.jobs if job.worker != worker.id}
    on_it = {name: each for name, each in before.items() if name not in elsewhere}
    # a job of unknown size stays, or its promise would depend on a guess
    needs = {name: view.state.totals.get(name, inf) for name in on_it}
    demands = {name: view.demand(name, worker.capacity) for name in on_it}
    after = advance_fair_shares(
        on_it, needs, demands, worker.capacity, view.observation.time - view.state.time
    )
    # what a job has used that is not measured counts from now on
    arrivals = {
        name: FairShare(job.arrived, job.cpu_seconds or 0.0)
        for name, job in here.items()
        if view.state.workers.get(name) != worker.id
    }
    return after | arrivals


_RANK_FACTOR = 32.0
_MIN_WEIGHT = 0.001
_WHY = {
    "new": "It is new, and its size is not known yet.",
    "promise": "Its promise, or one after it, leaves no time for others.",
    "long": "It cannot use the whole worker and would end after everything else.",
    "gain": "It gains most per core-second of those left.",
}


@dataclass(frozen=True, slots=True)
class ServingOrder:
    """The serving order of a worker's jobs, and the reasons."""

    #: Predictable and new jobs.
    names: tuple[str, ...]
    #: For each of `names`: ``"new"``, ``"promise"``, ``"long"`` or ``"gain"``.
    why: Mapping[str, str]
    #: Jobs that do not print their steps.
    blind: tuple[str, ...]
    #: Seconds that may go to other jobs before the tightest promise needs the worker; None without promises.
    spare: float | None


def latest_end(view: View, here: Mapping[str, list[Job]]) -> float:
    """Return the earliest end of the fullest worker, stretched by the setting."""
    now, state = view.observation.time, view.state
    loads = [
        sum(each.to_end for job in here[worker.id] if (each := view.remaining[job.id])) / worker.capacity
        for worker in view.observation.workers
    ]
    end = now + max(loads, default=0.0)
    return end + state.settings.stretch * (end - state.busy_since)


def order_jobs(view: View, worker: Worker, jobs: Sequence[Job], last: float) -> ServingOrder:
    """Order the jobs of a worker."""
    settings, now = view.state.settings, view.observation.time
    sure = {job.id: each for job in jobs if (each := view.remaining[job.id]) is not None}
    caps = {name: view.demand(name, worker.capacity) for name in sure}
    ends = {name: each.to_end for name, each in sure.items()}
    spare = compute_slack(view.state.promised, ends, caps, worker.capacity, now)
    tight = next((k for k, (_, seconds) in enumerate(spare) if seconds <= settings.interval), -1)
    urgent = [name for name, _ in spare[: tight + 1]]
    soonest = {name: now + ends[name] / caps[name] for name in sure if name not in urgent}
    long = sorted(
        (name for name, end in soonest.items() if end >= last - settings.interval),
        key=lambda name: (-soonest[name], name),
    )
    by_worth = sorted(
        (name for name in soonest if name not in long),
        key=lambda name: (-view.worth[name], name),
    )
    new = [job.id for job in jobs if job.id not in sure and job.total_steps]
    groups = {"new": new, "promise": urgent, "long": long, "gain": by_worth}
    return ServingOrder(
        names=tuple(name for names in groups.values() for name in names),
        why={name: why for why, names in groups.items() for name in names},
        blind=tuple(job.id for job in jobs if job.id not in sure and not job.total_steps),
        spare=min((seconds for _, seconds in spare), default=None),
    )


def share_worker(
    view: View, worker: Worker, jobs: Sequence[Job], order: ServingOrder
) -> tuple[list[Action], list[Reason]]:
    """Give every job of a worker the cores of its place in the order."""
    weights = _assign_weights(view, worker, order)
    actions: list[Action] = []
    reasons: list[Reason] = []
    for job in jobs:
        changes = _steer(job, weights.get(job.id), view.state.settings.pause)
        if changes:
            actions += changes
            reasons.append(_order_reason(view, worker, job, order, runs=job.id in weights))
    return actions, reasons


def _order_reason(view: View, worker: Worker, job: Job, order: ServingOrder, *, runs: bool) -> Reason:
    estimate = view.remaining[job.id]
    values = [("place", float(order.names.index(job.id) + 1))] if job.id in order.why else []
    if estimate is not None:
        values += [("index", view.worth[job.id]), ("left", estimate.to_end)]
    if order.spare is not None:
        values.append(("spare", order.spare))
    if job.id not in order.why:
        text = "It does not say how many steps it has and keeps its fair share."
    else:
        text = _WHY[order.why[job.id]] if runs else "Jobs before it fill the worker."
    return Reason("order", text, job.id, worker.id, tuple(values))


def _assign_weights(view: View, worker: Worker, order: ServingOrder) -> dict[str, float]:
    """Return the weights of the running jobs: as many as fill the worker, and all unpredictable ones."""
    weights = dict.fromkeys(order.blind, 1.0)
    filled, weight = 0.0, float(max(len(order.names), 1))
    for name in order.names:
        if filled >= worker.capacity * FULL_SHARE:
            break
        weights[name] = max(weight, _MIN_WEIGHT)
        weight /= _RANK_FACTOR
        filled += view.demand(name, worker.capacity)
    return weights


def _steer(job: Job, weight: float | None, pause: bool) -> list[Action]:
    """Return the actions that bring a job to its weight, or pause it."""
    if weight is None and pause:
        return [Pause(job.id)] if job.state is JobState.RUNNING else []
    target = _MIN_WEIGHT if weight is None else weight
    actions: list[Action] = [Resume(job.id)] if job.state is JobState.PAUSED else []
    if job.weight != target or job.limit is not None:
        actions.append(SetLimit(job.id, None, target))
    return actions


_MAX_MOVES, _MIN_GAIN_RATIO = 4, 3


def place_jobs(view: View, here: Mapping[str, list[Job]]) -> list[Action]:
    """Start each waiting job where it delays the sum of completion times least."""
    loads = {name: [view.work(job) for job in jobs] for name, jobs in here.items()}
    for job in view.observation.jobs:
        if job.state is JobState.MIGRATING and job.worker in loads:
            loads[job.worker].append(view.work(job))
    starts: list[Action] = []
    for job in view.observation.jobs:
        if job.state is JobState.WAITING:
            worker = best_worker(
                view.typical, loads, {each.id: each.capacity for each in view.observation.workers}
            )
            loads[worker].append(view.typical)
            starts.append(Start(job.id, worker))
    return starts


def plan_move(
    view: View, here: Mapping[str, list[Job]], busy: bool
) -> tuple[list[Action], list[Reason], PhaseDockState]:
    """Migrate at most one job, if that saves more than three times its cost.

    Both are sums of worth times time over milestones and ends.
    """
    state, observation = view.state, view.observation
    in_flight = any(job.state is JobState.MIGRATING for job in observation.jobs)
    if not state.settings.migrate or busy or in_flight or len(observation.workers) == 1:
        return [], [], state
    capacities = {each.id: each.capacity for each in observation.workers}
    served = {
        name: {job.id: _served_job(view, job, capacities[name]) for job in jobs}
        for name, jobs in here.items()
    }
    movable = {
        job.id
        for job in observation.jobs
        if job.can_migrate
        and view.remaining[job.id] is not None
        and state.histories[job.id].moves < _MAX_MOVES
    }
    best = best_move(served, capacities, movable)
    cost = state.settings.cost * (1 + sum(state.settings.weights))
    if best is None or best.gain <= _MIN_GAIN_RATIO * cost:
        return [], [], state
    histories = dict(state.histories)
    histories[best.job] = replace(histories[best.job], moves=histories[best.job].moves + 1)
    why = Reason(
        "move",
        "Moving it saves more than three times its cost.",
        best.job,
        best.to,
        (("saved", best.gain), ("cost", cost)),
    )
    paused = any(job.id == best.job and job.state is JobState.PAUSED for job in observation.jobs)
    wakes: list[Action] = [Resume(best.job)] if paused else []  # it cannot write a checkpoint while paused
    return [*wakes, Migrate(best.job, best.to)], [why], replace(state, histories=histories)


def _served_job(view: View, job: Job, capacity: float) -> ServedJob:
    estimate = view.remaining[job.id]
    ahead = (
        ((view.typical, 1.0),) if estimate is None else milestones_of(estimate, view.state.settings.weights)
    )
    return ServedJob(ahead, view.demand(job.id, capacity))


_MIN_CHANCE = 0.5
_NEW_JOB_INTERVAL = 1.0
"""Seconds between two decisions while a job is new and its size unknown."""


def decide(state: PhaseDockState, observation: Observation) -> Decision[PhaseDockState]:
    """Order jobs, place waiting jobs, and migrate at most one."""
    if observation.number <= state.number:
        return Decision(state)
    view = build_view(state, observation)
    here: dict[str, list[Job]] = {worker.id: [] for worker in observation.workers}
    for job in observation.jobs:
        if job.worker in here and job.state in (JobState.RUNNING, JobState.PAUSED):
            here[job.worker].append(job)
    starts = place_jobs(view, here)
    moves, reasons, state = plan_move(view, here, busy=bool(starts))
    going = {action.job for action in moves if isinstance(action, Migrate)}
    last, actions = latest_end(view, here), [*starts, *moves]
    for worker in observation.workers:
        staying = [job for job in here[worker.id] if job.id not in going]
        changes, why = share_worker(view, worker, staying, order_jobs(view, worker, staying, last))
        actions += changes
        reasons += why
    return Decision(state, tuple(actions), tuple(reasons), _make_marks(view), _next_wake(view, here))


def _next_wake(view: View, here: dict[str, list[Job]]) -> float | None:
    """Return the next decision time: soon while a job is new; None without jobs."""
    if not view.observation.jobs:
        return None
    new = any(view.remaining[job.id] is None and job.total_steps for jobs in here.values() for job in jobs)
    interval = view.state.settings.interval
    return view.observation.time + (min(_NEW_JOB_INTERVAL, interval) if new else interval)


def _make_marks(view: View) -> tuple[Mark, ...]:
    """Return each job's next milestone and worth."""
    marks = []
    for job in view.observation.jobs:
        estimate = view.remaining[job.id]
        if estimate is None:
            marks.append(Mark(job.id, "unknown"))
        else:
            marks.append(Mark(job.id, _next_goal(estimate), view.worth[job.id]))
    return tuple(marks)


def _next_goal(estimate: RemainingWork) -> str:
    """Return the next milestone that is more likely ahead than reached."""
    _, chance = estimate.milestones_ahead()
    points = zip(GOALS, chance.sum(axis=0).tolist(), strict=True)
    return next((f"to {goal:.0%}" for goal, ahead in points if ahead >= _MIN_CHANCE), "to the end")


PHASEDOCK = SchedulingPolicy(
    "phasedock",
    "Jobs near their goal first, as long as no job waits much longer than under fair sharing.",
    begin=lambda settings, _seed: PhaseDockState(settings),
    decide=decide,
    settings=PhaseDockSettings,
    title="PhaseDock",
    group=PolicyGroup.PROGRESS,
)


__all__ = ["PHASEDOCK", "POLICIES", "PhaseDockSettings"]

POLICIES = (PHASEDOCK,)
