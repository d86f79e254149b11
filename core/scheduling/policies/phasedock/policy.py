"""Order, place and move: one decision."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.scheduling.actions import Mark, Migrate
from core.scheduling.forecasting.forecast import GOALS
from core.scheduling.model import JobState
from core.scheduling.policies.phasedock.knowing import State, look
from core.scheduling.policies.phasedock.moving import move, place
from core.scheduling.policies.phasedock.settings import PhaseDockSettings
from core.scheduling.policies.phasedock.sharing import last_end, order, share
from core.scheduling.ports import Decision, SchedulingPolicy

if TYPE_CHECKING:
    from core.scheduling.forecasting.forecast import Left
    from core.scheduling.model import Job, Observation
    from core.scheduling.policies.phasedock.knowing import View

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
