"""What an upload format is: how a file of it is recognised, and the source that it is opened as."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, runtime_checkable

from core.store.streams import magic, read_head

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from core.traces.mapping import ColumnMapping
    from core.traces.raw import RawTable
    from core.traces.validation import Problem

S = TypeVar("S")
TEXT_BYTES = 64 * 1024


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


@dataclass(frozen=True)
class Beginning:
    """The beginning of a file, by which its format is recognised; each part is read once and when needed.

    Parameters
    ----------
    path
        The file.

    Raises
    ------
    InputError
        When a part is read, if the file is not there, cannot be read, is empty or damaged.
    """

    path: Path
    _opened: dict[Callable[[Path], Any], Any] = field(default_factory=dict, compare=False, repr=False)

    @cached_property
    def magic(self) -> bytes:
        """The first 16 bytes, as they are on the disk."""
        return magic(self.path)

    @cached_property
    def text(self) -> str:
        """The first 64 KiB of the content as text, unpacked, without a byte order mark and leading space."""
        return read_head(self.path, TEXT_BYTES).decode("utf-8-sig", "replace").lstrip()

    def opened(self, how: Callable[[Path], S]) -> S:
        """The file opened by a reader; only once, however many formats ask for it."""
        if how not in self._opened:
            self._opened[how] = how(self.path)
        found: S = self._opened[how]
        return found


@dataclass(frozen=True, slots=True)
class Format:
    """A kind of file that traces come in.

    Parameters
    ----------
    name
        Its name in the register.
    title
        Its name for people, in sentences that list what can be read; formats of one title are listed once.
    suffixes
        How names of such files usually end, for the dialog that chooses files.
    recognise
        Whether a file that begins like this is of this format. The formats are asked in the register's order.
    open
        The file as a source of columns; raises `InputError` where it is damaged.
    """

    name: str
    title: str
    suffixes: tuple[str, ...]
    recognise: Callable[[Beginning], bool]
    open: Callable[[Beginning], Source]
