"""Uploaded files: streamed to disk, exact to the byte, visible only when complete.

One folder per upload, ``uploads/<id>``: ``info.json`` says what was announced, ``part`` grows while
bytes arrive, and ``file/<name>`` is the whole file. The part is locked by the process that receives
it; the kernel gives the lock back when that process dies in whatever way, so a part that can be
locked is stale and may be swept. The name given by the browser is never used as a path.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import time
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from core.errors import ConflictError, InputError, NotFoundError
from core.units import format_bytes
from core.workspace.files import (
    StorageError,
    checked_id,
    disk_errors,
    new_id,
    remove,
    safe_name,
    sync_file,
    write_atomically,
)
from core.workspace.records import UploadInfo

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence
    from pathlib import Path
    from typing import BinaryIO


JUST_NOW = 2.0


@contextmanager
def locked(part: Path, name: str) -> Iterator[BinaryIO]:
    """Open the part of an upload for writing, empty, and keep others from it.

    Raises ConflictError if it is being received already.
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
    """Whether no process receives a part any more."""
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


_NAMED = 3
"""Up to how many gathered files are all named."""


def group_name(names: Sequence[str]) -> str:
    """The name of several files together."""
    if len(names) <= _NAMED:
        return safe_name(" + ".join(names))
    return safe_name(f"{names[0]} and {len(names) - 1} more files")


def size_of(paths: Iterable[Path]) -> int:
    """Their bytes together."""
    return sum(path.stat().st_size for path in paths)


def free_path(path: Path) -> Path:
    """A path that is not taken: two files from different folders may have one name."""
    number = 1
    free = path
    while free.exists():
        number += 1
        free = path.with_name(f"{path.stem} ({number}){path.suffix}")
    return free


_NAME = "the upload"
_ABANDONED = 7 * 86400.0
_ANNOUNCED = 3600.0


@dataclass(frozen=True, slots=True)
class _Announced:
    name: str
    size: int
    created: float


