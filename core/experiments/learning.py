"""Loss and growth efficiency over time of any run, whatever its policy knew of them.

They are computed from a run's ledger: the losses that jobs printed and the processor time that they used. So
they exist for free competition as well as for FlowCon, on the same intervals, and can be drawn beside each
other (Zheng, "Efficient resource management for deep learning applications", figures 3.1, 6.11 and 6.12).

In an interval from t₀ to t₁ within a job's life

    P = |E(t₁) − E(t₀)| / (t₁ − t₀)          (equation 4.1)
    G = P / R                                  (equation 4.2)

with E the last printed value, divided by the largest one printed so far, and R the mean use of the processor
as a share of the job's machine, at least 0.01. The sum of G over all jobs is the objective of equation 4.3.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from core.scheduling.loop import Entry
    from core.scheduling.model import Job

    Floats: TypeAlias = NDArray[np.float64]

MIN_USE = 0.01
"""R is at least this share of a machine."""
_STEPS = (
    0.1,
    0.2,
    0.5,
    1,
    2,
    5,
    10,
    15,
    20,
    30,
    60,
    120,
    300,
    600,
    1200,
    1800,
    3600,
    7200,
    14400,
    43200,
    86400,
)
INTERVALS = 80


@dataclass(frozen=True, slots=True)
class Lines:
    """Loss and growth efficiency of a run on common intervals."""

    #: The edges of the n intervals, seconds, shape (n + 1,).
    bounds: Floats
    #: For each job its loss at every edge as a share of the largest value printed until then, shape (n + 1,):
    #: 1 before its first value, its last value after its end.
    loss: Mapping[str, Floats]
    #: For each job G in each interval, per second, shape (n,); NaN while it is not known: before a value was
    #: printed before the interval, and from the interval in which the job ends on.
    growth: Mapping[str, Floats]
    #: When each job arrived, seconds.
    arrived: Mapping[str, float]

    @property
    def total_growth(self) -> Floats:
        """ΣG over all jobs whose G is known in each interval (equation 4.3), shape (n,)."""
        total = np.zeros(len(self.bounds) - 1)
        for values in self.growth.values():
            total += np.nan_to_num(values)
        return total

    @property
    def mean_loss(self) -> Floats:
        """The mean loss of all jobs of the run at every edge, those to come counting 1, shape (n + 1,)."""
        if not self.loss:
            return np.ones(len(self.bounds))
        return np.asarray(np.mean(list(self.loss.values()), axis=0))


class _Life:
    """Printed values and CPU use of one job: numbers in arrays, so that long runs stay small."""

    def __init__(self, arrived: float) -> None:
        self.arrived = arrived
        self.ended = float("inf")
        self.printed, self.values, self.largest = array("d"), array("d"), array("d")
        self.times, self.used, self.spent = array("d"), array("d"), 0.0

    def add(self, job: Job, now: float, capacity: float) -> None:
        for time, value in job.readings:
            if isfinite(value):
                self.printed.append(time)
                self.values.append(value)
                self.largest.append(max(abs(value), self.largest[-1] if self.largest else 0.0))
        # shares of the machine that it is on, added up: it may move to a larger one
        if job.cpu_seconds is None:
            return  # the next measurement has what was used meanwhile
        before = self.used[-1] if self.used else 0.0
        fresh = job.cpu_seconds - self.spent if self.times else 0.0
        self.spent = job.cpu_seconds
        self.times.append(now)
        self.used.append(before + fresh / capacity)


class Learning:
    """Accumulates a run's entries, taken in order."""

    def __init__(self) -> None:
        self._jobs: dict[str, _Life] = {}
        self._end = 0.0

    def add(self, entry: Entry) -> None:
        """Take one entry."""
        observation = entry.observation
        capacity = {worker.id: worker.capacity for worker in observation.workers}
        largest_capacity = max(capacity.values(), default=1.0)
        self._end = observation.time
        for job in (*observation.jobs, *observation.ended):
            life = self._jobs.setdefault(job.id, _Life(job.arrived))
            life.add(job, observation.time, capacity.get(job.worker or "", largest_capacity))
        for job in observation.ended:
            self._jobs[job.id].ended = observation.time

    @property
    def end(self) -> float:
        """The time of the last entry, seconds."""
        return self._end

    def lines(self, step: float, end: float | None = None) -> Lines:
        """Loss and growth on intervals of `step` seconds from 0 to `end`, or to the last entry."""
        until = self._end if end is None else end
        count = max(int(np.ceil(until / step - 1e-9)), 1)
        bounds: Floats = np.linspace(0.0, count * step, count + 1)
        return Lines(
            bounds,
            {name: _loss(life, bounds) for name, life in self._jobs.items()},
            {name: _growth(life, bounds) for name, life in self._jobs.items()},
            {name: life.arrived for name, life in self._jobs.items()},
        )


def step_for(end: float) -> float:
    """The shortest round interval that divides a run of `end` seconds into at most about 80 parts."""
    return next((step for step in _STEPS if end / step <= INTERVALS), end / INTERVALS)


def _last(life: _Life, at: Floats) -> NDArray[np.int64]:
    """The index of the last value printed at or before each moment; −1 before the first."""
    indices: NDArray[np.int64] = np.searchsorted(np.array(life.printed), at, side="right") - 1
    return indices


def _loss(life: _Life, bounds: Floats) -> Floats:
    last = _last(life, bounds)
    if not len(life.values):
        return np.ones(len(bounds))
    level = np.array(life.values) / np.where(np.array(life.largest) > 0, life.largest, 1.0)
    return np.where(last < 0, 1.0, level[np.maximum(last, 0)])


def _growth(life: _Life, bounds: Floats) -> Floats:
    """G in each interval that a job lived through to its end."""
    if not len(life.values) or not len(life.used):
        return np.full(len(bounds) - 1, np.nan)
    last = _last(life, bounds)
    values, largest = np.array(life.values), np.array(life.largest)
    used = np.interp(bounds, np.array(life.times), np.array(life.used))
    # a job that ends within an interval prints its last value in the rest of it, which may be no time at all
    is_complete = (last[:-1] >= 0) & (bounds[1:] <= life.ended)
    length = np.diff(bounds)
    scale = largest[np.maximum(last[1:], 0)]
    change = np.abs(values[np.maximum(last[1:], 0)] - values[np.maximum(last[:-1], 0)])
    progress = change / np.where(scale > 0, scale, 1.0) / length
    return np.where(is_complete, progress / np.maximum(np.diff(used) / length, MIN_USE), np.nan)
