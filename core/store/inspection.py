"""Looking at a file before it is imported: what it seems to be, from its first part only."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from core.errors import InputError
from core.store.formats.register import open_source
from core.store.guard import guarded
from core.traces.guessing import EMPTY, is_date, is_number
from core.traces.layouts import recognise
from core.traces.mapping import ColumnMapping
from core.traces.validation import Problem

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from os import PathLike

    from core.store.formats.base import Source

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
