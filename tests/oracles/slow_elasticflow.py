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
class Asked:
    """A job: steps to do, steps per second with 0, 1, 2, … cores, and until when."""

    name: str
    steps: float
    speed: list[float]
    deadline: float
    latest: float

    def __lt__(self, other: Asked) -> bool:
        return (self.deadline, self.name) < (other.deadline, other.name)

    def useful(self, cores: int) -> int:
        """The fewest cores that are as fast."""
        while cores and self.speed[cores - 1] == self.speed[cores]:
            cores -= 1
        return cores


def slots(now: float, jobs: list[Asked]) -> list[tuple[float, float]]:
    """Where slots begin and end."""
    ends = [end for job in jobs for end in (job.deadline, job.latest)]
    edges = [now, now + SLOT]
    while edges[-1] < max(ends):
        edges.append(edges[-1] + max(SLOT, GROWTH * (edges[-1] - now)))
    edges = sorted({*edges, *(end for end in ends if end > now)})
    return list(itertools.pairwise(edges))


def least(
    job: Asked, steps: float, until: float, free: list[int], cut: list[tuple[float, float]]
) -> list[int] | None:
    """Cores in each slot with the fewest that end in time; None if none do."""
    for most in range(len(job.speed)):
        done, given = 0.0, [0] * len(cut)
        for at, (begin, end) in enumerate(cut):
            if end > until * (1 + TINY):
                break
            cores = job.useful(min(free[at], most))
            if done + job.speed[cores] * (end - begin) >= steps * (1 - TINY):
                # in its last slot as few as do what is left
                while cores and done + job.speed[cores - 1] * (end - begin) >= steps * (1 - TINY):
                    cores -= 1
                given[at] = cores
                return given
            given[at] = cores
            done += job.speed[cores] * (end - begin)
    return None


def fill(
    jobs: list[Asked], cores: int, cut: list[tuple[float, float]]
) -> tuple[dict[str, list[int]], list[int]]:
    """Everybody's cores, and what is left of each slot; who would be late has none."""
    free, given = [cores] * len(cut), {}
    for job in sorted(jobs):
        share = least(job, job.steps, job.deadline, free, cut)
        share = share if share is not None else least(job, job.steps, job.latest, free, cut)
        if share is not None:
            given[job.name] = share
            free = [there - taken for there, taken in zip(free, share, strict=True)]
    return given, free


@dataclass
class Answer:
    """Who is admitted, the cores that each of those has now, and whether two were as good as equal there."""

    admitted: list[str]
    cores: dict[str, int]
    tied: bool


def decide(jobs: list[Asked], cores: int, now: float) -> Answer:
    """Admit jobs that all come now, in their order, and give cores to those."""
    taken: list[Asked] = []
    plan: dict[str, Any] = {"given": {}, "free": [], "cut": []}
    for job in jobs:
        cut = slots(now, [*taken, job])
        given, free = fill([*taken, job], cores, cut)
        if len(given) == len(taken) + 1:
            plan = {"given": given, "free": free, "cut": cut}
            taken.append(job)
        elif taken:
            # what is left in the plan as it is
            share = least(job, job.steps, job.deadline, plan["free"], plan["cut"])
            if share is not None:
                left = [there - used for there, used in zip(plan["free"], share, strict=True)]
                plan = {"given": {**plan["given"], job.name: share}, "free": left, "cut": plan["cut"]}
                taken.append(job)
    return Answer([job.name for job in taken], *(_left_over(taken, **plan) if taken else ({}, False)))


def _left_over(
    jobs: list[Asked], given: dict[str, list[int]], free: list[int], cut: list[tuple[float, float]]
) -> tuple[dict[str, int], bool]:
    now, tied = {job.name: given[job.name][0] for job in jobs}, False
    left, out = free[0], set()
    lengths = [end - begin for begin, end in cut]
    costs = {name: sum(c * s for c, s in zip(share, lengths, strict=True)) for name, share in given.items()}
    while left > 0:
        best = None
        for place, job in enumerate(jobs):
            held = now[job.name]
            more = next((k for k in range(held, len(job.speed)) if job.speed[k] > job.speed[held]), None)
            if job.name in out or more is None:
                continue
            cost = _cost(job, more, given[job.name], free, cut)
            if cost is None:
                continue
            saved = (costs[job.name] - cost) / (more - held)
            tied |= best is not None and abs(saved - best[0]) <= TINY * max(abs(saved), 1.0)
            if best is None or saved > best[0]:
                best = (saved, place, more, cost)
        if best is None:
            break
        _, place, more, cost = best
        job = jobs[place]
        if more - now[job.name] > left:
            out.add(job.name)
            continue
        left -= more - now[job.name]
        now[job.name], costs[job.name] = more, cost
    return now, tied


def _cost(
    job: Asked, first: int, own: list[int], free: list[int], cut: list[tuple[float, float]]
) -> float | None:
    """A job's core-time with so many cores in the first slot, and its least share after that."""
    length = cut[0][1] - cut[0][0]
    steps = job.steps - job.speed[first] * length
    if steps <= 0:
        return first * job.steps / job.speed[first]
    there = [a + b for a, b in zip(free[1:], own[1:], strict=True)]
    share = least(job, steps, job.deadline, there, cut[1:])
    if share is None:
        return None
    return first * length + sum(c * (end - begin) for c, (begin, end) in zip(share, cut[1:], strict=True))
