"""InfluxDB's annotated CSV: tables below each other, each with lines about its columns above its header.

Source: InfluxDB's documentation of annotated CSV. The lines begin with ``#group``, ``#datatype`` and
``#default``; a table ends with a blank line, and the next one may have other columns.
"""

from __future__ import annotations

import codecs
import csv
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from core.errors import InputError
from core.store.formats.base import GZIP, HEAD_BYTES, magic, read_head
from core.traces.cells.dates import is_date
from core.traces.cells.numbers import (
    EMPTY,
    NumberStyle,
    ambiguous,
    columns_of_rows,
    is_number,
    read,
    style_and_evidence_of_rows,
)
from core.traces.guessing import INDEX
from core.traces.layouts import headerless
from core.traces.validation import Problem, problem
from core.units import plural

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from core.traces.validation import ProblemLog


_ANNOTATIONS = ("#group", "#datatype", "#default")

Numbered = tuple[int, list[str]]
"""The number of a row's line, and its cells."""


def is_annotation(cells: Sequence[str]) -> bool:
    """Whether a row says of the columns what they are."""
    return bool(cells) and cells[0].strip() in _ANNOTATIONS


def first_table(rows: Sequence[Numbered]) -> list[Numbered]:
    """The rows without annotations, and with the header above them all alone."""
    kept = [row for row in rows if not is_annotation(row[1])]
    return [row for i, row in enumerate(kept) if not i or row[1] != kept[0][1]]


def samples(rows: Iterable[Numbered], header: Sequence[str], log: ProblemLog) -> Iterator[Numbered]:
    """The rows without what stands above every table.

    Raises
    ------
    InputError
        If a table has other columns, or has them in another order.
    """
    above = False
    for row, cells in rows:
        if is_annotation(cells):
            above = True
        elif not above:
            yield row, cells
        elif [cell.strip() or f"column {i + 1}" for i, cell in enumerate(cells)] != list(header):
            raise InputError(
                f"Row {row} begins a table with other columns than those above it.",
                "Export the tables one by one, or make one of them in the query, with keep() and group().",
            )
        else:
            log.add("repeated_header", f"The header appears again in row {row}.", row=row)
            above = False


LOOKED_AT = 50
LONGEST_COUNT = 18  # digits; what is longer counts no rows, and `int` refuses thousands of digits


def lacks_first_name(names: list[str], body: list[tuple[int, list[str]]]) -> bool:
    """Tell whether the rows have an index before the header's first column, as pandas takes them then.

    R's ``write.table`` writes such files. A separator that ends every row makes no index.
    """
    widths = [len(cells) for _, cells in body]
    wide = len(names) + 1
    if not widths or widths[0] != wide or widths.count(wide) * 2 <= len(widths):
        return False
    return any(len(cells) >= wide and cells[wide - 1].strip() for _, cells in body)


def may_split_numbers(body: list[tuple[int, list[str]]]) -> bool:
    """Whether a decimal comma may have made two cells of one number, and there is no index in front.

    Nothing speaks against it where no number has a decimal point and the first cells do not count the rows or
    give each a name of its own.
    """
    sample = [[cell.strip() for cell in cells] for _, cells in body[:LOOKED_AT]]
    numbers = [cell for cells in sample for cell in cells if is_number(cell)]
    first = [cells[0] for cells in sample]
    return bool(numbers) and not _is_index(first) and not any("." in number for number in numbers)


def _is_index(cells: list[str]) -> bool:
    """Whether cells count rows, or name each of them."""
    if cells[0].isdecimal() and len(cells[0]) <= LONGEST_COUNT:
        return cells == [str(int(cells[0]) + i) for i in range(len(cells))]
    named = not any(is_number(cell) or is_date(cell) for cell in cells)
    return named and len(set(cells)) == len(cells) > 1


SEPARATORS = (",", ";", "\t", "|")
SAMPLE_ROWS = 50
EVIDENCE_ROWS = 2_000
"""Rows by which a table's units are guessed: the first ones of a container are often idle."""
_FOR_EXCEL = re.compile(r'"?sep=(.{1,2}?)"?', re.IGNORECASE)
"""A first line that tells Excel the separator, as Grafana writes it."""
LEAST_NAMES = 2
"""A single text in a row is no header."""
_NUMERIC = frozenset("0123456789+-.−")
MOST_COLUMNS = 20_000
MOST_NAMED = 200
"""Columns that are looked at one by one."""


def holds_names(cells: Sequence[str]) -> bool:
    """Whether a row has texts in at least half of its cells and no number or date: it may be a header."""
    # most rows begin with a time, which is quickly seen
    if cells[0][:1] in _NUMERIC or any(cell.lstrip()[:1] in _NUMERIC for cell in cells):
        return False
    filled = [text for cell in cells if (text := cell.strip()) not in EMPTY]
    if len(filled) < LEAST_NAMES or 2 * len(filled) < len(cells):
        return False
    return not any(read(text) is not None or is_date(text) for text in filled)


