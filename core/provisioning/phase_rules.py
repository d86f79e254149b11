"""Mean + 2·sd of a phase, in the four ways of `phase.rule` and of its control with one phase.

``global`` takes the training samples of the phase, as published; ``container`` this container's own
samples so far in the phase; ``shrunk`` = (n·own + κ·global)/(n + κ), with n own samples; ``relative``
keeps training samples in units of the mean of their own cycle, and gives them back in units of the
cycle that just ended.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from core.provisioning.advice import CycleAdviser, serializable
from core.provisioning.cycles import Whole, means
from core.provisioning.phase_table import Own, own_moments, phase_moments
from core.provisioning.policy import Fitted
from core.settings_fields import setting

if TYPE_CHECKING:
    from core.provisioning.advice import Ended, Seen
    from core.provisioning.fleet import Demand, Fleet, Floats, Labels
    from core.provisioning.phase_table import PhaseMoments

STATISTICS = {
    "global": "Of all training samples in the phase (as published)",
    "container": "Of the container’s own samples in the phase",
    "shrunk": "Own samples, drawn towards all training samples",
    "relative": "In units of the container’s own recent level",
}
WIDTH = 2.0


@dataclass(frozen=True)
class RuleSettings:
    """What the rule of a phase is made from."""

    statistics: str = setting(
        "global", label="Statistics", choices=STATISTICS, help="Whose samples determine what a phase needs."
    )
    kappa: float = setting(
        20.0, label="Prior weight", low=0.0, high=1e6, unit="samples",
        help="How many own samples weigh as much as the training set; only for shrunk statistics.",
    )  # fmt: skip


def fit_rule(training: Demand, settings: RuleSettings, *, one_phase: bool = False) -> Fitted:
    """Learn the rule of every phase."""
    relative = settings.statistics == "relative"
    table = phase_moments(_in_units(training) if relative else training.values, _labels(training, one_phase))

    kappa = settings.kappa

    def allocate(demand: Demand) -> Floats:
        labels = _labels(demand, one_phase)
        pooled = _pooled(table, demand.fleet, labels)
        match settings.statistics:
            case "relative":
                chosen = pooled * means(demand.values, demand.fleet)[_before(demand.fleet)]
            case "container":
                chosen = _own(demand, labels)[1]
            case "shrunk":
                count, own = _own(demand, labels)
                chosen = (count * own + kappa * pooled) / (count + kappa)
            case _:
                chosen = pooled
        return demand.fleet.per_sample(np.where(demand.fleet.first, np.nan, chosen))

    by = PhaseRule(training.fleet.cycle, settings.statistics, kappa, table, one_phase)
    return Fitted(allocate, CycleAdviser(by))


@serializable
@dataclass(frozen=True)
class PhaseRule:
    """The rule of the phase of a cycle's last sample, for the cycle that follows."""

    #: The length of a cycle, seconds.
    cycle: float
    #: As in `fit_rule`.
    statistics: str
    kappa: float
    #: Of the training set.
    table: PhaseMoments
    one_phase: bool

    def nothing(self) -> dict[int, Own]:
        """No sample in any phase."""
        return {}

    def decide(self, kept: dict[int, Own], ended: Ended) -> tuple[dict[int, Own], float]:
        """Own samples by phase, and the rule of the last one's."""
        own = dict(kept)
        for each in ended.samples:
            phase = self._phase(each)
            own[phase] = own.get(phase, Own()).after(each.value)
        last = self._phase(ended.last)
        mean, sd = self.table.of(np.array([last], np.int16))
        pooled, count = float(mean[0] + WIDTH * sd[0]), float(own[last].size)
        if self.statistics == "relative":
            return own, pooled * float(means(ended.values, Whole(len(ended.samples)))[0])
        if self.statistics == "global":
            return own, pooled
        mine, apart = own[last].moments
        alone = mine + WIDTH * apart
        if self.statistics == "container":
            return own, alone
        return own, (count * alone + self.kappa * pooled) / (count + self.kappa)

    def _phase(self, seen: Seen) -> int:
        return 0 if self.one_phase else seen.phase


def _labels(demand: Demand, one_phase: bool) -> Labels:
    known = demand.fleet.labels
    return np.zeros(demand.fleet.n_samples, np.int16) if one_phase or known is None else known


def _before(fleet: Fleet) -> np.ndarray:
    return np.maximum(np.arange(fleet.n_cycles) - 1, 0)


def _pooled(table: PhaseMoments, fleet: Fleet, labels: Labels) -> Floats:
    """The training set's rule for the phase before each cycle, shape (n_cycles,)."""
    known = replace(fleet, labels=labels).last_phase
    if known is None or not len(known):
        return np.empty(0)
    mean, sd = table.of(known)
    return mean + WIDTH * sd


def _own(demand: Demand, labels: Labels) -> tuple[Floats, Floats]:
    own = own_moments(demand.values, demand.fleet, labels)
    return own.count, own.mean + WIDTH * own.sd


def _in_units(demand: Demand) -> Floats:
    """Demand in units of the mean of its own cycle, shape (n,); 1 where that is 0."""
    level = demand.fleet.per_sample(means(demand.values, demand.fleet))
    return np.divide(demand.values, level, out=np.ones(len(level)), where=level > 0)
