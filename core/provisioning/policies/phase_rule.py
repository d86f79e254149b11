"""``phase.rule``, the policy of AI4DL, and its variants: mean + 2·sd of the phase just before the cycle."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.provisioning.phase_rules import STATISTICS, RuleSettings, fit_rule
from core.provisioning.policy import Need, Policy, PolicyKind

if TYPE_CHECKING:
    from core.progress_reporting import Progress
    from core.provisioning.fleet import Demand
    from core.provisioning.policy import Fitted

_ABOUT = {
    "global": "Mean + 2·sd of all training samples in the container’s phase, as published.",
    "container": "Mean + 2·sd of the container’s own samples in its phase.",
    "shrunk": "Mean + 2·sd of the phase: the container’s own samples, drawn towards the training set’s.",
    "relative": "Mean + 2·sd of the phase in units of the container’s own recent level.",
}


_TITLE = {
    "global": "Phases: mean + 2·sd, as published",
    "container": "Phases: its own mean + 2·sd",
    "shrunk": "Phases: own and training mean + 2·sd",
    "relative": "Phases: mean + 2·sd of recent level",
}


def _fit(training: Demand, settings: RuleSettings, _progress: Progress | None) -> Fitted:
    return fit_rule(training, settings)


def _variant(statistics: str) -> Policy:
    suffix = "" if statistics == "global" else f".{statistics}"
    return Policy(
        f"phase.rule{suffix}",
        PolicyKind.PUBLISHED,
        _ABOUT[statistics],
        _fit,
        RuleSettings,
        needs=frozenset({Need.LABELS}),
        defaults={"statistics": statistics},
        usual=statistics == "global",
        title=_TITLE[statistics],
    )


POLICIES = tuple(_variant(statistics) for statistics in STATISTICS)