@dataclass(frozen=True, slots=True)
class CsvHead:
    """The form of a text table."""

    #: A codec's name; ``utf-8`` where nothing says otherwise.
    encoding: str
    #: What stands between cells.
    separator: str
    #: How its numbers are written.
    style: NumberStyle
    #: The columns' names, all different.
    header: tuple[str, ...]
    #: Lines up to and including the header: the first data row is the next one.
    header_lines: int
    #: The first rows as strings.
    rows: tuple[tuple[str, ...], ...]
    #: What was odd about it.
    problems: tuple[Problem, ...]
    #: The number of data rows: counted in a small file, estimated in a large one, None in a large compressed
    #: one.
    n_rows: int | None = None
    #: Whether it is InfluxDB's annotated CSV: lines about the columns stand above every header.
    annotated: bool = False


def look(path: Path) -> CsvHead:
    """Find the form of a text table.

    Raises
    ------
    InputError
        If it is empty, is not text, or has no header.
    """
    data = read_head(path)
    encoding, text, problems = _decode(data, path.name)
    cut = len(data) >= HEAD_BYTES
    lines = text.splitlines(keepends=True)
    lines = lines[:-1] if cut and len(lines) > 1 else lines
    separator = _separator(lines)
    rows = _rows(lines, separator, path.name)
    if rows and _FOR_EXCEL.fullmatch(lines[rows[0][0] - 1].strip()):
        rows = rows[1:]
    annotated = bool(rows) and is_annotation(rows[0][1])
    if annotated:
        rows = first_table(rows)
    if not rows:
        raise InputError(f"“{path.name}” has only empty rows.", "Choose a file with a header and samples.")
    start, found = _header_at(rows)
    if found:
        problems.append(found)
    names, header_lines = rows[start][1], rows[start][0]
    body = rows[start + 1 :]
    known = headerless(tuple(names))
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
    header = _names(names, body, problems)
    sample = tuple(tuple(cells) for _, cells in body[:EVIDENCE_ROWS])
    style, shown = style_and_evidence_of_rows(sample)
    if not shown and separator != ",":  # where a comma separates cells, it is no decimal mark
        problems.append(_assumed_points(style, header_lines + 1))
    problems.extend(_ambiguous(header, sample, style, header_lines))
    return CsvHead(
        encoding=encoding,
        separator=separator,
        style=style,
        header=header,
        header_lines=header_lines,
        rows=sample,
        problems=tuple(problems),
        n_rows=_estimate(path, data, len(lines) - header_lines, cut=cut),
        annotated=annotated,
    )


def _assumed_points(style: NumberStyle, row: int) -> Problem:
    """That nothing shows whether points are decimal marks or separate thousands."""
    decimal = style.decimal == "."
    read_as = (
        "the point was read as a decimal mark" if decimal else "the points were read as thousands separators"
    )
    kind = "assumed_point" if decimal else "assumed_thousands"
    return problem(kind, f"Every number with a point has three digits behind it; {read_as}.", row=row)


def _ambiguous(
    header: tuple[str, ...], rows: tuple[tuple[str, ...], ...], style: NumberStyle, header_lines: int
) -> list[Problem]:
    """Columns whose numbers can be read in two ways, as ``1,234`` can."""
    found = []
    for name, cells in zip(header, columns_of_rows(rows, min(len(header), MOST_NAMED)), strict=False):
        if "," not in "".join(cells):
            continue  # as nearly always
        doubtful = [cell for cell in cells if "," in cell and ambiguous(cell, style)]
        if doubtful and len(doubtful) * 2 > sum(cell not in EMPTY for cell in cells):
            message = f"Column “{name}” has “{doubtful[0]}” and the like, which can be two numbers."
            found.append(
                problem("ambiguous_number", message, row=header_lines + 1, column=name, count=len(doubtful))
            )
    return found


def _estimate(path: Path, data: bytes, rows: int, *, cut: bool) -> int | None:
    if not cut:
        return max(rows, 0)
    if magic(path).startswith(GZIP):
        return None
    return int(path.stat().st_size / len(data) * rows)


def _decode(data: bytes, name: str) -> tuple[str, str, list[Problem]]:
    """Decode the first part; a cut-off last character does not count."""
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
        # Western text has few letters beyond ASCII; what has many is neither Windows-1252 nor text
        if sum(byte > 127 for byte in data) > 0.3 * len(data):
            raise InputError(
                f"“{name}” is not a text file: row {row} contains binary data.",
                "Choose a CSV, CSV.gz, Parquet or Prometheus JSON file.",
            ) from None
        message = f"Row {row} has characters that are not UTF-8."
        return "cp1252", text, [problem("encoding", message, row=row)]


