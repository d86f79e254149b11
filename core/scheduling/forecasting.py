"""Predictions about a job: its loss curve, its remaining work, its milestones and its time per step."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import combinations
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from core.scheduling.model import Job


Floats: TypeAlias = "NDArray[np.float64]"

MIN_VALUES = 4
"""The fewest printed values that a curve is fitted to."""
_SPEEDS = tuple(float(v) for v in np.geomspace(0.5, 60.0, 36))
_KAPPAS = tuple(float(v) for v in np.geomspace(1.0, 300.0, 24))
_TAUS = tuple(float(v) for v in np.geomspace(0.005, 0.6, 20))
_POWER = 0.7
_INDEPENDENT = 0.5
"""Independent values per printed value: the errors of neighbouring values are correlated."""

CurveProbabilities: TypeAlias = tuple[float, ...]
"""The probability of each curve of the grid; the sum is 1."""

_GRID = len(_SPEEDS) + len(_KAPPAS) + len(_TAUS)
PRIOR: CurveProbabilities = (1 / _GRID,) * _GRID
"""Before anything is printed, all curves of the grid are equally likely."""


# Loss curves: three families of curves, fitted to the printed values.
#
# With x the share of the steps, a loss follows E(x) = a - b*r(x), where r grows from 0 to 1 as an
# exponential, a hyperbola or a Weibull curve of unknown speed. For each speed of a fixed grid, a and b are a
# least-squares line in closed form, so a fit is one small matrix product. A loss that was never negative does
# not end below zero (a >= b); where the best line would, the best line that ends at zero is taken. Each curve
# says where a share of the reduction is reached, and the printed values say how likely each curve is.


@lru_cache(maxsize=16)
def shares_to_goals(goals: tuple[float, ...]) -> Floats:
    """Return the share of the steps at which each curve reaches each share of its loss reduction.

    Returns
    -------
    ndarray
        Shape (curves, goals).
    """
    return np.stack([_share_to_goal(goal) for goal in goals], axis=1)


def _share_to_goal(goal: float) -> Floats:
    exponential = [-math.log1p(-goal * -math.expm1(-v)) / v for v in _SPEEDS]
    hyperbolic = [goal / (1 + k * (1 - goal)) for k in _KAPPAS]
    weibull = [t * (-math.log1p(-goal * -math.expm1(-((1 / t) ** _POWER)))) ** (1 / _POWER) for t in _TAUS]
    return np.array([*exponential, *hyperbolic, *weibull])


def _curves(x: Floats) -> Floats:
    """Return r(x) of every curve of the grid, shape (curves, values)."""
    speeds, kappas, taus = (np.array(each)[:, None] for each in (_SPEEDS, _KAPPAS, _TAUS))
    return np.concatenate(
        [
            -np.expm1(-speeds * x) / -np.expm1(-speeds),
            x * (1 + kappas) / (1 + kappas * x),
            -np.expm1(-((x / taus) ** _POWER)) / -np.expm1(-((1 / taus) ** _POWER)),
        ]
    )


def curve_probabilities(values: Sequence[float], progress: float) -> CurveProbabilities | None:
    """Return the probability of each curve, given the printed values; None for a rising loss."""
    n = len(values)
    if n < MIN_VALUES:
        return PRIOR
    x: Floats = np.linspace(progress / n, progress, n)
    curves = _curves(x)
    losses = np.asarray(values, dtype=float)
    centred = curves - curves.mean(axis=1, keepdims=True)
    spread = np.maximum(np.einsum("kn,kn->k", centred, centred), 1e-12)
    drop = -(centred @ (losses - losses.mean())) / spread
    whole = losses - losses.mean()
    squared_errors = whole @ whole - drop**2 * spread
    if losses.min() >= 0:
        below = losses.mean() < drop * (1 - curves.mean(axis=1))
        squared_errors = np.where(below, _squared_errors_to_zero(curves, losses), squared_errors)
    squared_errors = np.where(drop > 0, np.maximum(squared_errors, 1e-9 * (whole @ whole)), np.inf)
    smallest = float(squared_errors.min())
    if not math.isfinite(smallest) or smallest <= 0:
        return None
    weights = (smallest / squared_errors) ** (n * _INDEPENDENT / 2)
    return tuple((weights / weights.sum()).tolist())


def _squared_errors_to_zero(curves: Floats, losses: Floats) -> Floats:
    """Return each curve's sum of squared errors, shape (curves,), with its end fixed at zero."""
    remaining = 1 - curves
    spread = np.maximum(np.einsum("kn,kn->k", remaining, remaining), 1e-12)
    squared_errors: Floats = losses @ losses - (remaining @ losses) ** 2 / spread
    return squared_errors


