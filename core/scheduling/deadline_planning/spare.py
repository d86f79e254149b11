"""Cores that nobody needs, to whom they help most.

One step of cores at a time goes to the job that it speeds up most, in relation to its own speed on one core:
the first core of any job counts as 1, and every further one as much as it adds (`spread`). As published by
ElasticFlow (ASPLOS 2023, section 4.2, algorithm 2) it goes to the job whose core-time it saves most
(`by_core_time`).
"""

from __future__ import annotations

from heapq import heapify, heappop, heappush, heapreplace
from math import inf
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from core.scheduling.deadline_planning.plan import least_share

if TYPE_CHECKING:
    from collections.abc import Sequence

    from core.scheduling.deadline_planning.plan import Plan, Wish
    from core.scheduling.deadline_planning.rates import Rates

_NO_GAIN = 1e-9


class Taker(NamedTuple):
    """A job that can use more cores."""

    #: Its name.
    job: str
    #: How fast it is.
    rates: Rates
    #: What it has already.
    grains: int
    #: What it begins with at least while it has nothing.
    first: int
    #: Steps per second that a grain is worth up to one core.
    unit: float
    #: What each further grain has to gain, of that, to be taken.
    worth: float = 0.0


def spread(takers: Sequence[Taker], free: int) -> dict[str, int]:
    """Give free grains away."""
    given: dict[str, int] = {}
    queue = [
        (-gain, each.grains, place, more)
        for place, each in enumerate(takers)
        for gain, more in [_next(each, each.grains)]
        if _helps(each, gain)
    ]
    heapify(queue)
    while free > 0 and queue:
        _, _, place, more = queue[0]
        taker = takers[place]
        if more > free:
            heappop(queue)
            continue
        free -= more
        held = given[taker.job] = given.get(taker.job, taker.grains) + more
        gain, more = _next(taker, held)
        if _helps(taker, gain):
            heapreplace(queue, (-gain, held, place, more))
        else:
            heappop(queue)
    return given


def _helps(taker: Taker, gain: float) -> bool:
    return gain > max(taker.worth - _NO_GAIN, _NO_GAIN)


def _next(taker: Taker, held: int) -> tuple[float, int]:
    """What each of the next grains gains that a job can make use of, and how many those are."""
    speed, rates = taker.rates.speed, taker.rates
    if held >= rates.most:
        return 0.0, 0
    after = max(taker.first, held + 1) if held == 0 else held + 1
    after = min(after, rates.most)
    if speed[after] <= speed[held]:  # the next number with which it is faster
        after = int(speed.searchsorted(speed[held], side="right"))
    return float(speed[after] - speed[held]) / ((after - held) * taker.unit), after - held


def by_core_time(wishes: Sequence[Wish], plan: Plan, free: int) -> dict[str, int]:
    """Give free grains of the first slot to jobs of a plan whose core-time that saves most."""
    given: dict[str, int] = {}
    queue = []
    for place, wish in enumerate(wishes):
        used = plan.shares[wish.job].used
        held = int(used[0])
        cost = float(used @ np.diff(plan.edges))
        after, then = _stepped(wish, plan, held)
        if after > held:
            queue.append((-(cost - then) / (after - held), place, held, after, then))
    heapify(queue)
    while free > 0 and queue:
        _, place, held, after, cost = heappop(queue)
        if after - held > free:
            continue
        free -= after - held
        wish = wishes[place]
        given[wish.job] = after
        further, then = _stepped(wish, plan, after)
        if further > after:
            heappush(queue, (-(cost - then) / (further - after), place, after, further, then))
    return given


def _stepped(wish: Wish, plan: Plan, held: int) -> tuple[int, float]:
    """The next useful number of grains in the first slot, and a job's grain-seconds with it."""
    speed = wish.rates.speed
    after = int(speed.searchsorted(speed[held], side="right"))
    if after >= len(speed):
        return held, inf
    length = float(plan.edges[1] - plan.edges[0])
    left = wish.steps - float(speed[after]) * length
    if left <= 0:
        return after, after * wish.steps / float(speed[after])
    own = plan.shares[wish.job].used[1:]
    later = least_share(wish._replace(steps=left), plan.free[1:] + own, plan.edges[1:])
    if later is None:
        return held, inf
    return after, after * length + float(later.used @ np.diff(plan.edges[1:]))
