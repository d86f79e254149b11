"""When a job's loss reached its goals, from the values it printed."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from core.scheduling.model import Reading

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
