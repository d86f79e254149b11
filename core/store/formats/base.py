"""Opening files by what they are, not by their names, and never reading more than is reasonable.

A compressed file is read through a counter: one that grows far beyond what measurements compress to
is refused before it fills the memory.
"""

from __future__ import annotations

import gzip
import io
import re
import zlib
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, runtime_checkable

from core.errors import InputError, RefusedError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from core.traces.mapping import ColumnMapping
    from core.traces.raw import RawTable
    from core.traces.validation import Problem


S = TypeVar("S")
GZIP = b"\x1f\x8b"
PARQUET = b"PAR1"
ZIP = b"PK\x03\x04"
OTHERS = {
    ZIP: "a zip archive or a spreadsheet",
    b"BZh": "a bzip2 archive",
    b"\xfd7zXZ": "an xz archive",
    b"7z\xbc\xaf": "a 7z archive",
    b"\x28\xb5\x2f\xfd": "a zstd archive",
    b"%PDF": "a PDF document",
    b"\x89PNG": "a picture",
    b"\xff\xd8\xff": "a picture",
    b"\xd0\xcf\x11\xe0": "an old Office document",
    b"\x7fELF": "a program",
    b"SQLite format 3": "a database",
    b"\x89HDF": "an HDF5 file",
    b"ORC": "an ORC file",
    b"\x80\x04\x95": "a pickle",
}
FREE_BYTES = 16 * 2**20
MOST_RATIO = 100
MOST_BYTES = 16 * 2**30
HEAD_BYTES = 256 * 1024
TEXT_BYTES = 64 * 1024
_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


class Unpacked(io.RawIOBase):
    """A gzip file's content as a stream that refuses decompression bombs and says where a cut-off file ends.

    Raises
    ------
    RefusedError
        While reading, if the content is absurdly larger than the file.
    InputError
        While reading, if the file is damaged or ends early.
    """

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._name = path.name
        self._packed = path.stat().st_size
        self._stream = gzip.open(path, "rb")  # noqa: SIM115 - closed with this stream
        self._read = 0

    def readable(self) -> bool:
        """Always true: it is a stream to read from."""
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        """Read some bytes of the content."""
        try:
            data = self._stream.read(len(buffer))
        except (EOFError, gzip.BadGzipFile, zlib.error, OSError) as error:
            raise self._damaged(error) from None
        self._read += len(data)
        if self._read > max(FREE_BYTES, min(MOST_BYTES, MOST_RATIO * self._packed)):
            raise RefusedError(
                f"“{self._name}” unpacks to more than {self._read / 2**20:,.0f} MiB, "
                f"over {MOST_RATIO} times its size or more than {MOST_BYTES >> 30} GiB.",
                "Unpack it yourself and import the CSV if you trust it.",
            )
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        """Close the file."""
        self._stream.close()
        super().close()

    def _damaged(self, error: Exception) -> InputError:
        if isinstance(error, EOFError):
            what = f"“{self._name}” ends in the middle of its compressed content, {self._read:,} bytes in."
        else:
            what = f"“{self._name}” is a damaged gzip file, {self._read:,} bytes in."
        return InputError(what, "Copy or compress the whole file again.")


def magic(path: Path) -> bytes:
    """The first bytes of a file.

    Raises
    ------
    InputError
        If the file is not there, cannot be read or is empty.
    """
    try:
        with path.open("rb") as file:
            start = file.read(16)
    except OSError as error:
        reason = "is not there" if isinstance(error, FileNotFoundError) else "cannot be read"
        raise InputError(f"The file “{path.name}” {reason}.", "Check its path and try again.") from None
    if not start:
        raise InputError(f"“{path.name}” is empty.", "Choose a file with a header and samples.")
    return start


def foreign(start: bytes) -> str | None:
    """What a file that begins like this is, where it is of a kind that cannot hold traces."""
    return next((name for mark, name in OTHERS.items() if start.startswith(mark)), None)


def open_content(path: Path) -> io.BufferedReader:
    """Open a file for reading its content, unpacked where it is gzip."""
    if magic(path).startswith(GZIP):
        return io.BufferedReader(Unpacked(path), 2**20)
    return path.open("rb")


def read_head(path: Path, n_bytes: int = HEAD_BYTES) -> bytes:
    """The first part of a file's content."""
    with open_content(path) as stream:
        return stream.read(n_bytes)


def plain(text: str) -> str:
    """A text without the codes by which tools colour or redraw a terminal."""
    return _ESCAPES.sub("", text) if "\x1b" in text else text


@dataclass(frozen=True)
class Beginning:
    """The beginning of a file, by which its format is recognised; each part is read once and when needed.

    Raises
    ------
    InputError
        When a part is read, if the file is not there, cannot be read, is empty or damaged.
    """

    #: The file.
    path: Path
    _opened: dict[Callable[[Path], Any], Any] = field(default_factory=dict, compare=False, repr=False)

    @cached_property
    def magic(self) -> bytes:
        """The first 16 bytes, as they are on the disk."""
        return magic(self.path)

    @cached_property
    def text(self) -> str:
        """The first 64 KiB of the content as text, unpacked, without what is not shown before and in it."""
        return plain(read_head(self.path, TEXT_BYTES).decode("utf-8-sig", "replace")).lstrip()

    def opened(self, how: Callable[[Path], S]) -> S:
        """The file opened by a reader; only once, however many formats ask for it."""
        if how not in self._opened:
            self._opened[how] = how(self.path)
        found: S = self._opened[how]
        return found


class Source(Protocol):
    """A file whose columns are known and can be read with a mapping."""

    @property
    def path(self) -> Path:
        """The file."""
        ...

    @property
    def header(self) -> tuple[str, ...]:
        """The columns' names."""
        ...

    @property
    def rows(self) -> tuple[tuple[str, ...], ...]:
        """The first rows as strings."""
        ...

    @property
    def types(self) -> tuple[str, ...]:
        """The columns' types where the file states them, else empty."""
        ...

    @property
    def n_rows(self) -> int | None:
        """The number of rows where it is known without reading everything."""
        ...

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What was odd about the file's beginning."""
        ...

    def read(self, mapping: ColumnMapping, progress: Callable[[float, str], None] | None = None) -> RawTable:
        """Read the mapped columns."""
        ...


@runtime_checkable
class ExactSource(Source, Protocol):
    """A source whose fast reader may not know row numbers, and that also has an exact one."""

    def numbers_rows(self, raw: RawTable) -> bool:
        """Tell whether positions in what the fast reader returned are row numbers."""
        ...

    def read_exactly(
        self, mapping: ColumnMapping, progress: Callable[[float, str], None] | None = None
    ) -> RawTable:
        """Read the mapped columns with the number of every row."""
        ...


@dataclass(frozen=True, slots=True)
class Format:
    """A kind of file that traces come in."""

    #: Its name in the register.
    name: str
    #: Its name for people, in sentences that list what can be read; formats of one title are listed once.
    title: str
    #: How names of such files usually end, for the dialog that chooses files.
    suffixes: tuple[str, ...]
    #: Whether a file that begins like this is of this format. The formats are asked in the register's order.
    recognise: Callable[[Beginning], bool]
    #: The file as a source of columns; raises `InputError` where it is damaged.
    open: Callable[[Beginning], Source]
    #: A small file with five samples or more, for its exam.
    example: str | bytes = ""
    #: Whether such a table is turned: its columns, or texts in its rows, name executions and metrics.
    turns: bool = False
