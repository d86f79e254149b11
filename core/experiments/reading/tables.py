"""Jobs and measured speeds from tables beside an experiment's file.

``jobs: {from: FILE, columns: …}`` becomes the same list of jobs as if they were written down, and its
``throughput`` that of their kinds; what the table does not say is said once under ``each``.
"""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING, Any, TypeAlias

from core.errors import InputError
from core.experiments.reading.fields import mapping, only
from core.experiments.reading.marked import Path, SpecError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    Tables: TypeAlias = Callable[[str], str]

_JOB = (
    "id", "kind", "at", "due", "deadline", "slack", "request", "min", "max", "memory", "priority", "steps",
    "work", "demand",
)  # fmt: skip
_SPEED = ("kind", "cores", "speed")
_TEXT = ("id", "kind")
_MOST = 100_000
"""The most lines that a table may have."""


def with_tables(values: Mapping[str, Any], tables: Tables | None) -> dict[str, Any]:
    """The values of an experiment with what its tables hold written out.

    Raises
    ------
    SpecError
        If a table cannot be read; it names the file, the line and the column.
    """
    jobs = values.get("jobs")
    if not isinstance(jobs, dict):
        return dict(values)
    path: Path = ("jobs",)
    only(jobs, ("from", "columns", "throughput", "each"), path, "A table of jobs")
    rows = [_plain(row) for row in _rows(jobs, _JOB, ("id",), path, tables)]
    kinds = dict(mapping(values.get("kinds") or {}, ("kinds",), "kinds"))
    each = mapping(jobs.get("each") or {}, (*path, "each"), "each")
    for row in rows:
        if row.get("kind"):
            kinds.setdefault(str(row["kind"]), dict(each))
    if "throughput" in jobs:
        where = (*path, "throughput")
        table = mapping(jobs["throughput"], where, "throughput")
        only(table, ("from", "columns"), where, "A table of throughput")
        speeds: dict[str, list[list[float]]] = {}
        for row in _rows(table, _SPEED, _SPEED, where, tables):
            speeds.setdefault(str(row["kind"]), []).append([float(row["cores"]), float(row["speed"])])
        for name in [name for name in kinds if name in speeds]:
            kinds[name] = {**kinds[name], "throughput": sorted(speeds[name])}
    return {**values, "kinds": kinds, "jobs": rows}


def _rows(
    table: Mapping[str, Any],
    known: tuple[str, ...],
    needed: tuple[str, ...],
    path: Path,
    tables: Tables | None,
) -> Iterator[dict[str, Any]]:
    """The lines of a table as fields by their names here."""
    columns = mapping(table.get("columns") or {}, (*path, "columns"), "columns")
    only(columns, known, (*path, "columns"), "Such a table")
    for name in needed:
        if name not in columns:
            raise SpecError(
                (*path, "columns"), f"No column is given for “{name}”.", f"Write “{name}: …” under “columns”."
            )
    name = str(table.get("from") or "")
    if tables is None:
        raise SpecError(
            (*path, "from"),
            f"The table “{name}” cannot be read: tables are found only beside a file.",
            "Run the experiment with “phasedock simulate FILE”, or write its jobs down.",
        )
    try:
        yield from _read(csv.DictReader(tables(name).splitlines(keepends=True)), name, columns, path)
    except SpecError:
        raise
    except (InputError, csv.Error) as error:
        raise SpecError(
            (*path, "from"), f"The table “{name}” cannot be read: {error}", "Give a CSV file in UTF-8."
        ) from None


def _read(
    lines: csv.DictReader[str], name: str, columns: Mapping[str, Any], path: Path
) -> Iterator[dict[str, Any]]:
    there = list(lines.fieldnames or ())
    wanted = {field: each if isinstance(each, list) else [each] for field, each in columns.items()}
    for field, titles in wanted.items():
        for title in titles:
            if title not in there:
                raise SpecError(
                    (*path, "columns", field),
                    f"“{name}” has no column “{title}”.",
                    f"It has: {', '.join(there)}.",
                )
    for at, line in enumerate(lines, 2):
        if at > _MOST:
            raise SpecError((*path, "from"), f"“{name}” has more than {_MOST:,} lines.", "Give a part of it.")
        yield {
            field: " ".join(str(line[title]).strip() for title in titles)
            if field in _TEXT
            else _number(
                line[titles[0]], f"“{name}”, line {at}, column “{titles[0]}”", (*path, "columns", field)
            )
            for field, titles in wanted.items()
        }


def _number(text: str | None, where: str, path: Path) -> float | None:
    """A number, or None for an empty cell."""
    if text is None or not text.strip():
        return None
    try:
        return float(text)
    except ValueError:
        raise SpecError(path, f"{where}: “{text}” is no number.", "Correct it, or leave it empty.") from None


def _plain(row: Mapping[str, Any]) -> dict[str, Any]:
    """A job's fields without those that its line leaves empty; whole numbers as such."""
    whole = ("steps", "priority")
    return {
        name: int(value) if name in whole and float(value).is_integer() else value
        for name, value in row.items()
        if value is not None
    }
