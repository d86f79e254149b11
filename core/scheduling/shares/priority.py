"""Serving jobs in an order, with weights: the first has nearly all, and what it cannot use goes to the next.

Quotas would leave a node idle when the first job cannot fill it, and pausing needs to know what a job could
use; weights need neither. Each rank has a hundredth of the one before, down to the least weight that
engines distinguish.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.scheduling.actions import Mark
from core.scheduling.shares.weighing import Weighed

if TYPE_CHECKING:
    from collections.abc import Sequence

RATIO = 0.01
LEAST = 1e-4


def in_order(names: Sequence[str]) -> dict[str, Weighed]:
    """The weight of every job on one worker, the first to be served first; its mark is its rank."""
    return {
        name: Weighed(max(LEAST, RATIO**place), Mark(name, f"#{place + 1}"))
        for place, name in enumerate(names)
    }
