"""``event``: resize when demand exceeds the allocation, or after sustained slack, instead of by a clock.

The target of a resize is m·Q, with Q a quantile of a short window of the container's own past. A container
may be resized at most as many times as it has begun cycles; growing may borrow one resize from the next
cycle. Until its first resize, which may come inside the first cycle, it has the cold-start value.

The parameters are searched on the training containers: combinations drawn from a table, for each the margin m
at which the wanted share of time is short, and of these the one with the smallest over-allocation.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product
from math import ceil, nan
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from core.phases.kernels.compiling import exact, inlined
from core.provisioning.advice import cycle_number, serializable
from core.provisioning.demand_forecast import sample_of
from core.provisioning.evaluation.metrics import over, resizes_per_cycle, tally, under_time_0
from core.provisioning.policy import Fitted, Policy, PolicyKind, cold_start
from core.settings_fields import setting

if TYPE_CHECKING:
    from core.progress_reporting import Progress
    from core.provisioning.advice import Sample
    from core.provisioning.fleet import Demand, Floats, Integers


@serializable
@dataclass(frozen=True)
class Rule:
    """When to act and to what."""

    #: The length of the window in cycles.
    window: float
    #: Its quantile Q, between 0 and 1.
    level: float
    #: m.
    margin: float
    #: How long demand must have exceeded the allocation before it grows, in cycles; 0 is one sample.
    confirm: float
    #: The allocation shrinks if the target is below (1 − slack) of it …
    slack: float
    #: … for so long, in cycles.
    patience: float
    #: Resizes that are reserved for growing.
    reserve: int


def window_quantile(demand: Demand, window: float, level: float) -> Floats:
    """The quantile of each sample's past window; NaN where there is no past, shape (n,)."""
    fleet = demand.fleet
    quantiles = np.full(fleet.n_samples, np.nan)
    if fleet.n_samples:
        slide(demand.values, fleet.time, fleet.offsets, window, level, int(fleet.lengths.max()), quantiles)
    return quantiles


def act(demand: Demand, quantile: Floats, rule: Rule, start: float) -> Floats:
    """Allocations by a rule, shape (n,), from the `window_quantile` of the rule's window."""
    fleet = demand.fleet
    begins = np.zeros(fleet.n_samples, bool)
    begins[fleet.starts] = True
    allocations = np.empty(fleet.n_samples)
    waits = (rule.confirm * fleet.cycle, rule.patience * fleet.cycle, rule.slack, rule.reserve)
    samples = (demand.values, fleet.seconds, fleet.offsets, begins)
    trigger(samples, rule.margin * quantile, waits, start, allocations)
    return allocations


class EventState(NamedTuple):
    """State of a container that is resized on events."""

    #: The time of its first sample, seconds.
    first_time: float
    #: What it has.
    allocation: float
    #: Values and times of the window's samples, the last one last.
    values: tuple[float, ...] = ()
    times: tuple[float, ...] = ()
    #: How many resizes remain.
    resizes: int = 1
    #: For how many seconds demand has exceeded its allocation, and the target undercut it.
    above: float = 0.0
    below: float = 0.0
    #: The number of its cycle, and whether it is its first.
    number: int = 0
    cold: bool = True


@serializable
@dataclass(frozen=True)
class OnEvents:
    """Acts on events for one container."""

    #: When, and to what.
    rule: Rule
    #: The length of a cycle, seconds.
    cycle: float
    #: What a container has at first.
    start: float
    #: Whether nothing is done in its first cycle.
    waits: bool

    def begin(self, time: float) -> tuple[EventState, float]:
        """The start allocation."""
        return EventState(time, self.start), self.start

    def advise(self, state: EventState, last: Sample, time: float) -> tuple[EventState, float]:
        """Resize it if something happened."""
        rule, cycle = self.rule, self.cycle
        number = cycle_number(time, state.first_time, cycle)
        resizes, cold = state.resizes + (number != state.number), state.cold and number == state.number
        values, times = (*state.values, last.value), (*state.times, last.time)
        oldest = 0
        while oldest < len(times) - 1 and time - times[oldest] > rule.window * cycle * (1.0 + 1e-9):
            oldest += 1
        values, times = values[oldest:], times[oldest:]
        level = sorted(values)[ceil(rule.level * (len(values) - 1))]
        target = nan if cold and self.waits else rule.margin * level
        waits = (rule.confirm * cycle, rule.patience * cycle, rule.slack, rule.reserve)
        now = (state.allocation, resizes, state.above, state.below)
        allocation, resizes, above, below = triggered(now, last.value, last.seconds, target, waits)
        return EventState(
            state.first_time, allocation, values, times, resizes, above, below, number, cold
        ), allocation


