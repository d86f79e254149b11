"""Slow twin of core.scheduling.queueing: the course of a worker in small steps of time."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from core.scheduling.queueing import ServedJob


def best_ratio(job: ServedJob, done: float) -> tuple[float, float]:
    """The largest ratio of worth to work over all prefixes of what is ahead, and the work to its end."""
    ahead = [(work, worth) for work, worth in job.milestones if work > done]
    prefixes = [(sum(worth for _, worth in ahead[: k + 1]) / (work - done), work)
                for k, (work, _) in enumerate(ahead)]  # fmt: skip
    return max(prefixes)


def weighted_times(jobs: Sequence[ServedJob], capacity: float, step: float) -> float:
    """Sum of worth times moments; who is in the midst of a block stays at the ratio that it began with."""
    done, total, now = [0.0] * len(jobs), 0.0, 0.0
    ratio = [best_ratio(job, 0.0) for job in jobs]
    alive = set(range(len(jobs)))
    while alive:
        free = capacity
        for i in sorted(alive, key=lambda i: (-ratio[i][0], i)):
            cores = min(jobs[i].demand, free)
            if cores <= 0.001 * capacity:
                break
            free -= cores
            before, done[i] = done[i], done[i] + cores * step
            total += sum(worth * now for work, worth in jobs[i].milestones if before < work <= done[i])
            if done[i] >= jobs[i].work:
                alive.remove(i)
            elif done[i] >= ratio[i][1]:
                ratio[i] = best_ratio(jobs[i], done[i])
        now += step
    return total
