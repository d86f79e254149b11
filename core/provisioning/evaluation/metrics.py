"""Metrics of an allocation against a demand, one function per figure.

`tally` sums what all figures need, per container: (A−D)⁺Δ, (D−A)⁺Δ and so on. A figure is then a
ratio of such sums, per container, or of the fleet if computed from `pooled` sums: the fleet's
figure is demand-weighted (over, under_amount) or time-weighted (under_time). Units: the sums are in
the resource's unit times seconds; all figures but counts are ratios.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from core.provisioning.fleet import Demand, Floats, Integers, Truths

TOLERANCE = 0.05
_SAME = 1e-9


@dataclass(frozen=True, eq=False)
class Tally:
    """Sums per container from which metrics are computed, each of shape (n_containers,)."""

    #: ΣDΔ and ΣAΔ.
    demand: Floats
    allocated: Floats
    #: Σ(A−D)⁺Δ and Σ(D−A)⁺Δ.
    surplus: Floats
    shortage: Floats
    #: ΣΔ.
    seconds: Floats
    #: The seconds with D > A, and with D > 1.05·A.
    violated: Floats
    violated_05: Floats
    #: Maximal runs of samples with D > A.
    events: Floats
    #: How often the allocation changed.
    resizes: Floats
    #: The number of cycles.
    cycles: Floats

    def pooled(self) -> Tally:
        """The sums of all containers, each of shape (1,)."""
        return Tally(**{each.name: np.array([getattr(self, each.name).sum()]) for each in fields(self)})

    def only(self, containers: Sequence[int] | Integers | Truths) -> Tally:
        """Some containers' sums."""
        return Tally(**{each.name: getattr(self, each.name)[containers] for each in fields(self)})


def tally(demand: Demand, allocation: Floats, keep: Truths | None = None) -> Tally:
    """Sum up an allocation, per container.

    Parameters
    ----------
    demand
        D of n samples.
    allocation
        A, shape (n,), in the demand's unit.
    keep
        The samples that count, such as those that are not cold starts; all when left out.
    """
    fleet, values = demand.fleet, demand.values
    seconds = fleet.seconds if keep is None else np.where(keep, fleet.seconds, 0.0)
    counted = np.ones(fleet.n_samples, bool) if keep is None else keep
    gap = (allocation - values) * seconds
    short = (values > allocation) & counted
    begins = fleet.offsets[:-1]
    follows = np.ones(fleet.n_samples, bool)
    follows[begins] = False

    def total(each: Floats | Truths) -> Floats:
        return np.add.reduceat(each.astype(np.float64, copy=False), begins) if len(begins) else np.empty(0)

    surplus = total(np.maximum(gap, 0.0))
    return Tally(
        demand=total(values * seconds),
        allocated=total(allocation * seconds),
        surplus=surplus,
        shortage=total(np.maximum(-gap, 0.0)),
        seconds=total(seconds),
        violated=total(seconds * short),
        violated_05=total(seconds * (values > (1.0 + TOLERANCE) * allocation)),
        events=total(short & ~(np.roll(short, 1) & follows)),
        resizes=total(changes(allocation) & follows & counted),
        cycles=np.add.reduceat(counted[fleet.starts].astype(np.float64), fleet.cycle_offsets[:-1]),
    )


def surplus_and_share(demand: Demand, allocation: Floats) -> tuple[Floats, float]:
    """Σ(A−D)⁺Δ of each container, and the fleet's share of time with D > A: all that a frontier needs."""
    fleet = demand.fleet
    gap = (allocation - demand.values) * fleet.seconds
    total = float(fleet.seconds.sum())
    short = float(fleet.seconds[demand.values > allocation].sum())
    return np.add.reduceat(np.maximum(gap, 0.0), fleet.offsets[:-1]), short / total if total > 0 else 0.0


def changes(allocation: Floats) -> Truths:
    """Mark samples with another allocation than the sample before, shape (n,)."""
    before = np.roll(allocation, 1)
    return np.abs(allocation - before) > _SAME * np.maximum(np.abs(allocation), np.abs(before))


def _ratio(part: Floats, whole: Floats) -> Floats:
    """Their quotient; 0 where both are 0, and NaN where only the whole is."""
    empty = np.where(part > 0, np.nan, 0.0)
    return np.divide(part, whole, out=empty, where=whole > 0)


