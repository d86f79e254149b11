"""How far a job's loss has to go: three families of curves fitted to the values that it has printed.

With x the share of its steps, a loss follows E(x) = a - b*r(x), where r grows from 0 to 1 as an
exponential, a hyperbola or a Weibull curve of unknown speed. For each speed of a fixed grid a and b are a
least-squares line in closed form, so that a fit is one small matrix product. A loss that was never negative
does not end below zero, a >= b: a fit that would is the best one that ends at zero. Each curve says where a
share of the reduction is reached, and the printed values say how likely each curve is.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

Floats: TypeAlias = "NDArray[np.float64]"

FEWEST = 4
"""Fewest printed values that a curve is fitted to."""
_SPEEDS = tuple(float(v) for v in np.geomspace(0.5, 60.0, 36))
_KAPPAS = tuple(float(v) for v in np.geomspace(1.0, 300.0, 24))
_TAUS = tuple(float(v) for v in np.geomspace(0.005, 0.6, 20))
_POWER = 0.7
_INDEPENDENT = 0.5
"""How many independent values one printed value counts for; the errors of neighbours are correlated."""

Chances: TypeAlias = tuple[float, ...]
"""How likely each curve of the grid is; they add up to 1."""

_GRID = len(_SPEEDS) + len(_KAPPAS) + len(_TAUS)
PRIOR: Chances = (1 / _GRID,) * _GRID
"""Before anything was printed every curve of the grid is as likely as any other."""


@lru_cache(maxsize=16)
def reached(goals: tuple[float, ...]) -> Floats:
    """Share of the steps at which each curve of the grid has made each share of its loss reduction.

    Returns
    -------
    ndarray
        Shape (curves, goals).
    """
    return np.stack([_reached(goal) for goal in goals], axis=1)


def _reached(goal: float) -> Floats:
    exponential = [-math.log1p(-goal * -math.expm1(-v)) / v for v in _SPEEDS]
    hyperbolic = [goal / (1 + k * (1 - goal)) for k in _KAPPAS]
    weibull = [t * (-math.log1p(-goal * -math.expm1(-((1 / t) ** _POWER)))) ** (1 / _POWER) for t in _TAUS]
    return np.array([*exponential, *hyperbolic, *weibull])


def _curves(x: Floats) -> Floats:
    """r(x) of every curve of the grid, shape (curves, values)."""
    speeds, kappas, taus = (np.array(each)[:, None] for each in (_SPEEDS, _KAPPAS, _TAUS))
    return np.concatenate(
        [
            -np.expm1(-speeds * x) / -np.expm1(-speeds),
            x * (1 + kappas) / (1 + kappas * x),
            -np.expm1(-((x / taus) ** _POWER)) / -np.expm1(-((1 / taus) ** _POWER)),
        ]
    )


def chances(values: Sequence[float], done: float) -> Chances | None:
    """How likely each curve of the grid is, given what a job has printed."""
    n = len(values)
    if n < FEWEST:
        return PRIOR
    x: Floats = np.linspace(done / n, done, n)
    curves = _curves(x)
    losses = np.asarray(values, dtype=float)
    centred = curves - curves.mean(axis=1, keepdims=True)
    spread = np.maximum(np.einsum("kn,kn->k", centred, centred), 1e-12)
    drop = -(centred @ (losses - losses.mean())) / spread
    whole = losses - losses.mean()
    missed = whole @ whole - drop**2 * spread
    if losses.min() >= 0:
        below = losses.mean() < drop * (1 - curves.mean(axis=1))
        missed = np.where(below, _missed_to_zero(curves, losses), missed)
    missed = np.where(drop > 0, np.maximum(missed, 1e-9 * (whole @ whole)), np.inf)
    least = float(missed.min())
    if not math.isfinite(least) or least <= 0:
        return None
    weights = (least / missed) ** (n * _INDEPENDENT / 2)
    return tuple((weights / weights.sum()).tolist())


def _missed_to_zero(curves: Floats, losses: Floats) -> Floats:
    """Sum of squares that each curve misses the losses by, shape (curves,), if it ends at zero."""
    left = 1 - curves
    spread = np.maximum(np.einsum("kn,kn->k", left, left), 1e-12)
    missed: Floats = losses @ losses - (left @ losses) ** 2 / spread
    return missed
