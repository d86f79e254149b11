"""The measures beside completion and the loss: queues, deadlines, and what steering frees."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.experiments.measures.deadlines import DEADLINE_MEASURES
from core.experiments.measures.queue_measures import QUEUE_MEASURES, queues
from core.experiments.measures.steering import STEERING_MEASURES

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

FURTHER_MEASURES = {**DEADLINE_MEASURES, **STEERING_MEASURES, **QUEUE_MEASURES}
RISING = frozenset(name for name, each in FURTHER_MEASURES.items() if each.rising)
"""Measures of which more is better; of all others, and of all times, less is."""
COUNTS = frozenset(name for name, each in FURTHER_MEASURES.items() if not each.unit)


def telling(rows: Sequence[Mapping[str, float | None]]) -> dict[str, tuple[str, ...]]:
    """The measures with something to say of some policies, in order, by what they are about."""
    found: dict[str, tuple[str, ...]] = {}
    if any(row.get("met") is not None for row in rows):
        known = (name for name in DEADLINE_MEASURES if any(row.get(name) is not None for row in rows))
        found["deadlines"] = tuple(known)
    if any(row.get("short") is not None for row in rows):
        known = (name for name in STEERING_MEASURES if any(row.get(name) is not None for row in rows))
        found["steering"] = tuple(known)
    if any(queues(row) for row in rows):
        found["queue"] = tuple(name for name in QUEUE_MEASURES if any(row.get(name) for row in rows))
    return found
