"""Cores over the time to come, and the least share of them with which each job ends by its deadline.

Time is cut into slots. In the order of their deadlines each job is given its minimum satisfactory share: the
fewest cores such that, with that many in every slot (or as many as are left there), it ends in time
(ElasticFlow, ASPLOS 2023, section 4.1). Whoever comes later is given of what is left, so nobody is harmed by
those behind. The first slots are short; later ones are longer, since a plan is made anew long before it comes
to them. Every deadline is where a slot ends, so that no slot is counted for a job that must have ended in it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Collection

    from core.scheduling.deadlines.rates import Counts, Floats, Rates

_ROUNDING = 1e-9


def slot_edges(now: float, deadlines: Collection[float], length: float, growth: float = 0.05) -> Floats:
    """Where slots begin and end, from now to the last deadline.

    Parameters
    ----------
    now
        Seconds of the run's clock.
    deadlines
        As `now`; those that are over make no slot.
    length
        Seconds of the first slots, above zero.
    growth
        A slot is as long as this share of the time until it begins, if that is longer.

    Returns
    -------
    ndarray
        Shape (slots + 1,), ascending; at least one slot.
    """
    last, edges = max(deadlines, default=now), [now, now + length]
    while edges[-1] < last:
        edges.append(edges[-1] + max(length, growth * (edges[-1] - now)))
    return np.unique([*edges, *(each for each in deadlines if each > now)])


class Wish(NamedTuple):
    """A job that is to end in time.

    Parameters
    ----------
    job
        Its name.
    steps
        Training steps left, above zero, with the reserve that is kept for wrong predictions.
    rates
        How fast it is.
    deadline
        When it has to have done them, seconds of the run's clock.
    """

    job: str
    steps: float
    rates: Rates
    deadline: float


@dataclass(frozen=True, slots=True, eq=False)
class Share:
    """What a plan gives to a job.

    Parameters
    ----------
    grains
        Its minimum satisfactory share: what it has in each slot where that is free.
    used
        Shape (slots,): grains that it has in each slot.
    """

    grains: int
    used: Counts


def least_share(wish: Wish, free: Counts, edges: Floats) -> Share | None:
    """The fewest cores with which a job ends in time, of those that are free.

    Parameters
    ----------
    wish
        The job.
    free
        Shape (slots,): grains of cores that are free in each slot.
    edges
        Shape (slots + 1,): from `slot_edges`.

    Returns
    -------
    Share or None
        None if it cannot end in time.
    """
    rates, speed = wish.rates, wish.rates.speed
    slots = int(edges.searchsorted(wish.deadline * (1 + _ROUNDING), side="right")) - 1
    if slots <= 0:
        return None
    lengths = edges[1 : slots + 1] - edges[:slots]
    there = np.minimum(free[:slots], rates.most)
    enough = wish.steps * (1 - _ROUNDING)
    # with fewer it would not end in time if they were free in every slot
    low = int(speed.searchsorted(enough / float(edges[slots] - edges[0])))
    if low > rates.most:
        return None
    high = low
    if there.min() < low:
        high = rates.most
        if float(speed[there] @ lengths) < enough:
            return None
        low -= 1
        while high - low > 1:
            middle = (low + high) // 2
            done = float(speed[np.minimum(there, middle)] @ lengths)
            low, high = (low, middle) if done >= enough else (middle, high)
    used = np.zeros_like(free)
    used[:slots] = _used(rates, np.minimum(there, high), lengths, enough)
    return Share(high, used)


def _used(rates: Rates, grains: Counts, lengths: Floats, enough: float) -> Counts:
    """Grains in each slot until all steps are done; in the last one as few as do what is left by its end."""
    done = np.add.accumulate(rates.speed[grains] * lengths)
    last = min(int(done.searchsorted(enough)), len(done) - 1)
    used = rates.useful[grains]
    used[last + 1 :] = 0
    before = done[last - 1] if last else 0.0
    used[last] = min(rates.speed.searchsorted((enough - before) / lengths[last]), used[last])
    return used


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """Who has how many cores when.

    Parameters
    ----------
    edges
        Shape (slots + 1,): of the slots, seconds of the run's clock.
    free
        Shape (slots,): grains of cores that nobody has.
    shares
        Of each job that ends in time.
    late
        Jobs that do not, in the order of their deadlines.
    """

    edges: Floats
    free: Counts
    shares: dict[str, Share]
    late: tuple[str, ...]


def planned(wishes: Collection[Wish], free: Counts, edges: Floats) -> Plan:
    """Give every job its least share, in the order of deadlines; equal ones by name.

    Parameters
    ----------
    wishes
        The jobs.
    free
        Shape (slots,): grains of cores there are in each slot.
    edges
        Shape (slots + 1,): from `slot_edges`.
    """
    left, shares, late = free.copy(), {}, []
    for wish in sorted(wishes, key=lambda each: (each.deadline, each.job)):
        share = least_share(wish, left, edges)
        if share is None:
            late.append(wish.job)
        else:
            shares[wish.job] = share
            left -= share.used
    return Plan(edges, left, shares, tuple(late))
