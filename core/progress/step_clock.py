"""Seconds per training step of a program that says at which step it is, but not how long one takes."""

from __future__ import annotations

from collections import deque
from typing import Final

_WINDOW: Final = 5.0
"""Seconds that are looked back, or to the step before where that is longer ago."""


class StepClock:
    """Takes the moments at which steps were seen to be done."""

    def __init__(self) -> None:
        self._seen: deque[tuple[float, int]] = deque(maxlen=1000)

    def note(self, time: float, steps: int | None) -> None:
        """Take in how many steps were done at a moment; it begins anew where they fall."""
        if steps is None or (self._seen and steps == self._seen[-1][1]):
            return
        if self._seen and (steps < self._seen[-1][1] or time <= self._seen[-1][0]):
            self._seen.clear()
        self._seen.append((time, steps))
        while len(self._seen) > 2 and self._seen[1][0] <= time - _WINDOW:
            self._seen.popleft()

    @property
    def seconds(self) -> float | None:
        """Seconds per step lately; None until two moments are known."""
        if len(self._seen) < 2:
            return None
        (begin, first), (end, last) = self._seen[0], self._seen[-1]
        return (end - begin) / (last - first)
