"""PhaseDock's own policy: first what is nearly there, as long as nobody waits much longer than fair.

On each worker jobs are ordered by what is gained per core-second on the way to the best of their points: 90,
95 and 99% of the loss reduction, and the end (shortest remaining work first, extended to chains of points).
The order is followed only while every job can still keep its promise, to finish within (1 + delta) times what
fair sharing would take it, and while no job that cannot use a whole worker would end after all others. Jobs
that are not needed to fill the worker pause, so that they do not contend. A job that does not say how many
steps it has cannot be predicted: it keeps its fair share.

Jobs are placed where they delay the sum of completion times least, and move only if that saves more than
three times what moving costs (`core.scheduling.queueing`). What is known of each job and what a core-second
is worth to it: `knowing`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from core.scheduling.actions import Action, Mark, Migrate, Pause, Reason, Resume, SetLimit, Start
from core.scheduling.forecasting import GOALS
from core.scheduling.model import JobState
from core.scheduling.policies.phasedock.knowing import PhaseDockState, build_view, milestones_of
from core.scheduling.policies.phasedock.settings import PhaseDockSettings
from core.scheduling.ports import Decision, SchedulingPolicy
from core.scheduling.queueing import FULL_SHARE, ServedJob, best_move, best_worker
from core.scheduling.shares import compute_slack

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from core.scheduling.forecasting import RemainingWork
    from core.scheduling.model import Job, Observation, Worker
    from core.scheduling.policies.phasedock.knowing import View


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
    """The jobs of a worker in the order in which they come, and why."""

    #: Those that can be predicted, and new ones.
    names: tuple[str, ...]
    #: For each of `names`: ``"new"``, ``"promise"``, ``"long"`` or ``"gain"``.
    why: Mapping[str, str]
    #: Those that do not say how many steps they have.
    blind: tuple[str, ...]
    #: Seconds that may be spent on jobs after the one with the tightest promise; None without promises.
    spare: float | None


def latest_end(view: View, here: Mapping[str, list[Job]]) -> float:
    """When everything must have ended at the latest: the earliest end of the fullest worker, stretched."""
    now, state = view.seen.time, view.state
    loads = [
        sum(each.to_end for job in here[worker.id] if (each := view.remaining[job.id])) / worker.capacity
        for worker in view.seen.workers
    ]
    end = now + max(loads, default=0.0)
    return end + state.settings.stretch * (end - state.busy_since)


def order_jobs(view: View, worker: Worker, jobs: Sequence[Job], last: float) -> ServingOrder:
    """Put the jobs of a worker in order."""
    settings, now = view.state.settings, view.seen.time
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
    rest = sorted(
        (name for name in soonest if name not in long),
        key=lambda name: (-view.worth[name], name),
    )
    new = [job.id for job in jobs if job.id not in sure and job.total_steps]
    groups = {"new": new, "promise": urgent, "long": long, "gain": rest}
    return ServingOrder(
        names=tuple(name for names in groups.values() for name in names),
        why={name: why for why, names in groups.items() for name in names},
        blind=tuple(job.id for job in jobs if job.id not in sure and not job.total_steps),
        spare=min((seconds for _, seconds in spare), default=None),
    )


def share_worker(
    view: View, worker: Worker, jobs: Sequence[Job], order: ServingOrder
) -> tuple[list[Action], list[Reason]]:
    """Give every job of a worker what its place in the order says."""
    weights = _weights(view, worker, order)
    actions: list[Action] = []
    reasons: list[Reason] = []
    for job in jobs:
        done = _steer(job, weights.get(job.id), view.state.settings.pause)
        if done:
            actions += done
            reasons.append(_order_reason(view, worker, job, order, runs=job.id in weights))
    return actions, reasons


def _order_reason(view: View, worker: Worker, job: Job, order: ServingOrder, *, runs: bool) -> Reason:
    known = view.remaining[job.id]
    values = [("place", float(order.names.index(job.id) + 1))] if job.id in order.why else []
    if known is not None:
        values += [("index", view.worth[job.id]), ("left", known.to_end)]
    if order.spare is not None:
        values.append(("spare", order.spare))
    if job.id not in order.why:
        text = "It does not say how many steps it has and keeps its fair share."
    else:
        text = _WHY[order.why[job.id]] if runs else "Jobs before it fill the worker."
    return Reason("order", text, job.id, worker.id, tuple(values))


def _weights(view: View, worker: Worker, order: ServingOrder) -> dict[str, float]:
    """Weights of those that run: in their order, as many as fill the worker, and all unpredictable ones."""
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
    """Bring one job from what it has to what it should have."""
    if weight is None and pause:
        return [Pause(job.id)] if job.state is JobState.RUNNING else []
    wanted = _MIN_WEIGHT if weight is None else weight
    actions: list[Action] = [Resume(job.id)] if job.state is JobState.PAUSED else []
    if job.weight != wanted or job.limit is not None:
        actions.append(SetLimit(job.id, None, wanted))
    return actions


_MAX_MOVES, _MIN_GAIN_RATIO = 4, 3


def place_jobs(view: View, here: Mapping[str, list[Job]]) -> list[Action]:
    """Start each waiting job where it delays the sum of completion times least."""
    loads = {name: [view.work(job) for job in jobs] for name, jobs in here.items()}
    for job in view.seen.jobs:
        if job.state is JobState.MIGRATING and job.worker in loads:
            loads[job.worker].append(view.work(job))
    starts: list[Action] = []
    for job in view.seen.jobs:
        if job.state is JobState.WAITING:
            worker = best_worker(view.typical, loads, {each.id: each.capacity for each in view.seen.workers})
            loads[worker].append(view.typical)
            starts.append(Start(job.id, worker))
    return starts


def plan_move(
    view: View, here: Mapping[str, list[Job]], busy: bool
) -> tuple[list[Action], list[Reason], PhaseDockState]:
    """Move at most one job, if that saves more than three times what the move costs it.

    Both are sums of the times at which jobs reach their points and their ends, each times what it is worth.
    """
    state, seen = view.state, view.seen
    in_flight = any(job.state is JobState.MIGRATING for job in seen.jobs)
    if not state.settings.migrate or busy or in_flight or len(seen.workers) == 1:
        return [], [], state
    capacities = {each.id: each.capacity for each in seen.workers}
    served = {
        name: {job.id: _served_job(view, job, capacities[name]) for job in jobs}
        for name, jobs in here.items()
    }
    movable = {
        job.id
        for job in seen.jobs
        if job.can_migrate
        and view.remaining[job.id] is not None
        and state.histories[job.id].moves < _MAX_MOVES
    }
    best = best_move(served, capacities, movable)
    cost = state.settings.cost * (1 + sum(state.settings.weights))
    if best is None or best.gain <= _MIN_GAIN_RATIO * cost:
        return [], [], state
    known = dict(state.histories)
    known[best.job] = replace(known[best.job], moves=known[best.job].moves + 1)
    why = Reason(
        "move",
        "Moving it saves more than three times its cost.",
        best.job,
        best.to,
        (("saved", best.gain), ("cost", cost)),
    )
    paused = any(job.id == best.job and job.state is JobState.PAUSED for job in seen.jobs)
    wakes: list[Action] = [Resume(best.job)] if paused else []  # it cannot write a checkpoint while paused
    return [*wakes, Migrate(best.job, best.to)], [why], replace(state, histories=known)


def _served_job(view: View, job: Job, capacity: float) -> ServedJob:
    known = view.remaining[job.id]
    ahead = ((view.typical, 1.0),) if known is None else milestones_of(known, view.state.settings.weights)
    return ServedJob(ahead, view.demand(job.id, capacity))


_MIN_CHANCE = 0.5
_NEW_JOB_INTERVAL = 1.0
"""Seconds between two looks while a job is new and its size not known yet."""


def decide(state: PhaseDockState, seen: Observation) -> Decision[PhaseDockState]:
    """Order, place and move."""
    if seen.number <= state.number:
        return Decision(state)
    view = build_view(state, seen)
    here: dict[str, list[Job]] = {worker.id: [] for worker in seen.workers}
    for job in seen.jobs:
        if job.worker in here and job.state in (JobState.RUNNING, JobState.PAUSED):
            here[job.worker].append(job)
    starts = place_jobs(view, here)
    moves, reasons, state = plan_move(view, here, busy=bool(starts))
    going = {action.job for action in moves if isinstance(action, Migrate)}
    last, actions = latest_end(view, here), [*starts, *moves]
    for worker in seen.workers:
        staying = [job for job in here[worker.id] if job.id not in going]
        done, why = share_worker(view, worker, staying, order_jobs(view, worker, staying, last))
        actions += done
        reasons += why
    return Decision(state, tuple(actions), tuple(reasons), _marks(view), _wake(view, here))


def _wake(view: View, here: dict[str, list[Job]]) -> float | None:
    """When to look again: soon while a job is new, never while there is none."""
    if not view.seen.jobs:
        return None
    new = any(view.remaining[job.id] is None and job.total_steps for jobs in here.values() for job in jobs)
    interval = view.state.settings.interval
    return view.seen.time + (min(_NEW_JOB_INTERVAL, interval) if new else interval)


def _marks(view: View) -> tuple[Mark, ...]:
    """What each job is on its way to, and what a core-second for it is worth."""
    marks = []
    for job in view.seen.jobs:
        known = view.remaining[job.id]
        if known is None:
            marks.append(Mark(job.id, "unknown"))
        else:
            marks.append(Mark(job.id, _next_goal(known), view.worth[job.id]))
    return tuple(marks)


def _next_goal(known: RemainingWork) -> str:
    """The next point that is more likely ahead than behind."""
    _, chance = known.milestones_ahead()
    points = zip(GOALS, chance.sum(axis=0).tolist(), strict=True)
    return next((f"to {goal:.0%}" for goal, ahead in points if ahead >= _MIN_CHANCE), "to the end")


PHASEDOCK = SchedulingPolicy(
    "phasedock",
    "Jobs near their goal first, as long as no job waits much longer than under fair sharing.",
    begin=lambda settings, _seed: PhaseDockState(settings),
    decide=decide,
    settings=PhaseDockSettings,
    title="PhaseDock",
)


__all__ = ["PHASEDOCK", "POLICIES", "PhaseDockSettings"]

POLICIES = (PHASEDOCK,)
