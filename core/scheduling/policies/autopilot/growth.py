"""By how much the memory of a container may still grow, as recorded containers of its age did.

The most that a container used so far says little while it is young: it has not loaded its data yet. A memory
limit that goes by that alone kills it when it does.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING

import numpy as np

from core.provisioning.advising.keeping import kept

if TYPE_CHECKING:
    from core.provisioning.fleet import Demand, Floats

REMEMBERED = 600.0
"""Seconds for which the most that was used is remembered; who was seen for so long showed what it needs."""


@kept
@dataclass(frozen=True)
class Growth:
    """The largest growth that any recorded container still had ahead of it, by age."""

    #: Seconds since a container's first sample, increasing, shape (n,).
    ages: Floats
    #: From each of these ages on: the most that it used in its life over the most that it had used by then;
    #: at least 1, never increasing, shape (n,).
    factors: Floats
    #: The age of the oldest recorded container, seconds.
    until: float

    def at(self, age: float) -> float:
        """The factor at an age, seconds; infinite where nothing that old was recorded."""
        if age > self.until:
            return inf
        return float(self.factors[max(int(self.ages.searchsorted(age, "right")) - 1, 0)])


UNKNOWN = Growth(np.zeros(1), np.ones(1), -inf)
"""Of containers like which none was recorded."""


def growth(demand: Demand) -> Growth:
    """What a fleet's recorded memory shows, for the ages at which it is asked."""
    fleet = demand.fleet
    pairs = list(zip(fleet.offsets[:-1].tolist(), fleet.offsets[1:].tolist(), strict=True))
    until = max(float(fleet.time[end - 1] - fleet.time[begin]) for begin, end in pairs)
    ages = np.arange(0.0, min(until, REMEMBERED) + fleet.period, fleet.period)
    most = np.ones(len(ages))
    for begin, end in pairs:
        peaks = np.maximum(np.maximum.accumulate(demand.values[begin:end]), 1.0)
        at = np.searchsorted(fleet.time[begin:end] - fleet.time[begin], ages, "right") - 1
        np.maximum(most, peaks[-1] / peaks[at], out=most)
    changes = np.flatnonzero(np.diff(most, prepend=inf))
    return Growth(ages[changes], most[changes], until)
