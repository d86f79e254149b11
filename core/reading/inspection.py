"""Inspection of a file before its import: its layout, a suggested mapping and a preview."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from core.errors import InputError, format_names
from core.progress_reporting import scale_progress
from core.reading.cleaning import build_trace_set
from core.reading.dates import is_date
from core.reading.formats.long_table import PivotedTable
from core.reading.formats.register import open_source
from core.reading.formats.text_table import TextTable
from core.reading.formats.tracking import TRACKING, is_chart
from core.reading.guessing.times import find_drifting_clock
from core.reading.layouts import recognise_layout
from core.reading.mapping import ColumnMapping
from core.reading.numbers import EMPTY, is_number
from core.reading.questions import Question, list_questions
from core.traces.validation import Problem, Report, problem
from core.units import plural

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from core.progress_reporting import Progress
    from core.reading.formats.base import Source
    from core.reading.layouts import Recognition
    from core.reading.table import RawTable
    from core.traces.model import TraceSet

    Builder = Callable[[RawTable, ColumnMapping, Progress], tuple[TraceSet, Report]]

PREVIEW_ROWS = 20
JOINED = "joined"
"""The layout of several files joined to one table."""


@dataclass(frozen=True, slots=True)
class ColumnInfo:
    """A column in the mapping form: name, type and some of its values."""

    name: str
    dtype: str
    examples: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Inspection:
    """The recognised layout and suggested mapping of a file, with a preview."""

    #: The name of the recognised layout; "" without one.
    layout: str
    #: Its name for people.
    label: str
    #: The suggested mapping; None if no column has numbers.
    mapping: ColumnMapping | None
    #: Sentences that explain the suggestion.
    reasons: tuple[str, ...]
    #: The file's columns.
    columns: tuple[ColumnInfo, ...]
    #: The first rows as strings.
    rows_preview: tuple[tuple[str, ...], ...]
    #: Bytes on disk.
    size: int
    #: Number of rows: stated by the file or estimated; None if unknown.
    n_rows: int | None
    #: Problems of the inspected part.
    problems: tuple[Problem, ...]
    #: Questions to answer before the import.
    questions: tuple[Question, ...] = ()
    #: Whether a table of series is shown pivoted; it can be read as written, too.
    turned: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Return the inspection as a JSON object."""
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
        """Return the inspection that `to_dict` wrote."""
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


def inspect_single_file(path: Path, as_written: bool = False) -> Inspection:
    """Inspect the beginning of a file (see `core.reading.readers.inspect_file`).

    Raises InputError if it cannot be a trace file at all.
    """
    source = open_source(path, as_written)
    mapping: ColumnMapping | None
    reasons: tuple[str, ...]
    try:
        recognition = _recognise_source(source)
    except InputError as error:
        layout, label, mapping, reasons = "", "unknown", None, (error.message, error.hint)
    else:
        layout, label, reasons = recognition.layout, recognition.label, recognition.reasons
        mapping = replace(recognition.mapping, as_written=as_written)
        reasons = (*reasons, *filter(None, [_describe_second_clock(source, mapping)]))
    size = path.stat().st_size
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
        questions=() if mapping is None else list_questions(mapping, source.header, source.rows),
        turned=isinstance(source, PivotedTable),
    )


def _recognise_source(source: Source) -> Recognition:
    """Recognise the layout of a source.

    Raises InputError if no column has numbers.
    """
    if isinstance(source, TextTable):
        return recognise_layout(source.header, source.rows, facts=source.facts)
    if not isinstance(source, PivotedTable):
        return recognise_layout(source.header, source.rows)
    is_chart_export = is_chart(source.source.header)
    found = recognise_layout(source.header, source.rows, TRACKING if is_chart_export else "")
    return replace(found, mapping=source.as_read(found.mapping))


def _columns(source: Source) -> tuple[ColumnInfo, ...]:
    columns = []
    for i, name in enumerate(source.header):
        texts = [row[i].strip() for row in source.rows if i < len(row)]
        dtype = source.types[i] if source.types else _guess_dtype(texts)
        examples = tuple(dict.fromkeys(text for text in texts if text not in EMPTY))[:3]
        columns.append(ColumnInfo(name, dtype, examples))
    return tuple(columns)


def _guess_dtype(texts: Sequence[str]) -> str:
    filled = [text for text in texts if text not in EMPTY]
    if not filled:
        return "empty"
    if all(text.lstrip("+-").isdigit() for text in filled):
        return "whole number"
    if all(is_number(text) for text in filled):
        return "number"
    return "date" if all(is_date(text) for text in filled) else "text"


def read_single_file(
    path: Path, mapping: ColumnMapping | None, progress: Progress, build: Builder = build_trace_set
) -> tuple[TraceSet, Report]:
    """Read a file.

    Raises
    ------
    InputError
        As `core.reading.readers.read_with_report` raises it.
    """
    source = open_source(path, mapping is not None and mapping.as_written)
    is_guessed = mapping is None
    if mapping is None:
        mapping = _recognise_source(source).mapping
    mapping.require(source.header)
    raw = source.read(mapping, scale_progress(progress, 0.0, 0.8))
    traces, report = build(raw, mapping, scale_progress(progress, 0.8, 1.0))
    report = _add_second_clock(report, source, mapping)
    return traces, _add_unused_columns(report, source, mapping) if is_guessed else report


def _describe_second_clock(source: Source, mapping: ColumnMapping) -> str:
    """Describe a second, drifting clock of a table; "" without one."""
    other_clock = None
    if mapping.time is not None:
        other_clock = find_drifting_clock(mapping.time, mapping.executions, source.header, source.rows)
    return f"“{other_clock}” is another clock than “{mapping.time}”, and not used." if other_clock else ""


def _add_second_clock(report: Report, source: Source, mapping: ColumnMapping) -> Report:
    """Add the problem of a second, drifting clock to the report."""
    sentence = _describe_second_clock(source, mapping)
    if not sentence:
        return report
    extra = problem("doubtful", sentence, column=mapping.time, count=report.rows_kept)
    return Report((*report.problems, extra), report.rows_read, report.rows_kept, report.executions_kept)


def _add_unused_columns(report: Report, source: Source, mapping: ColumnMapping) -> Report:
    """Add the unused columns of the recognised mapping to the report."""
    unused = [name for name in source.header if name not in mapping.columns]
    if not unused:
        return report
    message = f"{plural(len(unused), 'column')} not in the mapping: {format_names(unused)}."
    extra = problem("columns_unused", message, column=unused[0], count=len(unused))
    return Report((*report.problems, extra), report.rows_read, report.rows_kept, report.executions_kept)
