"""``…+conformal``: any policy, with its level adapted online to how often it falls short.

Scores are r = (D + δ)/(A + δ) of the wrapped policy on training containers; δ, 1% of the mean
training demand, bounds them where demand nears zero. A container begins at α = 5% and gets
A′ = Q(1 − α)·(A + δ) − δ with Q the quantile function of the scores; after each cycle
α ← α + γ·(5% − error), where error is the share of the cycle that fell short (Gibbs and Candès 2021,
equation 2). Cold starts are left as they are.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import nan
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from core.provisioning.advice import cycle_number, serializable
from core.provisioning.policy import Fitted, Policy, PolicyKind, fit_policy
from core.settings_fields import setting

if TYPE_CHECKING:
    from core.progress_reporting import Progress
    from core.provisioning.advice import Adviser, Seen
    from core.provisioning.fleet import Demand, Fleet, Floats, Integers

SUFFIX = "+conformal"
_GRID = 512
_LOWEST, _HIGHEST = 0.0, 0.5
_MOST = 10.0


@serializable
@dataclass(frozen=True)
class ConformalSettings:
    """How fast the level moves, and where to."""

    target: float = setting(
        0.05, label="Target", low=0.001, high=0.5, help="The share of time that may fall short."
    )
    gamma: float = setting(
        0.05, label="γ", low=0.0, high=1.0, help="How far the level moves after each cycle."
    )


def conformal(policy: Policy) -> Policy:
    """The same policy with its level adapted online; it is then no plain or published rule any more."""
    kind = policy.kind if policy.kind.knows_future else PolicyKind.ADAPTIVE

    def fit(training: Demand, settings: ConformalSettings, progress: Progress | None) -> Fitted:
        return _fit(policy, training, settings, progress)

    return replace(
        policy,
        name=f"{policy.name}{SUFFIX}",
        kind=kind,
        about=f"{policy.about[:-1]}, its level adapted online to a share of time short.",
        fit=fit,
        settings=ConformalSettings,
        defaults={},
        usual=False,
        constant=False,
        wraps=policy,
    )


def _fit(policy: Policy, training: Demand, settings: ConformalSettings, progress: Progress | None) -> Fitted:
    base = fit_policy(policy, training, None, progress)
    floor = 0.01 * float(training.values.mean())
    warm = ~training.fleet.cold
    counted = warm if warm.any() else np.ones(len(warm), bool)
    scores = (training.values[counted] + floor) / np.maximum(base(training)[counted] + floor, 1e-300)
    levels = np.linspace(0.0, 1.0, _GRID)
    curve = np.minimum(np.quantile(scores, levels), _MOST)

    def allocate(demand: Demand) -> Floats:
        wrapped = base(demand)
        factor = _adapt(demand, wrapped, floor, settings, levels, curve)
        adapted = np.maximum(demand.fleet.per_sample(factor) * (wrapped + floor) - floor, 0.0)
        return np.where(demand.fleet.cold, np.nan, adapted)

    adviser = None
    if base.adviser is not None:
        adviser = Adapter(base.adviser, training.fleet.cycle, floor, settings, levels, curve)
    return Fitted(allocate, adviser)


class Adapted(NamedTuple):
    """A container whose level is adapted."""

    #: The wrapped policy's state, and its amount.
    inner: Any
    wrapped: float
    #: When its first sample came, seconds.
    begun: float
    #: The cycle that it is in, and whether that is its first.
    number: int = 0
    cold: bool = True
    #: Its level, and what that makes of the wrapped amount in this cycle.
    alpha: float = 0.0
    factor: float = 1.0
    #: Seconds of this cycle: short, and all.
    short: float = 0.0
    lasted: float = 0.0


@serializable
@dataclass(frozen=True, eq=False)
class Adapter:
    """Adapts the level of a policy that advises; see `_fit` for what the rest is."""

    base: Adviser
    cycle: float
    floor: float
    settings: ConformalSettings
    levels: Floats
    curve: Floats

    def begin(self, time: float) -> tuple[Adapted, float]:
        """Cold."""
        inner, wrapped = self.base.begin(time)
        return Adapted(inner, wrapped, time, alpha=self.settings.target), nan

    def advise(self, state: Adapted, last: Seen, time: float) -> tuple[Adapted, float]:
        """Adapt the level at the end of each cycle but the first."""
        above = (last.value + self.floor) / max(state.wrapped + self.floor, 1e-300) > state.factor
        short, lasted = state.short + last.seconds * above, state.lasted + last.seconds
        inner, wrapped = self.base.advise(state.inner, last, time)
        number = cycle_number(time, state.begun, self.cycle)
        after = state._replace(inner=inner, wrapped=wrapped, number=number, short=short, lasted=lasted)
        if number != state.number:
            alpha = state.alpha
            if not state.cold:
                error = self.settings.target - short / max(lasted, 1e-300)
                alpha = min(max(alpha + self.settings.gamma * error, _LOWEST), _HIGHEST)
            factor = float(np.interp(1.0 - alpha, self.levels, self.curve))
            after = after._replace(cold=False, alpha=alpha, factor=factor, short=0.0, lasted=0.0)
        if after.cold:
            return after, nan
        return after, max(after.factor * (wrapped + self.floor) - self.floor, 0.0)


def _adapt(
    demand: Demand, wrapped: Floats, floor: float, settings: ConformalSettings, levels: Floats, curve: Floats
) -> Floats:
    """The factor of each cycle, shape (n_cycles,); all containers take their next cycle together."""
    fleet = demand.fleet
    score = (demand.values + floor) / np.maximum(wrapped + floor, 1e-300)
    alpha = np.full(fleet.n_containers, settings.target)
    factor = np.ones(fleet.n_cycles)
    per_container = np.diff(fleet.cycle_offsets)
    order = np.argsort(-per_container, kind="stable")
    for number in range(1, int(per_container.max(initial=0))):
        alive = order[: np.searchsorted(-per_container[order], -number, side="left")]
        cycle = fleet.cycle_offsets[alive] + number
        mine = np.interp(1.0 - alpha[alive], levels, curve)
        factor[cycle] = mine
        short = _share_above(fleet, score, cycle, mine)
        alpha[alive] = np.clip(alpha[alive] + settings.gamma * (settings.target - short), _LOWEST, _HIGHEST)
    return factor


def _share_above(fleet: Fleet, score: Floats, cycle: Integers, limit: Floats) -> Floats:
    """The share of each cycle's time in which its scores exceed its limit."""
    starts, sizes = fleet.starts[cycle], fleet.sizes[cycle]
    ends = np.cumsum(sizes)
    samples = np.repeat(starts - ends + sizes, sizes) + np.arange(int(sizes.sum()))
    owner = np.repeat(np.arange(len(cycle)), sizes)
    seconds = fleet.seconds[samples]
    short = np.bincount(owner, seconds * (score[samples] > limit[owner]), minlength=len(cycle))
    return short / np.maximum(np.bincount(owner, seconds, minlength=len(cycle)), 1e-300)
