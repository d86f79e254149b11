"""What was wrong with a file, where, and what was done about it.

Reading never repairs in silence: whatever is dropped, held, sorted or merged becomes a `Problem`
with a count, the first row and the column, and the `Report` is what a person reads after an import.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from core.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


class Severity(StrEnum):
    """How much a person should care."""

    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


class Action(StrEnum):
    """What was done about a problem."""

    REJECTED = "rejected"
    DROPPED = "dropped"
    HELD = "held"
    SORTED = "sorted"
    MERGED = "merged"
    GROUPED = "grouped"
    CONVERTED = "converted"
    RESAMPLED = "resampled"
    SPLIT = "split"
    IGNORED = "ignored"
    KEPT = "kept"


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of problem: how severe it is, what is done about it, and what a person can do."""

    severity: Severity
    action: Action
    done: str
    hint: str


_DROP_ROW = "The rows were dropped."
_FILL = "The execution's last value was held; where there was none, or for too long, the row was dropped."

KINDS: dict[str, Kind] = {
    "columns_unused": Kind(
        Severity.INFO, Action.IGNORED, "They were left out.", "Add them to the mapping if you need them."
    ),
    "duplicate_column": Kind(
        Severity.WARNING,
        Action.KEPT,
        "The later ones were renamed.",
        "Give every column its own name in the header.",
    ),
    "unnamed_column": Kind(
        Severity.INFO, Action.KEPT, "They were named by their position.", "Name them in the header."
    ),
    "encoding": Kind(
        Severity.WARNING,
        Action.CONVERTED,
        "It was read as Windows-1252.",
        "Save the file as UTF-8 if names look wrong.",
    ),
    "utf16": Kind(Severity.INFO, Action.CONVERTED, "It was decoded.", "Nothing needs to be done."),
    "preamble": Kind(
        Severity.INFO,
        Action.IGNORED,
        "They were skipped.",
        "Check that the row taken as the header is the right one.",
    ),
    "repeated_header": Kind(
        Severity.INFO, Action.IGNORED, "The repetitions were skipped.", "Nothing needs to be done."
    ),
    "ragged": Kind(
        Severity.ERROR,
        Action.DROPPED,
        _DROP_ROW,
        "Give every row as many cells as the header has, and quote cells that contain the separator.",
    ),
    "quote": Kind(
        Severity.ERROR,
        Action.DROPPED,
        "Everything up to the next quotation mark was dropped.",
        "Close the quotation mark and import the file again.",
    ),
    "cut_off": Kind(
        Severity.ERROR, Action.DROPPED, "The row was dropped.", "Copy or export the whole file again."
    ),
    "unparsable": Kind(
        Severity.ERROR, Action.HELD, _FILL, "Write plain numbers with a decimal point, or map another column."
    ),
    "unparsable_kept": Kind(
        Severity.WARNING, Action.KEPT, "The cells stay empty.", "Write plain numbers with a decimal point."
    ),
    "infinite_kept": Kind(
        Severity.WARNING, Action.KEPT, "The cells stay empty.", "Check what wrote these values."
    ),
    "missing": Kind(Severity.WARNING, Action.HELD, _FILL, "Fill the gaps if they matter."),
    "missing_kept": Kind(
        Severity.INFO, Action.KEPT, "The cells stay empty.", "Nothing needs to be done: they are optional."
    ),
    "infinite": Kind(Severity.ERROR, Action.HELD, _FILL, "Check what wrote these values."),
    "negative": Kind(
        Severity.ERROR,
        Action.REJECTED,
        "The rows were rejected.",
        "Usage cannot be below zero: check the unit and what wrote these values.",
    ),
    "implausible": Kind(
        Severity.ERROR,
        Action.REJECTED,
        "The rows were rejected.",
        "Check the unit in the mapping and what wrote these values.",
    ),
    "missing_time": Kind(Severity.ERROR, Action.DROPPED, _DROP_ROW, "Give every row a time."),
    "unparsable_time": Kind(
        Severity.ERROR,
        Action.DROPPED,
        _DROP_ROW,
        "Write times as epoch numbers or as 2026-01-31T12:00:00, or choose another time unit in the mapping.",
    ),
    "missing_execution": Kind(
        Severity.ERROR, Action.DROPPED, _DROP_ROW, "Give every row the name of its execution."
    ),
    "interleaved": Kind(
        Severity.INFO, Action.GROUPED, "The rows were grouped by execution.", "Nothing needs to be done."
    ),
    "unsorted": Kind(
        Severity.WARNING,
        Action.SORTED,
        "The rows were sorted by time.",
        "Check that the right column is mapped to time.",
    ),
    "duplicate_time": Kind(
        Severity.WARNING,
        Action.MERGED,
        "The last row of each time was kept.",
        "Check that the right column is mapped to the execution.",
    ),
    "counter_start": Kind(
        Severity.INFO,
        Action.DROPPED,
        "It was dropped.",
        "Nothing needs to be done: a growing counter gives usage from its second sample on.",
    ),
    "counter_reset": Kind(
        Severity.INFO, Action.KEPT, "Counting went on from zero.", "Nothing needs to be done."
    ),
    "empty_column": Kind(
        Severity.WARNING, Action.IGNORED, "It was left out.", "Map another column if this one matters."
    ),
    "too_short": Kind(
        Severity.WARNING,
        Action.DROPPED,
        "They were dropped.",
        "Lower the least number of samples in the mapping to keep them.",
    ),
    "mixed_attribute": Kind(
        Severity.WARNING,
        Action.KEPT,
        "The first value of each was kept.",
        "An attribute should have one value per execution.",
    ),
    "mixed_periods": Kind(
        Severity.INFO,
        Action.RESAMPLED,
        "All were brought to one period.",
        "Set another period in the mapping if you prefer.",
    ),
    "irregular": Kind(
        Severity.INFO,
        Action.RESAMPLED,
        "They were brought to the sampling period.",
        "Choose “as they come” in the mapping to keep the rows of the file.",
    ),
    "gap": Kind(
        Severity.INFO,
        Action.SPLIT,
        "The executions were split there: no window crosses a gap.",
        "Raise the longest gap in the mapping to bridge them.",
    ),
}


