"""Order, place and move: one decision."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from core.scheduling.actions import Action, Mark, Migrate, Reason, Resume, Start
from core.scheduling.forecasting import GOALS
from core.scheduling.model import JobState
from core.scheduling.policies.phasedock.knowing import State, look, way
from core.scheduling.policies.phasedock.settings import PhaseDockSettings
from core.scheduling.policies.phasedock.sharing import last_end, order, share
from core.scheduling.ports import Decision, SchedulingPolicy
from core.scheduling.queueing import Served, best_move, best_place

if TYPE_CHECKING:
    from collections.abc import Mapping

    from core.scheduling.forecasting import Left
    from core.scheduling.model import Job, Observation
    from core.scheduling.policies.phasedock.knowing import View


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


_LIKELY = 0.5
_SOON = 1.0
"""Seconds between two looks while a job is new and its size not known yet."""


def decide(state: State, seen: Observation) -> Decision[State]:
    """Order, place and move."""
    if seen.number <= state.number:
        return Decision(state)
    view = look(state, seen)
    here: dict[str, list[Job]] = {worker.id: [] for worker in seen.workers}
    for job in seen.jobs:
        if job.worker in here and job.state in (JobState.RUNNING, JobState.PAUSED):
            here[job.worker].append(job)
    starts = place(view, here)
    moves, reasons, state = move(view, here, busy=bool(starts))
    going = {action.job for action in moves if isinstance(action, Migrate)}
    last, actions = last_end(view, here), [*starts, *moves]
    for worker in seen.workers:
        staying = [job for job in here[worker.id] if job.id not in going]
        done, why = share(view, worker, staying, order(view, worker, staying, last))
        actions += done
        reasons += why
    return Decision(state, tuple(actions), tuple(reasons), _marks(view), _wake(view, here))


def _wake(view: View, here: dict[str, list[Job]]) -> float | None:
    """When to look again: soon while a job is new, never while there is none."""
    if not view.seen.jobs:
        return None
    new = any(view.lefts[job.id] is None and job.total_steps for jobs in here.values() for job in jobs)
    interval = view.state.settings.interval
    return view.seen.time + (min(_SOON, interval) if new else interval)


def _marks(view: View) -> tuple[Mark, ...]:
    """What each job is on its way to, and what a core-second for it is worth."""
    marks = []
    for job in view.seen.jobs:
        known = view.lefts[job.id]
        if known is None:
            marks.append(Mark(job.id, "unknown"))
        else:
            marks.append(Mark(job.id, _next(known), view.worth[job.id]))
    return tuple(marks)


def _next(known: Left) -> str:
    """The next point that is more likely ahead than behind."""
    _, chance = known.ahead()
    points = zip(GOALS, chance.sum(axis=0).tolist(), strict=True)
    return next((f"to {goal:.0%}" for goal, ahead in points if ahead >= _LIKELY), "to the end")


PHASEDOCK = SchedulingPolicy(
    "phasedock",
    "Jobs near their goal first, as long as no job waits much longer than under fair sharing.",
    begin=lambda settings, _seed: State(settings),
    decide=decide,
    settings=PhaseDockSettings,
    title="PhaseDock",
)
