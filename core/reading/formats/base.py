"""Base of the formats: files opened by their first bytes, sources of columns, the entry of the register.

A gzip file is read through a counter: one that unpacks far beyond the usual ratio of measurements is refused
before it fills the memory.
"""

from __future__ import annotations

import codecs
import gzip
import io
import re
import zlib
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

from core.errors import InputError, RefusedError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from core.reading.mapping import ColumnMapping
    from core.reading.table import RawTable
    from core.traces.validation import Problem


S = TypeVar("S")
GZIP = b"\x1f\x8b"
PARQUET = b"PAR1"
ZIP = b"PK\x03\x04"
FOREIGN_KINDS = {
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
MAX_RATIO = 100
MAX_BYTES = 16 * 2**30
HEAD_BYTES = 256 * 1024
TEXT_BYTES = 64 * 1024
_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


class GzipContent(io.RawIOBase):
    """A gzip file's content as a stream; refuses decompression bombs, locates the end of a truncated file.

    Raises RefusedError while reading, if the content is far larger than the file; InputError while reading,
    if the file is damaged or ends early.
    """

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._name = path.name
        self._packed_size = path.stat().st_size
        self._stream = gzip.open(path, "rb")  # noqa: SIM115 - closed with this stream
        self._read = 0

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        """Read some bytes of the content."""
        try:
            data = self._stream.read(len(buffer))
        except (EOFError, gzip.BadGzipFile, zlib.error, OSError) as error:
            raise self._damaged(error) from None
        self._read += len(data)
        if self._read > max(FREE_BYTES, min(MAX_BYTES, MAX_RATIO * self._packed_size)):
            raise RefusedError(
                f"“{self._name}” unpacks to more than {self._read / 2**20:,.0f} MiB, "
                f"over {MAX_RATIO} times its size or more than {MAX_BYTES >> 30} GiB.",
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
            message = f"“{self._name}” ends in the middle of its compressed content, {self._read:,} bytes in."
        else:
            message = f"“{self._name}” is a damaged gzip file, {self._read:,} bytes in."
        return InputError(message, "Copy or compress the whole file again.")


def read_magic(path: Path) -> bytes:
    """Return the first bytes of a file.

    Raises InputError if the file does not exist, is unreadable or empty.
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


def find_foreign_kind(start: bytes) -> str | None:
    """Return the kind of a file that cannot hold traces by its first bytes; None for any other."""
    return next((name for mark, name in FOREIGN_KINDS.items() if start.startswith(mark)), None)


def open_content(path: Path) -> io.BufferedReader:
    """Open a file's content, unpacked if it is gzip."""
    if read_magic(path).startswith(GZIP):
        return io.BufferedReader(GzipContent(path), 2**20)
    return path.open("rb")


def read_head(path: Path, n_bytes: int = HEAD_BYTES) -> bytes:
    """Return the first part of a file's content."""
    with open_content(path) as stream:
        return stream.read(n_bytes)


def find_encoding(start: bytes) -> str:
    """Return the codec of a text by its first bytes: UTF-16, as PowerShell writes, or UTF-8."""
    return "utf-16" if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) else "utf-8-sig"


def decode_text(data: bytes) -> str:
    """Decode a text or the beginning of one; what cannot be decoded is replaced."""
    return data.decode(find_encoding(data), "replace")


def open_text(path: Path) -> io.TextIOWrapper:
    """Open a file's content as text, unpacked if it is gzip; what cannot be decoded is replaced."""
    stream = open_content(path)
    return io.TextIOWrapper(stream, find_encoding(stream.peek(2)), errors="replace")


def strip_escapes(text: str) -> str:
    """Return a text without the escape codes of terminals."""
    return _ESCAPES.sub("", text) if "\x1b" in text else text


@dataclass(frozen=True)
class FileStart:
    """The beginning of a file, to recognise its format; each part is read once, at its first use.

    Raises InputError when a part is read, if the file does not exist, is unreadable, empty or damaged.
    """

    #: The file.
    path: Path
    #: The number of lines above what is looked at.
    skip: int = 0
    _opened: dict[Callable[[Path], Any], Any] = field(default_factory=dict, compare=False, repr=False)

    @cached_property
    def magic(self) -> bytes:
        """The first 16 bytes of the file."""
        return read_magic(self.path)

    @cached_property
    def text(self) -> str:
        """The first 64 KiB of the unpacked content as text, without leading blanks and escape codes."""
        return "".join(self.lines[self.skip :]).lstrip()

    @cached_property
    def lines(self) -> list[str]:
        """The lines of the first 64 KiB."""
        text = strip_escapes(decode_text(read_head(self.path, TEXT_BYTES)))
        return text.splitlines(keepends=True)

    def open_once(self, opener: Callable[[Path], S]) -> S:
        """Open the file with a reader, once for all formats."""
        if opener not in self._opened:
            self._opened[opener] = opener(self.path)
        found: S = self._opened[opener]
        return found


@dataclass(frozen=True, kw_only=True)
class Source(ABC):
    """A file with known columns that can be read with a mapping."""

    #: The file.
    path: Path
    #: The columns' names.
    header: tuple[str, ...]
    #: The first rows as strings.
    rows: tuple[tuple[str, ...], ...]
    #: The columns' types if the file states them, else empty.
    types: tuple[str, ...] = ()
    #: The number of rows if it is known without reading everything.
    n_rows: int | None = None
    #: The problems of the file's beginning.
    problems: tuple[Problem, ...] = ()

    @abstractmethod
    def read(self, mapping: ColumnMapping, progress: Callable[[float, str], None] | None = None) -> RawTable:
        """Read the mapped columns.

        Raises InputError if a column is missing, or mapped to something that it cannot be, or if the file is
        damaged.
        """


@dataclass(frozen=True, slots=True)
class Format:
    """A file format of traces, an entry of the register; the first one that recognises a file reads it."""

    #: Its name in the register.
    name: str
    #: Its name for people; formats with the same title are listed once.
    title: str
    #: Usual endings of file names, for the file dialog.
    suffixes: tuple[str, ...]
    #: Opens the file as a source of columns; raises `InputError` if it is damaged.
    open: Callable[[FileStart], Source]
    #: How a file begins: a pattern of its text, or its first bytes.
    begins: str | bytes = ""
    #: Whether a file that begins so has this format; None: all have.
    check: Callable[[FileStart], bool] | None = None
    #: Whether its tables are pivoted, because columns or texts in rows name executions and metrics.
    is_pivoted: bool = False
    #: Whether a tool prints it, so that other text may stand above it.
    is_of_tool: bool = False
    #: A small file with at least five samples, for the exam of formats.
    example: str = ""

    def recognises(self, start: FileStart) -> bool:
        """Whether a file has this format."""
        if isinstance(self.begins, bytes):
            return start.magic.startswith(self.begins)
        return bool(re.match(self.begins, start.text)) and (self.check is None or self.check(start))
