"""One price on violations for the whole fleet, and one on resizes: what to allocate, and when to change it.

With F the distribution of demand over the coming time, an allocation A costs per second

    c(A) = E[(A − D)⁺] + λ·P(D > A),

with one λ for everybody: time short is bought where it saves most. Where F is wrong about a container,
its own past corrects it: it pays λ·s/ε, where s is the share of its life that it was short, counted from a
prior of three cycles with the wanted share ε, and at least 0.3·ε. A kind of container that training has
not seen is thus led back towards ε from either side. One whose share, counted from twenty cycles, exceeds a
cap pays (share/cap)⁴ times more, so none carries the fleet's violations alone. (Steeper answers react to
noise in a container's first cycles: they cost more than they save.)

The allocation is changed when the best one is cheaper by more than a hurdle, which is the price of a
resize. A container may be resized at most as many times as it has begun cycles, and growing may borrow
one resize from the next cycle: a container that shrank too far in its first cycle would otherwise
fall short until the second.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from core.phases.kernels.compiling import exact, inlined
from core.provisioning.advice import CycleClock, cycle_number, serializable
from core.provisioning.evaluation.metrics import tally, under_time_0
from core.provisioning.recent import Past

if TYPE_CHECKING:
    from collections.abc import Callable

    from core.provisioning.advice import Sample
    from core.provisioning.demand_forecast import Forecaster, Shares
    from core.provisioning.fleet import Demand, Floats, Integers

_ABOVE = 1.0 + 1e-9
_PRIOR_CYCLES, _LOWEST_FACTOR = 3.0, 0.3
_CAP_CYCLES, _CAP_POWER = 20.0, 4.0
_LOWEST, _HIGHEST, _HALVINGS = -8.0, 8.0, 10


@serializable
@dataclass(frozen=True)
class Prices:
    """The prices of violations and resizes."""

    #: λ, in the demand's unit.
    violation: float
    #: By how much a change must lower the cost per second, in the demand's unit.
    hurdle: float
    #: The share of its time above which a container pays steeply more.
    cap: float
    #: The wanted share, ε; a container without a past counts as having been short for it.
    under_time: float
    #: The allocation of a container without a past.
    start: float


def follow(
    demand: Demand, level: Floats, row: Integers, shares: Shares, grid: Floats, prices: Prices
) -> Floats:
    """Allocations of a fleet at given prices, shape (n,).

    Parameters
    ----------
    demand
        D of n samples; the allocation of a sample does not depend on its own D.
    level
        The recent level of each sample, shape (n,).
    row
        Where F of each sample's coming time stands in `shares`; −1 where the allocation may not change.
    shares
        Shape (n_rows, n_grid).
    grid
        Levels g.
    prices
        What violations and resizes cost.
    """
    fleet = demand.fleet
    begins = np.zeros(fleet.n_samples, bool)
    begins[fleet.starts] = True
    allocations = np.empty(fleet.n_samples)
    price = (prices.violation, prices.hurdle, prices.start)
    samples = (demand.values, fleet.seconds, fleet.offsets, begins, row)
    settle(samples, level, shares, grid, price, price_terms(prices, fleet.cycle), allocations)
    return allocations


class Account(NamedTuple):
    """The allocation of a running container, its remaining resizes and its under-allocation."""

    #: Its past.
    past: Past
    #: What it has.
    allocation: float
    #: How many resizes remain.
    resizes: int = 1
    #: Its cycle, and its under-allocation since it started.
    clock: CycleClock = CycleClock()


@serializable
@dataclass(frozen=True, eq=False)
class Payer:
    """Allocates for one container at given prices, bit by bit as `follow` does."""

    #: Forecasts F of the coming time.
    forecaster: Forecaster
    #: What violations and resizes cost.
    prices: Prices
    #: At which samples the allocation may change, a key of `core.provisioning.demand_forecast.MAY`.
    when: str

    def begin(self, time: float) -> tuple[Account, float]:
        """The allocation of a container without a past."""
        return Account(Past(time), self.prices.start), self.prices.start

    def advise(self, state: Account, last: Sample, time: float) -> tuple[Account, float]:
        """Change the allocation where that is worth a resize."""
        watch, prices = self.forecaster.watch, self.prices
        past, level, row = watch.after(state.past, last, time)
        number = cycle_number(time, past.first_time, watch.cycle)
        begins = number != state.clock.number
        clock = state.clock.after(number, last.seconds, last.value > state.allocation)
        allocation, resizes = state.allocation, state.resizes + begins
        may_resize = {"cycles": begins, "samples": True, "warm": not clock.is_cold}[self.when]
        if may_resize and resizes >= 0:
            shares, grid = self.forecaster.shares(row, last), self.forecaster.forest.grid
            price = (prices.violation, prices.hurdle, prices.start)
            durations = (clock.short, clock.lasted)
            terms = price_terms(prices, watch.cycle)
            allocation, resizes = settle_once(
                allocation, resizes, durations, level, shares, grid, price, terms
            )
        return Account(past, allocation, resizes, clock), allocation


def price_terms(prices: Prices, cycle: float) -> tuple[float, float, float, float]:
    """The constants from which `price_factor` computes a container's own price."""
    return prices.under_time, prices.cap, _PRIOR_CYCLES * cycle, _CAP_CYCLES * cycle


