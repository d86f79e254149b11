"""The ends of a crashed worker's tasks, derived by reading alone.

The answer depends only on what is stored, so every reader gets the same one, and it does not matter
which process stores it in the end (`core.tasks.store.Tasks.reap`).
"""

from __future__ import annotations

import os
import socket
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlalchemy import select

from core.tasks.states import ARROWS, Move
from core.workspace.database_schema import ModelRow, TaskRow, TraceSetRow, WorkerRow
from core.workspace.records import TaskState

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sqlalchemy.orm import Session


BEAT_EVERY = 2.0
DEAD_AFTER = 20.0
_LINUX = Path("/proc/self/stat").exists()


# Detecting whether a worker process is still alive.
#
# On the same machine the kernel knows: a process of that id, born at that moment, exists or not.
# No clock is read, so a clock that jumps declares no worker dead. For a worker on another machine only
# its last heartbeat in the database can tell.


def this_host() -> str:
    """Return an id of this machine and boot, the scope of process ids."""
    boot = Path("/proc/sys/kernel/random/boot_id")
    namespace = Path("/proc/self/ns/pid")
    parts = [socket.gethostname()]
    if boot.exists():
        parts.append(boot.read_text().strip())
    if namespace.exists():
        parts.append(str(namespace.readlink()))
    return " ".join(parts)


def birth_of(pid: int) -> str:
    """Return the kernel's start time of a process; empty if it is dead or unknown."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except (OSError, IndexError):
        return ""
    return "" if fields[0] in "ZX" else fields[19]


def is_alive(worker: WorkerRow, now: float | None = None) -> bool:
    """Tell whether a worker lives."""
    if worker.host != this_host():
        return (time.time() if now is None else now) - worker.beat < DEAD_AFTER
    if _LINUX:
        return birth_of(worker.pid) == worker.birth != ""
    return _exists(worker.pid)


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


INTERRUPTED = (
    "The worker stopped before this was finished.",
    "Retry it; what was complete before is untouched.",
)


@dataclass(frozen=True, slots=True)
class Fate:
    """The end of a task."""

    #: The arrow that it takes.
    move: Move
    #: The worker that died.
    owner: str | None
    #: The columns that change with it.
    values: Mapping[str, Any]

    @property
    def state(self) -> TaskState:
        """The state that it is in now."""
        return ARROWS[self.move].target


def lost_tasks(session: Session) -> dict[str, Fate]:
    """Return the end of each running task with a dead worker, by id."""
    query = (
        select(TaskRow, WorkerRow)
        .outerjoin(WorkerRow, TaskRow.worker == WorkerRow.id)
        .where(TaskRow.state == TaskState.RUNNING)
    )
    running = session.execute(query).all()
    return {
        task.id: _decide_fate(session, task, worker)
        for task, worker in running
        if worker is None or not is_alive(worker)
    }


def _decide_fate(session: Session, task: TaskRow, worker: WorkerRow | None) -> Fate:
    """Return a task's end: done if its result is stored, cancelled if a stop was requested."""
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
    """Return the result that a task stored before it ended; None without one."""
    for key, table in (("trace_set", TraceSetRow), ("model", ModelRow)):
        result_id = session.scalars(select(table.id).where(table.task == task)).first()
        if result_id is not None:
            return {key: result_id}
    return None
