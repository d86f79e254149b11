"""Problems of a trace file: the problem, its place, and the action of the import.

Reading never repairs in silence: whatever is dropped, filled, sorted or merged becomes a `Problem`
with a count, the first row and the column, and the `Report` is what a person reads after an import.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

from core.errors import InputError, shorten_sentence
from core.traces.problem_kinds import KINDS, Action, Harm, Severity

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

__all__ = [
    "KINDS",
    "Action",
    "Problem",
    "ProblemLog",
    "Report",
    "Severity",
    "UnusableError",
    "problem",
]

MAX_ROWS = 5
MAX_HARMLESS_SHARE = 0.01
"""The share of rows that may be dropped or filled before an import counts as one to look at."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One kind of problem in one column, with its first rows and the number of its occurrences."""

    #: A key of `KINDS`.
    kind: str
    #: One sentence: what is wrong.
    message: str
    #: The first row concerned as an editor numbers it (the header is row 1), or None.
    row: int | None = None
    #: The column concerned, or None where it is whole rows.
    column: str | None = None
    #: How many cells, rows or executions are concerned.
    count: int = 1
    #: The numbers of the first rows concerned, at most `MAX_ROWS`.
    rows: tuple[int, ...] = ()

    @property
    def severity(self) -> Severity:
        """How much to care."""
        return KINDS[self.kind].severity

    @property
    def action(self) -> Action:
        """What was done about it."""
        return KINDS[self.kind].action

    def sentence(self) -> str:
        """The problem, the action of the import, and advice."""
        kind, n_more = KINDS[self.kind], self.count - 1
        message = self.message
        if n_more and kind.names_first:
            message = f"{message.removesuffix('.')}, and {n_more:,} more like it."
        return f"{message} {kind.outcome} {kind.hint}"

    @property
    def hint(self) -> str:
        """Advice for this problem."""
        return KINDS[self.kind].hint

    def to_dict(self) -> dict[str, Any]:
        """Return the problem as a JSON object."""
        return {**asdict(self), "severity": self.severity.value, "action": self.action.value}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Problem:
        """Return the problem that `to_dict` wrote."""
        values = {name: data[name] for name in ("kind", "message", "row", "column", "count")}
        return cls(**values, rows=tuple(data.get("rows", ())))


def problem(
    kind: str,
    message: str,
    *,
    row: int | None = None,
    column: str | None = None,
    count: int = 1,
    rows: Sequence[int] = (),
) -> Problem:
    """Make a problem; one or a few of its rows can be named."""
    first = tuple(rows)[:MAX_ROWS] or (() if row is None else (row,))
    return Problem(kind, shorten_sentence(message), first[0] if first else None, column, count, first)


@dataclass(frozen=True, slots=True)
class Report:
    """Everything that a person should know about an import."""

    #: What was wrong, in the order in which it was found.
    problems: tuple[Problem, ...] = ()
    #: Rows of the file, without its header.
    rows_read: int = 0
    #: Rows that went into the trace set, before resampling.
    rows_kept: int = 0
    #: Executions of the trace set.
    executions_kept: int = 0

    def sentences(self) -> tuple[str, ...]:
        """One line per problem, the severe ones first."""
        order = list(reversed(Severity))
        ranked = sorted(self.problems, key=lambda one: order.index(one.severity))
        return tuple(one.sentence() for one in ranked)

    def count(self, kind: str) -> int:
        """The number of cells, rows or executions with this kind of problem."""
        return sum(one.count for one in self.problems if one.kind == kind)

    @property
    def lost(self) -> float:
        """The share of rows that are not in the trace set; those that only start a counter do not count."""
        used = self.rows_kept + self.count("counter_start")
        return max(1 - used / self.rows_read, 0.0) if self.rows_read else 0.0

    @property
    def harmful(self) -> tuple[Problem, ...]:
        """The problems that drop, merge or estimate numbers, above `MAX_HARMLESS_SHARE` of the rows."""
        max_rows = MAX_HARMLESS_SHARE * max(self.rows_read, 1)
        return tuple(
            one
            for one in self.problems
            if KINDS[one.kind].harm is Harm.ALWAYS
            or (KINDS[one.kind].harm is Harm.IF_MANY and one.count > max_rows)
        )

    @property
    def faultless(self) -> bool:
        """Whether the trace set can be trusted without reading the report."""
        return not self.harmful and self.lost <= MAX_HARMLESS_SHARE

    def to_dict(self) -> dict[str, Any]:
        """Return the report as a JSON object."""
        return {**asdict(self), "problems": [one.to_dict() for one in self.problems]}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Report:
        """Return the report that `to_dict` wrote."""
        counts = (data[name] for name in ("rows_read", "rows_kept", "executions_kept"))
        return cls(tuple(map(Problem.from_dict, data["problems"])), *counts)


class UnusableError(InputError):
    """No part of a file is usable; `report` gives the reasons, problem by problem."""

    def __init__(self, message: str, hint: str, report: Report) -> None:
        super().__init__(message, hint)
        self.report = report


@dataclass
class ProblemLog:
    """Collects problems while a file is read, one per kind and column."""

    by_kind: dict[tuple[str, str | None], Problem] = field(default_factory=dict)

    def add(self, kind: str, message: str, *, column: str | None = None, **about: Any) -> None:
        """Add a problem (see `problem`); if its kind and column are already known, only the count grows."""
        new = problem(kind, message, column=column, **about)
        before = self.by_kind.setdefault((kind, column), new)
        if before is not new:
            rows = before.rows if len(before.rows) >= MAX_ROWS else (*before.rows, *new.rows)[:MAX_ROWS]
            self.by_kind[kind, column] = replace(before, count=before.count + new.count, rows=rows)

    def rename(self, kind: str, column: str, other: str) -> None:
        """Change the kind of a column's problem, if it has one."""
        renamed = self.by_kind.pop((kind, column), None)
        if renamed is not None:
            self.extend([replace(renamed, kind=other)])

    def extend(self, problems: Iterable[Problem]) -> None:
        """Add problems that were found elsewhere."""
        for one in problems:
            about = {"row": one.row, "count": one.count, "rows": one.rows}
            self.add(one.kind, one.message, column=one.column, **about)

    @property
    def problems(self) -> tuple[Problem, ...]:
        """All problems, in the order of discovery."""
        return tuple(self.by_kind.values())
