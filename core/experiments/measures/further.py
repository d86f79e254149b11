"""The measures beside completion and the loss: queues, deadlines, and what steering frees."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.experiments.measures.deadlines import DEADLINE_MEASURES
from core.experiments.measures.measure import Measure
from core.experiments.measures.queue_measures import QUEUE_MEASURES, queues

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from core.experiments.measures.measure import Run


def reserved(run: Run) -> float | None:
    """Core-seconds that limits gave to jobs while they ran, whether they were used or not."""
    limited = [job.allocated for job in run.jobs if job.allocated]
    return sum(limited) if limited else None


def freed(run: Run) -> float | None:
    """Cores that jobs asked for and did not have reserved, all together: the mean over time.

    Where the policy only watches, what they would not have had.
    """
    return None if run.evidence is None else run.evidence.freed_cores


def freed_memory(run: Run) -> float | None:
    """The same of memory, bytes; None where no job had another limit than it asked for."""
    found = run.evidence
    return None if found is None or not found.freed_bytes else found.freed_bytes


def held_back(run: Run) -> float | None:
    """The share of periods in which jobs were throttled."""
    return None if run.evidence is None else run.evidence.held_back_share


def killed(run: Run) -> float | None:
    """Processes that were killed for want of memory."""
    return None if run.evidence is None else float(run.evidence.killed)


def short(run: Run) -> float | None:
    """The share of jobs' time that was short (`core.scheduling.policies.autopilot.steering_evidence`)."""
    return None if run.evidence is None else run.evidence.short_share


def too_low(run: Run) -> float | None:
    """How often a limit had to grow because it held a job back."""
    return None if run.evidence is None else float(run.evidence.violations)


STEERING_MEASURES: dict[str, Measure] = {
    "reserved": Measure("Core time reserved", "Reserved", reserved, "core-s"),
    "freed": Measure("Cores freed", "Freed", freed, "cores", rising=True),
    "freed_memory": Measure("Memory freed", "Memory", freed_memory, "bytes", rising=True),
    "short": Measure("Time short", "Short", short, "share"),
    "held_back": Measure("Throttled periods", "Throttled", held_back, "share"),
    "too_low": Measure("Limits that were too low", "Too low", too_low),
    "killed": Measure("Killed for want of memory", "Killed", killed),
}


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
