"""What an upload format is: how a file of it is recognised, and the source that it is opened as."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from core.store.formats.opening import Beginning
    from core.traces.mapping import ColumnMapping
    from core.traces.raw import RawTable
    from core.traces.validation import Problem


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
