"""The interface to a job's agent: requests, reports and readings as files in a folder."""

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


class JobProgress(NamedTuple):
    """Steps done, total steps and recent seconds per step; None if unknown."""

    steps: int | None = None
    total_steps: int | None = None
    step_seconds: float | None = None


class Follower(Protocol):
    """A source of readings that returns each of them once."""

    def progress(self) -> JobProgress:
        """Return the progress of the job by its output."""

    def news(self, at_end: bool = False) -> list[Reading]:
        """Return Unix seconds and E (the evaluation function) of the new readings, oldest first."""


_MAX_BYTES: Final = 1 << 22
"""Bytes of readings that are read at once."""


class AgentReadings:
    """The readings of an agent: lines of ``unix_time,step,loss``."""

    def __init__(self, path: Path, goal: str = "") -> None:
        self._path = path
        self._position = 0
        try:
            self._evaluate = GoalReader(read_goal(goal))
        except InputError:
            self._evaluate = GoalReader(Goal.MIN)

    def progress(self) -> JobProgress:
        """Return no progress: the agent reports it in another file."""
        return JobProgress()

    def news(self, at_end: bool = False) -> list[Reading]:
        """Return Unix seconds and E of every new complete line."""
        try:
            with self._path.open("rb") as file:
                file.seek(self._position)
                text = file.read(_MAX_BYTES)
        except OSError:
            return []
        end = text.rfind(b"\n") + 1
        self._position += end or len(text) * (len(text) == _MAX_BYTES)  # no reading is that long
        values_ = read_reported(text[:end].decode("utf-8", "replace"))
        values = ((line.time, self._evaluate(line.loss)) for line in values_)
        return [(when, value) for when, value in values if value is not None]


FOLDER_IN_CONTAINER: Final = "/phasedock"
"""The path of the folder in a container."""

_MAX_SECONDS: Final = 1e12
"""The exclusive upper bound of times in seconds; excludes NaN and infinity, too."""

FOLDER_VARIABLE: Final = "PHASEDOCK_AGENT"
"""The environment variable with the path of the folder."""


@dataclass(frozen=True, slots=True)
class AgentRequest:
    """The request to a job; the fields of ``wants.json``."""

    #: Grows by one with every request.
    version: int = 0
    #: Number of threads to use, or None to keep it.
    threads: int | None = None
    #: Number of checkpoints requested so far.
    checkpoint: int = 0
    #: Whether to pause after the next step.
    hold: bool = False


@dataclass(frozen=True, slots=True)
class AgentReport:
    """The report of a job; None and empty before its first report."""

    #: The last fulfilled request.
    version: int = 0
    #: Number of threads in use.
    threads: int | None = None
    #: Steps done and total steps.
    step: int | None = None
    steps: int | None = None
    #: The number of the last written checkpoint and its step.
    checkpoint: int = 0
    checkpoint_step: int = 0
    #: ``preparing``, ``running``, ``held``, ``done`` or ``failed``.
    state: str = ""
    #: Unix start time of its process; differs after every start.
    started: float = 0.0
    #: Smoothed seconds per step, or None.
    step_seconds: float | None = None


class AgentFolder:
    """The folder through which one job's agent is controlled."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.request = parse_request(_read_text(path / "wants.json"))
        self._last_report: tuple[int, AgentReport] = (0, AgentReport())

    def send_request(self, **changes: Any) -> int:
        """Change the request to the job; return the version that its answer will have.

        Raises OSError if the file cannot be written; the previous request holds.
        """
        request = replace(self.request, version=self.request.version + 1, **changes)
        self._write(self.path / "wants.json", json.dumps(asdict(request)))
        self.request = request
        return self.request.version

    def read_report(self) -> AgentReport:
        """Return the last report of the job; reads the file only if it has changed."""
        try:
            changed = os.stat(self.path / "says.json").st_mtime_ns  # noqa: PTH116 - called at every look
        except OSError:
            return self._last_report[1]
        if changed != self._last_report[0]:
            self._last_report = (
                changed,
                parse_report(_read_text(self.path / "says.json")) or self._last_report[1],
            )
        return self._last_report[1]

    @staticmethod
    def _write(path: Path, text: str) -> None:
        new = path.with_suffix(".new")
        new.write_text(text, encoding="utf-8")
        new.replace(path)


def parse_request(text: str) -> AgentRequest:
    """Parse the text of a ``wants.json``; invalid text is an empty request."""
    values_ = _parse_object(text)
    threads = _as_whole_number(values_.get("threads"))
    hold = values_.get("hold") is True
    return AgentRequest(
        _as_whole_number(values_.get("version")),
        threads or None,
        _as_whole_number(values_.get("checkpoint")),
        hold,
    )


def parse_report(text: str) -> AgentReport | None:
    """Parse the text of a ``says.json``; None if it is invalid.

    The text comes from inside a container and is not trusted: values of unexpected types are ignored.
    """
    values_ = _parse_object(text)
    if not values_:
        return None
    return AgentReport(
        _as_whole_number(values_.get("version")),
        _as_whole_number(values_.get("threads")) or None,
        _as_whole_number(values_.get("step")) if "step" in values_ else None,
        _as_whole_number(values_.get("steps")) or None,
        _as_whole_number(values_.get("checkpoint")),
        _as_whole_number(values_.get("checkpoint_step")),
        str(values_.get("state", ""))[:20],
        _seconds(values_.get("started")) or 0.0,
        _seconds(values_.get("seconds_per_step")),
    )


def _parse_object(text: str) -> dict[str, Any]:
    try:
        values_ = json.loads(text)
    except ValueError:
        return {}
    return values_ if isinstance(values_, dict) else {}


def _as_whole_number(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else 0


def _seconds(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < _MAX_SECONDS:
        return None
    return float(value)


def _read_text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
