"""The clock of a run: seconds since its start, monotonic."""

from __future__ import annotations

import time


class RunClock:
    """Counts from its making on; follows the monotonic clock, so the time of day may jump."""

    def __init__(self) -> None:
        self._begin, self._unix = time.monotonic(), time.time()

    def now(self) -> float:
        """Seconds since the beginning."""
        return time.monotonic() - self._begin

    def at(self, unix: float) -> float:
        """The moment of a Unix time that was written down on this machine; may be before the beginning."""
        return unix - self._unix
