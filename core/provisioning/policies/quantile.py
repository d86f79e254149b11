"""``quantile``: a high quantile of what a forest expects of the coming cycle, the same for all containers.

With F(·|x) the forest's distribution of demand over the coming cycle, given statistics x of the past
(`core.provisioning.recent`), A = level · min{g : F(g|x) ≥ q}. The level q is calibrated on training
containers, each predicted by a forest that never saw it, so that the wanted share of time is short.
The variants with phases and with codes add what the phase model says of the last sample before the
cycle, and nothing else: what they gain over the plain one is what phases are worth here.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import nan
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from core.provisioning.advice import cycle_number, serializable
from core.provisioning.demand_forecast import FEATURES, Outlook, at_cycles, learn
from core.provisioning.evaluation.metrics import tally, under_time_0
from core.provisioning.policy import Fitted, Need, Policy, PolicyKind
from core.provisioning.recent import Past
from core.settings_fields import setting

if TYPE_CHECKING:
    from collections.abc import Callable

    from core.progress_reporting import Progress
    from core.provisioning.advice import Sample
    from core.provisioning.demand_forecast import Forecaster, Shares
    from core.provisioning.fleet import Demand, Floats, Integers
    from core.provisioning.recent import Recent

_HALVINGS = 10


@dataclass(frozen=True)
class QuantileSettings:
    """The share of time that may fall short, and the features of the forecast."""

    under_time: float = setting(
        0.05, label="Time short", low=0.001, high=0.5, help="The share of time that may fall short."
    )
    features: str = setting(
        "none", label="Features", choices=FEATURES, help="What the forest looks at besides past demand."
    )
    seed: int = setting(0, label="Seed", low=0, high=2**31 - 1, help="Seeds the forest.")


def quantile_of(past: Recent, row: Integers, shares: Shares, grid: Floats, level: float) -> Floats:
    """The quantile of the coming demand where F is known, shape (n,); NaN elsewhere."""
    amount = np.full(len(row), np.nan)
    at = np.flatnonzero(row >= 0)
    amount[at] = amount_at(past.level[at], shares[row[at]], grid, level)
    return amount


def amount_at(recent: Any, shares: Shares, grid: Floats, level: float) -> Any:
    """The quantile of F, times the recent level: of one container, or of many along the first axis."""
    place = np.minimum((shares < np.float32(level)).sum(axis=-1), len(grid) - 1)
    return recent * grid[place] * (1.0 + 1e-9)


def giver(outlook: Outlook, level: float) -> Callable[[Demand, Recent, Integers, Shares], Floats]:
    """A function that allocates a quantile of the forecast at the start of each cycle."""

    def give(demand: Demand, past: Recent, row: Integers, shares: Shares) -> Floats:
        fleet = demand.fleet
        return fleet.per_sample(quantile_of(past, row, shares, outlook.forest.grid, level)[fleet.starts])

    return give


class QuantileState(NamedTuple):
    """State of a container: its past, its cycle and its allocation."""

    past: Past
    number: int = 0
    amount: float = nan


@serializable
@dataclass(frozen=True, eq=False)
class QuantileAdviser:
    """The quantile at the beginning of each cycle, for one container."""

    forecaster: Forecaster
    level: float

    def begin(self, time: float) -> tuple[QuantileState, float]:
        """An empty past; no allocation yet."""
        return QuantileState(Past(time)), nan

    def advise(self, state: QuantileState, last: Sample, time: float) -> tuple[QuantileState, float]:
        """Keep to the amount until the next cycle begins."""
        watch, forest = self.forecaster.watch, self.forecaster.forest
        past, level, row = watch.after(state.past, last, time)
        number, amount = cycle_number(time, past.first_time, watch.cycle), state.amount
        if number != state.number:
            shares = self.forecaster.shares(row, last)
            amount = float(amount_at(level, shares, forest.grid, self.level))
        return QuantileState(past, number, amount), amount


def calibrated_level(outlook: Outlook, under_time: float) -> float:
    """The least quantile level at which at most `under_time` of the calibration time is short."""
    low, high = 0.0, 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        allocation = outlook.calibrated(at_cycles, giver(outlook, middle))
        allocation = np.where(np.isfinite(allocation), allocation, outlook.start)
        short = float(under_time_0(tally(outlook.demand, allocation).pooled())[0])
        low, high = (middle, high) if short > under_time else (low, middle)
    return high


def _fit(training: Demand, settings: QuantileSettings, progress: Progress | None) -> Fitted:
    outlook = learn(training, 1.0, settings.features, settings.seed)
    if progress is not None:
        progress(0.8, "Calibrating")
    level = calibrated_level(outlook, settings.under_time)

    give = giver(outlook, level)
    adviser = QuantileAdviser(outlook.forecaster, level)
    return Fitted(lambda demand: outlook.by_parts(demand, at_cycles, give), adviser)


def _variant(features: str, name: str, title: str, about: str, needs: frozenset[Need]) -> Policy:
    return Policy(
        name, PolicyKind.LEARNED, about, _fit, QuantileSettings, needs,
        memorises=True, defaults={"features": features}, title=f"Learned: quantile forest{title}",
    )  # fmt: skip


POLICIES = (
    _variant("none", "quantile", "", "A quantile of what a forest expects of the coming cycle.", frozenset()),
    _variant(
        "phase",
        "quantile.phase",
        " with phases",
        "The same, where the forest also knows the last sample’s phase.",
        frozenset({Need.LABELS}),
    ),
    _variant(
        "code",
        "quantile.code",
        " with codes",
        "The same, where the forest also knows the last sample’s code.",
        frozenset({Need.CODES}),
    ),
)
