"""Cores that nobody needs, to whom they help most.

One step of cores at a time goes to the job that it speeds up most, in relation to its own speed on one core:
the first core of any job counts as 1, and every further one as much as it adds. Sources: ElasticFlow
(ASPLOS 2023, section 4.2) gives spare processors by diminishing returns, too.
"""

from __future__ import annotations

from heapq import heapify, heappop, heapreplace
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from core.scheduling.deadlines.rates import Rates

_NO_GAIN = 1e-9


class Taker(NamedTuple):
    """A job that can use more cores.

    Parameters
    ----------
    job
        Its name.
    rates
        How fast it is.
    grains
        What it has already.
    first
        What it begins with at least while it has nothing.
    unit
        Steps per second that a grain is worth up to one core.
    """

    job: str
    rates: Rates
    grains: int
    first: int
    unit: float


def spread(takers: Sequence[Taker], free: int) -> dict[str, int]:
    """Give free grains away.

    Parameters
    ----------
    takers
        Jobs; of two that gain the same, the one that has less takes, or else the one that comes first.
    free
        Grains to give.

    Returns
    -------
    dict
        What each has then, of those that were given something.
    """
    given: dict[str, int] = {}
    queue = [
        (-gain, each.grains, place, more)
        for place, each in enumerate(takers)
        for gain, more in [_next(each, each.grains)]
        if gain > _NO_GAIN
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
        if gain > _NO_GAIN:
            heapreplace(queue, (-gain, held, place, more))
        else:
            heappop(queue)
    return given


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
