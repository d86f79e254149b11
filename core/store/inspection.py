"""What a file, or several together, seem to be: what a person sees before the import."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from core.traces.mapping import ColumnMapping
from core.traces.questions import Question
from core.traces.validation import Problem

if TYPE_CHECKING:
    from collections.abc import Mapping

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
