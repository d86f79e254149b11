"""The key that signs sessions: one for all processes that share a home folder, written atomically."""

from __future__ import annotations

import fcntl
import os
import secrets
from contextlib import contextmanager
from typing import TYPE_CHECKING

from core.workspace.files import disk_errors

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

KEY_BYTES = 32


def session_key(home: Path) -> bytes:
    """Return the key, which is made where there is none; only its owner can read it.

    Processes that start together get the same key: they ask one after the other, behind a lock on the
    folder that ends with its process. A file that is empty or too short is replaced.

    Raises
    ------
    StorageError
        If the disk is full or read-only.
    """
    path = home / "session.key"
    with disk_errors("the key of sessions"), _one_at_a_time(home):
        key = path.read_bytes() if path.is_file() else b""
        if len(key) < KEY_BYTES:
            key = secrets.token_bytes(KEY_BYTES)
            _write_private(path, key)
        if path.stat().st_mode & 0o077:
            path.chmod(0o600)
    return key


@contextmanager
def _one_at_a_time(folder: Path) -> Iterator[None]:
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _write_private(path: Path, data: bytes) -> None:
    """Write a file that nobody else can read, in one step: a kill leaves the old one or the new one."""
    draft = path.with_name(f".{path.name}.new")
    draft.unlink(missing_ok=True)
    with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)