Milestones: TypeAlias = "Sequence[tuple[float, float]]"
"""The milestones of a job: core-seconds to each, ascending and above zero, and the worth of reaching it."""


# The order of jobs with several milestones: the best prefix first.
#
# On one machine let every job be a chain of tasks, to its first milestone, from there to its second, and so
# on, with worth w_i for milestone i. The order that minimises the sum of w_i times the time at which it is
# reached always serves the job with the largest ratio
#
# max over k of (w_1 + … + w_k) / (work to milestone k)
#
# up to that milestone (Horn 1972; Sidney 1975; with one milestone it is Smith's rule of 1956, weight over
# work). The tasks served in one go form a block; the ratios of a chain's blocks fall.


def best_prefix(works: Floats, worths: Floats) -> float:
    """Return the largest ratio of worth to work over the prefixes of a chain."""
    order = np.argsort(works)
    return float((np.cumsum(worths[order]) / works[order]).max())


def merge_into_blocks(milestones: Milestones) -> list[tuple[float, float]]:
    """Merge a chain into blocks: the ratio of each, falling, and the work to its last milestone."""
    blocks: list[tuple[float, float, float]] = []  # work and worth of a block, and the work to its end
    before = 0.0
    for end, at_end in milestones:
        work, worth, before = end - before, at_end, end
        while blocks and worth * blocks[-1][0] >= blocks[-1][1] * work:
            earlier = blocks.pop()
            work, worth = work + earlier[0], worth + earlier[1]
        blocks.append((work, worth, end))
    return [(worth / work, end) for work, worth, end in blocks]


SETTLE_SECONDS = 5.0
"""Seconds with unchanged cores after which a measured time per step counts for them."""
_N_PARTS = 3
_TOLERANCE = 1e-12
"""Errors closer than this are equal; the curve with fewer terms is taken."""


# Seconds per training step with c cores, t(c) = a + b/c + d·c, fitted to measurements.
#
# a does not depend on the cores, b is shared by the cores, d is the cost of each core (docs/simulator.md);
# none is negative. One measurement determines b, two determine a and b.


@dataclass(frozen=True, slots=True)
class StepTime:
    """The time per step of one job as a curve."""

    #: a, b and d, in seconds and core-seconds; ≥ 0.
    fixed: float
    parallel: float
    overhead: float = 0.0

    def seconds(self, cores: float) -> float:
        """Seconds per step on `cores` > 0."""
        return self.fixed + self.parallel / cores + self.overhead * cores

    def gain(self, cores: float, more: float) -> float:
        """Return the share of a step's time that `more` cores save; negative where they cost time."""
        return 1.0 - self.seconds(cores + more) / self.seconds(cores)


@dataclass(frozen=True, slots=True)
class MeasuredTime:
    """The time per step between measurements: the speed is linear between two numbers of cores."""

    #: (cores, seconds per step) by rising cores, each above zero. With fewer cores than the first the speed
    #: is in proportion, with more than the last it is that of the last.
    points: tuple[tuple[float, float], ...]

    def seconds(self, cores: float) -> float:
        """Seconds per step on `cores` > 0."""
        measured = [0.0, *(at for at, _ in self.points)]
        return 1.0 / float(np.interp(cores, measured, [0.0, *(1.0 / each for _, each in self.points)]))


def fit_step_time(measured: Sequence[tuple[float, float]]) -> StepTime:
    """Fit the curve with the least squared relative error.

    It is the best of the least-squares fits in which some terms are zero and none is negative: with three
    terms those are few, and one of them is the constrained optimum (Lawson and Hanson 1974, ch. 23).
    """
    cores, seconds = np.array(measured, float).T
    rows = np.column_stack([np.ones_like(cores), 1.0 / cores, cores]) / seconds[:, None]
    best, smallest_error = np.array([0.0, 1.0, 0.0]), np.inf
    different = len(np.unique(cores))
    for parts in _part_choices(min(different, _N_PARTS)):
        solution = np.linalg.lstsq(rows[:, parts], np.ones(len(cores)), rcond=None)[0]
        if (solution < 0).any() or not solution.any():
            continue
        coefficients = np.zeros(_N_PARTS)
        coefficients[list(parts)] = solution
        error = float(((rows @ coefficients - 1.0) ** 2).sum())
        if error < smallest_error - _TOLERANCE:
            best, smallest_error = coefficients, error
    return StepTime(*best.tolist())


