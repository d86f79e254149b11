"""The messages exchanged through the agent's folder, read leniently where parts are missing."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True)
class Wants:
    """What the other side wants."""

    #: Grows by one with every change.
    version: int = 0
    #: Threads that the program should use; None leaves them alone.
    threads: int | None = None
    #: Number of checkpoints asked for so far.
    checkpoint: int = 0
    #: Whether to hold at the next step boundary.
    hold: bool = False


@dataclass
class Says:
    """The state of the job; the fields of ``says.json``."""

    #: Version of the requests that were read last; they are applied when it appears here.
    version: int = 0
    #: Threads that the program really uses.
    threads: int = 1
    #: The last step done, and how many there are in all.
    step: int = 0
    steps: int = 0
    #: The loss of that step.
    loss: float | None = None
    #: Smoothed wall time of a step.
    seconds_per_step: float | None = None
    #: Number of the last request for a checkpoint that was fulfilled.
    checkpoint: int = 0
    #: Step of the checkpoint that lies in the folder.
    checkpoint_step: int = 0
    #: ``preparing``, ``running``, ``held``, ``done`` or ``failed``.
    state: str = "preparing"
    #: Unix time at which this process began, which distinguishes a resumed job from the one before.
    started: float = 0.0


def read_json(path: Path) -> dict[str, Any]:
    """Return what a file holds, or nothing where it is missing, half written or not an object."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def as_int(value: object) -> int:
    """Return a whole number as it is, and 0 for everything else."""
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def last_step(path: Path) -> int:
    """Return the last step whose reading was written completely."""
    try:
        rows = [line.split(",") for line in path.read_text(encoding="utf-8").split("\n")[:-1]]
    except (OSError, ValueError):
        return 0
    return max((int(row[1]) for row in rows if len(row) == 3 and row[1].isdecimal()), default=0)


def end_last_line(path: Path) -> None:
    """End a line that was cut off when its writer was killed, so that the next one stands on its own."""
    with suppress(OSError), path.open("rb+") as file:
        if file.seek(0, os.SEEK_END) > 0:
            file.seek(-1, os.SEEK_END)
            if file.read(1) != b"\n":
                file.write(b"\n")
