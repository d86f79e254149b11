"""Comparing at the same violation: one factor on all of a policy's allocations.

A policy that gives less is not better if it falls short more often. Scaled by a factor s, an
allocation A is short where D > sA, that is where D/A > s: the factor that leaves a share ε of the time
short is the (1−ε) quantile of D/A over time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from core.provisioning.fleet import Demand, Floats

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
    order = np.argsort(ratio)[::-1]
    lasting = np.cumsum(seconds[order])
    limits = np.array(targets) * lasting[-1] * (1 + _ROUNDING)
    place = np.searchsorted(lasting, limits, side="right")
    found = ratio[order[np.minimum(place, len(order) - 1)]]
    found = np.where(place >= len(order), 0.0, found) * (1 + _ROUNDING)
    return tuple(np.where(np.isfinite(found), found, 1.0).tolist())
