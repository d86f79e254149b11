"""The least value of a function of one variable, by golden section: for fits that have a single minimum."""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

_GOLDEN: Final = (sqrt(5) - 1) / 2


def golden_section(cost: Callable[[float], float], low: float, high: float, steps: int = 60) -> float:
    """Where `cost` is least between two bounds; a step leaves 0.618 of the interval (Kiefer, 1953)."""
    left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
    at_left, at_right = cost(left), cost(right)
    for _ in range(steps):
        if at_left <= at_right:
            high, right, at_right = right, left, at_left
            left = high - _GOLDEN * (high - low)
            at_left = cost(left)
        else:
            low, left, at_left = left, right, at_right
            right = low + _GOLDEN * (high - low)
            at_right = cost(right)
    return (low + high) / 2