# The kernels below do for whole fleets what `OnEvents` does sample by sample. `act` runs up to nine times for
# each of 90 rules while `event` is fitted. For 80,000 samples a run takes 0.01 s; the fold takes 0.5 s, and a
# fit would take seven minutes. The decision itself, `triggered`, is written once; tests compare both forms.


@inlined
def place_of(ordered: Floats, count: int, value: float) -> int:
    """The insertion index of a value among the first `count`, which are sorted."""
    return int(np.searchsorted(ordered[:count], value))


@exact
def slide(
    values: Floats,
    time: Floats,
    offsets: Integers,
    window: float,
    level: float,
    longest: int,
    quantiles: Floats,
) -> None:
    """Fill `quantiles`; the window's values are kept sorted by insertion."""
    ordered = np.empty(longest)
    for i in range(len(offsets) - 1):
        oldest, count = offsets[i], 0
        for t in range(offsets[i] + 1, offsets[i + 1]):
            place = place_of(ordered, count, values[t - 1])
            for j in range(count, place, -1):
                ordered[j] = ordered[j - 1]
            ordered[place] = values[t - 1]
            count += 1
            while oldest < t - 1 and time[t] - time[oldest] > window * (1.0 + 1e-9):
                place = place_of(ordered, count, values[oldest])
                for j in range(place, count - 1):
                    ordered[j] = ordered[j + 1]
                count -= 1
                oldest += 1
            quantiles[t] = ordered[int(np.ceil(level * (count - 1)))]


def triggered(
    state: Any, value: float, passed: float, target: float, waits: Any
) -> tuple[float, int, float, float]:
    """One decision, with the sample before known.

    Parameters
    ----------
    given
        The allocation; resizes left; for how many seconds demand has exceeded it, and the target undercut it.
    value, passed
        The last demand, and the time that it stands for.
    target
        What would be allocated now.
    waits
        Seconds to confirm, and of patience; the slack; the resizes that are reserved for growing.
    """
    allocation, resizes, above, below = state
    confirm, patience, slack, reserve = waits
    above = above + passed if value > allocation else 0.0
    below = below + passed if target < (1.0 - slack) * allocation else 0.0
    grow = above > 0.0 and above >= confirm and target > allocation
    shrink = below > 0.0 and below >= patience and resizes > reserve
    if resizes >= 0 and (grow or shrink):
        return target, resizes - 1, 0.0, 0.0
    return allocation, resizes, above, below


_triggered = inlined(triggered)


@exact
def trigger(samples: Any, target: Floats, waits: Any, start: float, allocations: Floats) -> None:
    """Fill `allocations`, container by container, sample by sample."""
    values, seconds, offsets, begins = samples
    for i in range(len(offsets) - 1):
        allocation, resizes, above, below = start, 0, 0.0, 0.0
        for t in range(offsets[i], offsets[i + 1]):
            resizes += 1 if begins[t] else 0
            if t > offsets[i]:
                now = (allocation, resizes, above, below)
                allocation, resizes, above, below = _triggered(
                    now, values[t - 1], seconds[t - 1], target[t], waits
                )
            allocations[t] = allocation


WINDOWS = (0.1, 0.25, 0.5, 1.0, 2.0)
LEVELS = (0.75, 0.9, 1.0)
CONFIRM = (0.0, 0.05, 0.15)
SLACKS = (0.02, 0.1, 0.25)
PATIENCE = (0.1, 0.5, 1.0)
RESERVES = (0, 1)
FIRST_CHOICES = {"act": "Act as soon as there are samples", "wait": "The cold-start value all through"}
_MARGIN_LOW, _MARGIN_HIGH, _HALVINGS = 0.5, 4.0, 9
_RESIZES = 0.9


