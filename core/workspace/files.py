"""Publishing files atomically: they exist completely or not at all.

Whatever is published is written to a scratch folder first, synced to the disk, and then moved to its
final path in one step. A process that dies on the way leaves only something in `tmp`, which is
never read and is swept at the next start.
"""

from __future__ import annotations

import errno
import fcntl
import os
import re
import shutil
import time
import unicodedata
import uuid
from contextlib import contextmanager
from typing import TYPE_CHECKING

from core.errors import NotFoundError, PhaseDockError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_NO_SPACE = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_ID = re.compile(r"[0-9a-f]{12,32}")
_LONGEST_NAME = 160
_SUFFIXES = re.compile(r"((?:\.[A-Za-z0-9]{1,10}){1,2})$")


class StorageError(PhaseDockError):
    """Something could not be written to the disk."""


@contextmanager
def hold_folder(folder: Path) -> Iterator[None]:
    """Hold a folder for one process at a time; a process that ends lets it go."""
    folder.mkdir(parents=True, exist_ok=True)
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def new_id() -> str:
    """Make an id that nothing else has: 16 hexadecimal digits."""
    return uuid.uuid4().hex[:16]


def checked_id(text: str, what: str) -> str:
    """Return an id if it has the form of `new_id`, so that no id is ever a path.

    Raises NotFoundError if it is anything else.
    """
    if _ID.fullmatch(text) is None:
        raise NotFoundError(f"There is no {what} with this id.", f"Choose a {what} from the list.")
    return text


def safe_name(name: str) -> str:
    """The name of a file in a browser or an archive, as a plain name that every file system takes.

    It has no folders and no control characters, is not hidden, and keeps its suffix however long it was.
    """
    base = unicodedata.normalize("NFC", name).replace("\\", "/").rsplit("/", 1)[-1]
    base = re.sub(r"[\x00-\x1f\x7f<>:\"|?*]", "_", base)
    base = "".join(char for char in base if unicodedata.category(char) not in ("Cs", "Cf", "Cc"))
    base = base.strip(" .") or "file"
    suffix = _SUFFIXES.search(base)
    cut = suffix.start() if suffix and suffix.start() > 0 else len(base)
    room = _LONGEST_NAME - len(base[cut:].encode())
    return base[:cut].encode()[:room].decode(errors="ignore") + base[cut:]


@contextmanager
def disk_errors(what: str) -> Iterator[None]:
    """Report a full or read-only disk in words.

    Raises StorageError in place of the system's error.
    """
    try:
        yield
    except OSError as error:
        sentence = disk_sentence(error, what)
        if sentence is None:
            raise
        raise StorageError(*sentence) from error


def disk_sentence(error: OSError, what: str) -> tuple[str, str] | None:
    """The message and hint for an error of the disk, or None when it is about something else."""
    if error.errno in _NO_SPACE:
        return (
            f"The disk is full, so {what} could not be stored.",
            "Make room in PHASEDOCK_HOME (empty the trash, for example) and try again.",
        )
    if error.errno in (errno.EROFS, errno.EACCES, errno.EPERM):
        return (
            f"PHASEDOCK_HOME cannot be written, so {what} could not be stored.",
            "Give the user who runs PhaseDock write access, or choose another PHASEDOCK_HOME.",
        )
    return None


def sync_file(path: Path) -> None:
    """Sync a file's contents to the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def sync_tree(directory: Path) -> None:
    """Sync everything in a directory to the disk, and the directory itself."""
    for path in sorted(directory.rglob("*")):
        sync_file(path)
    sync_file(directory)


@contextmanager
def publishing(target: Path, scratch: Path, *, replace: bool = False) -> Iterator[Path]:
    """Yield an empty directory to fill; it becomes `target` in one step when all went well."""
    draft, replaced = scratch / uuid.uuid4().hex, scratch / uuid.uuid4().hex
    draft.mkdir(parents=True)
    try:
        yield draft
        sync_tree(draft)
        target.parent.mkdir(parents=True, exist_ok=True)
        if replace and target.exists():
            target.rename(replaced)
        draft.rename(target)
        sync_file(target.parent)
    finally:
        for path in (draft, replaced):
            shutil.rmtree(path, ignore_errors=True)


def write_atomically(path: Path, data: bytes, *, sync: bool = True) -> None:
    """Write a small file so that readers see the old one or the new one, never half of it.

    Without `sync` the system decides when it reaches the disk.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{uuid.uuid4().hex[:8]}")
    try:
        draft.write_bytes(data)
        if sync:
            sync_file(draft)
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


def size_of(directory: Path) -> int:
    """The bytes of all files in a directory."""
    return sum(path.stat().st_size for path in directory.rglob("*") if path.is_file())


def sweep_older(directory: Path, seconds: float) -> int:
    """Remove everything in a directory that was not touched for some time; returns how many there were."""
    removed = 0
    for path in directory.iterdir() if directory.is_dir() else ():
        try:
            newest = max((p.stat().st_mtime for p in (path, *path.rglob("*"))), default=0.0)
        except FileNotFoundError:
            continue
        if time.time() - newest >= seconds:
            remove(path)
            removed += 1
    return removed


def remove(path: Path) -> None:
    """Remove a file or a directory, whether or not it is there."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
