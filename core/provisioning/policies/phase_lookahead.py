"""``phase.lookahead``: what the phases to come will need, by their transition probabilities.

With P the transition matrix of phases per sample and i the phase just before a cycle of H samples, the
cycle's demand is taken from the mixture Σ_j w_j·F_j with w = (1/H)·Σ_{h=1…H} P^h(i→·) and F_j the
training samples in phase j. CPU gets a quantile of this mixture. Memory, whose shortage kills, gets the
largest such quantile of any phase that is reached at some step with a probability of at least 5%.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from core.provisioning.advice import serializable
from core.provisioning.fleet import Resource
from core.provisioning.phase_rules import place_of, places
from core.provisioning.policy import Need, Policy, PolicyKind, by_cycles
from core.settings_fields import setting

if TYPE_CHECKING:
    from core.progress_reporting import Progress
    from core.provisioning.cycles import Cycle
    from core.provisioning.fleet import Demand, Fleet, Floats, Integers
    from core.provisioning.policy import Fitted

_LONGEST = 1000


@dataclass(frozen=True)
class LookaheadSettings:
    """The quantile of demand, and the probability from which a phase counts."""

    level: float = setting(
        0.95, label="Level", low=0.5, high=1.0, help="The quantile of the demand to come that is allocated."
    )
    likely: float = setting(
        0.05, label="Likely", low=0.0, high=1.0,
        help="Memory is reserved for every phase that follows with at least this probability.",
    )  # fmt: skip


def transitions(fleet: Fleet, phase: Integers, n: int) -> Floats:
    """P(next sample's phase | this one's), shape (n, n), from pairs that no gap or end separates.

    Rows sum to 1; a phase that nothing was seen to follow is followed by itself.
    """
    joined = np.ones(len(phase), bool)
    joined[fleet.offsets[:-1]] = False
    joined[fleet.breaks] = False
    after = np.flatnonzero(joined)
    counts = np.bincount(phase[after - 1] * n + phase[after], minlength=n * n).reshape(n, n).astype(float)
    total = counts.sum(axis=1)
    counts[total == 0, :] = np.eye(n)[total == 0]
    return counts / np.where(total == 0, 1.0, total)[:, None]


def outlook(matrix: Floats, steps: int) -> tuple[Floats, Floats]:
    """The mean and the largest probability of each phase over the next `steps` samples, (n, n) each."""
    power, total, largest = np.eye(len(matrix)), np.zeros_like(matrix), np.zeros_like(matrix)
    for _ in range(steps):
        power = power @ matrix
        total += power
        largest = np.maximum(largest, power)
    return total / steps, largest


def mixture_quantiles(values: Floats, phase: Integers, weights: Floats, level: float) -> Floats:
    """For each row of weights the least value below which a share `level` of the mixture lies.

    Parameters
    ----------
    values, phase
        Training samples and their phases, shape (n,).
    weights
        Shape (rows, n_phases); a phase's weight is divided evenly over its samples.
    """
    order = np.argsort(values, kind="stable")
    ordered, phases = values[order], phase[order]
    sizes = np.bincount(phase, minlength=weights.shape[1])
    quantiles = np.empty(len(weights))
    for row, shares in enumerate(weights):
        each = np.divide(shares, sizes, out=np.zeros(len(sizes)), where=sizes > 0)
        mass = np.cumsum(each[phases])
        place = np.searchsorted(mass, level * mass[-1] * (1 - 1e-12))
        quantiles[row] = ordered[min(int(place), len(ordered) - 1)]
    return quantiles


def _fit(training: Demand, settings: LookaheadSettings, _progress: Progress | None) -> Fitted:
    fleet = training.fleet
    if fleet.labels is None:
        raise AssertionError("the port asks for labels")
    n = int(fleet.labels.max()) + 2
    phase = places(fleet.labels, n)
    steps = int(np.clip(round(fleet.cycle / fleet.period), 1, _LONGEST))
    mean, largest = outlook(transitions(fleet, phase, n), steps)
    occurs = np.bincount(phase, minlength=n) > 0
    if training.resource is Resource.MEMORY:
        level_of_phase = mixture_quantiles(training.values, phase, np.eye(n), settings.level)
        level = np.where((largest >= settings.likely) & occurs, level_of_phase, -np.inf).max(axis=1)
    else:
        level = mixture_quantiles(training.values, phase, mean, settings.level)
    level = np.append(np.where(occurs, level, np.nan), np.nan)

    return by_cycles(Lookahead(fleet.cycle, level))


@serializable
@dataclass(frozen=True, eq=False)
class Lookahead:
    """Allocates for the phases that follow the phase of a cycle's last sample."""

    #: The length of a cycle, seconds.
    cycle: float
    #: The amount after each phase (`core.provisioning.phase_rules.place_of`), shape (n_phases + 2,).
    level: Floats

    def empty(self) -> None:
        """No memory is needed."""

    def decide(self, memory: None, ended: Cycle) -> tuple[None, float]:
        """The amount after the last sample's phase."""
        return memory, float(self.level[place_of(int(ended.phases[-1]), len(self.level))])


PHASE_LOOKAHEAD = Policy(
    "phase.lookahead",
    PolicyKind.PUBLISHED,
    "A quantile of what the phases to come need, by their probabilities.",
    _fit,
    LookaheadSettings,
    needs=frozenset({Need.LABELS}),
    title="Phases: what the next ones need",
)
POLICIES = (PHASE_LOOKAHEAD,)