@dataclass(frozen=True)
class EventSettings:
    """The number of rules to try, and the share of time that may fall short."""

    under_time: float = setting(
        0.05, label="Time short", low=0.001, high=0.5, help="The share of time that may fall short."
    )
    first_cycle: str = setting(
        "act", label="First cycle", choices=FIRST_CHOICES, help="What a container gets in its first cycle."
    )
    tries: int = setting(
        90, label="Tries", low=1, high=810, help="How many combinations of parameters are tried."
    )
    seed: int = setting(0, label="Seed", low=0, high=2**31 - 1, help="Seeds the choice of combinations.")


def _fit(training: Demand, settings: EventSettings, progress: Progress | None) -> Fitted:
    start = cold_start(training)
    rule = searched(sample_of(training, settings.seed), settings, start, progress)

    def allocate(demand: Demand) -> Floats:
        quantile = trigger_quantile(demand, rule.window, rule.level, settings)
        return act(demand, quantile, rule, start)

    return Fitted(allocate, OnEvents(rule, training.fleet.cycle, start, settings.first_cycle == "wait"))


def trigger_quantile(demand: Demand, window: float, level: float, settings: EventSettings) -> Floats:
    """The quantile of a window of so many cycles; NaN, which triggers nothing, where it is not to act."""
    quantile = window_quantile(demand, window * demand.fleet.cycle, level)
    return np.where(demand.fleet.cold, np.nan, quantile) if settings.first_cycle == "wait" else quantile


def searched(demand: Demand, settings: EventSettings, start: float, progress: Progress | None) -> Rule:
    """The rule with the least over-allocation on a demand, among those drawn."""
    table = list(product(WINDOWS, LEVELS, CONFIRM, SLACKS, PATIENCE, RESERVES))
    rng = np.random.default_rng(settings.seed)
    places = sorted(rng.permutation(len(table))[: settings.tries].tolist())
    quantiles: dict[tuple[float, float], Floats] = {}
    best, lowest_cost = Rule(1.0, 1.0, 1.0, 0.0, 0.1, 1.0, 0), np.inf
    for number, place in enumerate(places):
        if progress is not None:
            progress(number / len(places), "Trying rules")
        window, level, confirm, slack, patience, reserve = table[place]
        if (window, level) not in quantiles:
            quantiles[window, level] = trigger_quantile(demand, window, level, settings)
        rule = Rule(window, level, 1.0, confirm, slack, patience, reserve)
        rule, cost = with_margin(demand, quantiles[window, level], rule, start, settings.under_time)
        if cost < lowest_cost:
            best, lowest_cost = rule, cost
    return best


def with_margin(
    demand: Demand, quantile: Floats, rule: Rule, start: float, under_time: float
) -> tuple[Rule, float]:
    """The rule with the least margin that is short for at most `under_time`, and its over-allocation.

    The over-allocation is infinite where no margin achieves it.
    """
    low, high = np.log(_MARGIN_LOW), np.log(_MARGIN_HIGH)
    best, cost = rule, np.inf
    for step in range(_HALVINGS):
        middle = high if step == 0 else (low + high) / 2
        candidate = replace(rule, margin=float(np.exp(middle)))
        sums = tally(demand, act(demand, quantile, candidate, start)).pooled()
        if float(under_time_0(sums)[0]) <= under_time and float(resizes_per_cycle(sums)[0]) <= _RESIZES:
            high, best, cost = middle, candidate, float(over(sums)[0])
        elif step == 0:
            break
        else:
            low = middle
    return best, cost


EVENT = Policy(
    "event",
    PolicyKind.LEARNED,
    "Resizes when demand exceeds the allocation or after sustained slack, as searched in training.",
    _fit,
    EventSettings,
    title="Learned: resizes on events",
)
POLICIES = (EVENT,)
