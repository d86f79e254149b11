"""Policies that decide once a rescaling cycle, and the statistics of one cycle that they are made of.

Such a policy is written once, as a `CyclePolicy`: what it remembers of a container, and the amount for the
cycle that begins. A running container is steered by it sample by sample (`CycleAdviser`); recorded containers
get its fold over their cycles (`fold_cycles`).

Statistics are taken of differences from a cycle's first value, so that a cycle of one constant has exactly
that mean and no deviation, and a rounding error never looks like a violation.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise
from math import nan, sqrt
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from core.provisioning.advice import cycle_number, serializable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from core.provisioning.advice import Sample
    from core.provisioning.fleet import Demand, Floats, Labels


class Cycle(NamedTuple):
    """A rescaling cycle of one container that has ended."""

    #: The demand of its samples, shape (n,); at least one.
    values: Floats
    #: Their times, seconds, shape (n,).
    times: Floats
    #: Their phases, −1 for warm-up or unknown, shape (n,).
    phases: Labels
    #: When the next cycle begins, seconds.
    until: float


class CyclePolicy(Protocol):
    """Decides once a cycle; its memory of a container is an immutable value."""

    @property
    def cycle(self) -> float:
        """The length of a cycle, seconds."""

    def empty(self) -> Any:
        """The memory of a container in its first cycle."""

    def decide(self, memory: Any, ended: Cycle) -> tuple[Any, float]:
        """The new memory, and the amount for the next cycle."""


def fold_cycles(policy: CyclePolicy, demand: Demand) -> Floats:
    """Allocations of a fleet, cycle after cycle, shape (n,); NaN in each container's first cycle.

    Parameters
    ----------
    policy
        Decides once a cycle.
    demand
        D of n samples.
    """
    fleet = demand.fleet
    phases = np.full(fleet.n_samples, -1, np.int16) if fleet.labels is None else fleet.labels
    starts, begins = fleet.starts.tolist(), fleet.time[fleet.starts].tolist()
    values, time, decide = demand.values, fleet.time, policy.decide
    amounts = [nan] * len(starts)
    for first, end in pairwise(fleet.cycle_offsets.tolist()):
        memory = policy.empty()
        for number in range(first + 1, end):
            a, b = starts[number - 1], starts[number]
            ended = Cycle(values[a:b], time[a:b], phases[a:b], begins[number])
            memory, amounts[number] = decide(memory, ended)
    return fleet.per_sample(np.array(amounts))


@dataclass(frozen=True, slots=True)
class CycleState:
    """The current cycle of a container, its samples and its allocation."""

    #: The time of its first sample, seconds.
    first_time: float
    #: The number of its cycle.
    number: int
    #: The samples of this cycle so far.
    samples: tuple[Sample, ...]
    #: What it has in this cycle.
    amount: float
    #: What the policy remembers of the cycles before.
    memory: Any


@serializable
@dataclass(frozen=True)
class CycleAdviser:
    """Advises a running container as a policy that decides once a cycle."""

    policy: CyclePolicy

    def begin(self, time: float) -> tuple[CycleState, float]:
        """An empty memory; no allocation in the first cycle."""
        return CycleState(time, 0, (), nan, self.policy.empty()), nan

    def advise(self, state: CycleState, last: Sample, time: float) -> tuple[CycleState, float]:
        """Keep to the amount until the next cycle begins."""
        samples = (*state.samples, last)
        number = cycle_number(time, state.first_time, self.policy.cycle)
        if number == state.number:
            return replace(state, samples=samples), state.amount
        ended = Cycle(
            np.array([each.value for each in samples]),
            np.array([each.time for each in samples]),
            np.array([each.phase for each in samples], np.int16),
            time,
        )
        memory, amount = self.policy.decide(state.memory, ended)
        return CycleState(state.first_time, number, (), amount, memory), amount


LEVEL = 0.95
WIDTH = 2.0

Statistic = Callable[["Floats"], float]
"""A number for the values of one cycle, such as `core.provisioning.cycles.maximum`."""


@serializable
def maximum(values: Floats) -> float:
    """The largest of the values."""
    return float(np.maximum.reduce(values))


def mean(values: Floats) -> float:
    """The mean of the values."""
    first = float(values[0])
    return first + float(np.add.reduce(values - first)) / len(values)


@serializable
def mean_plus_two_sd(values: Floats) -> float:
    """Mean + 2·sd of the values (population sd); AI4DL's "stat.rules"."""
    first, n = float(values[0]), len(values)
    deviations = values - first
    shift = float(np.add.reduce(deviations)) / n
    deviations -= shift
    return first + shift + WIDTH * sqrt(float(deviations @ deviations) / n)


@serializable
def p95(values: Floats) -> float:
    """The 95th percentile of the values, with linear interpolation."""
    ordered = np.sort(values)
    place = LEVEL * (len(ordered) - 1)
    below = int(place)
    low, high = float(ordered[below]), float(ordered[min(below + 1, len(ordered) - 1)])
    return min(low + (place - below) * (high - low), high)


def by_cycle(statistic: Statistic, demand: Demand) -> Floats:
    """A statistic of each cycle, shape (n_cycles,)."""
    return np.array([statistic(values) for values in _cycles(demand)])


def _cycles(demand: Demand) -> Iterator[Floats]:
    bounds = [*demand.fleet.starts.tolist(), demand.fleet.n_samples]
    return (demand.values[a:b] for a, b in pairwise(bounds))


@serializable
@dataclass(frozen=True)
class PreviousCycle:
    """A statistic of the cycle that just ended."""

    #: Of the values of a cycle.
    statistic: Statistic
    #: The length of a cycle, seconds.
    cycle: float

    def empty(self) -> None:
        """No memory is needed."""

    def decide(self, memory: None, ended: Cycle) -> tuple[None, float]:
        """The statistic of its values."""
        return memory, self.statistic(ended.values)
