"""The dialect of a text table: encoding, separator, number style, header and index column.

InfluxDB's annotated CSV has several tables below each other. Lines that begin with ``#group``, ``#datatype``
and ``#default`` stand above each header; a blank line ends a table, and the next one may have other columns.
Source: InfluxDB's documentation of annotated CSV.
"""

from __future__ import annotations

import codecs
import csv
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from core.errors import InputError
from core.reading.dates import is_date
from core.reading.formats.base import GZIP, HEAD_BYTES, read_head, read_magic
from core.reading.guessing import INDEX
from core.reading.known_tables import find_header
from core.reading.numbers import (
    EMPTY,
    NumberStyle,
    find_style_and_evidence_of_rows,
    is_ambiguous,
    is_number,
    parse_number,
    split_columns,
)
from core.traces.validation import Problem, problem
from core.units import plural

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from core.traces.validation import ProblemLog


_ANNOTATIONS = ("#group", "#datatype", "#default")

Numbered = tuple[int, list[str]]
"""The number of a row's last line and its cells."""


def is_annotation(cells: Sequence[str]) -> bool:
    """Whether a row is an annotation of columns."""
    return bool(cells) and cells[0].strip() in _ANNOTATIONS


def select_first_table(rows: Sequence[Numbered]) -> list[Numbered]:
    """Return the rows without annotations and repeated headers."""
    table_rows = [row for row in rows if not is_annotation(row[1])]
    return [row for i, row in enumerate(table_rows) if not i or row[1] != table_rows[0][1]]


def iterate_samples(rows: Iterable[Numbered], header: Sequence[str], log: ProblemLog) -> Iterator[Numbered]:
    """Yield the rows without annotations and repeated headers.

    Raises InputError if a table has other columns or another order of columns.
    """
    is_above_header = False
    for row, cells in rows:
        if is_annotation(cells):
            is_above_header = True
        elif not is_above_header:
            yield row, cells
        elif [cell.strip() or f"column {i + 1}" for i, cell in enumerate(cells)] != list(header):
            raise InputError(
                f"Row {row} begins a table with other columns than those above it.",
                "Export the tables one by one, or make one of them in the query, with keep() and group().",
            )
        else:
            log.add("repeated_header", f"The header appears again in row {row}.", row=row)
            is_above_header = False


INSPECTED_ROWS = 50
MAX_COUNT_DIGITS = 18  # longer numbers are not row counts, and `int` refuses thousands of digits


def lacks_first_name(names: list[str], body: list[tuple[int, list[str]]]) -> bool:
    """Whether rows have an index before the header's first column, as R's ``write.table`` writes it.

    A separator at the end of every row is not an index.
    """
    widths = [len(cells) for _, cells in body]
    with_index = len(names) + 1
    if not widths or widths[0] != with_index or widths.count(with_index) * 2 <= len(widths):
        return False
    return any(len(cells) >= with_index and cells[with_index - 1].strip() for _, cells in body)


def may_split_numbers(body: list[tuple[int, list[str]]]) -> bool:
    """Whether decimal commas may have split numbers into two cells, rather than an index being in front.

    This is possible if no number has a decimal point and the first cells neither count nor name the rows.
    """
    sample = [[cell.strip() for cell in cells] for _, cells in body[:INSPECTED_ROWS]]
    numbers = [cell for cells in sample for cell in cells if is_number(cell)]
    first = [cells[0] for cells in sample]
    return bool(numbers) and not _is_index(first) and not any("." in number for number in numbers)


def _is_index(cells: list[str]) -> bool:
    """Whether cells count or name the rows."""
    if cells[0].isdecimal() and len(cells[0]) <= MAX_COUNT_DIGITS:
        return cells == [str(int(cells[0]) + i) for i in range(len(cells))]
    are_names = not any(is_number(cell) or is_date(cell) for cell in cells)
    return are_names and len(set(cells)) == len(cells) > 1


