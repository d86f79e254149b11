"""What a file, or several together, seem to be: what a person sees before the import."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from core.errors import InputError, format_names
from core.store.formats.base import ExactSource
from core.store.formats.long_table import TurnedTable
from core.store.formats.register import open_source
from core.store.formats.text_table import TextTable
from core.traces.cells.dates import is_date
from core.traces.cells.numbers import EMPTY, is_number
from core.traces.cleaning import build
from core.traces.guessing.times import other_clock
from core.traces.layouts import recognise
from core.traces.layouts.tracking import TRACKING, is_chart
from core.traces.mapping import ColumnMapping
from core.traces.questions import Question, questions
from core.traces.validation import Problem, Report, UnusableError, problem
from core.units import plural

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from core.store.formats.base import Source
    from core.traces.layouts import Recognition
    from core.traces.model import TraceSet
    from core.traces.raw import RawTable

    Progress = Callable[[float, str], None]
    Make = Callable[[RawTable, ColumnMapping, Progress | None], tuple[TraceSet, Report]]


PREVIEW_ROWS = 20
JOINED = "joined"
"""In place of a layout's name: several files that are read as one."""


@dataclass(frozen=True, slots=True)
class ColumnInfo:
    """A column as a person sees it in the mapping form: name, type and some of its values."""

    name: str
    dtype: str
    examples: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Inspection:
    """What a file seems to be."""

    #: The name of the recognised layout; "" where nothing could be guessed.
    layout: str
    #: Its name for people.
    label: str
    #: The suggested mapping; None where no column has numbers.
    mapping: ColumnMapping | None
    #: Sentences that explain the suggestion.
    reasons: tuple[str, ...]
    #: The file's columns.
    columns: tuple[ColumnInfo, ...]
    #: The first rows as strings.
    rows_preview: tuple[tuple[str, ...], ...]
    #: Bytes on disk.
    size: int
    #: Rows: exact where the file states it, else an estimate; None where neither is possible.
    n_rows: int | None
    #: What was odd about the part that was read.
    problems: tuple[Problem, ...]
    #: What a person has to say first.
    questions: tuple[Question, ...] = ()
    #: Whether this is how a table of series looks after turning: it can be read as written, too.
    turned: bool = False

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
            "turned": self.turned,
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
            turned=bool(data.get("turned", False)),
        )


def inspect_one(where: Path, as_written: bool = False) -> Inspection:
    """Look at the beginning of a file (see `core.store.readers.inspect_file`).

    Raises
    ------
    InputError
        If it cannot be a trace file at all.
    """
    source = open_source(where, as_written)
    mapping: ColumnMapping | None
    reasons: tuple[str, ...]
    try:
        found = _recognised(source)
    except InputError as error:
        layout, label, mapping, reasons = "", "unknown", None, (error.message, error.hint)
    else:
        layout, label, reasons = found.layout, found.label, found.reasons
        mapping = replace(found.mapping, as_written=as_written)
        reasons = (*reasons, *filter(None, [_second_clock(source, mapping)]))
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
        turned=isinstance(source, TurnedTable),
    )


def _recognised(source: Source) -> Recognition:
    """What a file's table is recognised as.

    Raises
    ------
    InputError
        If no column has numbers.
    """
    found = recognise(source.header, source.rows, _made(source))
    if isinstance(source, TurnedTable):
        return replace(found, mapping=source.as_read(found.mapping))
    return found


def _made(source: Source) -> str:
    """The layout that a format's reader made the table in; "" where the names are those of the file."""
    if isinstance(source, TextTable):
        return source.layout
    chart = isinstance(source, TurnedTable) and is_chart(source.source.header)
    return TRACKING if chart else ""


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


def read_one(
    path: Path, mapping: ColumnMapping | None, progress: Progress | None, make: Make = build
) -> tuple[TraceSet, Report]:
    """Read a file.

    Raises
    ------
    InputError
        As `core.store.readers.read_with_report` raises it.
    """
    source = open_source(path, mapping is not None and mapping.as_written)
    guessed = mapping is None
    if mapping is None:
        mapping = _recognised(source).mapping
    mapping.require(source.header)
    raw = source.read(mapping, part_of(progress, 0.0, 0.8))
    later = part_of(progress, 0.8, 1.0)
    try:
        traces, report = make(raw, mapping, later)
        found = report
    except UnusableError as error:
        found = error.report
        if not isinstance(source, ExactSource) or not _needs_exact(source, raw, found):
            raise
    if isinstance(source, ExactSource) and _needs_exact(source, raw, found):
        traces, report = _again(source, mapping, progress, make)
    report = _with_second_clock(report, source, mapping)
    return traces, _with_unused(report, source, mapping) if guessed else report


def _again(
    source: ExactSource, mapping: ColumnMapping, progress: Progress | None, make: Make
) -> tuple[TraceSet, Report]:
    """Read once more, slowly, for the row numbers."""
    return make(
        source.read_exactly(mapping, part_of(progress, 0.0, 0.8)), mapping, part_of(progress, 0.8, 1.0)
    )


def _needs_exact(source: ExactSource, raw: RawTable, report: Report) -> bool:
    """Tell whether the report names rows whose numbers the fast reader could not know."""
    if raw.rows is not None or all(one.row is None for one in report.problems):
        return False
    return not source.numbers_rows(raw)


def part_of(progress: Progress | None, low: float, high: float) -> Progress | None:
    """A callback for one part of the whole."""
    if progress is None:
        return None
    whole = progress
    return lambda share, message: whole(low + (high - low) * share, message)


def _second_clock(source: Source, mapping: ColumnMapping) -> str:
    """What is said of a table that has the times of two recordings; "" where it has not."""
    other = None
    if mapping.time is not None:
        other = other_clock(mapping.time, mapping.executions, source.header, source.rows)
    return f"“{other}” is another clock than “{mapping.time}”, and not used." if other else ""


def _with_second_clock(report: Report, source: Source, mapping: ColumnMapping) -> Report:
    """Add that all rows were read at the times of one of two recordings."""
    said = _second_clock(source, mapping)
    if not said:
        return report
    extra = problem("doubtful", said, column=mapping.time, count=report.rows_kept)
    return Report((*report.problems, extra), report.rows_read, report.rows_kept, report.executions_kept)


def _with_unused(report: Report, source: Source, mapping: ColumnMapping) -> Report:
    """Add the columns that the recognised mapping leaves out."""
    unused = [name for name in source.header if name not in mapping.columns]
    if not unused:
        return report
    message = f"{plural(len(unused), 'column')} not in the mapping: {format_names(unused)}."
    extra = problem("columns_unused", message, column=unused[0], count=len(unused))
    return Report((*report.problems, extra), report.rows_read, report.rows_kept, report.executions_kept)
