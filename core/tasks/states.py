"""The states of a task as a table: the arrows (transitions) between them, and the filled columns of each.

Nothing else changes a task's state: `transition` is one update that names the states that its arrow leaves,
so of two processes that want the same arrow exactly one gets it. The tables are printed in
``docs/runtime.md``, and `core.application` holds every row against them.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import update

from core.workspace.database_schema import TaskRow
from core.workspace.records import TaskState

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sqlalchemy.orm import Session

QUEUED, RUNNING, DONE = TaskState.QUEUED, TaskState.RUNNING, TaskState.DONE
FAILED, CANCELLED, INTERRUPTED = TaskState.FAILED, TaskState.CANCELLED, TaskState.INTERRUPTED
RETRYABLE: Final = (FAILED, CANCELLED, INTERRUPTED)
"""Ended without success; a retry is a new task, so it is no arrow."""


class Move(StrEnum):
    """The arrows by name."""

    BEGIN = "begin"
    WITHDRAW = "withdraw"
    FINISH = "finish"
    FAIL = "fail"
    STOP = "stop"
    INTERRUPT = "interrupt"


@dataclass(frozen=True, slots=True)
class Arrow:
    """One way from some states to another."""

    #: The states that it leaves.
    sources: tuple[TaskState, ...]
    #: The state that it leads to.
    target: TaskState
    #: What it means, for people.
    when: str


ARROWS: Final[Mapping[Move, Arrow]] = {
    Move.BEGIN: Arrow((QUEUED,), RUNNING, "A worker takes it."),
    Move.WITHDRAW: Arrow((QUEUED,), CANCELLED, "It is cancelled before it began."),
    # a living worker may have been declared dead, so its later result counts
    Move.FINISH: Arrow((RUNNING, INTERRUPTED), DONE, "The work is done, or its dead worker had stored it."),
    Move.FAIL: Arrow((RUNNING, INTERRUPTED), FAILED, "The work met an error."),
    Move.STOP: Arrow((RUNNING, INTERRUPTED), CANCELLED, "The work ends because it was cancelled."),
    Move.INTERRUPT: Arrow((RUNNING,), INTERRUPTED, "Its worker ends, or died."),
}


@dataclass(frozen=True, slots=True)
class Columns:
    """The optional columns that are filled in each state; all others in `OPTIONAL` are empty."""

    #: Names of columns.
    always: tuple[str, ...] = ()
    sometimes: tuple[str, ...] = ()


OPTIONAL: Final = ("started", "finished", "worker", "result", "error_message")
_STARTED, _OVER = ("started", "worker"), ("started", "worker", "finished")
COLUMNS: Final[Mapping[TaskState, Columns]] = {
    QUEUED: Columns(),
    RUNNING: Columns(_STARTED),
    DONE: Columns((*_OVER, "result")),
    FAILED: Columns((*_OVER, "error_message")),
    CANCELLED: Columns(("finished",), _STARTED),
    INTERRUPTED: Columns((*_OVER, "error_message")),
}


def transition(
    session: Session, task: str, move: Move, *, owner: str | None = None, **values: Any
) -> TaskRow | None:
    """Take a task along an arrow; None where it is in none of the states that the arrow leaves.

    Raises ValueError if a column that the new state always has is neither given nor filled already.
    """
    arrow = ARROWS[move]
    changed = _time_stamps(arrow.target) | values
    missing = _to_fill(arrow) - {name for name, value in changed.items() if value is not None}
    if missing:
        raise ValueError(f"{move} needs {', '.join(sorted(missing))}")
    mine = () if owner is None else (TaskRow.worker == owner,)
    statement = update(TaskRow).where(TaskRow.id == task, TaskRow.state.in_(arrow.sources), *mine)
    return session.scalars(statement.values(changed).returning(TaskRow)).one_or_none()


def _to_fill(arrow: Arrow) -> set[str]:
    """Return the columns that the new state always has and one of the old ones may lack."""
    return {
        name
        for name in COLUMNS[arrow.target].always
        if any(name not in COLUMNS[source].always for source in arrow.sources)
    }


def _time_stamps(state: TaskState) -> dict[str, Any]:
    """Return the columns that follow from the new state alone."""
    if not state.ended:
        return {"state": state, "started": time.time()}
    over = {"finished": time.time(), "expected_end": None, "error_message": None, "error_hint": None}
    return {"state": state, **over} | ({"progress": 1.0} if state is DONE else {})


def contradictions(row: TaskRow) -> list[str]:
    """Return the contradictions in a row, a sentence each; none in a row that `transition` wrote."""
    if row.state not in list(TaskState):
        return [f"It is in the unknown state “{row.state}”."]
    columns = COLUMNS[TaskState(row.state)]
    filled = {name for name in OPTIONAL if getattr(row, name) is not None}
    sentences = [
        f"It is {row.state} but has no {_column_name(name)}." for name in columns.always if name not in filled
    ]
    extra = [name for name in OPTIONAL if name in filled - {*columns.always, *columns.sometimes}]
    sentences += [f"It is {row.state} but has a {_column_name(name)} already." for name in extra]
    if not 0.0 <= row.progress <= 1.0:
        sentences.append(f"Its progress is {row.progress:g}, not between 0 and 1.")
    if (row.attempt > 1) != (row.retry_of is not None):
        sentences.append(
            f"It is attempt {row.attempt}, but the attempt before it is {row.retry_of or 'not named'}."
        )
    return sentences


def _column_name(column: str) -> str:
    return {
        "started": "time of its start",
        "finished": "time of its end",
        "error_message": "sentence about an error",
    }.get(column, column)


def printed() -> str:
    """Return the arrows and the columns as two tables in Markdown."""
    arrows = [
        f"| {move} | {', '.join(arrow.sources)} | {arrow.target} | {arrow.when} |"
        for move, arrow in ARROWS.items()
    ]
    states = [
        f"| {state} | {_format_columns(columns.always)} | {_format_columns(columns.sometimes)} |"
        for state, columns in COLUMNS.items()
    ]
    return "\n".join(
        [
            "| transition | from | to | when |",
            "|---|---|---|---|",
            *arrows,
            "",
            "| state | always has | may have |",
            "|---|---|---|",
            *states,
        ]
    )


def _format_columns(columns: tuple[str, ...]) -> str:
    return ", ".join(f"`{name}`" for name in columns) or "–"
