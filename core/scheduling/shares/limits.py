"""Shares of a node as quotas and weights, and the factor that leaves no processor idle."""

from __future__ import annotations

from math import floor
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

LEAST_CORES = 0.01
LEAST_WEIGHT = 0.01


def quota(share: float, capacity: float) -> float:
    """A share of a node in cores: two decimals, at least 0.01 core, never above the node.

    Parameters
    ----------
    share
        From 0 to 1.
    capacity
        The node's cores.
    """
    whole = min(capacity, floor(capacity * 100.0 + 1e-9) / 100.0)
    return max(LEAST_CORES, min(round(share * capacity, 2), whole))


def weight(share: float) -> float:
    """A share of a node as a weight against others: three decimals, at least 0.01."""
    return max(LEAST_WEIGHT, round(share, 3))


def common_factor(limits: Sequence[float], demands: Sequence[float]) -> float:
    """The least factor ≥ 1 by which all limits rise so that the node is full or every demand is met."""
    if sum(map(min, limits, demands)) >= min(1.0, sum(demands)):
        return 1.0
    left, open_ = 1.0, sum(limits)
    factor = 1.0
    for ratio, limit, demand in sorted(
        (d / limit, limit, d) for limit, d in zip(limits, demands, strict=True)
    ):
        factor = left / open_ if open_ > 0.0 else ratio
        if factor <= ratio:
            return max(1.0, factor)
        left, open_, factor = left - demand, open_ - limit, ratio
    return max(1.0, factor)
