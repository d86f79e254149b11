"""Lower bound: the lowest over-allocation at a given share of time short, with knowledge of the future.

It is free to choose one allocation per cycle and container, and which cycles fall short: this is all
the freedom that a policy with one allocation per cycle has, so none of them can do better. (With one
allocation per sample the bound would be 0 and say nothing. A policy that resizes inside cycles is not
bound by it in the strict sense.)

In a cycle with demands d₁ ≥ d₂ ≥ … the allocation d_{k+1} leaves the k largest short, so a cycle
offers points (seconds short, surplus). Minimising the total surplus under a budget of seconds is a
multiple-choice knapsack. Its relaxation takes the steps along each cycle's lower convex hull in the
order of surplus saved per second; stopping at the budget is the optimum wherever the budget falls
between two steps, and else less than one step away from it (Sinha and Zoltners, 1979).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from core.provisioning.policy import Allocate, Policy, PolicyKind
from core.settings_fields import setting

if TYPE_CHECKING:
    from core.progress_reporting import Progress
    from core.provisioning.fleet import Demand, Floats, Integers


@dataclass(frozen=True)
class BudgetSettings:
    """The share of time that the bound may fall short."""

    under_time: float = setting(
        0.05, label="Time short", low=0.0, high=1.0, help="The share of time in which demand may exceed it."
    )


@dataclass(frozen=True, eq=False)
class Steps:
    """The steps along all cycles' hulls, those that save most surplus per second first."""

    #: The cycle of each step.
    cycle: Integers
    #: How much more time is short after it.
    seconds: Floats
    #: How much less surplus there is, in unit·seconds.
    saved: Floats
    #: The cycle's allocation after it.
    level: Floats
    #: Each cycle's allocation before any step: its maximum, shape (n_cycles,).
    start: Floats
    #: The total surplus before any step.
    surplus: float


def steps_of(demand: Demand) -> Steps:
    """The hull steps of a demand's cycles."""
    cycle, short, surplus, level = hull_points(demand)
    ends = np.append(cycle[1:] != cycle[:-1], True)
    begins = np.append(True, ends[:-1])
    to = np.flatnonzero(~begins)
    seconds, saved = short[to] - short[to - 1], surplus[to - 1] - surplus[to]
    order = np.argsort(-saved / seconds, kind="stable")
    return Steps(
        cycle[to][order], seconds[order], saved[order], level[to][order], level[begins],
        float(surplus[begins].sum()),
    )  # fmt: skip


def hull_points(demand: Demand) -> tuple[Integers, Floats, Floats, Floats]:
    """Corners of each cycle's lower convex hull: cycle, seconds short, surplus, and allocation."""
    fleet = demand.fleet
    order = np.lexsort((-demand.values, fleet.cycle_of))
    level, seconds, cycle = demand.values[order], fleet.seconds[order], fleet.cycle_of
    short = _within(seconds, fleet.starts, fleet.sizes) - seconds
    total = fleet.per_sample(np.add.reduceat(seconds, fleet.starts))
    used = level * seconds
    used_above = fleet.per_sample(np.add.reduceat(used, fleet.starts)) - (
        _within(used, fleet.starts, fleet.sizes) - used
    )
    surplus = np.maximum(level * (total - short) - used_above, 0.0)
    fresh = np.append(True, (level[1:] != level[:-1]) | (cycle[1:] != cycle[:-1]))
    points = (cycle[fresh], short[fresh], surplus[fresh], level[fresh])
    while True:
        keep = _convex(*points[:3])
        if keep.all():
            return points
        points = (points[0][keep], points[1][keep], points[2][keep], points[3][keep])


def _within(values: Floats, starts: Integers, sizes: Integers) -> Floats:
    """Cumulative sums that restart at each start."""
    running = np.cumsum(values)
    before = running[starts] - values[starts]
    return running - np.repeat(before, sizes)


def _convex(cycle: Integers, x: Floats, y: Floats) -> np.ndarray:
    """Mark points that are not above the line between their neighbours; the others are not corners."""
    keep = np.ones(len(x), bool)
    if len(x) < 3:
        return keep
    inner = (cycle[:-2] == cycle[1:-1]) & (cycle[2:] == cycle[1:-1])
    cross = (x[1:-1] - x[:-2]) * (y[2:] - y[:-2]) - (y[1:-1] - y[:-2]) * (x[2:] - x[:-2])
    keep[1:-1] = ~(inner & (cross < 0))
    return keep


def allocation_at(demand: Demand, steps: Steps, under_time: float) -> Floats:
    """The bound's allocation of each sample, shape (n,), short for at most a share of the time."""
    budget = under_time * float(demand.fleet.seconds.sum()) * (1 + 1e-12)
    spent = np.cumsum(steps.seconds)
    count = int(np.searchsorted(spent, budget, side="right"))
    chosen = np.arange(count)
    if count < len(spent):
        remaining = budget - (float(spent[count - 1]) if count else 0.0)
        chosen = np.append(chosen, _fill(steps, count, remaining)).astype(np.int64)
    level = steps.start.copy()
    np.minimum.at(level, steps.cycle[chosen], steps.level[chosen])
    return demand.fleet.per_sample(level)


def _fill(steps: Steps, begin: int, remaining: float, max_steps: int = 20_000) -> list[int]:
    """Find later steps that fit into the remaining budget; a cycle's steps keep their order."""
    passed: set[int] = set()
    fitting = []
    part = slice(begin, begin + max_steps)
    for place, cycle, seconds in zip(
        range(begin, begin + max_steps),
        steps.cycle[part].tolist(),
        steps.seconds[part].tolist(),
        strict=False,
    ):
        if cycle in passed or seconds > remaining:
            passed.add(cycle)
            continue
        fitting.append(place)
        remaining -= seconds
    return fitting


def _fit(_training: Demand, settings: BudgetSettings, _progress: Progress | None) -> Allocate:
    def allocate(demand: Demand) -> Floats:
        return allocation_at(demand, steps_of(demand), settings.under_time)

    return allocate


BUDGET_ORACLE = Policy(
    "budget.oracle",
    PolicyKind.BOUND,
    "The least over-allocation that one allocation per cycle can have, knowing the future.",
    _fit,
    BudgetSettings,
    foresight=True,
    usual=True,
    title="Bound: the least that is possible",
)
POLICIES = (BUDGET_ORACLE,)
