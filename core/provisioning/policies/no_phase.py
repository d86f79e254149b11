"""The control: ``phase.rule`` and its variants where all samples are in one phase.

A policy with phases is worth its name only where it beats this.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.provisioning.phase_rules import STATISTICS, RuleSettings, fit_rule
from core.provisioning.policy import Policy, PolicyKind

if TYPE_CHECKING:
    from core.progress_reporting import Progress
    from core.provisioning.fleet import Demand
    from core.provisioning.policy import Fitted

_ABOUT = {
    "global": "The control: mean + 2·sd of all training samples, whatever the phase.",
    "container": "The control: mean + 2·sd of all the container’s own samples so far.",
    "shrunk": "The control: the container’s own mean + 2·sd so far, drawn towards the training set’s.",
    "relative": "The control: mean + 2·sd in units of the container’s own recent level.",
}


_TITLE = {
    "global": "Control: mean + 2·sd, one phase",
    "container": "Control: its own mean + 2·sd, one phase",
    "shrunk": "Control: own and training mean + 2·sd",
    "relative": "Control: mean + 2·sd of recent level",
}


def _fit(training: Demand, settings: RuleSettings, _progress: Progress | None) -> Fitted:
    return fit_rule(training, settings, one_phase=True)


def _variant(statistics: str) -> Policy:
    suffix = "" if statistics == "global" else f".{statistics}"
    return Policy(
        f"no.phase{suffix}",
        PolicyKind.CONTROL,
        _ABOUT[statistics],
        _fit,
        RuleSettings,
        defaults={"statistics": statistics},
        title=_TITLE[statistics],
    )


POLICIES = tuple(_variant(statistics) for statistics in STATISTICS)
