"""Slow twin of core.scheduling.forecasting: every order of all tasks that keeps each job's own."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

Chain = "Sequence[tuple[float, float]]"
"""The tasks of one job in their order: seconds, and what ending it is worth."""


def orders(left: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """Every order in which jobs can be served that have so many tasks left."""
    if not any(left):
        yield ()
    for job, tasks in enumerate(left):
        if tasks:
            fewer = (*left[:job], tasks - 1, *left[job + 1 :])
            yield from ((job, *rest) for rest in orders(fewer))


def cost(chains: Sequence[Chain], order: Sequence[int]) -> float:
    """The sum over all tasks of worth times the moment when it ends."""
    time, total, at = 0.0, 0.0, [0] * len(chains)
    for job in order:
        seconds, worth = chains[job][at[job]]
        time += seconds
        total += worth * time
        at[job] += 1
    return total


def least(chains: Sequence[Chain]) -> float:
    """The least such sum of any order."""
    return min(cost(chains, order) for order in orders(tuple(len(chain) for chain in chains)))