SEPARATORS = (",", ";", "\t", "|")
SAMPLE_ROWS = 50
EVIDENCE_ROWS = 2_000
"""Number of rows to guess a table's units from: the first ones of a container are often idle."""
_FOR_EXCEL = re.compile(r'"?sep=(.{1,2}?)"?', re.IGNORECASE)
"""A first line with the separator for Excel, as Grafana writes it."""
MIN_NAMES = 2
"""Minimum number of names in a header."""
_NUMERIC = frozenset("0123456789+-.−")
MAX_COLUMNS = 20_000
MAX_INSPECTED_COLUMNS = 200
"""Maximum number of columns to check one by one."""


def holds_names(cells: Sequence[str]) -> bool:
    """Whether a row has texts in at least half of its cells and no number or date, as a header has."""
    # the fast path: most rows begin with a time
    if cells[0][:1] in _NUMERIC or any(cell.lstrip()[:1] in _NUMERIC for cell in cells):
        return False
    filled = [text for cell in cells if (text := cell.strip()) not in EMPTY]
    if len(filled) < MIN_NAMES or 2 * len(filled) < len(cells):
        return False
    return not any(parse_number(text) is not None or is_date(text) for text in filled)


@dataclass(frozen=True, slots=True)
class CsvDialect:
    """The dialect of a text table."""

    #: A codec's name.
    encoding: str
    separator: str
    #: The number style.
    style: NumberStyle
    #: The columns' names, all different.
    header: tuple[str, ...]
    #: Number of lines up to and including the header.
    header_lines: int
    #: The first rows as strings.
    rows: tuple[tuple[str, ...], ...]
    #: The problems of the beginning.
    problems: tuple[Problem, ...]
    #: Number of data rows: counted in a small file, estimated in a large one, None for a large gzip file.
    n_rows: int | None = None
    #: Whether it is InfluxDB's annotated CSV.
    annotated: bool = False


def find_dialect(path: Path) -> CsvDialect:
    """Find the dialect of a text table by its beginning.

    Raises InputError if it is empty, is not text, or has no header.
    """
    data = read_head(path)
    encoding, text, problems = _decode(data, path.name)
    is_cut = len(data) >= HEAD_BYTES
    lines = text.splitlines(keepends=True)
    lines = lines[:-1] if is_cut and len(lines) > 1 else lines
    separator = _find_separator(lines)
    rows = _read_rows(lines, separator, path.name)
    if rows and _FOR_EXCEL.fullmatch(lines[rows[0][0] - 1].strip()):
        rows = rows[1:]
    annotated = bool(rows) and is_annotation(rows[0][1])
    if annotated:
        rows = select_first_table(rows)
    if not rows:
        raise InputError(f"“{path.name}” has only empty rows.", "Choose a file with a header and samples.")
    start, problem_ = _find_header(rows)
    if problem_:
        problems.append(problem_)
    names, header_lines = rows[start][1], rows[start][0]
    body = rows[start + 1 :]
    known = find_header(tuple(names))
    if known is not None:
        names, header_lines, body = list(known), header_lines - 1, rows[start:]
    elif _all_numbers(names):
        names, header_lines, body = [""] * len(names), header_lines - 1, rows[start:]
    if lacks_first_name(names, body):
        if separator == "," and may_split_numbers(body):
            raise InputError(
                f"Row {header_lines} (the header) has one cell fewer than the rows below it.",
                "Separate cells with semicolons if numbers have a decimal comma; else name every column.",
            )
        names = [INDEX, *names]
        message = f"Row {header_lines} (the header) has one cell fewer than the rows below it."
        problems.append(problem("unnamed_index", message, row=header_lines, column=INDEX))
    header = _make_names(names, body, problems)
    repeated = list(header)
    sample = tuple(
        tuple(cells)
        for _, cells in body[:EVIDENCE_ROWS]
        if cells[0].strip() != header[0] or [cell.strip() for cell in cells] != repeated
    )
    style, is_proven = find_style_and_evidence_of_rows(sample)
    if not is_proven and separator != ",":  # where a comma separates cells, it is no decimal mark
        problems.append(_describe_assumed_points(style, header_lines + 1))
    problems.extend(_find_ambiguous_columns(header, sample, style, header_lines))
    return CsvDialect(
        encoding=encoding,
        separator=separator,
        style=style,
        header=header,
        header_lines=header_lines,
        rows=sample,
        problems=tuple(problems),
        n_rows=_estimate_rows(path, data, len(lines) - header_lines, is_cut=is_cut),
        annotated=annotated,
    )


