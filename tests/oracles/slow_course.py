"""Slow twin of core.scheduling.queueing: the course of a worker in small steps of time."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from core.scheduling.queueing import ServedJob


def best_ratio(job: ServedJob, progress: float) -> tuple[float, float]:
    """The largest ratio of worth to work over all prefixes of the remaining milestones, and its end."""
    ahead = [(work, worth) for work, worth in job.milestones if work > progress]
    prefixes = [(sum(worth for _, worth in ahead[: k + 1]) / (work - progress), work)
                for k, (work, _) in enumerate(ahead)]  # fmt: skip
    return max(prefixes)


def weighted_times(jobs: Sequence[ServedJob], capacity: float, step: float) -> float:
    """The sum of worth times finish time; a job within a block keeps the ratio of the block's start."""
    progress, total, now = [0.0] * len(jobs), 0.0, 0.0
    ratio = [best_ratio(job, 0.0) for job in jobs]
    alive = set(range(len(jobs)))
    while alive:
        free = capacity
        for i in sorted(alive, key=lambda i: (-ratio[i][0], i)):
            cores = min(jobs[i].demand, free)
            if cores <= 0.001 * capacity:
                break
            free -= cores
            before, progress[i] = progress[i], progress[i] + cores * step
            total += sum(worth * now for work, worth in jobs[i].milestones if before < work <= progress[i])
            if progress[i] >= jobs[i].work:
                alive.remove(i)
            elif progress[i] >= ratio[i][1]:
                ratio[i] = best_ratio(jobs[i], progress[i])
        now += step
    return total