def fitted_price(
    demand: Demand, under_time: float, allocate: Callable[[float], Floats], unit: float
) -> float:
    """The lowest λ at which `allocate(λ)` falls short for at most a share of the time; bisects log λ."""
    low, high = _LOWEST, _HIGHEST
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        short = float(under_time_0(tally(demand, allocate(unit * 2.0**middle)).pooled())[0])
        low, high = (middle, high) if short > under_time else (low, middle)
    return float(unit * 2.0**high)


@inlined
def unchanged_cost(ratio: float, level: float, violation: float, shares: Any, grid: Floats) -> float:
    """The cost c(A) of an allocation of `ratio` times the level; F is a step function on the grid."""
    surplus, before, share = 0.0, 0.0, 0.0
    for k in range(len(grid)):
        if grid[k] > ratio:
            break
        surplus += (grid[k] - before) * share
        before, share = grid[k], shares[k]
    return float(level * (surplus + (ratio - before) * share) + violation * (1.0 - share))


@inlined
def cheapest(level: float, violation: float, shares: Any, grid: Floats) -> tuple[int, float]:
    """The step of the grid with the lowest cost, and that cost."""
    surplus, before, share = 0.0, 0.0, 0.0
    best, lowest = 0, np.inf
    for k in range(len(grid)):
        surplus += (grid[k] - before) * share
        before, share = grid[k], shares[k]
        cost = level * surplus + violation * (1.0 - share)
        if cost < lowest:
            best, lowest = k, cost
    return best, lowest


@inlined
def price_factor(short: float, lasted: float, terms: Any) -> float:
    """The multiple of λ that a container pays after being short for `short` of its `lasted` seconds."""
    target, cap, prior, cap_prior = terms
    share = (short + target * prior) / (lasted + prior)
    slow = (short + target * cap_prior) / (lasted + cap_prior)
    return float(max(_LOWEST_FACTOR, share / target) * max(1.0, slow / cap) ** _CAP_POWER)


@inlined
def settled(
    allocation: float, resizes: int, level: float, violation: float, hurdle: float, shares: Any, grid: Floats
) -> tuple[float, int]:
    """The allocation after one decision, and how many resizes remain."""
    best, lowest = cheapest(level, violation, shares, grid)
    unchanged = unchanged_cost(allocation / level, level, violation, shares, grid)
    target = level * grid[best] * _ABOVE
    if unchanged - lowest > hurdle and (resizes > 0 or target > allocation):
        return target, resizes - 1
    return allocation, resizes


# `settle` runs ten times over 80,000 samples for each price that is fitted. With the features of `recent` a
# fold of `Payer` takes 23 s for 1.3 million samples (5,500 containers); the kernels take 0.8 s. The decision
# itself, `settled`, is written once; tests compare both forms.


@exact
def settle(
    samples: Any, level: Floats, shares: Any, grid: Floats, price: Any, terms: Any, allocations: Floats
) -> None:
    """Fill `allocations`, container by container, sample by sample."""
    values, seconds, offsets, begins, row = samples
    violation, hurdle, start = price
    for i in range(len(offsets) - 1):
        allocation, resizes, short, lasted = start, 0, 0.0, 0.0
        for t in range(offsets[i], offsets[i + 1]):
            resizes += 1 if begins[t] else 0
            if t > offsets[i]:
                lasted += seconds[t - 1]
                short += seconds[t - 1] if values[t - 1] > allocation else 0.0
            if row[t] >= 0 and resizes >= 0:
                own_violation = violation * price_factor(short, lasted, terms)
                allocation, resizes = settled(
                    allocation, resizes, level[t], own_violation, hurdle, shares[row[t]], grid
                )
            allocations[t] = allocation


@exact
def settle_once(
    allocation: float,
    resizes: int,
    durations: Any,
    level: float,
    shares: Any,
    grid: Floats,
    price: Any,
    terms: Any,
) -> tuple[float, int]:
    """One decision of `settle`; `durations`: seconds that the container was short, and that it has lasted."""
    violation, hurdle, _ = price
    short, lasted = durations
    own_violation = violation * price_factor(short, lasted, terms)
    return settled(allocation, resizes, level, own_violation, hurdle, shares, grid)
