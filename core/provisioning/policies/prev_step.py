"""The reactive rules: a statistic of the cycle that just ended (AI4DL's "prev.step", and its p95)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.provisioning.cycles import PreviousCycle, maximum, mean_plus_two_sd, p95
from core.provisioning.policy import Policy, PolicyKind, by_cycles

if TYPE_CHECKING:
    from core.progress_reporting import Progress
    from core.provisioning.cycles import Statistic
    from core.provisioning.fleet import Demand
    from core.provisioning.policy import Fitted
    from core.settings_fields import NoSettings


def _reactive(name: str, title: str, about: str, statistic: Statistic) -> Policy:
    def fit(training: Demand, _settings: NoSettings, _progress: Progress | None) -> Fitted:
        return by_cycles(PreviousCycle(statistic, training.fleet.cycle))

    return Policy(
        name, PolicyKind.REACTIVE, about, fit, usual=True, title=f"Reactive: last interval’s {title}"
    )


PREV_STEP_MAX = _reactive("prev.step.max", "maximum", "The maximum of the cycle that just ended.", maximum)
PREV_STEP_RULES = _reactive(
    "prev.step.rules", "mean + 2·sd", "Mean + 2·sd of the cycle that just ended.", mean_plus_two_sd
)
PREV_STEP_P95 = _reactive(
    "prev.step.p95", "95th percentile", "The 95th percentile of the cycle that just ended.", p95
)
POLICIES = (PREV_STEP_MAX, PREV_STEP_RULES, PREV_STEP_P95)