# Found one by one: their message speaks of the first, the count of all.
FIRST_ONLY = frozenset(
    ("unparsable", "unparsable_kept", "unparsable_time", "ragged", "repeated_header", "encoding")
)


@dataclass(frozen=True, slots=True)
class Problem:
    """One kind of problem in one column, with its first row and the number of its occurrences.

    Parameters
    ----------
    kind
        A key of `KINDS`.
    severity
        How much to care.
    row
        The first row concerned as an editor numbers it (the header is row 1), or None.
    column
        The column concerned, or None where it is whole rows.
    count
        How many cells, rows or executions are concerned.
    message
        One sentence: what is wrong.
    action
        What was done about it.
    """

    kind: str
    severity: Severity
    row: int | None
    column: str | None
    count: int
    message: str
    action: Action

    def sentence(self) -> str:
        """What is wrong, what was done about it, and what a person can do."""
        kind, more = KINDS[self.kind], self.count - 1
        message = self.message
        if more and self.kind in FIRST_ONLY:
            message = f"{message.removesuffix('.')}, and {more:,} more like it."
        return f"{message} {kind.done} {kind.hint}"

    @property
    def hint(self) -> str:
        """What a person can do about it."""
        return KINDS[self.kind].hint

    def to_dict(self) -> dict[str, Any]:
        """The problem as JSON holds it."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Problem:
        """The problem that `to_dict` wrote."""
        rest = {key: data[key] for key in ("kind", "row", "column", "count", "message")}
        return cls(severity=Severity(data["severity"]), action=Action(data["action"]), **rest)


def problem(
    kind: str, message: str, *, row: int | None = None, column: str | None = None, count: int = 1
) -> Problem:
    """Make a problem with the severity and the action of its kind."""
    what = KINDS[kind]
    return Problem(kind, what.severity, row, column, count, message, what.action)


@dataclass(frozen=True, slots=True)
class Report:
    """Everything that a person should know about an import.

    Parameters
    ----------
    problems
        What was wrong, in the order in which it was found.
    rows_read
        Rows of the file, without its header.
    rows_kept
        Rows that went into the trace set, before resampling.
    executions_kept
        Executions of the trace set.
    """

    problems: tuple[Problem, ...] = ()
    rows_read: int = 0
    rows_kept: int = 0
    executions_kept: int = 0

    def sentences(self) -> tuple[str, ...]:
        """One line per problem, the severe ones first."""
        order = list(reversed(Severity))
        ranked = sorted(self.problems, key=lambda one: order.index(one.severity))
        return tuple(one.sentence() for one in ranked)

    def count(self, kind: str) -> int:
        """How many cells, rows or executions had this kind of problem."""
        return sum(one.count for one in self.problems if one.kind == kind)

    @property
    def clean(self) -> bool:
        """True where nothing needs a person's attention."""
        return all(one.severity is Severity.INFO for one in self.problems)

    def to_dict(self) -> dict[str, Any]:
        """The report as JSON holds it."""
        return {
            "problems": [one.to_dict() for one in self.problems],
            "rows_read": self.rows_read,
            "rows_kept": self.rows_kept,
            "executions_kept": self.executions_kept,
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Report:
        """The report that `to_dict` wrote."""
        return cls(
            problems=tuple(Problem.from_dict(one) for one in data["problems"]),
            rows_read=data["rows_read"],
            rows_kept=data["rows_kept"],
            executions_kept=data["executions_kept"],
        )


class UnusableError(InputError):
    """Nothing of a file could be used; `report` says why, problem by problem."""

    def __init__(self, message: str, hint: str, report: Report) -> None:
        super().__init__(message, hint)
        self.report = report


@dataclass
class ProblemLog:
    """Collects problems while a file is read, one per kind and column."""

    found: dict[tuple[str, str | None], Problem] = field(default_factory=dict)

    def add(
        self, kind: str, message: str, *, row: int | None = None, column: str | None = None, count: int = 1
    ) -> None:
        """Add a problem; of a kind and column that is known, only the count grows."""
        key = (kind, column)
        before = self.found.get(key)
        if before is None:
            self.found[key] = problem(kind, message, row=row, column=column, count=count)
            return
        total = before.count + count
        self.found[key] = problem(kind, before.message, row=before.row, column=column, count=total)

    def rename(self, kind: str, column: str, other: str) -> None:
        """Call the problem of a column by another kind, where there is one."""
        known = self.found.pop((kind, column), None)
        if known is not None:
            self.add(other, known.message, row=known.row, column=column, count=known.count)

    def extend(self, problems: Iterable[Problem]) -> None:
        """Add problems that were found elsewhere."""
        for one in problems:
            self.add(one.kind, one.message, row=one.row, column=one.column, count=one.count)

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What was found, in the order of finding."""
        return tuple(self.found.values())
