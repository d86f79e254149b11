"""Reading traces from any file, or from several in a folder that belong together."""

from __future__ import annotations

import logging
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from core.errors import InputError, PhaseDockError, shorten_sentence
from core.progress_reporting import silent
from core.reading.inspection import cut_file, cut_folder, inspect_single_file, read_single_file
from core.reading.joined_files import inspect_folder, read_folder
from core.traces.evidence import Doubt, find_doubts

if TYPE_CHECKING:
    from collections.abc import Iterator
    from os import PathLike

    from core.progress_reporting import Progress
    from core.reading.inspection import Inspection
    from core.reading.mapping import ColumnMapping
    from core.traces.model import TraceSet
    from core.traces.validation import Report


def inspect_file(path: str | PathLike[str], as_written: bool = False) -> Inspection:
    """Inspect the beginning of a file, or of each file of a folder; fast whatever their size.

    Raises InputError if it cannot be a trace file at all.
    """
    with guard_reader(path):
        source = Path(path)
        return inspect_folder(source) if source.is_dir() else inspect_single_file(source, as_written)


def read_traces(path: str | PathLike[str], mapping: ColumnMapping | None = None) -> TraceSet:
    """Read a trace file.

    Raises InputError if nothing of the file can be used; `read_with_report` also returns the repairs.
    """
    return read_with_report(path, mapping)[0]


def read_with_report(
    path: str | PathLike[str], mapping: ColumnMapping | None = None, progress: Progress = silent
) -> tuple[TraceSet, Report]:
    """Read a trace file; returns the traces, and a report of its problems and their repairs.

    Raises InputError if the file cannot be read or lacks a mapped column; UnusableError if no execution
    remains; its `report` says why.
    """
    with guard_reader(path, progress) as guarded_progress:
        source = Path(path)
        read = read_folder if source.is_dir() else read_single_file
        return read(source, mapping, _never_decreasing(guarded_progress))


def _never_decreasing(progress: Progress) -> Progress:
    """A callback whose fraction never decreases, even where a file is read a second time."""
    highest = 0.0

    def report(fraction: float, message: str, /, **metrics: float) -> None:
        nonlocal highest
        highest = max(highest, fraction)
        progress(highest, message, **metrics)

    return report


@dataclass(frozen=True, slots=True)
class FirstPart:
    """The traces of a file's first part, its problems, and doubts whether its rows are containers.

    `whole` is true where the part is the whole file.
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
        As `core.reading.readers.read_with_report` raises it.
    """
    source = Path(path)
    with TemporaryDirectory() as folder:
        target = Path(folder) / source.name
        part = cut_folder(source, target) if source.is_dir() else cut_file(source, target)
        if part is None:
            return None
        traces, report = read_with_report(part, mapping)
        return FirstPart(traces, report, find_doubts(traces), part == source)


_LOG = logging.getLogger(__name__)
UNKNOWN_DAMAGE = "is damaged in a way that PhaseDock does not know"


@contextmanager
def guard_reader(path: str | PathLike[str] | None, progress: Progress = silent) -> Iterator[Progress]:
    """Run a reader; yields the callback that it reports to.

    Raises PhaseDockError for the reader's own errors, with sentences of at most
    `core.errors.MAX_SENTENCE_LENGTH` characters; InputError in place of any other exception but MemoryError.
    """
    callback = _GuardedCallback(progress)
    try:
        yield callback
    except MemoryError:
        raise
    except PhaseDockError as error:
        error.message, error.hint = shorten_sentence(error.message), shorten_sentence(error.hint)
        error.args = (error.message,)
        raise
    except Exception as error:
        if error is callback.raised:
            raise
        name = "The file" if path is None else f"“{Path(path).name}”"
        _LOG.warning("%s: unexpected error of a reader", name, exc_info=True)
        raise InputError(
            shorten_sentence(f"{name} {UNKNOWN_DAMAGE} ({type(error).__name__})."),
            "Write or copy the whole file again.",
        ) from error


class _GuardedCallback:
    """A callback that remembers its exception."""

    def __init__(self, callback: Progress) -> None:
        self._callback = callback
        self.raised: Exception | None = None

    def __call__(self, fraction: float, message: str, /, **metrics: float) -> None:
        try:
            self._callback(fraction, message, **metrics)
        except Exception as error:
            self.raised = error
            raise
