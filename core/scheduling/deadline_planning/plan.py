"""Plans of cores over time that give each job its minimum satisfactory share.

Time is cut into slots. In the order of their deadlines, jobs get the fewest cores such that, with that many
in every slot (or as many as are left there), they end in time (ElasticFlow, ASPLOS 2023, section 4.1). Later
jobs get what is left, so they harm no earlier job. The first slots are short and later ones longer, because a
new plan replaces this one long before them. A slot ends at every deadline, so no slot counts for a job that
must have ended within it.
"""

from __future__ import annotations

from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Collection

    from core.scheduling.deadline_planning.speed import Counts, Floats, Rates

_ROUNDING = 1e-9
_CONTINUED_TOLERANCE = 1e-6
"""Share of its steps by which rounding may leave a continued plan short."""


def slot_edges(now: float, deadlines: Collection[float], length: float, growth: float = 0.05) -> Floats:
    """Return the edges of the slots, from now to the last deadline.

    Returns
    -------
    ndarray
        Shape (slots + 1,), ascending; at least one slot.
    """
    last, edges = max(deadlines, default=now), [now, now + length]
    while edges[-1] < last:
        edges.append(edges[-1] + max(length, growth * (edges[-1] - now)))
    return np.unique([*edges, *(each for each in deadlines if each > now)])


class AllocationRequest(NamedTuple):
    """A job that must end in time."""

    #: Its name.
    job: str
    #: Training steps left, above zero, including the reserve for prediction errors.
    steps: float
    #: Its speed.
    rates: Rates
    #: When they must be done, seconds of the run's clock.
    deadline: float
    #: The deadline to use if that one cannot be met; None for the same.
    latest: float | None = None

    @property
    def last_deadline(self) -> float:
        """The later of both deadlines."""
        return self.deadline if self.latest is None else self.latest


_EDF = attrgetter("deadline", "job")


@dataclass(frozen=True, slots=True, eq=False)
class PlannedShare:
    """The allocation of a job in a plan."""

    #: Its minimum satisfactory share: core units per slot where that many are free.
    units: int
    #: Shape (slots,): units in each slot.
    by_slot: Counts

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, PlannedShare)
            and self.units == other.units
            and _arrays_equal(self.by_slot, other.by_slot)
        )

    __hash__ = None  # type: ignore[assignment]


def find_min_share(request: AllocationRequest, free: Counts, edges: Floats) -> PlannedShare | None:
    """Find the fewest free cores with which a job ends in time; None if it cannot.

    Parameters
    ----------
    request
        The job.
    free
        Shape (slots,): core units that are free in each slot.
    edges
        Shape (slots + 1,): from `slot_edges`.
    """
    rates, speed = request.rates, request.rates.speed
    slots = int(edges.searchsorted(request.deadline * (1 + _ROUNDING), side="right")) - 1
    if slots <= 0:
        return None
    lengths = edges[1 : slots + 1] - edges[:slots]
    there = np.minimum(free[:slots], rates.max_units)
    enough = request.steps * (1 - _ROUNDING)
    # fewer would not suffice even if they were free in every slot
    low = int(speed.searchsorted(enough / float(edges[slots] - edges[0])))
    if low > rates.max_units:
        return None
    high = low
    if there.min() < low:
        high = rates.max_units
        if float(speed[there] @ lengths) < enough:
            return None
        low -= 1
        while high - low > 1:
            middle = (low + high) // 2
            steps = float(speed[np.minimum(there, middle)] @ lengths)
            low, high = (low, middle) if steps >= enough else (middle, high)
    used = np.zeros_like(free)
    used[:slots] = _units_by_slot(rates, np.minimum(there, high), lengths, enough)
    return PlannedShare(high, used)


def _units_by_slot(rates: Rates, units: Counts, lengths: Floats, enough: float) -> Counts:
    """Return the units in each slot until all steps are done; the last slot gets as few as suffice."""
    cumulative_steps = np.add.accumulate(rates.speed[units] * lengths)
    last = min(int(cumulative_steps.searchsorted(enough)), len(cumulative_steps) - 1)
    used = rates.useful[units]
    used[last + 1 :] = 0
    before = cumulative_steps[last - 1] if last else 0.0
    used[last] = min(rates.speed.searchsorted((enough - before) / lengths[last]), used[last])
    return used


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """The allocations of all jobs over time."""

    #: Shape (slots + 1,): of the slots, seconds of the run's clock.
    edges: Floats
    #: Shape (slots,): free units.
    free: Counts
    #: The allocation of each job that ends in time.
    shares: dict[str, PlannedShare]
    #: The jobs that end too late, in the order of their deadlines.
    late: tuple[str, ...]

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Plan)
            and (self.shares, self.late) == (other.shares, other.late)
            and _arrays_equal(self.edges, other.edges)
            and _arrays_equal(self.free, other.free)
        )

    __hash__ = None  # type: ignore[assignment]


def _arrays_equal(one: Floats | Counts, other: Floats | Counts) -> bool:
    return bool(np.array_equal(one, other))


def add_request(plan: Plan, request: AllocationRequest) -> Plan | None:
    """Add a job on the free cores of a plan; None if it cannot end in time with them."""
    share = find_min_share(request, plan.free, plan.edges)
    if share is None:
        return None
    return Plan(plan.edges, plan.free - share.by_slot, {**plan.shares, request.job: share}, plan.late)


def continue_plan(
    plan: Plan, requests: Collection[AllocationRequest], capacity: int, now: float
) -> Plan | None:
    """Continue an earlier plan with the present jobs; None where it no longer applies.

    A new plan gives the same core-time in another shape, in which a job may end too late that the old plan
    brings to its end in time.
    """
    first = int(plan.edges.searchsorted(now, side="right")) - 1
    if (
        first < 0
        or first >= len(plan.edges) - 1
        or any(request.job not in plan.shares for request in requests)
    ):
        return None
    edges = np.concatenate([[now], plan.edges[first + 1 :]])
    shares, late, free = {}, [], np.full(len(edges) - 1, capacity)
    for request in sorted(requests, key=_EDF):
        share = PlannedShare(plan.shares[request.job].units, plan.shares[request.job].by_slot[first:])
        if _meets_deadline(request, share.by_slot, edges):
            shares[request.job] = share
            free -= share.by_slot
        else:
            late.append(request.job)
    return None if free.min() < 0 else Plan(edges, free, shares, tuple(late))


def _meets_deadline(request: AllocationRequest, used: Counts, edges: Floats) -> bool:
    """Return whether a job ends in time with these units; its last slot counts until its deadline."""
    ends = np.minimum(edges[1:], request.last_deadline)
    lengths = np.maximum(ends - np.minimum(edges[:-1], ends), 0.0)
    return float(request.rates.speed[used] @ lengths) >= request.steps * (1 - _CONTINUED_TOLERANCE)


def make_plan(requests: Collection[AllocationRequest], free: Counts, edges: Floats) -> Plan:
    """Give every job its minimum share of free units per slot, by deadline; ties by name."""
    remaining, shares, late = free.copy(), {}, []
    for request in sorted(requests, key=_EDF):
        share = find_min_share(request, remaining, edges)
        if share is None and request.latest is not None:
            share = find_min_share(request._replace(deadline=request.latest), remaining, edges)
        if share is None:
            late.append(request.job)
        else:
            shares[request.job] = share
            remaining -= share.by_slot
    return Plan(edges, remaining, shares, tuple(late))
