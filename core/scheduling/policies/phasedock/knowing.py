"""What the policy knows at one moment: what is left of each job, and what it is promised."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import inf
from typing import TYPE_CHECKING

import numpy as np

from core.scheduling.forecasting import Known, Left, best_prefix, learn, left
from core.scheduling.shares import Fair, advance, finishes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from core.scheduling.forecasting import Left
    from core.scheduling.model import Job, Observation, Worker
    from core.scheduling.policies.phasedock.settings import PhaseDockSettings


_UNLIKELY = 0.02


def index(known: Left, weights: Sequence[float]) -> float:
    """Worth per core-second of serving a job to its best point (`core.scheduling.forecasting`).

    Where a point is nobody knows for sure: every place where it may be counts with its chance.
    """
    works, chance = known.ahead()
    return best_prefix(np.append(works, known.end), np.append(chance * np.array(weights), 1.0))


def way(known: Left, weights: Sequence[float]) -> tuple[tuple[float, float], ...]:
    """What is ahead of a job: where each point is on average, and its worth times the chance that it is."""
    works, chance = known.ahead()
    likely = chance.sum(axis=0)
    places = (works * chance).sum(axis=0) / np.maximum(likely, _UNLIKELY)
    points = [
        (min(place, known.end), weight * chance)
        for place, weight, chance in zip(places.tolist(), weights, likely.tolist(), strict=True)
        if chance > _UNLIKELY
    ]
    return (*sorted(points), (known.end, 1.0))


@dataclass(frozen=True, slots=True)
class State:
    """What it remembers between two observations."""

    #: What was chosen.
    settings: PhaseDockSettings
    #: The number and the time of the last observation.
    number: int = -1
    time: float = 0.0
    #: What is remembered of each job that has not ended.
    known: Mapping[str, Known] = field(default_factory=dict)
    #: The virtual fair-share worker beside each worker.
    fair: Mapping[str, Mapping[str, Fair]] = field(default_factory=dict)
    #: Core-seconds of each job in total, as far as is known; of those that ended, too.
    totals: Mapping[str, float] = field(default_factory=dict)
    #: When each job must have ended, seconds of the run's clock.
    promised: Mapping[str, float] = field(default_factory=dict)
    #: The worker that each job was on.
    home: Mapping[str, str] = field(default_factory=dict)
    #: When the first of the present jobs came.
    begun: float = 0.0


@dataclass(frozen=True, slots=True)
class View:
    """One observation with what is predicted from it."""

    #: The observation.
    seen: Observation
    #: What is remembered, the observation taken in.
    state: State
    #: What is left of each job, or None where that is unknown.
    lefts: Mapping[str, Left | None]
    #: What a core-second is worth for each job of which that is known.
    worth: Mapping[str, float]
    #: Core-seconds assumed for a job of unknown size, above zero: the mean of the known ones.
    typical: float

    def demand(self, name: str, capacity: float) -> float:
        """Most cores that a job can use on a worker; all of them until it was seen to use less."""
        fastest = self.state.known[name].fastest if name in self.state.known else 0.0
        return min(fastest, capacity) if fastest > 0 else capacity

    def work(self, job: Job) -> float:
        """Core-seconds left of a job, or what is typical."""
        known = self.lefts[job.id]
        return self.typical if known is None else known.end


def look(state: State, seen: Observation) -> View:
    """Take in an observation: what is left of each job, and what it would have had under fair sharing."""
    known = {
        job.id: learn(state.known.get(job.id) or Known(time=job.started or seen.time), job, seen.time)
        for job in seen.jobs
    }
    lefts = {job.id: left(job, known[job.id]) for job in seen.jobs}
    worth = {name: index(each, state.settings.weights) for name, each in lefts.items() if each}
    totals = dict(state.totals) | {name: each.total for name, each in lefts.items() if each}
    totals |= {job.id: job.cpu_seconds for job in seen.ended}
    sizes = [each for each in totals.values() if each > 0]
    typical = sum(sizes) / len(sizes) if sizes else 1.0
    view = View(seen, replace(state, known=known, totals=totals), lefts, worth, typical)
    fair: dict[str, Mapping[str, Fair]] = {}
    promised = {job.id: state.promised[job.id] for job in seen.jobs if job.id in state.promised}
    for worker in seen.workers:
        on_it = _virtual(view, worker)
        fair[worker.id] = on_it
        needs = {name: view.state.totals.get(name, view.typical) for name in on_it}
        demands = {name: view.demand(name, worker.capacity) for name in on_it}
        for name, end in finishes(on_it, needs, demands, worker.capacity, seen.time).items():
            came = on_it[name].arrived
            if name in known and not (known[name].moves and name in promised):
                promised[name] = came + (1 + state.settings.delta) * (end - came)
    home = {job.id: job.worker for job in seen.jobs if job.worker is not None}
    begun = state.begun if seen.jobs and state.known else seen.time
    state = replace(
        view.state,
        number=seen.number,
        time=seen.time,
        fair=fair,
        promised=promised,
        home=home,
        begun=begun,
    )
    return replace(view, state=state)


def _virtual(view: View, worker: Worker) -> dict[str, Fair]:
    """The virtual worker beside a worker as it is now: those that were on it, and those that came."""
    before = view.state.fair.get(worker.id, {})
    here = {job.id: job for job in view.seen.jobs if job.worker == worker.id and job.state.placed}
    elsewhere = {job.id for job in view.seen.jobs if job.worker != worker.id}
    on_it = {name: each for name, each in before.items() if name not in elsewhere}
    # a job of unknown size stays: whoever left would keep a promise that was made on a guess
    needs = {name: view.state.totals.get(name, inf) for name in on_it}
    demands = {name: view.demand(name, worker.capacity) for name in on_it}
    after = advance(on_it, needs, demands, worker.capacity, view.seen.time - view.state.time)
    came = {
        name: Fair(job.arrived, job.cpu_seconds)
        for name, job in here.items()
        if view.state.home.get(name) != worker.id
    }
    return after | came