class Uploads:
    """The uploads under a folder."""

    def __init__(self, folder: Path, max_size: int) -> None:
        self._folder = folder
        self._max_size = max_size
        folder.mkdir(parents=True, exist_ok=True)

    def begin(self, name: str, size: int) -> str:
        """Announce a file.

        Raises InputError if it is empty or larger than allowed; StorageError if the disk has not enough room.
        """
        if size <= 0:
            raise InputError(f"“{safe_name(name)}” is empty.", "Choose a file with at least one row.")
        if size > self._max_size:
            raise self._too_large(name, size)
        self._check_room(size)
        upload = new_id()
        with disk_errors(_NAME):
            announced = _Announced(safe_name(name), size, time.time())
            write_atomically(self._folder / upload / "info.json", json.dumps(asdict(announced)).encode())
        return upload

    def receive(self, upload: str, chunks: Iterable[bytes]) -> UploadInfo:
        """Take the bytes of an announced file; all of them or nothing.

        Raises NotFoundError if nothing was announced under this id; ConflictError if it is complete already,
        or being received by another request; InputError if fewer or more bytes came than were announced;
        StorageError if the disk is full.
        """
        info = self.get(upload)
        if info.complete:
            raise ConflictError(f"“{info.name}” has already arrived.", "Continue with it, or send it again.")
        part = self._folder / upload / "part"
        with disk_errors(_NAME), locked(part, info.name) as file:
            try:
                self._fill(file, chunks, info)
                self._complete(upload, info)
            except BaseException:
                part.unlink(missing_ok=True)
                raise
        return self.get(upload)

    def get(self, upload: str) -> UploadInfo:
        """Look up an upload.

        Raises NotFoundError if there is none of this id.
        """
        folder = self._folder / checked_id(upload, "upload")
        try:
            announced = _Announced(**json.loads((folder / "info.json").read_bytes()))
        except FileNotFoundError:
            raise NotFoundError("This upload is no longer there.", "Send the file again.") from None
        return UploadInfo(
            id=upload,
            name=announced.name,
            size=announced.size,
            complete=(folder / "file" / announced.name).exists(),
            created=datetime.fromtimestamp(announced.created, UTC),
        )

    def list(self) -> list[UploadInfo]:
        """All complete uploads, the newest first; incomplete ones are omitted."""
        uploads = []
        for folder in self._folder.iterdir():
            try:
                info = self.get(folder.name)
            except NotFoundError:
                continue
            if info.complete:
                uploads.append(info)
        return sorted(uploads, key=lambda info: info.created, reverse=True)

    def path(self, upload: str) -> Path:
        """The path of a complete upload.

        Raises NotFoundError if there is none of this id; ConflictError if it is not complete.
        """
        info = self.get(upload)
        if not info.complete:
            raise ConflictError(
                f"“{info.name}” has not arrived completely.", "Wait for it, or send it again."
            )
        return self._folder / upload / "file" / info.name

    def files(self, upload: str) -> tuple[Path, ...]:
        """The files of a complete upload, by name; one, unless several were gathered.

        Raises
        ------
        NotFoundError, ConflictError
            As `path` raises them.
        """
        path = self.path(upload)
        return tuple(sorted(path.iterdir())) if path.is_dir() else (path,)

    def is_joined(self, upload: str) -> bool:
        """Whether an upload is there that was gathered of several files."""
        try:
            return self.path(upload).is_dir()
        except (NotFoundError, ConflictError):
            return False

    def gather(self, uploads: Sequence[str]) -> str:
        """Make one upload of several complete ones, which are gone then; returns its id.

        Raises NotFoundError or ConflictError if one of them is not there, or not complete.
        """
        upload_id = self._linked([path for one in uploads for path in self.files(one)], gathered=True)
        for one in uploads:
            self.discard(one)
        return upload_id

    def separate(self, upload: str) -> tuple[str, ...]:
        """Make an upload of every file of one, which is gone then; returns their ids.

        Raises NotFoundError or ConflictError if it is not there, or not complete.
        """
        upload_ids = tuple(self._linked([path], gathered=False) for path in self.files(upload))
        self.discard(upload)
        return upload_ids

    def _linked(self, paths: Sequence[Path], gathered: bool) -> str:
        """A new upload of files that are there already; visible only when it is whole."""
        upload_id = new_id()
        # a name that cannot be an upload's id: a reader never sees half of one
        scratch = self._folder / f".{upload_id}.new"
        announced = _Announced(group_name([path.name for path in paths]), size_of(paths), time.time())
        target = scratch / "file" / announced.name if gathered else scratch / "file"
        with disk_errors(_NAME):
            target.mkdir(parents=True)
            for path in paths:
                os.link(path, free_path(target / path.name))
            write_atomically(scratch / "info.json", json.dumps(asdict(announced)).encode())
            scratch.rename(self._folder / upload_id)
        return upload_id

    def discard(self, upload: str) -> None:
        """Remove an upload, whether or not it is there."""
        folder = self._folder / checked_id(upload, "upload")
        # a name that cannot be an upload's id: a reader never sees half of one
        doomed = folder.with_name(f".{folder.name}.{new_id()}")
        try:
            folder.rename(doomed)
        except FileNotFoundError:
            return
        remove(doomed)

    def sweep(self, keep: Collection[str] = ()) -> int:
        """Remove leftovers of killed processes, and files that were not used for a week."""
        swept = 0
        for folder in list(self._folder.iterdir()):
            if folder.name not in keep and self._stale(folder):
                remove(folder)
                swept += 1
        return swept

    def _stale(self, folder: Path) -> bool:
        try:
            info = self.get(folder.name)
        except NotFoundError:
            return untouched(folder) > JUST_NOW
        age = time.time() - info.created.timestamp()
        part = folder / "part"
        if info.complete:
            return age > _ABANDONED
        return is_orphan(part) if part.exists() else age > _ANNOUNCED and untouched(folder) > JUST_NOW

    def _fill(self, file: BinaryIO, chunks: Iterable[bytes], info: UploadInfo) -> None:
        received = 0
        for chunk in chunks:
            received += len(chunk)
            if received > info.size:
                raise InputError(
                    f"“{info.name}” was announced with {format_bytes(info.size)}, and more arrived.",
                    "Send the file again; it may have changed while it was read.",
                )
            file.write(chunk)
        if received < info.size:
            raise InputError(
                f"Only {format_bytes(received)} of the {format_bytes(info.size)} of “{info.name}” arrived.",
                "Send the file again.",
            )
        file.flush()

    def _complete(self, upload: str, info: UploadInfo) -> None:
        folder = self._folder / upload
        part = folder / "part"
        sync_file(part)
        (folder / "file").mkdir(exist_ok=True)
        part.rename(folder / "file" / info.name)
        sync_file(folder / "file")

    def _too_large(self, name: str, size: int) -> InputError:
        return InputError(
            f"“{safe_name(name)}” has {format_bytes(size)}; "
            f"at most {format_bytes(self._max_size)} may be sent.",
            "Send a smaller file (Parquet is the smallest), or raise PHASEDOCK_MAX_UPLOAD.",
        )

    def _check_room(self, size: int) -> None:
        free = shutil.disk_usage(self._folder).free
        if free < size:
            raise StorageError(
                f"The disk has {format_bytes(free)} left; the file needs {format_bytes(size)}.",
                "Make room in PHASEDOCK_HOME (empty the trash, for example) and try again.",
            )
