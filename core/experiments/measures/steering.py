"""What containers hold while they are steered by what they use, and how often that was too little."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.experiments.measures.measure import Measure

if TYPE_CHECKING:
    from core.experiments.measures.measure import Run


def reserved(run: Run) -> float | None:
    """Core-seconds that limits gave to jobs while they ran, whether they were used or not."""
    limited = [job.allocated for job in run.jobs if job.allocated]
    return sum(limited) if limited else None


def short(run: Run) -> float | None:
    """The share of jobs' time that was short, as `core.scheduling.policies.autopilot.evidence` says."""
    return None if run.evidence is None else run.evidence.short_share


def too_low(run: Run) -> float | None:
    """How often a limit had to grow because it held a job back."""
    return None if run.evidence is None else float(run.evidence.violations)


STEERING_MEASURES: dict[str, Measure] = {
    "reserved": Measure("Core time reserved", "Reserved", reserved, "core-s"),
    "short": Measure("Time short", "Short", short, "share"),
    "too_low": Measure("Limits that were too low", "Too low", too_low),
}
