"""``…+conformal``: any policy, with its level adapted online to how often it falls short.

Scores are r = (D + δ)/(A + δ) of the wrapped policy on training containers; δ, 1% of the mean
training demand, bounds them where demand nears zero. A container begins at α = 5% and gets
A′ = Q(1 − α)·(A + δ) − δ with Q the quantile function of the scores; after each cycle
α ← α + γ·(5% − error), where error is the share of the cycle that fell short (Gibbs and Candès 2021,
equation 2). Cold starts are left as they are.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from math import nan
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from core.provisioning.advice import CycleClock, cycle_number, serializable
from core.provisioning.policy import Fitted, Policy, PolicyKind, fit_policy
from core.settings_fields import setting

if TYPE_CHECKING:
    from core.progress_reporting import Progress
    from core.provisioning.advice import Adviser, Sample
    from core.provisioning.fleet import Demand, Floats

SUFFIX = "+conformal"
_GRID = 512
_LOWEST, _HIGHEST = 0.0, 0.5
_MAX_SCORE = 10.0


@serializable
@dataclass(frozen=True)
class ConformalSettings:
    """The target of the level, and its learning rate."""

    target: float = setting(
        0.05, label="Target", low=0.001, high=0.5, help="The share of time that may fall short."
    )
    gamma: float = setting(
        0.05,
        label="Learning rate",
        symbol="γ",
        low=0.0,
        high=1.0,
        help="How far the level moves after each cycle.",
    )


def conformal(policy: Policy) -> Policy:
    """Wrap a policy so that its level adapts online; the result is not a plain or published rule."""
    kind = policy.kind if policy.kind.knows_future else PolicyKind.ADAPTIVE

    def fit(training: Demand, settings: ConformalSettings, progress: Progress | None) -> Fitted:
        return _fit(policy, training, settings, progress)

    return replace(
        policy,
        name=f"{policy.name}{SUFFIX}",
        kind=kind,
        about=f"{policy.about[:-1]}, its level adapted online to a share of time short.",
        title=f"{policy.title or policy.name}, adapted online",
        fit=fit,
        settings=ConformalSettings,
        defaults={},
        usual=False,
        wraps=policy,
    )


def _fit(policy: Policy, training: Demand, settings: ConformalSettings, progress: Progress | None) -> Fitted:
    base = fit_policy(policy, training, None, progress)
    floor = 0.01 * float(training.values.mean())
    warm = ~training.fleet.cold
    counted = warm if warm.any() else np.ones(len(warm), bool)
    learned = base(training)
    scores = (training.values[counted] + floor) / np.maximum(learned[counted] + floor, 1e-300)
    grid = np.linspace(0.0, 1.0, _GRID)
    level = Level(floor, settings, grid, np.minimum(np.quantile(scores, grid), _MAX_SCORE))
    adviser = None if base.adviser is None else Adapter(base.adviser, training.fleet.cycle, level)

    def allocate(demand: Demand) -> Floats:
        # an evaluation calibrates on the training containers, whose amounts are known by now
        return level.fold(demand, learned if demand is training else base(demand))

    return Fitted(allocate, adviser)


@serializable
@dataclass(frozen=True, eq=False)
class Level:
    """The scaling of the wrapped policy's amounts by a level α, and its update."""

    #: δ, in the demand's unit.
    floor: float
    settings: ConformalSettings
    #: Q: the quantiles of the scores at these shares, shape (_GRID,) each.
    shares: Floats
    scores: Floats

    def factor(self, alpha: float) -> float:
        """Q(1 − α)."""
        return float(np.interp(1.0 - alpha, self.shares, self.scores))

    def amount(self, wrapped: Any, factor: Any) -> Any:
        """A′ for amounts A of the wrapped policy."""
        return np.maximum(factor * (wrapped + self.floor) - self.floor, 0.0)

    def score(self, values: Any, wrapped: Any) -> Any:
        """R of demands D under amounts A; D exceeds A′ where it is above Q(1 − α)."""
        return (values + self.floor) / np.maximum(wrapped + self.floor, 1e-300)

    def after(self, alpha: float, error: float) -> float:
        """The next α, after a cycle that was short for a share `error` of its time."""
        moved = alpha + self.settings.gamma * (self.settings.target - error)
        return min(max(moved, _LOWEST), _HIGHEST)

    def fold(self, demand: Demand, wrapped: Floats) -> Floats:
        """A′ of each sample of a fleet, shape (n,), NaN in first cycles."""
        fleet, score = demand.fleet, self.score(demand.values, wrapped)
        starts, factors = [*fleet.starts.tolist(), fleet.n_samples], np.full(fleet.n_cycles, np.nan)
        for first, end in pairwise(fleet.cycle_offsets.tolist()):
            alpha = self.settings.target
            for number in range(first + 1, end):
                part = slice(starts[number], starts[number + 1])
                factors[number] = factor = self.factor(alpha)
                seconds = fleet.seconds[part]
                lasted = max(float(np.add.reduce(seconds)), 1e-300)
                alpha = self.after(alpha, float(seconds @ (score[part] > factor)) / lasted)
        return np.asarray(self.amount(wrapped, fleet.per_sample(factors)))


class AdaptedState(NamedTuple):
    """State of a container with an adapted level."""

    #: The wrapped policy's state, and its amount.
    inner: Any
    wrapped: float
    #: The time of its first sample, seconds.
    first_time: float
    #: Its level, and Q of it.
    alpha: float
    factor: float = 1.0
    #: Its cycle, and the under-allocation of that cycle.
    clock: CycleClock = CycleClock()


@serializable
@dataclass(frozen=True, eq=False)
class Adapter:
    """Adapts the level of a policy that advises a running container."""

    base: Adviser
    cycle: float
    level: Level

    def begin(self, time: float) -> tuple[AdaptedState, float]:
        """The wrapped policy's state; no allocation in the first cycle."""
        inner, wrapped = self.base.begin(time)
        return AdaptedState(inner, wrapped, time, self.level.settings.target), nan

    def advise(self, state: AdaptedState, last: Sample, time: float) -> tuple[AdaptedState, float]:
        """Adapt the level at the end of each cycle but the first."""
        is_short = float(self.level.score(last.value, state.wrapped)) > state.factor
        inner, wrapped = self.base.advise(state.inner, last, time)
        number = cycle_number(time, state.first_time, self.cycle)
        clock, alpha, factor = state.clock.after(number, last.seconds, is_short), state.alpha, state.factor
        if number != state.clock.number:
            if not state.clock.is_cold:
                alpha = self.level.after(alpha, clock.short / max(clock.lasted, 1e-300))
            factor = self.level.factor(alpha)
            clock = clock._replace(short=0.0, lasted=0.0)
        after = AdaptedState(inner, wrapped, state.first_time, alpha, factor, clock)
        return after, nan if clock.is_cold else float(self.level.amount(wrapped, factor))
