"""What a measure is that looks at a run's jobs, beside times of completion and of the loss."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from core.scheduling.model import JobState

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from core.experiments.measures.job_outcome import JobOutcome
    from core.scheduling.policies.autopilot.evidence import Evidence


@dataclass(frozen=True, slots=True)
class Run:
    """What the measures look at."""

    #: All jobs that ended, refused ones included, in order of arrival.
    jobs: Sequence[JobOutcome]
    #: Cores of all workers.
    capacity: float
    #: What steering freed; None where nobody saw what jobs used.
    evidence: Evidence | None = None

    @property
    def done(self) -> list[JobOutcome]:
        """Jobs that were done."""
        return [job for job in self.jobs if job.state == JobState.DONE.value]


@dataclass(frozen=True, slots=True)
class Measure:
    """One measure."""

    #: What it is called, in full and over a column.
    label: str
    short: str
    #: The function, whose docstring defines it.
    of: Callable[[Run], float | None]
    #: ``s``, ``jobs/h``, ``core-s``, ``cores``, ``bytes``, ``share`` (of 1), or empty for a count.
    unit: str = ""
    #: Whether more is better.
    rising: bool = False