def _describe_assumed_points(style: NumberStyle, row: int) -> Problem:
    """Report that points may be decimal marks or separators of thousands."""
    decimal = style.decimal == "."
    read_as = (
        "the point was read as a decimal mark" if decimal else "the points were read as thousands separators"
    )
    kind = "assumed_point" if decimal else "assumed_thousands"
    return problem(kind, f"Every number with a point has three digits behind it; {read_as}.", row=row)


def _find_ambiguous_columns(
    header: tuple[str, ...], rows: tuple[tuple[str, ...], ...], style: NumberStyle, header_lines: int
) -> list[Problem]:
    """Find columns with ambiguous numbers such as ``1,234``."""
    problem_ = []
    for name, cells in zip(
        header, split_columns(rows, min(len(header), MAX_INSPECTED_COLUMNS)), strict=False
    ):
        if "," not in "".join(cells):
            continue  # the fast path
        doubtful = [cell for cell in cells if "," in cell and is_ambiguous(cell, style)]
        if doubtful and len(doubtful) * 2 > sum(cell not in EMPTY for cell in cells):
            message = f"Column “{name}” has “{doubtful[0]}” and the like, which can be two numbers."
            problem_.append(
                problem("ambiguous_number", message, row=header_lines + 1, column=name, count=len(doubtful))
            )
    return problem_


def _estimate_rows(path: Path, data: bytes, rows: int, *, is_cut: bool) -> int | None:
    if not is_cut:
        return max(rows, 0)
    if read_magic(path).startswith(GZIP):
        return None
    return int(path.stat().st_size / len(data) * rows)


def _decode(data: bytes, name: str) -> tuple[str, str, list[Problem]]:
    """Decode the first part, without an incomplete last character."""
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        text = codecs.getincrementaldecoder("utf-16")("replace").decode(data)
        return "utf-16", text, [problem("utf16", "The file is written in UTF-16.", row=1)]
    if b"\x00" in data:
        where = data.count(b"\n", 0, data.index(b"\x00")) + 1
        raise InputError(
            f"“{name}” is not a text file: row {where} contains binary data.",
            "Choose a CSV, CSV.gz, Parquet or Prometheus JSON file.",
        )
    try:
        return "utf-8-sig", codecs.getincrementaldecoder("utf-8-sig")("strict").decode(data), []
    except UnicodeDecodeError as error:
        row = data.count(b"\n", 0, error.start) + 1
        text = data.decode("cp1252", "replace")
        # Western text has few letters beyond ASCII; data with many are not Windows-1252
        if sum(byte > 127 for byte in data) > 0.3 * len(data):
            raise InputError(
                f"“{name}” is not a text file: row {row} contains binary data.",
                "Choose a CSV, CSV.gz, Parquet or Prometheus JSON file.",
            ) from None
        message = f"Row {row} has characters that are not UTF-8."
        return "cp1252", text, [problem("encoding", message, row=row)]


def _find_separator(lines: list[str]) -> str:
    """Find the separator that splits the first lines evenly into most cells, preferably all lines.

    Commas within numbers split most lines evenly, but not the header.
    """
    sample = [line for line in lines[:SAMPLE_ROWS] if line.strip() and not line.startswith("# ")]
    if sample and (hint_match := _FOR_EXCEL.fullmatch(sample[0].strip())) and hint_match[1] in SEPARATORS:
        return hint_match[1]
    best, score = ",", (False, 0.0)
    for separator in SEPARATORS:
        try:
            counts = [len(cells) for cells in csv.reader(sample, delimiter=separator)]
        except csv.Error:
            continue
        usual_ = max(set(counts), key=counts.count) if counts else 1
        evenness = counts.count(usual_) / max(len(counts), 1)
        if usual_ > 1 and (evenness == 1, evenness * usual_) > score:
            best, score = separator, (evenness == 1, evenness * usual_)
    return best


