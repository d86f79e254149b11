"""What jobs report: through their agent's files, or in their output."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

from core.errors import InputError
from core.progress import Goal, GoalReader, read_goal, read_reported

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
            self._evaluate = GoalReader(read_goal(goal))
        except InputError:
            self._evaluate = GoalReader(Goal.MIN)

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


INSIDE: Final = "/phasedock"
"""Where a container sees its folder."""

_LONGEST: Final = 1e12
"""Seconds that no time is beyond, since 1970 or of a step; NaN and infinities are not below it either."""

VARIABLE: Final = "PHASEDOCK_AGENT"
"""The variable that names the folder to the program."""


@dataclass(frozen=True, slots=True)
class Wants:
    """What is requested of a job."""

    #: Grows by one with every request.
    version: int = 0
    #: Threads that it is to compute with, or None to leave them alone.
    threads: int | None = None
    #: Checkpoints asked for so far.
    checkpoint: int = 0
    #: Whether it is to pause after its next step.
    hold: bool = False


@dataclass(frozen=True, slots=True)
class Says:
    """What a job reports of itself; None and empty where it has reported nothing yet."""

    #: The last request that it carried out.
    version: int = 0
    #: Threads that it computes with.
    threads: int | None = None
    #: Steps done, and steps in all.
    step: int | None = None
    steps: int | None = None
    #: The last checkpoint that was asked for and is written, and the step it is of.
    checkpoint: int = 0
    checkpoint_step: int = 0
    #: ``preparing``, ``running``, ``held``, ``done`` or ``failed``.
    state: str = ""
    #: Unix seconds at which its process began; different after every start.
    started: float = 0.0
    #: Smoothed seconds per step, or None.
    step_seconds: float | None = None


class AgentFolder:
    """One job's folder, seen from outside."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.wants = parse_wants(_text(path / "wants.json"))
        self._said: tuple[int, Says] = (0, Says())

    def want(self, **wish: Any) -> int:
        """Request something else of the job; returns the version that it answers with.

        Raises
        ------
        OSError
            If it cannot be written; the request before it still holds.
        """
        wants = replace(self.wants, version=self.wants.version + 1, **wish)
        self._write(self.path / "wants.json", json.dumps(asdict(wants)))
        self.wants = wants
        return self.wants.version

    def says(self) -> Says:
        """What the job reported last; the file is read only if it has changed."""
        try:
            changed = os.stat(self.path / "says.json").st_mtime_ns  # noqa: PTH116 - called at every look
        except OSError:
            return self._said[1]
        if changed != self._said[0]:
            self._said = (changed, parse_says(_text(self.path / "says.json")) or self._said[1])
        return self._said[1]

    @staticmethod
    def _write(path: Path, text: str) -> None:
        new = path.with_suffix(".new")
        new.write_text(text, encoding="utf-8")
        new.replace(path)


def parse_wants(text: str) -> Wants:
    """The requests in the text of a ``wants.json``; none where it cannot be understood."""
    found = _object(text)
    threads = _whole(found.get("threads"))
    hold = found.get("hold") is True
    return Wants(_whole(found.get("version")), threads or None, _whole(found.get("checkpoint")), hold)


def parse_says(text: str) -> Says | None:
    """What a job reports in the text of a ``says.json``, or None where it cannot be understood.

    The text comes from inside a container and is not trusted: a value that is not of the expected type is
    ignored.
    """
    found = _object(text)
    if not found:
        return None
    return Says(
        _whole(found.get("version")),
        _whole(found.get("threads")) or None,
        _whole(found.get("step")) if "step" in found else None,
        _whole(found.get("steps")) or None,
        _whole(found.get("checkpoint")),
        _whole(found.get("checkpoint_step")),
        str(found.get("state", ""))[:20],
        _seconds(found.get("started")) or 0.0,
        _seconds(found.get("seconds_per_step")),
    )


def _object(text: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _whole(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else 0


def _seconds(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < _LONGEST:
        return None
    return float(value)


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
