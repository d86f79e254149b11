"""ElasticFlow (Gu et al., ASPLOS 2023) slot by slot, with loops: admission, and the allocation of the rest.

Algorithm 1: jobs in the order of their deadlines get the fewest GPUs with which each ends in time, and a new
job is admitted if all still do. Algorithm 2: what is left of the first slot goes, a step at a time, to
whom it saves most GPU time for each GPU of that step. Here a GPU is a core.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

SLOT, GROWTH = 30.0, 0.05
TINY = 1e-9


@dataclass
class DeadlineJob:
    """A job: steps to do, steps per second with 0, 1, 2, … cores, and until when."""

    name: str
    steps: float
    speed: list[float]
    deadline: float
    latest: float

    def __lt__(self, other: DeadlineJob) -> bool:
        return (self.deadline, self.name) < (other.deadline, other.name)

    def useful(self, cores: int) -> int:
        """The fewest cores that are as fast."""
        while cores and self.speed[cores - 1] == self.speed[cores]:
            cores -= 1
        return cores


def slots(now: float, jobs: list[DeadlineJob]) -> list[tuple[float, float]]:
    """The begin and end of each slot."""
    ends = [end for job in jobs for end in (job.deadline, job.latest)]
    edges = [now, now + SLOT]
    while edges[-1] < max(ends):
        edges.append(edges[-1] + max(SLOT, GROWTH * (edges[-1] - now)))
    edges = sorted({*edges, *(end for end in ends if end > now)})
    return list(itertools.pairwise(edges))


def fewest_cores(
    job: DeadlineJob, steps: float, until: float, free: list[int], cut: list[tuple[float, float]]
) -> list[int] | None:
    """Cores in each slot with the fewest that end in time; None if none do."""
    for max_cores in range(len(job.speed)):
        steps_done, allocation = 0.0, [0] * len(cut)
        for at, (begin, end) in enumerate(cut):
            if end > until * (1 + TINY):
                break
            cores = job.useful(min(free[at], max_cores))
            if steps_done + job.speed[cores] * (end - begin) >= steps * (1 - TINY):
                # in its last slot as few as do what is left
                while cores and steps_done + job.speed[cores - 1] * (end - begin) >= steps * (1 - TINY):
                    cores -= 1
                allocation[at] = cores
                return allocation
            allocation[at] = cores
            steps_done += job.speed[cores] * (end - begin)
    return None


def fill(
    jobs: list[DeadlineJob], cores: int, cut: list[tuple[float, float]]
) -> tuple[dict[str, list[int]], list[int]]:
    """The cores of every job, and the free cores of each slot; late jobs get none."""
    free, allocations = [cores] * len(cut), {}
    for job in sorted(jobs):
        share = fewest_cores(job, job.steps, job.deadline, free, cut)
        share = share if share is not None else fewest_cores(job, job.steps, job.latest, free, cut)
        if share is not None:
            allocations[job.name] = share
            free = [there - used for there, used in zip(free, share, strict=True)]
    return allocations, free


@dataclass
class Answer:
    """The admitted jobs, their present cores, and whether two choices were equally good."""

    admitted: list[str]
    cores: dict[str, int]
    tied: bool


def decide(jobs: list[DeadlineJob], cores: int, now: float) -> Answer:
    """Admit jobs that all come now, in their order, and give cores to those."""
    admitted: list[DeadlineJob] = []
    plan: dict[str, Any] = {"allocations": {}, "free": [], "cut": []}
    for job in jobs:
        cut = slots(now, [*admitted, job])
        allocations, free = fill([*admitted, job], cores, cut)
        if len(allocations) == len(admitted) + 1:
            plan = {"allocations": allocations, "free": free, "cut": cut}
            admitted.append(job)
        elif admitted:
            # what is left in the plan as it is
            share = fewest_cores(job, job.steps, job.deadline, plan["free"], plan["cut"])
            if share is not None:
                remaining = [there - used for there, used in zip(plan["free"], share, strict=True)]
                plan = {
                    "allocations": {**plan["allocations"], job.name: share},
                    "free": remaining,
                    "cut": plan["cut"],
                }
                admitted.append(job)
    return Answer(
        [job.name for job in admitted], *(_share_rest(admitted, **plan) if admitted else ({}, False))
    )


def _share_rest(
    jobs: list[DeadlineJob],
    allocations: dict[str, list[int]],
    free: list[int],
    cut: list[tuple[float, float]],
) -> tuple[dict[str, int], bool]:
    now, tied = {job.name: allocations[job.name][0] for job in jobs}, False
    remaining, out = free[0], set()
    lengths = [end - begin for begin, end in cut]
    costs = {
        name: sum(c * s for c, s in zip(share, lengths, strict=True)) for name, share in allocations.items()
    }
    while remaining > 0:
        best = None
        for place, job in enumerate(jobs):
            cores = now[job.name]
            next_cores = next(
                (k for k in range(cores, len(job.speed)) if job.speed[k] > job.speed[cores]), None
            )
            if job.name in out or next_cores is None:
                continue
            cost = _cost(job, next_cores, allocations[job.name], free, cut)
            if cost is None:
                continue
            saved = (costs[job.name] - cost) / (next_cores - cores)
            tied |= best is not None and abs(saved - best[0]) <= TINY * max(abs(saved), 1.0)
            if best is None or saved > best[0]:
                best = (saved, place, next_cores, cost)
        if best is None:
            break
        _, place, next_cores, cost = best
        job = jobs[place]
        if next_cores - now[job.name] > remaining:
            out.add(job.name)
            continue
        remaining -= next_cores - now[job.name]
        now[job.name], costs[job.name] = next_cores, cost
    return now, tied


def _cost(
    job: DeadlineJob, first: int, allocation: list[int], free: list[int], cut: list[tuple[float, float]]
) -> float | None:
    """A job's core-time with so many cores in the first slot, and its least share after that."""
    length = cut[0][1] - cut[0][0]
    steps = job.steps - job.speed[first] * length
    if steps <= 0:
        return first * job.steps / job.speed[first]
    available = [a + b for a, b in zip(free[1:], allocation[1:], strict=True)]
    share = fewest_cores(job, steps, job.deadline, available, cut[1:])
    if share is None:
        return None
    return first * length + sum(c * (end - begin) for c, (begin, end) in zip(share, cut[1:], strict=True))
