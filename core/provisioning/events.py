"""Acting on events instead of a clock: resize when demand exceeds the allocation, or after sustained slack.

The target of a resize is m·Q, with Q a quantile of a short window of the container's own past. A container
may be resized at most as many times as it has begun cycles; growing may borrow one resize from the next
cycle.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from core.phases.kernels.compiling import compiled, inlined

if TYPE_CHECKING:
    from core.provisioning.fleet import Demand, Floats, Integers


@dataclass(frozen=True)
class Rule:
    """When to act and to what.

    Parameters
    ----------
    window
        The length of the window in cycles.
    level
        Its quantile Q, between 0 and 1.
    margin
        m.
    confirm
        How long demand must have exceeded the allocation before it grows, in cycles; 0 is one sample.
    slack
        The allocation shrinks if the target is below (1 − slack) of it …
    patience
        … for so long, in cycles.
    reserve
        Resizes that are reserved for growing.
    """

    window: float
    level: float
    margin: float
    confirm: float
    slack: float
    patience: float
    reserve: int


def window_quantile(demand: Demand, window: float, level: float) -> Floats:
    """The quantile of each sample's past window; NaN where there is no past, shape (n,).

    Parameters
    ----------
    demand
        D of n samples; a sample's own is not in its window.
    window
        Seconds; the sample before is always in it.
    level
        Between 0 and 1; the value at or above that rank.
    """
    fleet = demand.fleet
    found = np.full(fleet.n_samples, np.nan)
    if fleet.n_samples:
        slide(demand.values, fleet.time, fleet.offsets, window, level, int(fleet.lengths.max()), found)
    return found


def act(demand: Demand, quantile: Floats, rule: Rule, start: float) -> Floats:
    """The allocation of each sample by a rule, shape (n,), given `window_quantile` of the rule's window."""
    fleet = demand.fleet
    begun = np.zeros(fleet.n_samples, bool)
    begun[fleet.starts] = True
    given = np.empty(fleet.n_samples)
    waits = (rule.confirm * fleet.cycle, rule.patience * fleet.cycle, rule.slack, rule.reserve)
    samples = (demand.values, fleet.seconds, fleet.offsets, begun)
    trigger(samples, rule.margin * quantile, waits, start, given)
    return given


@inlined
def place_of(ordered: Floats, count: int, value: float) -> int:
    """Where a value belongs among the first `count`, which are sorted."""
    return int(np.searchsorted(ordered[:count], value))


@compiled
def slide(
    values: Floats, time: Floats, offsets: Integers, window: float, level: float, longest: int, found: Floats
) -> None:
    """Fill `found`; the window's values are kept sorted by insertion."""
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
            found[t] = ordered[int(np.ceil(level * (count - 1)))]


@compiled
def trigger(samples: Any, target: Floats, waits: Any, start: float, given: Floats) -> None:
    """Fill `given`, container by container, sample by sample."""
    values, seconds, offsets, begun = samples
    confirm, patience, slack, reserve = waits
    for i in range(len(offsets) - 1):
        allocation, left, above, below = start, 0, 0.0, 0.0
        for t in range(offsets[i], offsets[i + 1]):
            left += 1 if begun[t] else 0
            if t > offsets[i]:
                passed = seconds[t - 1]
                above = above + passed if values[t - 1] > allocation else 0.0
                below = below + passed if target[t] < (1.0 - slack) * allocation else 0.0
                grow = above > 0.0 and above >= confirm and target[t] > allocation
                shrink = below > 0.0 and below >= patience and left > reserve
                if left >= 0 and (grow or shrink):
                    allocation, above, below = target[t], 0.0, 0.0
                    left -= 1
            given[t] = allocation
