"""Totals over time: what all held-out containers used together and what policies gave (AI4DL, Figure 4).

Containers ran at different times, so they are laid over each other by age: seconds since the first sample.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from core.provisioning.fleet import Fleet, Floats, Integers

BINS = 240
_SLACK = 1e-4


def age_bins(fleet: Fleet, bins: int = BINS) -> tuple[Floats, Integers]:
    """Where bins of age begin in seconds, and the bin of each sample, (n,)."""
    age = fleet.time - np.repeat(fleet.time[fleet.offsets[:-1]], fleet.lengths)
    # whole periods, or bins would hold one sample of a container here and two there, and totals would jump
    periods = np.ceil(float(age.max(initial=0.0)) / fleet.period / bins - _SLACK)
    width = max(float(periods), 1.0) * fleet.period
    place = np.floor(age / width + _SLACK).astype(np.int64)
    n = int(place.max(initial=0)) + 1
    return np.arange(n).astype(np.float64) * width, place


def total_over_age(values: Floats, fleet: Fleet, starts: Floats, place: Integers) -> Floats:
    """The mean over each bin of the sum over all containers, in the values' unit."""
    width = float(starts[1] - starts[0]) if len(starts) > 1 else float(max(fleet.seconds.max(), 1e-9))
    return np.bincount(place, values * fleet.seconds, minlength=len(starts)) / width
