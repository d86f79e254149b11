"""Reading a job's losses: from its agent's file, or else from its container's log."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

from core.errors import InputError
from core.progress import Evaluation, Goal, read_goal, read_reported

if TYPE_CHECKING:
    from pathlib import Path

    from core.scheduling.model import Reading


class Place(NamedTuple):
    """Steps done and in all, and seconds per step lately; None where it is not said."""

    steps: int | None = None
    total_steps: int | None = None
    step_seconds: float | None = None


class Follower(Protocol):
    """Returns each reading once, as they come."""

    def place(self) -> Place:
        """How far the job is by what it printed."""

    def news(self, at_end: bool = False) -> list[Reading]:
        """Unix seconds and E (the evaluation function) of every reading since the last call, oldest first."""


class AgentReadings:
    """The readings that an agent writes: ``unix_time,step,loss`` a line."""

    def __init__(self, path: Path, goal: str = "") -> None:
        self._path = path
        self._place = 0
        try:
            self._evaluate = Evaluation(read_goal(goal))
        except InputError:
            self._evaluate = Evaluation(Goal.MIN)

    def place(self) -> Place:
        """Nothing: the agent says how far the job is in another file."""
        return Place()

    def news(self, at_end: bool = False) -> list[Reading]:
        """Unix seconds and E of every whole line since the last call."""
        try:
            with self._path.open("rb") as file:
                file.seek(self._place)
                text = file.read()
        except OSError:
            return []
        end = text.rfind(b"\n") + 1
        self._place += end
        found = read_reported(text[:end].decode("utf-8", "replace"))
        values = ((line.time, self._evaluate(line.loss)) for line in found)
        return [(when, value) for when, value in values if value is not None]
