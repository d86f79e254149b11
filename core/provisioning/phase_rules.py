"""Mean + 2·sd of a phase, in the four ways of `phase.rule` and of its control with one phase.

``global`` takes the training samples of the phase, as published; ``container`` this container's own
samples so far in the phase; ``shrunk`` = (n·own + κ·global)/(n + κ), with n own samples; ``relative``
keeps training samples in units of the mean of their own cycle, and gives them back in units of the
cycle that just ended. Warm-up is a phase like the others here.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import repeat
from math import sqrt
from typing import TYPE_CHECKING

import numpy as np

from core.provisioning.advice import serializable
from core.provisioning.cycles import WIDTH, by_cycle, mean
from core.provisioning.policy import by_cycles
from core.settings_fields import setting

if TYPE_CHECKING:
    from core.provisioning.cycles import Cycle
    from core.provisioning.fleet import Demand, Floats, Integers, Labels
    from core.provisioning.policy import Fitted

STATISTICS = {
    "global": "Of all training samples in the phase (as published)",
    "container": "Of the container’s own samples in the phase",
    "shrunk": "Own samples, drawn towards all training samples",
    "relative": "In units of the container’s own recent level",
}


@dataclass(frozen=True)
class RuleSettings:
    """The statistics that the rule of a phase uses."""

    statistics: str = setting(
        "global", label="Statistics", choices=STATISTICS, help="Whose samples determine what a phase needs."
    )
    kappa: float = setting(
        20.0, label="Prior weight", low=0.0, high=1e6, unit="samples",
        help="How many own samples weigh as much as the training set; only for shrunk statistics.",
    )  # fmt: skip


def fit_rule(training: Demand, settings: RuleSettings, *, one_phase: bool = False) -> Fitted:
    """Learn the rule of every phase."""
    labels = training.fleet.labels
    if one_phase or labels is None:
        labels = np.zeros(training.fleet.n_samples, np.int16)
    values = _in_units(training) if settings.statistics == "relative" else training.values
    pooled = pooled_rules(values, labels)
    return by_cycles(
        PhaseRule(training.fleet.cycle, settings.statistics, settings.kappa, pooled, one_phase=one_phase)
    )


def places(phase: Labels, size: int) -> Integers:
    """The index of phases in tables: warm-up at 0, phase p at p + 1, unknown ones at the end."""
    place = phase.astype(np.int64) + 1
    return np.where(place < size, place, size)


def place_of(phase: int, size: int) -> int:
    """The index of a phase in a table of `size` entries; the last entry is for unknown phases."""
    return min(phase + 1, size - 1)


def pooled_rules(values: Floats, labels: Labels) -> Floats:
    """Mean + 2·sd of the training samples of each phase, shape (n_phases + 2,) as `place_of` counts.

    A phase without training samples, and one that training does not know, has the rule of all samples.
    """
    n = int(labels.max(initial=-1)) + 2
    place = labels.astype(np.int64) + 1
    size = np.bincount(place, minlength=n)
    total = np.bincount(place, values, minlength=n)
    average = np.divide(total, size, out=np.zeros(n), where=size > 0)
    low, high = np.full(n, np.inf), np.full(n, -np.inf)
    np.minimum.at(low, place, values)
    np.maximum.at(high, place, values)
    average = np.where(size > 0, np.clip(average, low, high), values.mean())
    squares = np.bincount(place, (values - average[place]) ** 2, minlength=n)
    sd = np.sqrt(np.divide(squares, size, out=np.full(n, values.var()), where=size > 0))
    return np.append(average, values.mean()) + WIDTH * np.append(sd, values.std())


OwnSums = dict[int, tuple[int, float, float, float]]
"""A container's own samples so far by phase: how many, the first one's value, and the sums of differences
from that and of their squares. Sums of differences give a constant demand exactly its own mean."""


def with_samples(before: OwnSums, values: Floats, phases: Labels | None) -> OwnSums:
    """Add samples to the sums by phase; without phases all samples are of phase 0."""
    sums, labels = dict(before), repeat(0) if phases is None else phases.tolist()
    for value, phase in zip(values.tolist(), labels, strict=False):
        size, origin, total, squares = sums.get(phase, (0, value, 0.0, 0.0))
        deviation = value - origin
        sums[phase] = (size + 1, origin, total + deviation, squares + deviation * deviation)
    return sums


def own_rule(size: int, origin: float, total: float, squares: float) -> float:
    """Mean + 2·sd (population sd) of the samples with these sums."""
    shift = total / size
    return origin + shift + WIDTH * sqrt(max(squares / size - shift * shift, 0.0))


@serializable
@dataclass(frozen=True, eq=False)
class PhaseRule:
    """The rule of the phase of a cycle's last sample, for the cycle that follows."""

    #: The length of a cycle, seconds.
    cycle: float
    #: As in `RuleSettings`.
    statistics: str
    kappa: float
    #: The rules of the training set (`pooled_rules`).
    pooled: Floats
    #: Whether all samples count as one phase.
    one_phase: bool

    def empty(self) -> OwnSums:
        """No sample in any phase."""
        return {}

    def decide(self, memory: OwnSums, ended: Cycle) -> tuple[OwnSums, float]:
        """Own samples by phase, and the rule of the last one's."""
        last = 0 if self.one_phase else int(ended.phases[-1])
        pooled = float(self.pooled[place_of(last, len(self.pooled))])
        if self.statistics == "global":
            return memory, pooled
        if self.statistics == "relative":
            return memory, pooled * mean(ended.values)
        sums = with_samples(memory, ended.values, None if self.one_phase else ended.phases)
        own, count = own_rule(*sums[last]), sums[last][0]
        if self.statistics == "container":
            return sums, own
        return sums, (count * own + self.kappa * pooled) / (count + self.kappa)


def _in_units(demand: Demand) -> Floats:
    """Demand in units of the mean of its own cycle, shape (n,); 1 where that is 0."""
    level = demand.fleet.per_sample(by_cycle(mean, demand))
    return np.divide(demand.values, level, out=np.ones(len(level)), where=level > 0)
