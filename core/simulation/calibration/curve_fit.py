"""The loss curve that fits recorded values best, and the noise around it.

Given its shape, each family of `core.simulation.loss` is linear in the level a and the fall b of
E(x) = a + b(1 − r(x)), so those two are solved for and only the shape is searched. E is divided by the fitted
E(0) = a + b, since every scheduler divides it by the first values anyway.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from math import exp, log, sqrt
from typing import TYPE_CHECKING, Final

import numpy as np

from core.simulation.loss import Exponential, Hyperbolic, Replayed, Weibull

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from core.simulation.loss import Floats, LossCurve


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


_TOO_FAR: Final = 0.05  # of the whole fall: beyond that the recorded points say more than a family
_SHAPES: Final = (0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.2)


@dataclass(frozen=True, slots=True)
class CurveFit:
    """A fitted curve."""

    #: The curve, from 1 down, or the recorded points where no family comes near.
    curve: LossCurve
    #: ``exponential``, ``hyperbolic``, ``weibull`` or ``replayed``.
    family: str
    #: Root mean square of the residuals, as a share of E(0).
    error: float
    #: Correlation of one residual with the next, from 0 to 0.95.
    phi: float


def fit_curve(x: Floats, values: Floats) -> CurveFit:
    """Fit recorded `values` of E at shares `x` of the work, both of shape (n,), n ≥ 2, `x` rising."""
    best = min(_families(x, values), key=lambda fit: fit.error)
    fall = 1.0 - float(best.curve.level(np.array(1.0)))
    return best if fall > 0 and best.error <= _TOO_FAR * fall else _replayed(x, values)


def _replayed(x: Floats, values: Floats) -> CurveFit:
    largest = float(np.max(np.abs(values))) or 1.0
    kept = np.concatenate([[True], np.diff(x) > 0]) & (x >= 0) & (x <= 1)
    points = zip(x[kept].tolist(), (values[kept] / largest).tolist(), strict=True)
    return CurveFit(Replayed(tuple(points)), "replayed", 0.0, 0.0)


def _families(x: Floats, values: Floats) -> Iterator[CurveFit]:
    yield _searched("exponential", Exponential, 0.05, 300.0, x, values)
    yield _searched("hyperbolic", Hyperbolic, 0.01, 5000.0, x, values)
    for shape in _SHAPES:
        yield _searched("weibull", partial(_weibull, shape), 1e-4, 10.0, x, values)


def _weibull(shape: float, scale: float, final: float) -> LossCurve:
    return Weibull(scale, shape, final)


def _searched(
    family: str, make: Callable[[float, float], LossCurve], low: float, high: float, x: Floats, values: Floats
) -> CurveFit:
    def cost(logarithm: float) -> float:
        return _line(make(exp(logarithm), 0.0).reduction(x), values)[2]

    # A grid first: far from its minimum the cost of a shape is flat.
    grid = np.linspace(log(low), log(high), 25).tolist()
    best = min(range(len(grid)), key=lambda i: cost(grid[i]))
    shape = exp(golden_section(cost, grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)], 40))
    level, fall, error = _line(make(shape, 0.0).reduction(x), values)
    start = level + fall
    if start <= 0 or fall <= 0:
        return CurveFit(make(shape, 1.0), family, float("inf"), 0.0)
    curve = make(shape, max(level / start, 0.0))
    return CurveFit(curve, family, error / start, _correlation(values / start - curve.level(x)))


def _line(reduction: Floats, values: Floats) -> tuple[float, float, float]:
    """a, b and the root mean square of values − a − b(1 − r)."""
    fallen = 1 - reduction
    spread = fallen - fallen.mean()
    fall = float(spread @ values / max(float(spread @ spread), 1e-300))
    level = float(values.mean() - fall * fallen.mean())
    return level, fall, float(np.sqrt(np.mean((values - level - fall * fallen) ** 2)))


def _correlation(left: Floats) -> float:
    whole = float(left @ left)
    return float(np.clip(left[1:] @ left[:-1] / whole, 0.0, 0.95)) if whole > 0 else 0.0
