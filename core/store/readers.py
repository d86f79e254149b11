"""Reading any trace file: look at its first part, recognise its layout, read, check, report."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from core.errors import InputError, listed
from core.store.formats.base import ExactSource
from core.store.formats.register import open_source
from core.store.guard import guarded
from core.traces.build import build
from core.traces.cells.dates import is_date
from core.traces.cells.numbers import EMPTY, is_number
from core.traces.layouts import recognise
from core.traces.mapping import ColumnMapping
from core.traces.questions import Question, questions
from core.traces.validation import Problem, Report, UnusableError, many, problem

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from os import PathLike

    from core.store.formats.base import Source
    from core.traces.model import TraceSet
    from core.traces.raw import RawTable

    Progress = Callable[[float, str], None]

PREVIEW_ROWS = 20


@dataclass(frozen=True, slots=True)
class ColumnInfo:
    """A column as a person sees it in the mapping form: name, type and some of its values."""

    name: str
    dtype: str
    examples: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Inspection:
    """What a file seems to be.

    Parameters
    ----------
    layout
        The name of the recognised layout; "" where nothing could be guessed.
    label
        Its name for people.
    mapping
        The suggested mapping; None where no column has numbers.
    reasons
        Sentences that explain the suggestion.
    columns
        The file's columns.
    rows_preview
        The first rows as strings.
    size
        Bytes on disk.
    n_rows
        Rows: exact where the file states it, else an estimate; None where neither is possible.
    problems
        What was odd about the part that was read.
    questions
        What a person has to say first.
    """

    layout: str
    label: str
    mapping: ColumnMapping | None
    reasons: tuple[str, ...]
    columns: tuple[ColumnInfo, ...]
    rows_preview: tuple[tuple[str, ...], ...]
    size: int
    n_rows: int | None
    problems: tuple[Problem, ...]
    questions: tuple[Question, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """The inspection as JSON holds it."""
        return {
            "layout": self.layout,
            "label": self.label,
            "mapping": None if self.mapping is None else self.mapping.to_dict(),
            "reasons": list(self.reasons),
            "columns": [
                {"name": one.name, "dtype": one.dtype, "examples": list(one.examples)} for one in self.columns
            ],
            "rows_preview": [list(row) for row in self.rows_preview],
            "size": self.size,
            "n_rows": self.n_rows,
            "problems": [one.to_dict() for one in self.problems],
            "questions": [one.to_dict() for one in self.questions],
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Inspection:
        """The inspection that `to_dict` wrote."""
        return cls(
            layout=data["layout"],
            label=data["label"],
            mapping=None if data["mapping"] is None else ColumnMapping.from_dict(data["mapping"]),
            reasons=tuple(data["reasons"]),
            columns=tuple(
                ColumnInfo(one["name"], one["dtype"], tuple(one["examples"])) for one in data["columns"]
            ),
            rows_preview=tuple(tuple(row) for row in data["rows_preview"]),
            size=data["size"],
            n_rows=data["n_rows"],
            problems=tuple(Problem.from_dict(one) for one in data["problems"]),
            questions=tuple(Question.from_dict(one) for one in data.get("questions", ())),
        )


def inspect_file(path: str | PathLike[str]) -> Inspection:
    """Look at the beginning of a file; fast whatever its size.

    Raises
    ------
    InputError
        If it cannot be a trace file at all.
    """
    with guarded(path):
        return _inspect(Path(path))


def _inspect(where: Path) -> Inspection:
    source = open_source(where)
    mapping: ColumnMapping | None
    reasons: tuple[str, ...]
    try:
        found = recognise(source.header, source.rows)
    except InputError as error:
        layout, label, mapping, reasons = "", "unknown", None, (error.message, error.hint)
    else:
        layout, label, mapping, reasons = found.layout, found.label, found.mapping, found.reasons
    size = where.stat().st_size
    return Inspection(
        layout=layout,
        label=label,
        mapping=mapping,
        reasons=reasons,
        columns=_columns(source),
        rows_preview=source.rows[:PREVIEW_ROWS],
        size=size,
        n_rows=source.n_rows,
        problems=source.problems,
        questions=() if mapping is None else questions(mapping, source.header, source.rows),
    )


def _columns(source: Source) -> tuple[ColumnInfo, ...]:
    found = []
    for i, name in enumerate(source.header):
        texts = [row[i].strip() for row in source.rows if i < len(row)]
        dtype = source.types[i] if source.types else _kind(texts)
        examples = tuple(dict.fromkeys(text for text in texts if text not in EMPTY))[:3]
        found.append(ColumnInfo(name, dtype, examples))
    return tuple(found)


def _kind(texts: Sequence[str]) -> str:
    filled = [text for text in texts if text not in EMPTY]
    if not filled:
        return "empty"
    if all(text.lstrip("+-").isdigit() for text in filled):
        return "whole number"
    if all(is_number(text) for text in filled):
        return "number"
    return "date" if all(is_date(text) for text in filled) else "text"


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
