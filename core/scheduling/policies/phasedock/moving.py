"""Where jobs start, and which one moves."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from core.scheduling.actions import Action, Migrate, Reason, Resume, Start
from core.scheduling.model import JobState
from core.scheduling.policies.phasedock.worth import way
from core.scheduling.queueing import Served, best_move, best_place

if TYPE_CHECKING:
    from collections.abc import Mapping

    from core.scheduling.model import Job
    from core.scheduling.policies.phasedock.knowing import State, View

_MOST_MOVES, _TIMES = 4, 3


def place(view: View, here: Mapping[str, list[Job]]) -> list[Action]:
    """Start each waiting job where it delays the sum of completion times least."""
    loads = {name: [view.work(job) for job in jobs] for name, jobs in here.items()}
    for job in view.seen.jobs:
        if job.state is JobState.MIGRATING and job.worker in loads:
            loads[job.worker].append(view.work(job))
    starts: list[Action] = []
    for job in view.seen.jobs:
        if job.state is JobState.WAITING:
            worker = best_place(view.typical, loads, {each.id: each.capacity for each in view.seen.workers})
            loads[worker].append(view.typical)
            starts.append(Start(job.id, worker))
    return starts


def move(view: View, here: Mapping[str, list[Job]], busy: bool) -> tuple[list[Action], list[Reason], State]:
    """Move at most one job, if that saves more than three times what the move costs it.

    Both are sums of the times at which jobs reach their points and their ends, each times what it is worth.
    """
    state, seen = view.state, view.seen
    in_flight = any(job.state is JobState.MIGRATING for job in seen.jobs)
    if not state.settings.migrate or busy or in_flight or len(seen.workers) == 1:
        return [], [], state
    capacities = {each.id: each.capacity for each in seen.workers}
    served = {
        name: {job.id: _served(view, job, capacities[name]) for job in jobs} for name, jobs in here.items()
    }
    able = {
        job.id for job in seen.jobs
        if job.can_migrate and view.lefts[job.id] is not None and state.known[job.id].moves < _MOST_MOVES
    }  # fmt: skip
    best = best_move(served, capacities, able)
    cost = state.settings.cost * (1 + sum(state.settings.weights))
    if best is None or best.gain <= _TIMES * cost:
        return [], [], state
    known = dict(state.known)
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
    return [*wakes, Migrate(best.job, best.to)], [why], replace(state, known=known)


def _served(view: View, job: Job, capacity: float) -> Served:
    known = view.lefts[job.id]
    ahead = ((view.typical, 1.0),) if known is None else way(known, view.state.settings.weights)
    return Served(ahead, view.demand(job.id, capacity))
