"""The simplest forecast there is: the cycle to come is like the one that just ended."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from core.provisioning.advising.keeping import kept
from core.provisioning.cycles import Stretches, Whole, quantiles

if TYPE_CHECKING:
    from core.provisioning.advising.advice import Ended
    from core.provisioning.fleet import Demand, Floats

LEVEL = 0.95

Statistic = Callable[["Floats", Stretches], "Floats"]
"""A number for each stretch of samples, such as `core.provisioning.cycles.maxima`."""


@kept
def p95(values: Floats, stretches: Stretches) -> Floats:
    """The 95th percentile of each stretch."""
    return quantiles(values, stretches, LEVEL)


def previous(statistic: Statistic, demand: Demand) -> Floats:
    """A statistic of the cycle that just ended, for every sample, shape (n,); NaN in first cycles."""
    fleet = demand.fleet
    return fleet.per_sample(fleet.previous(statistic(demand.values, fleet)))


@kept
@dataclass(frozen=True)
class Previous:
    """The same for one container, as `core.provisioning.advising.advice.ByCycle`."""

    #: Of the samples of each cycle.
    statistic: Statistic
    #: The length of a cycle, seconds.
    cycle: float

    def nothing(self) -> None:
        """Nothing is kept."""

    def decide(self, kept: None, ended: Ended) -> tuple[None, float]:
        """The statistic of its samples."""
        return kept, float(self.statistic(ended.values, Whole(len(ended.samples)))[0])
