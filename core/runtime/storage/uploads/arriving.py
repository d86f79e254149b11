"""The part of an upload that is still arriving: whose it is, and whether anybody receives it."""

from __future__ import annotations

import fcntl
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from core.errors import ConflictError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from typing import BinaryIO

JUST_NOW = 2.0


@contextmanager
def locked(part: Path, name: str) -> Iterator[BinaryIO]:
    """Open the part of an upload for writing, empty, and keep others from it.

    Raises
    ------
    ConflictError
        If it is being received already.
    """
    with part.open("ab") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ConflictError(f"“{name}” is already being sent.", "Wait until it has arrived.") from None
        file.truncate(0)
        yield file


def untouched(path: Path) -> float:
    """Seconds since something was added to a folder or file; 0 when it is gone."""
    try:
        return time.time() - path.stat().st_mtime
    except FileNotFoundError:
        return 0.0


def is_orphan(part: Path) -> bool:
    """Whether nobody receives a part any more."""
    # between opening and locking its part, a receiver is not to be disturbed
    if untouched(part) < JUST_NOW:
        return False
    try:
        with part.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except BlockingIOError:
        return False
    return True