def over(sums: Tally) -> Floats:
    """Over-allocation: Σ(A−D)⁺Δ / ΣDΔ."""
    return _ratio(sums.surplus, sums.demand)


def slack(sums: Tally) -> Floats:
    """The share of the allocation that was not used: Σ(A−D)⁺Δ / ΣAΔ."""
    return _ratio(sums.surplus, sums.allocated)


def under_time_0(sums: Tally) -> Floats:
    """The share of time with D > A."""
    return _ratio(sums.violated, sums.seconds)


def under_time_05(sums: Tally) -> Floats:
    """The share of time with D > 1.05·A."""
    return _ratio(sums.violated_05, sums.seconds)


def under_amount(sums: Tally) -> Floats:
    """The share of the demand that was not met: Σ(D−A)⁺Δ / ΣDΔ."""
    return _ratio(sums.shortage, sums.demand)


def oom_events(sums: Tally) -> Floats:
    """Maximal runs of samples with D > A; for memory each would be a kill."""
    return sums.events


def resizes_per_hour(sums: Tally) -> Floats:
    """Changes of the allocation per hour of container time."""
    return 3600.0 * _ratio(sums.resizes, sums.seconds)


def resizes_per_cycle(sums: Tally) -> Floats:
    """Changes of the allocation per cycle."""
    return _ratio(sums.resizes, sums.cycles)


def worst_under_time(sums: Tally) -> float:
    """The largest share of time with D > A of any container."""
    return float(under_time_0(sums).max(initial=0.0))


def share_above(sums: Tally, limit: float = 0.1) -> float:
    """The share of containers that are short for more than `limit` of their time."""
    shares = under_time_0(sums)
    return float((shares > limit).mean()) if len(shares) else 0.0


def figures(sums: Tally) -> dict[str, float]:
    """All metrics of a fleet, by name."""
    pooled = sums.pooled()
    ratios = (over, slack, under_time_0, under_time_05, under_amount, resizes_per_hour, resizes_per_cycle)
    return {
        **{figure.__name__: float(figure(pooled)[0]) for figure in ratios},
        "oom_events": float(oom_events(pooled)[0]),
        "worst_under_time": worst_under_time(sums),
        "share_above_10": share_above(sums),
    }


# Policies are compared at the same violation: one that gives less is not better if it falls short more often.
# Scaled by a factor s an allocation A is short where D/A > s, so the factor that leaves a share ε of the time
# short is the (1−ε) quantile of D/A over time.
TARGETS = (0.005, 0.01, 0.02, 0.03, 0.05, 0.075, 0.1, 0.15, 0.2)
_ROUNDING = 1e-12


def factors(demand: Demand, allocation: Floats, targets: tuple[float, ...] = (0.05,)) -> tuple[float, ...]:
    """The least factor at which the share of time with D > s·A is at most each target.

    Parameters
    ----------
    demand
        D of n samples.
    allocation
        A, shape (n,).
    targets
        Shares of time, each between 0 and 1.
    """
    values, seconds = demand.values, demand.fleet.seconds
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(values > 0, values / allocation, 0.0)
    limits = np.array(targets) * float(seconds.sum()) * (1 + _ROUNDING)
    order = _highest(ratio, seconds, float(limits.max()))
    lasting = np.cumsum(seconds[order])
    place = np.searchsorted(lasting, limits, side="right")
    lowest = ratio[order[np.minimum(place, len(order) - 1)]]
    lowest = np.where(place >= len(ratio), 0.0, lowest) * (1 + _ROUNDING)
    return tuple(np.where(np.isfinite(lowest), lowest, 1.0).tolist())


def _highest(ratio: Floats, seconds: Floats, limit: float) -> Integers:
    """The samples with the highest ratios, from the highest down, that together last longer than a limit.

    Sorting those alone takes a third of the time of sorting all, and all factors lie among them.
    """
    count = int(1.2 * limit / max(float(seconds.mean()), 1e-300)) + 1
    while count < len(ratio):
        top = np.argpartition(ratio, len(ratio) - count)[-count:]
        if float(seconds[top].sum()) > limit:
            return top[np.argsort(-ratio[top], kind="stable")]
        count *= 2
    return np.argsort(-ratio, kind="stable")
