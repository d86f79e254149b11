"""Where a job delays the others least: sums of completion times when the shortest goes first.

On a machine that serves the shortest remaining work first, a job of p core-seconds beside jobs of p_k adds
p + sum of min(p, p_k) to the sum of completion times (Smith 1956, preemptive): its own work, the work of the
shorter ones before it, and its own work once for each longer one that it delays.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

_DONORS = 3


@dataclass(frozen=True, slots=True)
class Move:
    """A job that would be better off elsewhere, and by how many seconds the sum of completion times falls."""

    job: str
    to: str
    gain: float


def added(work: float, others: Sequence[float], capacity: float) -> float:
    """Seconds that a job adds to the sum of completion times on a worker.

    Parameters
    ----------
    work
        Its core-seconds.
    others
        Core-seconds left of each job there.
    capacity
        Cores.
    """
    return (work + sum(min(work, each) for each in others)) / capacity


def best_place(work: float, loads: Mapping[str, Sequence[float]], capacities: Mapping[str, float]) -> str:
    """The worker on which a job adds least; among equals the one with the fewest jobs, then by name."""
    return min(loads, key=lambda name: (added(work, loads[name], capacities[name]), len(loads[name]), name))


def best_move(
    lefts: Mapping[str, Mapping[str, float]], capacities: Mapping[str, float], able: Collection[str]
) -> Move | None:
    """The best single move from one of the fullest workers to the emptiest one.

    Parameters
    ----------
    lefts
        For each worker, the core-seconds left of each of its jobs.
    capacities
        Cores of each worker.
    able
        Jobs that may move.

    Returns
    -------
    Move or None
        None if nothing may move.
    """
    load = {name: sum(jobs.values()) / capacities[name] for name, jobs in lefts.items()}
    order = sorted(load, key=lambda name: (load[name], name))
    target, donors = order[0], order[-_DONORS:]
    there = list(lefts[target].values())
    moves = [
        Move(name, target, _gain(name, work, lefts[donor], capacities[donor])
             - added(work, there, capacities[target]))
        for donor in donors if donor != target
        for name, work in lefts[donor].items() if name in able
    ]  # fmt: skip
    return max(moves, key=lambda move: (move.gain, move.job), default=None)


def _gain(name: str, work: float, jobs: Mapping[str, float], capacity: float) -> float:
    return added(work, [each for other, each in jobs.items() if other != name], capacity)