def _separator(lines: list[str]) -> str:
    """The separator that splits the first lines into most cells, evenly; one that does so in all goes first.

    Commas within numbers split most lines evenly, and the header not at all.
    """
    sample = [line for line in lines[:SAMPLE_ROWS] if line.strip() and not line.startswith("# ")]
    if sample and (said := _FOR_EXCEL.fullmatch(sample[0].strip())) and said[1] in SEPARATORS:
        return said[1]
    best, score = ",", (False, 0.0)
    for separator in SEPARATORS:
        try:
            counts = [len(cells) for cells in csv.reader(sample, delimiter=separator)]
        except csv.Error:
            continue
        usual = max(set(counts), key=counts.count) if counts else 1
        even = counts.count(usual) / max(len(counts), 1)
        if usual > 1 and (even == 1, even * usual) > score:
            best, score = separator, (even == 1, even * usual)
    return best


def _rows(lines: list[str], separator: str, name: str) -> list[tuple[int, list[str]]]:
    """The first rows that are not blank, with the number of their last line."""
    found: list[tuple[int, list[str]]] = []
    reader = csv.reader(lines, delimiter=separator)
    try:
        for cells in reader:
            if any(map(str.strip, cells)):
                found.append((reader.line_num, cells))
            if len(found) > EVIDENCE_ROWS + SAMPLE_ROWS:
                break
    except csv.Error as error:
        raise InputError(
            f"Row {reader.line_num} of “{name}” cannot be read: {error}.",
            "Open the file in an editor and look for an unclosed quotation mark there.",
        ) from None
    return found


def _header_at(rows: list[tuple[int, list[str]]]) -> tuple[int, Problem | None]:
    """Skip lines above the header: comments, titles; the header has as many cells as what follows."""
    widths = [len(cells) for _, cells in rows]
    usual = max(set(widths), key=lambda width: (widths.count(width), width))
    start = 0
    if len(rows) > 1 and widths[0] == 1 and widths[1] == usual == 2 and is_number(rows[1][1][1]):
        return 0, None  # no title, but the only name of a table with an index
    while start < len(rows) - 1 and _is_preamble(rows[start][1], usual):
        start += 1
    if start == 0 or widths[start] < usual:
        return 0, None
    message = f"{plural(start, 'line')} above the header, which is row {rows[start][0]}."
    return start, problem("preamble", message, row=rows[0][0], count=start)


def _is_preamble(cells: list[str], usual: int) -> bool:
    return usual > 1 and len(cells) < usual and (len(cells) == 1 or cells[0].startswith("#"))


def _all_numbers(cells: list[str]) -> bool:
    """Tell whether a first row is data: every cell a number or a date, or one name among them."""
    filled = [cell.strip() for cell in cells if cell.strip() not in EMPTY]
    data = sum(read(cell) is not None or is_date(cell) for cell in filled)
    return bool(filled) and (data == len(filled) or (data >= 2 and data == len(filled) - 1))


def _names(cells: list[str], body: list[tuple[int, list[str]]], problems: list[Problem]) -> tuple[str, ...]:
    """All different names; a trailing separator makes no column."""
    names = [cell.strip().strip("\ufeff").lstrip("#").strip() for cell in cells]
    while len(names) > 1 and not names[-1] and not any(_cell(row, len(names) - 1) for _, row in body):
        names.pop()
    if len(names) > MOST_COLUMNS:
        raise InputError(
            f"Row 1 has {len(names):,} columns.", f"Keep the columns that matter, at most {MOST_COLUMNS:,}."
        )
    unnamed = [i for i, name in enumerate(names) if not name]
    for i in unnamed:
        names[i] = f"column {i + 1}"
    if unnamed:
        message = f"Row 1 (the header) leaves {plural(len(unnamed), 'column')} without a name."
        problems.append(
            problem("unnamed_column", message, row=1, column=names[unnamed[0]], count=len(unnamed))
        )
    return _unique(names, problems)


def _unique(names: list[str], problems: list[Problem]) -> tuple[str, ...]:
    seen: dict[str, int] = {}
    taken, result = set(names), []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        other, number = name, seen[name]
        while number > 1 and other in taken:
            other, number = f"{name} ({number})", number + 1
        taken.add(other)
        result.append(other)
    twice = [name for name, count in seen.items() if count > 1]
    if twice:
        message = f"Row 1 (the header) repeats {plural(len(twice), 'name')}, the first of them “{twice[0]}”."
        problems.append(problem("duplicate_column", message, row=1, column=twice[0], count=len(twice)))
    return tuple(result)


def _cell(row: list[str], position: int) -> str:
    return row[position].strip() if position < len(row) else ""
