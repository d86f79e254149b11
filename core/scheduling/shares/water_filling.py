"""How one worker's cores are shared: weighted water-filling.

It is what a fair-share scheduler with weights and quotas comes to (docs/simulator.md): repeatedly each job
gets the least of its cap and its weighted share of what is left: weighted max-min fairness (Keshav, "An
engineering approach to computer networking", 1997, pages 215–217).
"""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def water_fill(capacity: float, caps: Sequence[float], weights: Sequence[float]) -> list[float]:
    """Cores of each job: min(cap, w·level), with all cores given away or every job at its cap.

    Parameters
    ----------
    capacity
        Cores to share.
    caps
        Most cores of each job; infinite without a cap.
    weights
        Above zero, one per job.
    """
    total = sum(weights)
    if not caps or total <= 0:
        return [0.0] * len(caps)
    if min(caps) == inf:
        return [capacity * weight / total for weight in weights]
    return _fill(capacity, caps, weights, total)


def _fill(capacity: float, caps: Sequence[float], weights: Sequence[float], total: float) -> list[float]:
    shares = [0.0] * len(caps)
    # Jobs that reach their cap at the lowest level come first; the first that does not sets the level.
    order = sorted(range(len(caps)), key=lambda i: caps[i] / weights[i])
    for place, i in enumerate(order):
        if caps[i] * total <= capacity * weights[i]:
            shares[i] = caps[i]
            capacity, total = max(0.0, capacity - caps[i]), total - weights[i]
            continue
        rest = order[place:]
        total = sum(weights[j] for j in rest)
        for j in rest:
            shares[j] = capacity * weights[j] / total
        break
    return shares
