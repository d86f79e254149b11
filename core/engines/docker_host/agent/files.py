"""The host's side of a job's agent: its requests to the job, and the replies, as files.

The other half is `core.jobs.agent`. Files are replaced at once, never written in place, so whatever is read
is whole; a version that grows by one with every wish comes back when the wish was read and fulfilled.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from pathlib import Path

INSIDE: Final = "/phasedock"
"""Where a container sees its folder."""

VARIABLE: Final = "PHASEDOCK_AGENT"
"""The variable that names the folder to the program."""


@dataclass(frozen=True, slots=True)
class Wants:
    """What is wanted of a job.

    Parameters
    ----------
    version
        Grows by one with every wish.
    threads
        Threads that it is to compute with, or None to leave them alone.
    checkpoint
        Checkpoints asked for so far.
    hold
        Whether it is to stand still after its next step.
    """

    version: int = 0
    threads: int | None = None
    checkpoint: int = 0
    hold: bool = False


@dataclass(frozen=True, slots=True)
class Says:
    """What a job says of itself; None and empty where it said nothing yet.

    Parameters
    ----------
    version
        The last wish that it fulfilled.
    threads
        Threads that it computes with.
    step, steps
        Steps done, and to do in all.
    checkpoint, checkpoint_step
        The last checkpoint that was asked for and is written, and the step it is of.
    state
        ``preparing``, ``running``, ``held``, ``done`` or ``failed``.
    started
        Unix seconds at which its process began; another one after every start.
    """

    version: int = 0
    threads: int | None = None
    step: int | None = None
    steps: int | None = None
    checkpoint: int = 0
    checkpoint_step: int = 0
    state: str = ""
    started: float = 0.0


class AgentFolder:
    """One job's folder, seen from outside.

    Parameters
    ----------
    path
        The folder on this machine; it is there already.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.wants = parse_wants(_text(path / "wants.json"))
        self._said: tuple[int, Says] = (0, Says())

    def want(self, **wish: Any) -> int:
        """Want something else of the job; gives the version that it answers with.

        Parameters
        ----------
        **wish
            Fields of `Wants` that change.

        Raises
        ------
        OSError
            If it cannot be written; what was wanted before still is.
        """
        wants = replace(self.wants, version=self.wants.version + 1, **wish)
        self._write(self.path / "wants.json", json.dumps(asdict(wants)))
        self.wants = wants
        return self.wants.version

    def says(self) -> Says:
        """What the job said last; the file is read only if it is another one than before."""
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
    """The wishes in a text of ``wants.json``; none where it cannot be understood."""
    found = _object(text)
    threads = _whole(found.get("threads"))
    hold = found.get("hold") is True
    return Wants(_whole(found.get("version")), threads or None, _whole(found.get("checkpoint")), hold)


def parse_says(text: str) -> Says | None:
    """What a job says in a text of ``says.json``, or None where it cannot be understood.

    Whatever a program writes there comes from inside a container and is believed only as far as it is of the
    kind that it should be.
    """
    found = _object(text)
    if not found:
        return None
    started = found.get("started")
    return Says(
        _whole(found.get("version")),
        _whole(found.get("threads")) or None,
        _whole(found.get("step")) if "step" in found else None,
        _whole(found.get("steps")) or None,
        _whole(found.get("checkpoint")),
        _whole(found.get("checkpoint_step")),
        str(found.get("state", ""))[:20],
        float(started) if isinstance(started, (int, float)) and not isinstance(started, bool) else 0.0,
    )


def _object(text: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _whole(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else 0


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
