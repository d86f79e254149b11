"""What the policy knows at one moment: what is left of each job, and what it is promised."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import inf
from typing import TYPE_CHECKING

import numpy as np

from core.scheduling.forecasting import (
    JobHistory,
    best_prefix,
    estimate_remaining,
    update_history,
)
from core.scheduling.shares import FairShare, advance_fair_shares, estimate_fair_finishes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from core.scheduling.forecasting import RemainingWork
    from core.scheduling.model import Job, Observation, Worker
    from core.scheduling.policies.phasedock.settings import PhaseDockSettings


_MIN_PROBABILITY = 0.02


def worth_index(remaining: RemainingWork, weights: Sequence[float]) -> float:
    """Worth per core-second of serving a job to its best point (`core.scheduling.forecasting`).

    Where a point is nobody knows for sure: every place where it may be counts with its chance.
    """
    works, chance = remaining.milestones_ahead()
    return best_prefix(np.append(works, remaining.to_end), np.append(chance * np.array(weights), 1.0))


def milestones_of(remaining: RemainingWork, weights: Sequence[float]) -> tuple[tuple[float, float], ...]:
    """What is ahead of a job: where each point is on average, and its worth times the chance that it is."""
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
    """What it remembers between two observations."""

    #: What was chosen.
    settings: PhaseDockSettings
    #: The number and the time of the last observation.
    number: int = -1
    time: float = 0.0
    #: What is remembered of each job that has not ended.
    histories: Mapping[str, JobHistory] = field(default_factory=dict)
    #: The virtual fair-share worker beside each worker.
    fair_shares: Mapping[str, Mapping[str, FairShare]] = field(default_factory=dict)
    #: Core-seconds of each job in total, as far as is known; of those that ended, too.
    totals: Mapping[str, float] = field(default_factory=dict)
    #: When each job must have ended, seconds of the run's clock.
    promised: Mapping[str, float] = field(default_factory=dict)
    #: The worker that each job was on.
    workers: Mapping[str, str] = field(default_factory=dict)
    #: When the first of the present jobs came.
    busy_since: float = 0.0


@dataclass(frozen=True, slots=True)
class View:
    """One observation with what is predicted from it."""

    #: The observation.
    seen: Observation
    #: What is remembered, the observation taken in.
    state: PhaseDockState
    #: What is left of each job, or None where that is unknown.
    remaining: Mapping[str, RemainingWork | None]
    #: What a core-second is worth for each job of which that is known.
    worth: Mapping[str, float]
    #: Core-seconds assumed for a job of unknown size, above zero: the mean of the known ones.
    typical: float

    def demand(self, name: str, capacity: float) -> float:
        """Most cores that a job can use on a worker; all of them until it was seen to use less."""
        fastest = self.state.histories[name].max_cores if name in self.state.histories else 0.0
        return min(fastest, capacity) if fastest > 0 else capacity

    def work(self, job: Job) -> float:
        """Core-seconds left of a job, or what is typical."""
        known = self.remaining[job.id]
        return self.typical if known is None else known.to_end


def build_view(state: PhaseDockState, seen: Observation) -> View:
    """Take in an observation: what is left of each job, and what it would have had under fair sharing."""
    histories = {
        job.id: update_history(
            state.histories.get(job.id) or JobHistory(time=job.started or seen.time), job, seen.time
        )
        for job in seen.jobs
    }
    remaining = {job.id: estimate_remaining(job, histories[job.id]) for job in seen.jobs}
    worth = {name: worth_index(each, state.settings.weights) for name, each in remaining.items() if each}
    totals = dict(state.totals) | {name: each.total for name, each in remaining.items() if each}
    totals |= {job.id: job.cpu_seconds for job in seen.ended}
    sizes = [each for each in totals.values() if each > 0]
    typical = sum(sizes) / len(sizes) if sizes else 1.0
    view = View(seen, replace(state, histories=histories, totals=totals), remaining, worth, typical)
    fair: dict[str, Mapping[str, FairShare]] = {}
    promised = {job.id: state.promised[job.id] for job in seen.jobs if job.id in state.promised}
    for worker in seen.workers:
        on_it = _virtual(view, worker)
        fair[worker.id] = on_it
        needs = {name: view.state.totals.get(name, view.typical) for name in on_it}
        demands = {name: view.demand(name, worker.capacity) for name in on_it}
        for name, end in estimate_fair_finishes(on_it, needs, demands, worker.capacity, seen.time).items():
            came = on_it[name].arrived
            if name in histories and not (histories[name].moves and name in promised):
                promised[name] = came + (1 + state.settings.delta) * (end - came)
    home = {job.id: job.worker for job in seen.jobs if job.worker is not None}
    begun = state.busy_since if seen.jobs and state.histories else seen.time
    state = replace(
        view.state,
        number=seen.number,
        time=seen.time,
        fair_shares=fair,
        promised=promised,
        workers=home,
        busy_since=begun,
    )
    return replace(view, state=state)


def _virtual(view: View, worker: Worker) -> dict[str, FairShare]:
    """The virtual worker beside a worker as it is now: those that were on it, and those that came."""
    before = view.state.fair_shares.get(worker.id, {})
    here = {job.id: job for job in view.seen.jobs if job.worker == worker.id and job.state.placed}
    elsewhere = {job.id for job in view.seen.jobs if job.worker != worker.id}
    on_it = {name: each for name, each in before.items() if name not in elsewhere}
    # a job of unknown size stays: whoever left would keep a promise that was made on a guess
    needs = {name: view.state.totals.get(name, inf) for name in on_it}
    demands = {name: view.demand(name, worker.capacity) for name in on_it}
    after = advance_fair_shares(on_it, needs, demands, worker.capacity, view.seen.time - view.state.time)
    came = {
        name: FairShare(job.arrived, job.cpu_seconds)
        for name, job in here.items()
        if view.state.workers.get(name) != worker.id
    }
    return after | came
