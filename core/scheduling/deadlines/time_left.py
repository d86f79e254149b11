"""When a job would end with the cores that it asked for, as far as that is known."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

from core.scheduling.forecasting.step_time import MeasuredTime

if TYPE_CHECKING:
    from core.scheduling.model import Job


def deadline_of(job: Job) -> float:
    """Its deadline on the run's clock, seconds; infinite without one."""
    deadline = job.said.deadline
    return inf if deadline is None else job.arrived + deadline


def seconds_left(job: Job, cores: float) -> float | None:
    """Seconds to its end on `cores` by its profile, or else by its time per step now; None if not known."""
    if job.total_steps is None or job.steps is None:
        return None
    left, profile = float(job.total_steps - job.steps), job.said.profile
    if profile is not None:
        return left * MeasuredTime(profile.points).seconds(cores)
    return None if job.step_seconds is None else left * job.step_seconds
