"""Atomic file replacement: a reader sees the old file or the new one, never half of either."""

from __future__ import annotations

import os
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def write_atomically(path: Path, write: Callable[[IO[bytes]], object], *, lasting: bool = True) -> None:
    """Replace a file by what `write` puts into it."""
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
