"""How one worker is divided: in which order its jobs come, which of them run, and with what weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from core.scheduling.actions import Action, Pause, Reason, Resume, SetLimit
from core.scheduling.model import JobState
from core.scheduling.queueing import FULL
from core.scheduling.shares import slack

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from core.scheduling.model import Job, Worker
    from core.scheduling.policies.phasedock.knowing import View

_BEHIND = 32.0
_LEAST_WEIGHT = 0.001
_WHY = {
    "new": "It is new, and its size is not known yet.",
    "promise": "Its promise, or one after it, leaves no time for others.",
    "long": "It cannot use the whole worker and would end after everything else.",
    "gain": "It gains most per core-second of those left.",
}


@dataclass(frozen=True, slots=True)
class Order:
    """The jobs of a worker in the order in which they come, and why."""

    #: Those that can be predicted, and new ones.
    names: tuple[str, ...]
    #: For each of `names`: ``"new"``, ``"promise"``, ``"long"`` or ``"gain"``.
    why: Mapping[str, str]
    #: Those that do not say how many steps they have.
    blind: tuple[str, ...]
    #: Seconds that may be spent on jobs after the one with the tightest promise; None without promises.
    spare: float | None


def last_end(view: View, here: Mapping[str, list[Job]]) -> float:
    """When everything must have ended at the latest: the earliest end of the fullest worker, stretched."""
    now, state = view.seen.time, view.state
    loads = [
        sum(each.end for job in here[worker.id] if (each := view.lefts[job.id])) / worker.capacity
        for worker in view.seen.workers
    ]
    end = now + max(loads, default=0.0)
    return end + state.settings.stretch * (end - state.begun)


def order(view: View, worker: Worker, jobs: Sequence[Job], last: float) -> Order:
    """Put the jobs of a worker in order."""
    settings, now = view.state.settings, view.seen.time
    sure = {job.id: each for job in jobs if (each := view.lefts[job.id]) is not None}
    caps = {name: view.demand(name, worker.capacity) for name in sure}
    ends = {name: each.end for name, each in sure.items()}
    spare = slack(view.state.promised, ends, caps, worker.capacity, now)
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
    return Order(
        names=tuple(name for names in groups.values() for name in names),
        why={name: why for why, names in groups.items() for name in names},
        blind=tuple(job.id for job in jobs if job.id not in sure and not job.total_steps),
        spare=min((seconds for _, seconds in spare), default=None),
    )


def share(view: View, worker: Worker, jobs: Sequence[Job], order: Order) -> tuple[list[Action], list[Reason]]:
    """Give every job of a worker what its place in the order says."""
    weights = _weights(view, worker, order)
    actions: list[Action] = []
    reasons: list[Reason] = []
    for job in jobs:
        done = _steer(job, weights.get(job.id), view.state.settings.pause)
        if done:
            actions += done
            reasons.append(_reason(view, worker, job, order, runs=job.id in weights))
    return actions, reasons


def _reason(view: View, worker: Worker, job: Job, order: Order, *, runs: bool) -> Reason:
    known = view.lefts[job.id]
    values = [("place", float(order.names.index(job.id) + 1))] if job.id in order.why else []
    if known is not None:
        values += [("index", view.worth[job.id]), ("left", known.end)]
    if order.spare is not None:
        values.append(("spare", order.spare))
    if job.id not in order.why:
        text = "It does not say how many steps it has and keeps its fair share."
    else:
        text = _WHY[order.why[job.id]] if runs else "Jobs before it fill the worker."
    return Reason("order", text, job.id, worker.id, tuple(values))


def _weights(view: View, worker: Worker, order: Order) -> dict[str, float]:
    """Weights of those that run: in their order, as many as fill the worker, and all unpredictable ones."""
    weights = dict.fromkeys(order.blind, 1.0)
    filled, weight = 0.0, float(max(len(order.names), 1))
    for name in order.names:
        if filled >= worker.capacity * FULL:
            break
        weights[name] = max(weight, _LEAST_WEIGHT)
        weight /= _BEHIND
        filled += view.demand(name, worker.capacity)
    return weights


def _steer(job: Job, weight: float | None, pause: bool) -> list[Action]:
    """Bring one job from what it has to what it should have."""
    if weight is None and pause:
        return [Pause(job.id)] if job.state is JobState.RUNNING else []
    wanted = _LEAST_WEIGHT if weight is None else weight
    actions: list[Action] = [Resume(job.id)] if job.state is JobState.PAUSED else []
    if job.weight != wanted or job.limit is not None:
        actions.append(SetLimit(job.id, None, wanted))
    return actions
