"""Inspection of a file before its import: its layout, a suggested mapping and a preview.

A preview is of the first part of a file: a text is cut after whole lines, a Parquet file after some rows, so
that the part is a valid file; JSON that cannot be cut is used whole while it is small.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from core.errors import InputError, format_names
from core.progress_reporting import scale_progress
from core.reading.cleaning import build_trace_set
from core.reading.dates import is_date
from core.reading.formats.base import PARQUET, read_head, read_magic
from core.reading.formats.long_table import PivotedTable
from core.reading.formats.register import open_source
from core.reading.formats.text_table import TextTable
from core.reading.guessing.cpu_and_memory_columns import (
    USAGE_NAMES,
    find_unknown_words,
    guess_other_role,
    guess_usage_role,
)
from core.reading.guessing.times import find_drifting_clock
from core.reading.guessing.units import Column
from core.reading.known_tables import is_chart
from core.reading.layouts import recognise_layout
from core.reading.numbers import EMPTY, find_style_of_rows, is_number
from core.reading.questions import Question, list_questions
from core.traces.model import ROLE_UNITS, Role
from core.traces.validation import Problem, problem
from core.units import plural

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Sequence
    from pathlib import Path

    from core.progress_reporting import Progress
    from core.reading.formats.base import Source
    from core.reading.layouts import Recognition
    from core.reading.mapping import ColumnMapping
    from core.reading.table import RawTable
    from core.traces.model import TraceSet
    from core.traces.validation import Report

    Builder = Callable[[RawTable, ColumnMapping, Progress], tuple[TraceSet, Report]]

PREVIEW_ROWS = 20
MAX_EXAMPLE = 40
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
        problems=(*source.problems, *(() if mapping is None else _find_lost_columns(source, mapping))),
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
    found = recognise_layout(source.header, source.rows, is_chart(source.source.header))
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
    lost = _find_lost_columns(source, mapping)
    more = (*lost, *_find_second_clock(report, source, mapping))
    if is_guessed:
        more += _find_unused_columns(source, mapping, {one.column for one in lost})
    return traces, replace(report, problems=(*report.problems, *more))


def _describe_second_clock(source: Source, mapping: ColumnMapping) -> str:
    """Describe a second, drifting clock of a table; "" without one."""
    if mapping.time is None:
        return ""
    other = find_drifting_clock(mapping.time, mapping.executions, source.header, source.rows)
    return f"“{other}” is another clock than “{mapping.time}”, and not used." if other else ""


def _find_second_clock(report: Report, source: Source, mapping: ColumnMapping) -> tuple[Problem, ...]:
    """Report a second, drifting clock of a table."""
    sentence = _describe_second_clock(source, mapping)
    if not sentence:
        return ()
    return (problem("doubtful", sentence, column=mapping.time, count=report.rows_kept),)


def _find_lost_columns(source: Source, mapping: ColumnMapping) -> tuple[Problem, ...]:
    """Report columns that are called usage and hold no numbers, where no other column has their role.

    A share of a machine of unknown size says less than an amount that is empty.
    """
    style = find_style_of_rows(source.rows)
    used = {mapping.time, *mapping.executions, *(one.column for one in mapping.features)}
    in_amounts = {one.role for one in mapping.features if one.unit_key != "percent_of_machine"}
    lost = []
    for place, name in enumerate(source.header):
        role = _guess_role(source, name)
        if name in used or role not in ROLE_UNITS or role in in_amounts:
            continue
        column = Column(name, tuple(row[place].strip() for row in source.rows if place < len(row)), style)
        if column.filled and not column.numeric:
            texts = f"is no number in most rows: “{column.filled[0][:MAX_EXAMPLE]}”"
            lost.append(problem("empty_column", f"Column “{name}” {texts}.", column=name))
        elif not column.filled and role in (*USAGE_NAMES, Role.GPU, Role.GPU_MEMORY, Role.GPU_POWER):
            lost.append(problem("empty_column", f"Column “{name}” is empty in all rows.", column=name))
    return tuple(lost)


def _guess_role(source: Source, name: str) -> Role:
    """Guess the role of a column by its name, without a doubt."""
    if isinstance(source, TextTable) and source.facts is not None:
        return source.facts.role_of(name)
    role = guess_usage_role(name)
    if role is None or find_unknown_words(name, role):
        return guess_other_role(name)
    return role


def _find_unused_columns(
    source: Source, mapping: ColumnMapping, lost: Container[str | None]
) -> tuple[Problem, ...]:
    """Report the unused columns of the recognised mapping but for the lost ones."""
    unused = [name for name in source.header if name not in mapping.columns and name not in lost]
    if not unused:
        return ()
    message = f"{plural(len(unused), 'column')} not in the mapping: {format_names(unused)}."
    return (problem("columns_unused", message, column=unused[0], count=len(unused)),)


PART_BYTES = 2 * 2**20
PART_ROWS = 40_000
MAX_JSON = 32 * 2**20


def cut_file(path: Path, target: Path) -> Path | None:
    """Write the first part of a file; return its path, the file itself if it is small, None if uncuttable.

    Raises InputError if it cannot be read.
    """
    if read_magic(path).startswith(PARQUET):
        return _cut_parquet(path, target)
    data = read_head(path, PART_BYTES)
    if len(data) < PART_BYTES:
        return path
    json = data.lstrip()[:1] in (b"{", b"[")
    if json and b"\n{" not in data:
        return path if path.stat().st_size <= MAX_JSON else None
    end = data.rfind(b"\n{" if json else b"\n")
    target.write_bytes(data[: end + 1] if end > 0 else data)
    return target


def _cut_parquet(path: Path, target: Path) -> Path:
    with pq.ParquetFile(path) as file:
        if file.metadata.num_rows <= PART_ROWS:
            return path
        batch = next(file.iter_batches(PART_ROWS))
    pq.write_table(pa.Table.from_batches([batch]), target)
    return target


def cut_folder(folder: Path, target: Path) -> Path | None:
    """Write the first part of every file of a folder; return the folder itself if all are small."""
    target.mkdir()
    for path in sorted(folder.iterdir()):
        part = cut_file(path, target / path.name)
        if part is None:
            return None
        if part == path:
            (target / path.name).symlink_to(path)
    return folder if all(one.is_symlink() for one in target.iterdir()) else target
