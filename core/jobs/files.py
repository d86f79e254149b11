"""Atomic file replacement: a reader sees the old file or the new one, never half of either."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def write_atomically(path: Path, write: Callable[[IO[bytes]], object], *, lasting: bool = True) -> None:
    """Replace a file atomically by what `write` writes; `lasting` syncs it to the disk."""
    draft = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    with draft.open("wb") as file:
        write(file)
        file.flush()
        if lasting:
            os.fsync(file.fileno())
    draft.replace(path)
    if lasting:
        _keep_folder(path.parent)


def _keep_folder(folder: Path) -> None:
    opened = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


@dataclass(frozen=True)
class AgentRequest:
    """A request of PhaseDock to the job; the fields of ``wants.json``."""

    #: Grows by one with every change.
    version: int = 0
    #: Threads that the program should use; None leaves them alone.
    threads: int | None = None
    #: Number of checkpoints requested so far.
    checkpoint: int = 0
    #: Whether to hold at the next step boundary.
    hold: bool = False


@dataclass
class AgentState:
    """The state of the job; the fields of ``says.json``."""

    #: Version of the last request; it is applied when it appears here.
    version: int = 0
    #: Threads that the program uses.
    threads: int = 1
    #: The last step done, and how many there are in all.
    step: int = 0
    steps: int = 0
    #: The loss of that step.
    loss: float | None = None
    #: Smoothed wall time of a step.
    seconds_per_step: float | None = None
    #: Number of the last fulfilled request for a checkpoint.
    checkpoint: int = 0
    #: Step of the checkpoint in the folder.
    checkpoint_step: int = 0
    #: ``preparing``, ``running``, ``held``, ``done`` or ``failed``.
    state: str = "preparing"
    #: Unix start time of this process; tells a resumed job from the earlier one.
    started: float = 0.0


def read_json(path: Path) -> dict[str, Any]:
    """Return a file's JSON object, empty where the file is missing, incomplete or not an object."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}


def as_int(value: object) -> int:
    """Return a whole number as it is and 0 for everything else."""
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def last_step(path: Path) -> int:
    """Return the last step with a complete line of readings, 0 without one."""
    try:
        rows = [line.split(",") for line in path.read_text(encoding="utf-8").split("\n")[:-1]]
    except (OSError, ValueError):
        return 0
    return max((int(row[1]) for row in rows if len(row) == 3 and row[1].isdecimal()), default=0)


def end_last_line(path: Path) -> None:
    """End an incomplete last line, left by a killed writer, so that the next line is readable."""
    with suppress(OSError), path.open("rb+") as file:
        if file.seek(0, os.SEEK_END) > 0:
            file.seek(-1, os.SEEK_END)
            if file.read(1) != b"\n":
                file.write(b"\n")
