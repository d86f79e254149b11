"""Reading traces from any file, or from several in a folder that belong together."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from core.store.guard import guard_reader
from core.store.inspection import inspect_single_file, read_single_file
from core.store.joined_files import inspect_folder, read_folder
from core.store.preview import cut_file, cut_folder
from core.traces.evidence import Doubt, find_doubts

if TYPE_CHECKING:
    from collections.abc import Callable
    from os import PathLike

    from core.store.inspection import Inspection
    from core.traces.mapping import ColumnMapping
    from core.traces.model import TraceSet
    from core.traces.validation import Report

    Progress = Callable[[float, str], None]


def inspect_file(path: str | PathLike[str], as_written: bool = False) -> Inspection:
    """Look at the beginning of a file, or of those in a folder; fast whatever their size.

    Raises InputError if it cannot be a trace file at all.
    """
    with guard_reader(path):
        where = Path(path)
        return inspect_folder(where) if where.is_dir() else inspect_single_file(where, as_written)


def read_traces(path: str | PathLike[str], mapping: ColumnMapping | None = None) -> TraceSet:
    """Read a trace file.

    Raises InputError if nothing of the file can be used; what was repaired is in `read_with_report`.
    """
    return read_with_report(path, mapping)[0]


def read_with_report(
    path: str | PathLike[str], mapping: ColumnMapping | None = None, progress: Progress | None = None
) -> tuple[TraceSet, Report]:
    """Read a trace file and say what was wrong with it and what was done about it.

    Raises InputError if the file cannot be read or lacks a mapped column; UnusableError if no execution is
    left; its `report` says why.
    """
    with guard_reader(path, progress) as told:
        where = Path(path)
        read = read_folder if where.is_dir() else read_single_file
        return read(where, mapping, _forward(told))


def _forward(progress: Progress | None) -> Progress | None:
    """A callback whose fraction never decreases, even where a file is read a second time."""
    if progress is None:
        return None
    whole, most = progress, 0.0

    def tell(share: float, message: str) -> None:
        nonlocal most
        most = max(most, share)
        whole(most, message)

    return tell


@dataclass(frozen=True, slots=True)
class FirstPart:
    """The traces of a file's first part, what was wrong there, and what does not look like containers.

    `whole` is true where the part is the file.
    """

    traces: TraceSet
    report: Report
    doubts: tuple[Doubt, ...]
    whole: bool


def read_first_part(path: str | PathLike[str], mapping: ColumnMapping) -> FirstPart | None:
    """Read the first part of a file.

    Raises
    ------
    InputError
        As `core.store.readers.read_with_report` raises it.
    """
    where = Path(path)
    with TemporaryDirectory() as folder:
        target = Path(folder) / where.name
        part = cut_folder(where, target) if where.is_dir() else cut_file(where, target)
        if part is None:
            return None
        traces, report = read_with_report(part, mapping)
        return FirstPart(traces, report, find_doubts(traces), part == where)
