"""``risk.budget``: one price on violations for the fleet, instead of the same quantile for all containers.

At each cycle the allocation minimises E[(A − D)⁺] + λ·P(D > A) over the forest's distribution of the coming
cycle's demand. λ is the same for all containers and is fitted on training containers, each predicted by
a forest that never saw it, so that the fleet is short for the wanted share of time. Where a little time
short saves much, it is bought; where it saves little, it is not. A container's own past
raises or lowers what it pays (`core.provisioning.violation_price`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from core.provisioning.demand_forecast import FEATURES, at_cycles, learn
from core.provisioning.policy import Fitted, Policy, PolicyKind
from core.provisioning.violation_price import Payer, Prices, fitted_price, follow
from core.settings_fields import setting

if TYPE_CHECKING:
    from collections.abc import Callable

    from core.progress_reporting import Progress
    from core.provisioning.demand_forecast import Shares
    from core.provisioning.fleet import Demand, Floats, Integers
    from core.provisioning.recent import Recent


@dataclass(frozen=True)
class RiskSettings:
    """The share of time that the fleet, and a single container, may fall short."""

    under_time: float = setting(
        0.05,
        label="Time short",
        low=0.001,
        high=0.5,
        help="The share of the fleet’s time that may fall short.",
    )
    cap: float = setting(
        2.0, label="Cap", low=0.5, high=1000.0,
        help="A container short for more than so many times the fleet’s share pays steeply more for it.",
    )  # fmt: skip
    features: str = setting(
        "none", label="Features", choices=FEATURES, help="What the forest looks at besides past demand."
    )
    seed: int = setting(0, label="Seed", low=0, high=2**31 - 1, help="Seeds the forest.")


def _fit(training: Demand, settings: RiskSettings, progress: Progress | None) -> Fitted:
    outlook = learn(training, 1.0, settings.features, settings.seed)
    if progress is not None:
        progress(0.8, "Finding the price of a violation")
    plain = Prices(0.0, 0.0, settings.cap * settings.under_time, settings.under_time, outlook.start)

    def giver(violation: float) -> Callable[[Demand, Recent, Integers, Shares], Floats]:
        prices = replace(plain, violation=violation)

        def give(demand: Demand, past: Recent, row: Integers, shares: Shares) -> Floats:
            return follow(demand, past.level, row, shares, outlook.forest.grid, prices)

        return give

    violation = fitted_price(
        outlook.demand,
        settings.under_time,
        lambda price: outlook.calibrated(at_cycles, giver(price)),
        outlook.unit,
    )
    adviser = Payer(outlook.forecaster, replace(plain, violation=violation), "cycles")
    return Fitted(lambda demand: outlook.by_parts(demand, at_cycles, giver(violation)), adviser)


RISK_BUDGET = Policy(
    "risk.budget",
    PolicyKind.LEARNED,
    "What costs least when time short has one price for the whole fleet.",
    _fit,
    RiskSettings,
    memorises=True,
    title="Learned: one price for time short",
)
POLICIES = (RISK_BUDGET,)
