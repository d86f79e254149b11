"""Where jobs start, and which one moves."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from core.scheduling.actions import Action, Migrate, Reason, Resume, Start
from core.scheduling.model import JobState
from core.scheduling.queueing import best_move, best_place

if TYPE_CHECKING:
    from collections.abc import Mapping

    from core.scheduling.model import Job
    from core.scheduling.policies.phasedock.knowing import State, View

_MOST_MOVES = 2


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
    """Move at most one job, if the sum of completion times falls by more than three times the cost."""
    state, seen = view.state, view.seen
    in_flight = any(job.state is JobState.MIGRATING for job in seen.jobs)
    if not state.settings.migrate or busy or in_flight or len(seen.workers) == 1:
        return [], [], state
    lefts = {
        name: {job.id: each.end for job in jobs if (each := view.lefts[job.id])}
        for name, jobs in here.items()
    }
    able = {
        job.id for job in seen.jobs
        if job.can_migrate and job.id in state.known and state.known[job.id].moves < _MOST_MOVES
    }  # fmt: skip
    best = best_move(lefts, {each.id: each.capacity for each in seen.workers}, able)
    if best is None or best.gain <= 3 * state.settings.cost:
        return [], [], state
    known = dict(state.known)
    known[best.job] = replace(known[best.job], moves=known[best.job].moves + 1)
    why = Reason(
        "move",
        "Moving it saves more than three times its cost.",
        best.job,
        best.to,
        (("saved", best.gain), ("cost", state.settings.cost)),
    )
    paused = any(job.id == best.job and job.state is JobState.PAUSED for job in seen.jobs)
    wakes: list[Action] = [Resume(best.job)] if paused else []  # it cannot write a checkpoint while paused
    return [*wakes, Migrate(best.job, best.to)], [why], replace(state, known=known)
