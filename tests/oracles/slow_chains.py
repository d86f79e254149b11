"""Slow twin of core.scheduling.forecasting: every order of all tasks that keeps each job's own."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

Chain = "Sequence[tuple[float, float]]"
"""The tasks of one job in their order: seconds, and what ending it is worth."""


def orders(tasks_of_job: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """Every order in which jobs with these numbers of tasks can be served."""
    if not any(tasks_of_job):
        yield ()
    for job, tasks in enumerate(tasks_of_job):
        if tasks:
            fewer = (*tasks_of_job[:job], tasks - 1, *tasks_of_job[job + 1 :])
            yield from ((job, *following) for following in orders(fewer))


def cost(chains: Sequence[Chain], order: Sequence[int]) -> float:
    """The sum over all tasks of worth times the moment when it ends."""
    time, total, at = 0.0, 0.0, [0] * len(chains)
    for job in order:
        seconds, worth = chains[job][at[job]]
        time += seconds
        total += worth * time
        at[job] += 1
    return total


def lowest_cost(chains: Sequence[Chain]) -> float:
    """The least such sum of any order."""
    return min(cost(chains, order) for order in orders(tuple(len(chain) for chain in chains)))
