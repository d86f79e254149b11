"""Following what a job prints: its agent's file of readings, or the log of its container."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from pathlib import Path

    from core.scheduling.model import Reading


class Follower(Protocol):
    """Gives readings once, as they come."""

    def news(self) -> list[Reading]:
        """Unix seconds and E of every reading since the last call, oldest first."""


class AgentReadings:
    """The readings that an agent writes: ``unix_time,step,loss`` a line.

    Parameters
    ----------
    path
        The file; it need not be there yet.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._place = 0

    def news(self) -> list[Reading]:
        """Unix seconds and E of every whole line since the last call."""
        try:
            with self._path.open("rb") as file:
                file.seek(self._place)
                text = file.read()
        except OSError:
            return []
        end = text.rfind(b"\n") + 1
        self._place += end
        return parse_readings(text[:end].decode("utf-8", "replace"))


def parse_readings(text: str) -> list[Reading]:
    """The readings in whole lines of an agent's file; lines of another kind are passed over."""
    found: list[Reading] = []
    for line in text.splitlines():
        parts = line.split(",")
        try:
            when, value = float(parts[0]), float(parts[2])
        except (ValueError, IndexError):
            continue
        if math.isfinite(when) and math.isfinite(value):
            found.append((when, value))
    return found
