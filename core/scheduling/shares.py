"""Dividing a worker's cores: water-filling, weights, limits, and what would have been fair."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, inf
from typing import TYPE_CHECKING, Final

from core.scheduling.actions import Mark, Pause, Refuse, Resume, SetLimit, SetThreads, Start
from core.scheduling.model import JobState
from core.scheduling.weighing import JobWeight

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from core.scheduling.actions import Action
    from core.scheduling.model import Job


# How one worker's cores are shared: weighted water-filling.
#
# It is what a fair-share scheduler with weights and quotas comes to (docs/simulator.md): repeatedly each job
# gets the least of its cap and its weighted share of what is left: weighted max-min fairness (Keshav, "An
# engineering approach to computer networking", 1997, pages 215–217).


def water_fill(capacity: float, caps: Sequence[float], weights: Sequence[float]) -> list[float]:
    """Cores of each job: min(cap, w·level), with all cores given away or every job at its cap.

    Parameters
    ----------
    capacity
        Cores to share.
    caps
        Most cores of each job; infinite without a cap.
    weights
        Above zero, one per job.
    """
    total = sum(weights)
    if not caps or total <= 0:
        return [0.0] * len(caps)
    if min(caps) == inf:
        return [capacity * weight / total for weight in weights]
    return _fill_to_caps(capacity, caps, weights, total)


def _fill_to_caps(
    capacity: float, caps: Sequence[float], weights: Sequence[float], total: float
) -> list[float]:
    shares = [0.0] * len(caps)
    # Jobs that reach their cap at the lowest level come first; the first that does not sets the level.
    order = sorted(range(len(caps)), key=lambda i: caps[i] / weights[i])
    for place, i in enumerate(order):
        if caps[i] * total <= capacity * weights[i]:
            shares[i] = caps[i]
            capacity, total = max(0.0, capacity - caps[i]), total - weights[i]
            continue
        rest = order[place:]
        total = sum(weights[j] for j in rest)
        for j in rest:
            shares[j] = capacity * weights[j] / total
        break
    return shares


_NO_WORK = 1e-7
"""Core-seconds so few that they are only rounding error, not work."""


# What every job would have had under fair sharing, and how much time may still be spent on others.
#
# Beside the real worker runs a virtual one on which all jobs that have arrived share equally. A job's
# promise is to finish within (1 + delta) times the time that it would need there. Work for others can be
# put first as long as every promise can be kept by then serving jobs in the order of their promises
# (earliest deadline first, which is optimal on one machine: Liu and Layland 1973).


@dataclass(frozen=True, slots=True)
class FairShare:
    """A job on the virtual worker: when it came, and the core-seconds that it has had there."""

    arrived: float
    received: float


def _equal_rates(demands: Mapping[str, float], capacity: float) -> dict[str, float]:
    """Equal shares of a capacity where nobody gets more than it can use; the rest goes to the others."""
    rates: dict[str, float] = {}
    left, waiting = capacity, len(demands)
    for name in sorted(demands, key=lambda each: demands[each]):
        rates[name] = min(demands[name], left / waiting)
        left -= rates[name]
        waiting -= 1
    return rates


def advance_fair_shares(
    jobs: Mapping[str, FairShare],
    totals: Mapping[str, float],
    demands: Mapping[str, float],
    capacity: float,
    seconds: float,
) -> dict[str, FairShare]:
    """Let time pass on the virtual worker; jobs that finish there leave it.

    Parameters
    ----------
    jobs
        Those that are on it, finished in reality or not.
    totals
        Core-seconds that each needs in total, as far as is known now.
    demands
        Most cores that each can use.
    capacity
        Cores.
    seconds
        How long.
    """
    left = {name: totals[name] - fair.received for name, fair in jobs.items() if totals[name] > fair.received}
    had = {name: jobs[name].received for name in left}
    while left and seconds > 0:
        rates = _equal_rates({name: demands[name] for name in left}, capacity)
        step = min(seconds, *(left[name] / rates[name] for name in left))
        for name in tuple(left):
            had[name] += rates[name] * step
            left[name] -= rates[name] * step
            if left[name] <= _NO_WORK:
                del left[name], had[name]
        seconds -= step
    return {name: FairShare(jobs[name].arrived, had[name]) for name in left}


def estimate_fair_finishes(
    jobs: Mapping[str, FairShare],
    totals: Mapping[str, float],
    demands: Mapping[str, float],
    capacity: float,
    now: float,
) -> dict[str, float]:
    """When each job would finish on the virtual worker if no other came, seconds.

    Parameters are those of `advance`; `now` is the time of the run's clock.
    """
    left = {name: max(totals[name] - fair.received, 0.0) for name, fair in jobs.items()}
    ends: dict[str, float] = {}
    time = now
    while left:
        rates = _equal_rates({name: demands[name] for name in left}, capacity)
        step = min(left[name] / rates[name] for name in left)
        time += step
        for name in tuple(left):
            left[name] -= rates[name] * step
            if left[name] <= _NO_WORK:
                ends[name] = time
                del left[name]
    return ends


def compute_slack(
    promised: Mapping[str, float],
    left: Mapping[str, float],
    demands: Mapping[str, float],
    capacity: float,
    now: float,
) -> list[tuple[str, float]]:
    """How long work for others can be put first before a promise needs the whole worker.

    Parameters
    ----------
    promised
        When each job must have finished, seconds of the run's clock.
    left
        Core-seconds that each needs in reality.
    demands
        Most cores that each can use.
    capacity
        Cores.
    now
        The time.

    Returns
    -------
    list of (str, float)
        Jobs in the order of their promises, each with the seconds that may be spent on jobs after it.
    """
    order = sorted(left, key=lambda name: (promised[name], name))
    due, spare = 0.0, []
    for name in order:
        due += left[name] / capacity
        spare.append((name, promised[name] - now - max(due, left[name] / demands[name])))
    return spare


RANK_RATIO = 0.01
MIN_WEIGHT = 1e-4


# Serving jobs in an order, with weights: the first has nearly all, and what it cannot use goes to the next.
#
# Quotas would leave a node idle when the first job cannot fill it, and pausing needs to know what a job could
# use; weights need neither. Each rank has a hundredth of the one before, down to the least weight that
# engines distinguish.


def weights_by_rank(names: Sequence[str]) -> dict[str, JobWeight]:
    """The weight of every job on one worker, the first to be served first; its mark is its rank."""
    return {
        name: JobWeight(max(MIN_WEIGHT, RANK_RATIO**place), Mark(name, f"#{place + 1}"))
        for place, name in enumerate(names)
    }


_MIN_EXTRA_CORES: Final = 0.05
"""Cores above a whole number that are not worth a thread of their own."""


def threads_for(cores: float) -> int:
    """As many threads as cores, rounded up, at least one."""
    return max(1, ceil(cores - _MIN_EXTRA_CORES))


_TOLERANCE: Final = 1e-9


# From the cores that jobs are to have to actions in an order that can be done.
#
# What loses cores comes first, then what begins, then what gains. Threads follow cores: to shrink, threads go
# first, to grow, cores (docs/scheduling/elastic.md); a job without the agent gets cores only.


def plan_changes(
    wanted: Iterable[tuple[Job, str, float]], refused: Mapping[str, str] | None = None
) -> tuple[Action, ...]:
    """Bring jobs to the cores that they are to have.

    Parameters
    ----------
    wanted
        Jobs as they are seen now, the worker that each is on or begins on, and its cores; 0: it rests.
    refused
        Why jobs that wait are turned away, by their names.
    """
    less: list[Action] = []
    begin: list[Action] = [Refuse(name, why) for name, why in (refused or {}).items()]
    more: list[Action] = []
    for job, worker, cores in wanted:
        rests = cores <= 0
        if job.state is JobState.WAITING and not rests:
            begin.append(Start(job.id, worker, cores, threads=_threads_of(job, cores)))
        elif job.state is JobState.PAUSED and not rests:
            begin += [*_resize(job, cores), Resume(job.id)]
        elif job.state is JobState.RUNNING and rests:
            less.append(Pause(job.id))
        elif job.state is JobState.RUNNING:
            shrinks = job.limit is None or cores < job.limit
            (less if shrinks else more).extend(_resize(job, cores))
    return (*less, *begin, *more)


def _threads_of(job: Job, cores: float) -> int | None:
    """Threads that suit so many cores; None of a job that does not change its threads."""
    return threads_for(cores) if job.can_resize else None


def _resize(job: Job, cores: float) -> list[Action]:
    """A job's new limit, and its threads before or after that; nothing if it has that limit."""
    if job.limit is not None and abs(job.limit - cores) <= _TOLERANCE:
        return []
    limit = SetLimit(job.id, cores, job.weight)
    threads = _threads_of(job, cores)
    if threads is None or threads == job.threads:
        return [limit]
    told = SetThreads(job.id, threads)
    return [told, limit] if job.limit is None or cores < job.limit else [limit, told]
