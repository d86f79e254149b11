"""Deriving what became of tasks whose worker died, by reading alone.

The answer depends only on what is stored, so everybody who looks gets the same one, and it does not matter
which process writes it down in the end (`core.runtime.tasks.store.Tasks.reap`).
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import select

from core.runtime.database.tables import ModelRow, TaskRow, TraceSetRow, WorkerRow
from core.runtime.infos import TaskState
from core.runtime.tasks.liveness import is_alive
from core.runtime.tasks.states import ARROWS, Move

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sqlalchemy.orm import Session

INTERRUPTED = (
    "The worker stopped before this was finished.",
    "Retry it; what was complete before is untouched.",
)


@dataclass(frozen=True, slots=True)
class Fate:
    """What became of a task.

    Parameters
    ----------
    move
        The arrow that it takes.
    owner
        The worker that died.
    values
        The columns that change with it.
    """

    move: Move
    owner: str | None
    values: Mapping[str, Any]

    @property
    def state(self) -> TaskState:
        """The state that it is in now."""
        return ARROWS[self.move].target


def lost_tasks(session: Session) -> dict[str, Fate]:
    """The running tasks whose worker is dead, by id, each with what became of it."""
    query = (
        select(TaskRow, WorkerRow)
        .outerjoin(WorkerRow, TaskRow.worker == WorkerRow.id)
        .where(TaskRow.state == TaskState.RUNNING)
    )
    running = session.execute(query).all()
    return {
        task.id: _fate(session, task, worker)
        for task, worker in running
        if worker is None or not is_alive(worker)
    }


def _fate(session: Session, task: TaskRow, worker: WorkerRow | None) -> Fate:
    """A task that had stored its result is done; one that was asked to stop was cancelled."""
    ended = time.time() if worker is None else max(worker.beat, task.started or 0.0)
    values: dict[str, Any] = {"finished": ended}
    result = stored_result(session, task.id)
    if result is not None:
        return Fate(Move.FINISH, task.worker, {**values, "progress": 1.0, "result": result})
    if task.cancel_asked:
        return Fate(Move.STOP, task.worker, {**values, "message": "Cancelled"})
    message, hint = INTERRUPTED
    return Fate(Move.INTERRUPT, task.worker, {**values, "error_message": message, "error_hint": hint})


def stored_result(session: Session, task: str) -> dict[str, str] | None:
    """What a task had stored before it ended, however it ended; None if nothing."""
    for key, table in (("trace_set", TraceSetRow), ("model", ModelRow)):
        found = session.scalars(select(table.id).where(table.task == task)).first()
        if found is not None:
            return {key: found}
    return None
