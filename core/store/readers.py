"""Reading any trace file: find out what it is, recognise its layout, read, check, report."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from core.errors import listed
from core.store.formats.base import ExactSource
from core.store.formats.register import open_source
from core.store.guard import guarded
from core.traces.build import build
from core.traces.layouts import recognise
from core.traces.validation import Report, UnusableError, many, problem

if TYPE_CHECKING:
    from collections.abc import Callable
    from os import PathLike

    from core.store.formats.base import Source
    from core.traces.mapping import ColumnMapping
    from core.traces.model import TraceSet
    from core.traces.raw import RawTable

    Progress = Callable[[float, str], None]


def read_traces(path: str | PathLike[str], mapping: ColumnMapping | None = None) -> TraceSet:
    """Read a trace file.

    Parameters
    ----------
    path
        A file of one of the formats of `core.store.formats.register`.
    mapping
        What its columns are; None: as its layout is recognised.

    Raises
    ------
    InputError
        If nothing of the file can be used; what was repaired is in `read_with_report`.
    """
    return read_with_report(path, mapping)[0]


def read_with_report(
    path: str | PathLike[str], mapping: ColumnMapping | None = None, progress: Progress | None = None
) -> tuple[TraceSet, Report]:
    """Read a trace file and say what was wrong with it and what was done about it.

    Parameters
    ----------
    path
        The file.
    mapping
        What its columns are; None: as its layout is recognised.
    progress
        Called with the fraction done (0 to 1) and a sentence; may raise `Cancelled`.

    Raises
    ------
    InputError
        If the file cannot be read or lacks a mapped column.
    UnusableError
        If no execution is left; its `report` says why.
    """
    with guarded(path, progress) as told:
        return _read(Path(path), mapping, _forward(told))


def _read(path: Path, mapping: ColumnMapping | None, progress: Progress | None) -> tuple[TraceSet, Report]:
    source = open_source(path)
    guessed = mapping is None
    if mapping is None:
        mapping = recognise(source.header, source.rows).mapping
    mapping.require(source.header)
    raw = source.read(mapping, _part(progress, 0.0, 0.8))
    later = _part(progress, 0.8, 1.0)
    try:
        traces, report = build(raw, mapping, later)
        found = report
    except UnusableError as error:
        found = error.report
        if not isinstance(source, ExactSource) or not _needs_exact(source, raw, found):
            raise
    if isinstance(source, ExactSource) and _needs_exact(source, raw, found):
        traces, report = _again(source, mapping, progress)
    return traces, _with_unused(report, source, mapping) if guessed else report


def _again(source: ExactSource, mapping: ColumnMapping, progress: Progress | None) -> tuple[TraceSet, Report]:
    """Read once more, slowly, for the row numbers."""
    return build(source.read_exactly(mapping, _part(progress, 0.0, 0.8)), mapping, _part(progress, 0.8, 1.0))


def _needs_exact(source: ExactSource, raw: RawTable, report: Report) -> bool:
    """Tell whether the report names rows whose numbers the fast reader could not know."""
    if raw.rows is not None or all(one.row is None for one in report.problems):
        return False
    return not source.numbers_rows(raw)


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


def _part(progress: Progress | None, low: float, high: float) -> Progress | None:
    """A callback for one part of the whole."""
    if progress is None:
        return None
    whole = progress
    return lambda share, message: whole(low + (high - low) * share, message)


def _with_unused(report: Report, source: Source, mapping: ColumnMapping) -> Report:
    """Add the columns that the recognised mapping leaves out."""
    unused = [name for name in source.header if name not in mapping.columns]
    if not unused:
        return report
    message = f"{many(len(unused), 'column')} not in the mapping: {listed(unused)}."
    extra = problem("columns_unused", message, column=unused[0], count=len(unused))
    return Report((*report.problems, extra), report.rows_read, report.rows_kept, report.executions_kept)
