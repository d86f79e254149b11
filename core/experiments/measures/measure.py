"""What a measure is that looks at a run's jobs, beside times of completion and of the loss."""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from core.scheduling.model import JobState

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from core.scheduling.model import Reading
    from core.scheduling.policies.autopilot.steering_evidence import Evidence


@dataclass(frozen=True, slots=True)
class JobOutcome:
    """One job of a run; times in seconds."""

    #: Its name and kind.
    id: str
    model: str
    #: On the run's clock.
    arrived: float
    started: float | None
    ended: float
    #: From arrival to end.
    completion: float
    #: From arrival until its loss has fallen by 90, 95 and 99% of its whole fall, or None.
    t90: float | None
    t95: float | None
    t99: float | None
    #: What it would take under fair sharing, and how many times that it took; None where not known.
    fair: float | None
    slowdown: float | None
    #: How often it was moved.
    migrations: int
    #: ``"done"``, ``"failed"``, or ``"refused"``.
    state: str
    #: As in `core.experiments.outcome.JobTimes`; None in results of earlier releases.
    waiting: float | None = None
    service: float | None = None
    paused: float | None = None
    used: float | None = None
    pauses: int | None = None
    resizes: int | None = None
    thread_changes: int | None = None
    #: Seconds after its arrival within which it should end, or None.
    deadline: float | None = None
    #: Whether its policy promised it that; None where the policy promises nothing.
    promised: bool | None = None
    #: When it was expected to end as its policy first said so, on the run's clock; None where it did not.
    predicted_end: float | None = None
    #: Core-seconds that its limits allowed while it ran; None where it had none, or ran without for a while.
    allocated: float | None = None


GOALS = (0.90, 0.95, 0.99)
"""Shares of the whole fall of a loss whose times are reported."""


class Printed:
    """What one job has printed so far: numbers side by side, so that long runs stay small."""

    def __init__(self) -> None:
        self._times, self._values = array("d"), array("d")

    def add(self, readings: Sequence[Reading]) -> None:
        """Take values in the order in which they were printed."""
        for time, value in readings:
            self._times.append(time)
            self._values.append(value)

    def at(self, goals: Sequence[float], begun: float) -> tuple[float, ...]:
        """When it had printed so many values; a fraction lies between two."""
        times = np.concatenate(([begun], np.array(self._times)))
        return tuple(float(np.interp(goal, np.arange(len(times)), times)) for goal in goals)

    def first_below(self) -> tuple[float | None, ...]:
        """When the printed loss had first fallen by each of `GOALS` of its whole fall."""
        values = np.array(self._values)
        targets = [values[0] - goal * (values[0] - values.min()) for goal in GOALS]
        return tuple(self._times[int(np.argmax(values <= target))] for target in targets)


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
