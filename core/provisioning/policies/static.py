"""Constant allocations: a container's own peak (an oracle), its recorded limit, or the training set's p95."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from core.provisioning.advice import serializable
from core.provisioning.policy import Allocate, Need, Policy, PolicyKind, by_cycles, cold_start

if TYPE_CHECKING:
    from core.progress_reporting import Progress
    from core.provisioning.cycles import Cycle
    from core.provisioning.fleet import Demand, Floats
    from core.provisioning.policy import Fitted
    from core.settings_fields import NoSettings


def observed_peak(demand: Demand) -> Floats:
    """Each container's largest demand, for all of its samples, shape (n,)."""
    fleet = demand.fleet
    if not fleet.n_samples:
        return np.empty(0)
    return np.repeat(np.maximum.reduceat(demand.values, fleet.offsets[:-1]), fleet.lengths)


def recorded_limit(demand: Demand) -> Floats:
    """The recorded limit of each container at each sample, shape (n,); NaN where unknown."""
    return demand.values * np.nan if demand.limits is None else demand.limits


@serializable
@dataclass(frozen=True)
class Constant:
    """The same amount for every container and cycle; in a first cycle it is the cold-start value."""

    #: The length of a cycle, seconds.
    cycle: float
    amount: float

    def empty(self) -> None:
        """No memory is needed."""

    def decide(self, memory: None, ended: Cycle) -> tuple[None, float]:  # noqa: ARG002 - whatever it was
        """The amount."""
        return memory, self.amount


def _fit_peak(_training: Demand, _settings: NoSettings, _progress: Progress | None) -> Allocate:
    return observed_peak


def _fit_request(_training: Demand, _settings: NoSettings, _progress: Progress | None) -> Allocate:
    return recorded_limit


def _fit_p95(training: Demand, _settings: NoSettings, _progress: Progress | None) -> Fitted:
    return by_cycles(Constant(training.fleet.cycle, cold_start(training)))


STATIC_PEAK = Policy(
    "static.peak",
    PolicyKind.ORACLE,
    "The container’s own peak over its whole life, known beforehand.",
    _fit_peak,
    foresight=True,
    title="Oracle: the container’s own peak",
)
STATIC_REQUEST = Policy(
    "static.request",
    PolicyKind.STATIC,
    "The container’s recorded limit.",
    _fit_request,
    needs=frozenset({Need.LIMITS}),
    title="Fixed: recorded limit",
)
STATIC_P95 = Policy(
    "static.p95",
    PolicyKind.STATIC,
    "The 95th percentile of all training samples, for every container.",
    _fit_p95,
    title="Fixed: 95th percentile of training",
)
POLICIES = (STATIC_PEAK, STATIC_P95, STATIC_REQUEST)
