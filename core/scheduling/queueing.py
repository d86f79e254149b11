"""Placement by delay: sums of the times at which jobs reach their milestones and ends.

On a machine that serves the shortest remaining work first, a job of p core-seconds beside jobs of p_k adds p
+ sum of min(p, p_k) to the sum of completion times (Smith 1956, preemptive): its own work, the work of the
shorter jobs before it, and its own work once for each longer job that it delays. For a job that has just
arrived, that is all that is known. For jobs with known milestones and demands, the whole future of a worker
is simulated: the best block first (`core.scheduling.forecasting`), each job up to its demand, the remaining
cores to the next.
"""

from __future__ import annotations

from heapq import nlargest, nsmallest
from math import inf
from typing import TYPE_CHECKING, NamedTuple

from core.scheduling.forecasting import Milestones, merge_into_blocks
from core.settings_fields import setting

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence


def core_unit_setting(default: float) -> float:
    """Return the settings field for the step in which cores are allocated."""
    help_ = "Cores are allocated in multiples of this."
    field: float = setting(default, label="Step", low=0.05, high=64, unit="cores", help=help_)
    return field


def default_request_setting() -> float:
    """Return the settings field for the request of a job without one."""
    help_ = "Cores requested by a job without its own request."
    field: float = setting(1.0, label="Without a request", low=0.01, high=4096, unit="cores", help=help_)
    return field


def memory_setting() -> float:
    """Return the settings field for the share of a worker's memory that jobs may fill."""
    help_ = "Share of a machine’s memory beyond which no job starts there."
    field: float = setting(0.8, label="Memory in use", low=0.05, high=1.0, help=help_)
    return field


_MAX_WORKERS_TRIED = 8
"""Workers of either kind that a move is searched between."""
FULL_SHARE = 0.999
"""Share of a worker that counts as all of it; the remainder serves no job."""
_ROUNDING = 1e-9


class ProposedMove(NamedTuple):
    """A migration of a job that reduces the weighted sum of times by `gain`."""

    job: str
    to: str
    gain: float


class ServedJob(NamedTuple):
    """A job as its worker serves it."""

    #: Its milestones; the last is its end.
    milestones: Milestones
    #: Most cores that it can use, above zero.
    demand: float

    @property
    def work(self) -> float:
        """Core-seconds to its end."""
        return self.milestones[-1][0]


def added_delay(work: float, others: Sequence[float], capacity: float) -> float:
    """Return the seconds that `work` core-seconds add to the sum of completion times beside other jobs."""
    return (work + sum(min(work, each) for each in others)) / capacity


def best_worker(work: float, loads: Mapping[str, Sequence[float]], capacities: Mapping[str, float]) -> str:
    """Return the worker on which a job adds least; ties: fewest jobs, then name."""
    return min(
        loads, key=lambda name: (added_delay(work, loads[name], capacities[name]), len(loads[name]), name)
    )


class _JobProgress:
    """A job during the simulation of its worker."""

    def __init__(self, job: ServedJob, capacity: float) -> None:
        self.demand, self.done = min(job.demand, capacity), 0.0
        self.points, self.blocks = (
            list(reversed(job.milestones)),
            list(reversed(merge_into_blocks(job.milestones))),
        )

    def serve(self, cores: float, now: float, seconds: float) -> float:
        """Serve the job from `now` on; returns the sum of worth times time over the milestones reached."""
        served_before, summed = self.done, 0.0
        self.done += cores * seconds
        reached = self.done * (1 + _ROUNDING)
        while self.points and self.points[-1][0] <= reached:
            work, worth = self.points.pop()
            summed += worth * (now + (work - served_before) / cores)
        while self.blocks and self.blocks[-1][1] <= reached:
            self.blocks.pop()
        return summed


def sum_weighted_times(jobs: Iterable[ServedJob], capacity: float) -> float:
    """Return the sum of worth times seconds over all milestones of all jobs, best block first."""
    remaining, now, summed = [_JobProgress(job, capacity) for job in jobs], 0.0, 0.0
    while remaining:
        remaining.sort(key=lambda job: -job.blocks[-1][0])
        served, free, seconds = [], capacity, inf
        for job in remaining:
            if free <= (1 - FULL_SHARE) * capacity:
                break
            cores = min(job.demand, free)
            served.append((job, cores))
            free -= cores
            seconds = min(seconds, (job.blocks[-1][1] - job.done) / cores)
        for job, cores in served:
            summed += job.serve(cores, now, seconds)
        now += seconds
        remaining = [job for job in remaining if job.blocks]
    return summed


def best_move(
    jobs: Mapping[str, Mapping[str, ServedJob]], capacities: Mapping[str, float], able: Collection[str]
) -> ProposedMove | None:
    """Return the best single migration that makes no worker fuller than the fullest.

    It is searched from the workers that lose most by sharing to the emptiest ones.
    """
    now = {name: sum_weighted_times(on.values(), capacities[name]) for name, on in jobs.items()}
    lost = {
        name: now[name] - sum(sum_weighted_times([job], capacities[name]) for job in on.values())
        for name, on in jobs.items()
    }
    load = {name: sum(job.work for job in on.values()) / capacities[name] for name, on in jobs.items()}
    donors = nlargest(_MAX_WORKERS_TRIED, jobs, key=lambda name: (lost[name], name))
    targets = nsmallest(_MAX_WORKERS_TRIED, jobs, key=lambda name: (load[name], name))
    fullest = max(load.values())
    moves = []
    for donor, name in [(home, name) for home in donors for name in jobs[home] if name in able]:
        job, others = jobs[donor][name], [each for other, each in jobs[donor].items() if other != name]
        saved = now[donor] - sum_weighted_times(others, capacities[donor])
        for to in targets:
            if to != donor and load[to] + job.work / capacities[to] <= fullest:
                with_it = sum_weighted_times([*jobs[to].values(), job], capacities[to])
                moves.append(ProposedMove(name, to, saved + now[to] - with_it))
    return max(moves, key=lambda move: (move.gain, move.job, move.to), default=None)