def _part_choices(max_terms: int) -> list[list[int]]:
    """List the terms that may be above zero, simplest first: b alone, b with others, others alone."""
    choices = [
        list(parts) for size in range(1, max_terms + 1) for parts in combinations(range(_N_PARTS), size)
    ]
    return sorted(choices, key=lambda parts: (len(parts), 1 not in parts, parts)) if max_terms > 1 else [[1]]


GOALS = (0.9, 0.95, 0.99)
"""The milestones: shares of the whole loss reduction, in the order in which they are reached."""
_MIN_STEPS = 2
_MIN_SHARE_LEFT = 0.01
_REFIT_GROWTH = 1.25
_MIN_INTERVAL = 0.5


# The remaining work of a job: to its end and to its milestones.
#
# The printed steps and the core-seconds used so far give the remaining work; the printed losses say where
# most of the reduction is made.


@dataclass(frozen=True, slots=True)
class JobHistory:
    """The state of one job between observations."""

    #: All printed values.
    values: tuple[float, ...] = ()
    #: How many of them the curves were fitted to.
    n_fitted: int = 0
    #: The probability of each curve of the grid; None if the loss does not fall.
    curves: CurveProbabilities | None = PRIOR
    #: The most cores that it used.
    max_cores: float = 0.0
    #: The time of its last observation, and its usage counter then.
    time: float = 0.0
    cpu_seconds: float | None = 0.0
    #: How often a migration was requested.
    moves: int = 0


@dataclass(frozen=True, slots=True)
class RemainingWork:
    """The remaining work of a job."""

    #: Core-seconds in total, and to its end.
    total: float
    to_end: float
    #: The share of its steps that is done.
    done: float
    #: As in `JobHistory`.
    curves: CurveProbabilities | None

    def milestones_ahead(self) -> tuple[Floats, Floats]:
        """Return the core-seconds to each possible place of each milestone, and its probability there.

        Returns
        -------
        (ndarray, ndarray)
            Each of shape (curves, goals); places that lie behind have a chance of 0.
        """
        places = shares_to_goals(GOALS)
        curves = np.zeros(len(places)) if self.curves is None else np.array(self.curves)
        chance = np.where(places > self.done, curves[:, None], 0.0)
        return np.maximum(places - self.done, _MIN_SHARE_LEFT) * self.total, chance


def update_history(history: JobHistory, job: Job, now: float) -> JobHistory:
    """Add an observation of a job; its curves are refitted once it has printed a quarter more values."""
    passed, fastest = now - history.time, history.max_cores
    if passed >= _MIN_INTERVAL and job.cpu_seconds is not None and history.cpu_seconds is not None:
        fastest = max(fastest, (job.cpu_seconds - history.cpu_seconds) / passed)
    values = history.values + tuple(value for _, value in job.readings)
    curves, fitted = history.curves, history.n_fitted
    if len(values) >= max(_REFIT_GROWTH * fitted, fitted + 4) and job.total_steps and job.steps:
        curves, fitted = curve_probabilities(values, min(job.steps / job.total_steps, 1.0)), len(values)
    return replace(
        history,
        values=values,
        n_fitted=fitted,
        curves=curves,
        max_cores=fastest,
        time=now,
        cpu_seconds=job.cpu_seconds,
    )


def estimate_remaining(job: Job, history: JobHistory) -> RemainingWork | None:
    """Estimate the remaining work of a job; None while it is unknown."""
    if not job.total_steps or (job.steps or 0) < _MIN_STEPS or not job.cpu_seconds:
        return None
    progress = min(((job.steps or 0) + 0.5) / job.total_steps, 1.0)
    total = job.cpu_seconds / progress
    return RemainingWork(total, max(1 - progress, _MIN_SHARE_LEFT) * total, progress, history.curves)
