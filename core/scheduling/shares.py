"""Dividing a worker's cores: water-filling, weights, limits, and fair shares."""

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


# Weighted water-filling of one worker's cores.
#
# It models a fair-share scheduler with weights and quotas (docs/simulator.md): each job gets the least of its
# cap and its weighted share of the remainder, repeatedly: weighted max-min fairness (Keshav, "An engineering
# approach to computer networking", 1997, pages 215–217).


def water_fill(capacity: float, caps: Sequence[float], weights: Sequence[float]) -> list[float]:
    """Return the cores of each job, min(cap, w·level): all cores are used or every job is at its cap."""
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
        uncapped = order[place:]
        total = sum(weights[j] for j in uncapped)
        for j in uncapped:
            shares[j] = capacity * weights[j] / total
        break
    return shares


_NO_WORK = 1e-7
"""Core-seconds below which remaining work is rounding error."""


# Fair shares, and how long other work can go first.
#
# Beside each worker a virtual one serves all arrived jobs in equal shares. A job's promise is to finish
# within (1 + delta) times its time there. Work for others can go first while every promise can still be kept
# by serving jobs in the order of their promises (earliest deadline first, which is optimal on one machine:
# Liu and Layland 1973).


@dataclass(frozen=True, slots=True)
class FairShare:
    """A job on the virtual worker: its arrival, and the core-seconds that it received there."""

    arrived: float
    received: float


def _equal_rates(demands: Mapping[str, float], capacity: float) -> dict[str, float]:
    """Return equal shares of a capacity, each at most the job's demand."""
    rates: dict[str, float] = {}
    remaining, waiting = capacity, len(demands)
    for name in sorted(demands, key=lambda each: demands[each]):
        rates[name] = min(demands[name], remaining / waiting)
        remaining -= rates[name]
        waiting -= 1
    return rates


def advance_fair_shares(
    jobs: Mapping[str, FairShare],
    totals: Mapping[str, float],
    demands: Mapping[str, float],
    capacity: float,
    seconds: float,
) -> dict[str, FairShare]:
    """Let time pass on the virtual worker; jobs that finish there leave it."""
    remaining = {
        name: totals[name] - fair.received for name, fair in jobs.items() if totals[name] > fair.received
    }
    had = {name: jobs[name].received for name in remaining}
    while remaining and seconds > 0:
        rates = _equal_rates({name: demands[name] for name in remaining}, capacity)
        step = min(seconds, *(remaining[name] / rates[name] for name in remaining))
        for name in tuple(remaining):
            had[name] += rates[name] * step
            remaining[name] -= rates[name] * step
            if remaining[name] <= _NO_WORK:
                del remaining[name], had[name]
        seconds -= step
    return {name: FairShare(jobs[name].arrived, had[name]) for name in remaining}


def estimate_fair_finishes(
    jobs: Mapping[str, FairShare],
    totals: Mapping[str, float],
    demands: Mapping[str, float],
    capacity: float,
    now: float,
) -> dict[str, float]:
    """Return when each job finishes on the virtual worker without further arrivals, seconds.

    Parameters are those of `advance_fair_shares`; `now` is the time of the run's clock.
    """
    remaining = {name: max(totals[name] - fair.received, 0.0) for name, fair in jobs.items()}
    ends: dict[str, float] = {}
    time = now
    while remaining:
        rates = _equal_rates({name: demands[name] for name in remaining}, capacity)
        step = min(remaining[name] / rates[name] for name in remaining)
        time += step
        for name in tuple(remaining):
            remaining[name] -= rates[name] * step
            if remaining[name] <= _NO_WORK:
                ends[name] = time
                del remaining[name]
    return ends


def compute_slack(
    promised: Mapping[str, float],
    remaining: Mapping[str, float],
    demands: Mapping[str, float],
    capacity: float,
    now: float,
) -> list[tuple[str, float]]:
    """Return, in the order of promises, each job with the seconds that later jobs may take before it."""
    order = sorted(remaining, key=lambda name: (promised[name], name))
    due, spare = 0.0, []
    for name in order:
        due += remaining[name] / capacity
        spare.append((name, promised[name] - now - max(due, remaining[name] / demands[name])))
    return spare


RANK_RATIO = 0.01
MIN_WEIGHT = 1e-4


# Serving jobs in an order by weights: the first gets nearly everything, and the next what it leaves.
#
# Quotas would leave a node idle when the first job cannot fill it, and pausing needs the demand of each job;
# weights need neither. Each rank has a hundredth of the weight before it, down to the least weight that
# engines distinguish.


def weights_by_rank(names: Sequence[str]) -> dict[str, JobWeight]:
    """Return the weight of every job on one worker in order of service; its mark is its rank."""
    return {
        name: JobWeight(max(MIN_WEIGHT, RANK_RATIO**place), Mark(name, f"#{place + 1}"))
        for place, name in enumerate(names)
    }


_MIN_EXTRA_CORES: Final = 0.05
"""Cores above a whole number that do not justify another thread."""


def threads_for(cores: float) -> int:
    """Return as many threads as cores, rounded up, at least one."""
    return max(1, ceil(cores - _MIN_EXTRA_CORES))


_TOLERANCE: Final = 1e-9


# From target cores to an order of actions that can be performed.
#
# Jobs that lose cores come first, then starts, then jobs that gain cores. Threads follow cores: to shrink,
# threads change first, to grow, cores (docs/scheduling/elastic.md); a job without the agent changes its cores
# only.


def plan_changes(
    targets: Iterable[tuple[Job, str, float]], refused: Mapping[str, str] | None = None
) -> tuple[Action, ...]:
    """Return the actions for (job, worker, cores) targets (0 cores: pause) and for refusals."""
    less: list[Action] = []
    begin: list[Action] = [Refuse(name, why) for name, why in (refused or {}).items()]
    more: list[Action] = []
    for job, worker, cores in targets:
        pauses = cores <= 0
        if job.state is JobState.WAITING and not pauses:
            begin.append(Start(job.id, worker, cores, threads=_threads_of(job, cores)))
        elif job.state is JobState.PAUSED and not pauses:
            begin += [*_resize(job, cores), Resume(job.id)]
        elif job.state is JobState.RUNNING and pauses:
            less.append(Pause(job.id))
        elif job.state is JobState.RUNNING:
            shrinks = job.limit is None or cores < job.limit
            (less if shrinks else more).extend(_resize(job, cores))
    return (*less, *begin, *more)


def _threads_of(job: Job, cores: float) -> int | None:
    """Return the threads for these cores; None for a job that cannot change its threads."""
    return threads_for(cores) if job.can_resize else None


def _resize(job: Job, cores: float) -> list[Action]:
    """Return the actions for a new limit and its threads; none if the limit is unchanged."""
    if job.limit is not None and abs(job.limit - cores) <= _TOLERANCE:
        return []
    limit = SetLimit(job.id, cores, job.weight)
    threads = _threads_of(job, cores)
    if threads is None or threads == job.threads:
        return [limit]
    thread_change = SetThreads(job.id, threads)
    return [thread_change, limit] if job.limit is None or cores < job.limit else [limit, thread_change]