def _read_rows(lines: list[str], separator: str, name: str) -> list[tuple[int, list[str]]]:
    """Return the first rows that are not blank, with the numbers of their last lines."""
    problem_: list[tuple[int, list[str]]] = []
    reader = csv.reader(lines, delimiter=separator)
    try:
        for cells in reader:
            if any(map(str.strip, cells)):
                problem_.append((reader.line_num, cells))
            if len(problem_) > EVIDENCE_ROWS + SAMPLE_ROWS:
                break
    except csv.Error as error:
        raise InputError(
            f"Row {reader.line_num} of “{name}” cannot be read: {error}.",
            "Open the file in an editor and look for an unclosed quotation mark there.",
        ) from None
    return problem_


def _find_header(rows: list[tuple[int, list[str]]]) -> tuple[int, Problem | None]:
    """Find the header below comments and titles: it has as many cells as the rows below."""
    widths = [len(cells) for _, cells in rows]
    usual_ = max(set(widths), key=lambda width: (widths.count(width), width))
    start = 0
    if len(rows) > 1 and widths[0] == 1 and widths[1] == usual_ == 2 and is_number(rows[1][1][1]):
        return 0, None  # no title, but the only name of a table with an index
    while start < len(rows) - 1 and _is_preamble(rows[start][1], usual_):
        start += 1
    if start == 0 or widths[start] < usual_:
        return 0, None
    message = f"{plural(start, 'line')} above the header, which is row {rows[start][0]}."
    return start, problem("preamble", message, row=rows[0][0], count=start)


def _is_preamble(cells: list[str], usual_: int) -> bool:
    return usual_ > 1 and len(cells) < usual_ and (len(cells) == 1 or cells[0].startswith("#"))


def _all_numbers(cells: list[str]) -> bool:
    """Whether a first row is data: every cell but at most one name is a number or a date."""
    filled = [cell.strip() for cell in cells if cell.strip() not in EMPTY]
    data = sum(parse_number(cell) is not None or is_date(cell) for cell in filled)
    return bool(filled) and (data == len(filled) or (data >= 2 and data == len(filled) - 1))


def require_few_columns(count: int, row: int) -> None:
    """Check the number of columns of a table that begins in a row.

    Raises InputError if there are more than `MAX_COLUMNS`, each of which is looked at several times.
    """
    if count > MAX_COLUMNS:
        raise InputError(
            f"Row {row} has {count:,} columns.", f"Keep the columns that matter, at most {MAX_COLUMNS:,}."
        )


def _make_names(
    cells: list[str], body: list[tuple[int, list[str]]], problems: list[Problem]
) -> tuple[str, ...]:
    """Return unique names of all columns; a trailing separator is not a column."""
    names = [cell.strip().strip("\ufeff").lstrip("#").strip() for cell in cells]
    while len(names) > 1 and not names[-1] and not any(_get_cell(row, len(names) - 1) for _, row in body):
        names.pop()
    require_few_columns(len(names), 1)
    unnamed = [i for i, name in enumerate(names) if not name]
    for i in unnamed:
        names[i] = f"column {i + 1}"
    if unnamed:
        message = f"Row 1 (the header) leaves {plural(len(unnamed), 'column')} without a name."
        problems.append(
            problem("unnamed_column", message, row=1, column=names[unnamed[0]], count=len(unnamed))
        )
    return _make_unique(names, problems)


def _make_unique(names: list[str], problems: list[Problem]) -> tuple[str, ...]:
    seen: dict[str, int] = {}
    used_names, result = set(names), []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        other, number = name, seen[name]
        while number > 1 and other in used_names:
            other, number = f"{name} ({number})", number + 1
        used_names.add(other)
        result.append(other)
    repeated = [name for name, count in seen.items() if count > 1]
    if repeated:
        message = (
            f"Row 1 (the header) repeats {plural(len(repeated), 'name')}, the first of them “{repeated[0]}”."
        )
        problems.append(problem("duplicate_column", message, row=1, column=repeated[0], count=len(repeated)))
    return tuple(result)


def _get_cell(row: list[str], position: int) -> str:
    return row[position].strip() if position < len(row) else ""
