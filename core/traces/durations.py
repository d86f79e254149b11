"""How long each sample of a trace set stands for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    from core.traces.model import FloatArray, IntArray

LONGEST = 3.0
"""From how many periods on a step is a gap, as in a new mapping: rows that stay as they come mark none."""


def sample_seconds(time: FloatArray, segments: IntArray, period: float) -> npt.NDArray[np.float64]:
    """The time that each sample stands for: until the next one, or one period before a gap or the end."""
    seconds = np.full(len(time), float(period))
    steps = np.diff(time)
    seconds[:-1] = np.where(steps > LONGEST * period, period, steps)
    seconds[segments[1:] - 1] = period
    return seconds
