"""What every job would have had under fair sharing, and how much time may still be spent on others.

Beside the real worker runs a virtual one on which all jobs that have arrived share equally. A job's
promise is to finish within (1 + delta) times the time that it would need there. Work for others can be
put first as long as every promise can be kept by then serving jobs in the order of their promises
(earliest deadline first, which is optimal on one machine: Liu and Layland 1973).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


_NOTHING = 1e-7
"""Core-seconds so few that they are only rounding error, not work."""


@dataclass(frozen=True, slots=True)
class Fair:
    """A job on the virtual worker: when it came, and the core-seconds that it has had there."""

    arrived: float
    had: float


def _rates(demands: Mapping[str, float], capacity: float) -> dict[str, float]:
    """Equal shares of a capacity where nobody gets more than it can use; the rest goes to the others."""
    rates: dict[str, float] = {}
    left, waiting = capacity, len(demands)
    for name in sorted(demands, key=lambda each: demands[each]):
        rates[name] = min(demands[name], left / waiting)
        left -= rates[name]
        waiting -= 1
    return rates


def advance(
    jobs: Mapping[str, Fair],
    totals: Mapping[str, float],
    demands: Mapping[str, float],
    capacity: float,
    seconds: float,
) -> dict[str, Fair]:
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
    left = {name: totals[name] - fair.had for name, fair in jobs.items() if totals[name] > fair.had}
    had = {name: jobs[name].had for name in left}
    while left and seconds > 0:
        rates = _rates({name: demands[name] for name in left}, capacity)
        step = min(seconds, *(left[name] / rates[name] for name in left))
        for name in tuple(left):
            had[name] += rates[name] * step
            left[name] -= rates[name] * step
            if left[name] <= _NOTHING:
                del left[name], had[name]
        seconds -= step
    return {name: Fair(jobs[name].arrived, had[name]) for name in left}


def finishes(
    jobs: Mapping[str, Fair],
    totals: Mapping[str, float],
    demands: Mapping[str, float],
    capacity: float,
    now: float,
) -> dict[str, float]:
    """When each job would finish on the virtual worker if no other came, seconds.

    Parameters are those of `advance`; `now` is the time of the run's clock.
    """
    left = {name: max(totals[name] - fair.had, 0.0) for name, fair in jobs.items()}
    ends: dict[str, float] = {}
    time = now
    while left:
        rates = _rates({name: demands[name] for name in left}, capacity)
        step = min(left[name] / rates[name] for name in left)
        time += step
        for name in tuple(left):
            left[name] -= rates[name] * step
            if left[name] <= _NOTHING:
                ends[name] = time
                del left[name]
    return ends


def slack(
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
