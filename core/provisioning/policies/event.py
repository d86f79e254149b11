"""``event``: resize when demand exceeds the allocation, or after sustained slack.

The rule and its parameters are those of `core.provisioning.events`. They are searched on the training
containers: combinations drawn from a table, for each the margin m at which the wanted share of time is
short, and of these the one with the least over-allocation. Until its
first resize, which may come inside the first cycle, a container has the cold-start value.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from core.provisioning.evaluation.metrics import over, resizes_per_cycle, tally, under_time_0
from core.provisioning.events import OnEvents, Rule, act, window_quantile
from core.provisioning.outlook import sample_of
from core.provisioning.policy import Fitted, Policy, PolicyKind, cold_start
from core.settings_fields import setting

if TYPE_CHECKING:
    from core.progress_reporting import Progress
    from core.provisioning.fleet import Demand, Floats

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
    """How long to search, and for what."""

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
    drawn = sorted(rng.permutation(len(table))[: settings.tries].tolist())
    known: dict[tuple[float, float], Floats] = {}
    best, least = Rule(1.0, 1.0, 1.0, 0.0, 0.1, 1.0, 0), np.inf
    for number, place in enumerate(drawn):
        if progress is not None:
            progress(number / len(drawn), "Trying rules")
        window, level, confirm, slack, patience, reserve = table[place]
        if (window, level) not in known:
            known[window, level] = trigger_quantile(demand, window, level, settings)
        rule = Rule(window, level, 1.0, confirm, slack, patience, reserve)
        rule, cost = with_margin(demand, known[window, level], rule, start, settings.under_time)
        if cost < least:
            best, least = rule, cost
    return best


def with_margin(
    demand: Demand, quantile: Floats, rule: Rule, start: float, under_time: float
) -> tuple[Rule, float]:
    """The rule with the least margin that is short for at most `under_time`, and its over-allocation.

    The over-allocation is infinite where no margin achieves it.
    """
    low, high = np.log(_MARGIN_LOW), np.log(_MARGIN_HIGH)
    found, cost = rule, np.inf
    for step in range(_HALVINGS):
        middle = high if step == 0 else (low + high) / 2
        tried = replace(rule, margin=float(np.exp(middle)))
        sums = tally(demand, act(demand, quantile, tried, start)).pooled()
        if float(under_time_0(sums)[0]) <= under_time and float(resizes_per_cycle(sums)[0]) <= _RESIZES:
            high, found, cost = middle, tried, float(over(sums)[0])
        elif step == 0:
            break
        else:
            low = middle
    return found, cost


EVENT = Policy(
    "event",
    PolicyKind.LEARNED,
    "Resizes when demand exceeds the allocation or after sustained slack, as searched in training.",
    _fit,
    EventSettings,
)
POLICIES = (EVENT,)
