"""Attached policies and running recordings: tasks that last until somebody ends them."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from core.errors import ConflictError
from core.sampling.values import Mode
from core.workspace.records import TaskState

if TYPE_CHECKING:
    from collections.abc import Collection

    from core.tasks.store import Tasks
    from core.workspace.records import TaskInfo

ATTACH, RECORD, KEEP_PAST, TEACH = "attach", "record", "keep_past", "teach"
_MANY = 10_000
_ALIVE = (TaskState.QUEUED, TaskState.RUNNING)
_POLL = 0.1
_LOOK_BACK = 20
_TOLD_FOR = 600.0


class Sessions:
    """Finds and ends these tasks."""

    def __init__(self, tasks: Tasks) -> None:
        self._tasks = tasks

    def all(self) -> list[TaskInfo]:
        """The sessions of all engines, the newest first."""
        return self._tasks.list(_MANY, _ALIVE, (ATTACH, RECORD))

    def of(self, engine: str) -> dict[str, TaskInfo]:
        """The sessions of an engine, by kind of task."""
        return {task.kind: task for task in self.all() if task.params.get("engine") == engine}

    def controlled(self, engine: str) -> TaskInfo | None:
        """The policy that controls an engine, or None."""
        task = self.of(engine).get(ATTACH)
        return task if task is not None and task.params.get("mode") == Mode.CONTROL else None

    def failed(self, engine: str) -> TaskInfo | None:
        """The policy that was to be attached to an engine last, if that failed within the last minutes."""
        tasks = self._tasks.list(_LOOK_BACK, kinds=(ATTACH,))
        last = next((task for task in tasks if task.params.get("engine") == engine), None)
        if last is None or last.state is not TaskState.FAILED or last.finished is None:
            return None
        return last if time.time() - last.finished.timestamp() < _TOLD_FOR else None

    def cancel(self, engine: str, kind: str, nothing: str, hint: str) -> str:
        """Ask the session of a kind on an engine to end; returns its task's id.

        Raises
        ------
        ConflictError
            If there is none: `nothing` and `hint` say so.
        """
        task = self.of(engine).get(kind)
        if task is None:
            raise ConflictError(f"{nothing} on {engine}.", hint)
        self._tasks.cancel(task.id)
        return task.id

    def end(self, tasks: Collection[str], seconds: float) -> None:
        """Ask tasks to end, and wait until they have; those that are over already are fine.

        Raises
        ------
        ConflictError
            If one has not ended after `seconds`.
        """
        for task in tasks:
            self._cancel(task)
        until = time.monotonic() + seconds
        left = set(tasks)
        while left := self.alive(left):
            if time.monotonic() > until:
                raise ConflictError(
                    "The policy has not finished restoring its containers.", "Try again in a few seconds."
                )
            time.sleep(_POLL)

    def _cancel(self, task: str) -> None:
        try:
            self._tasks.cancel(task)
        except ConflictError:
            return  # it has just ended by itself

    def alive(self, tasks: Collection[str]) -> set[str]:
        """Those of some tasks that wait or run."""
        return {task.id for task in self._tasks.list(_MANY, _ALIVE)} & set(tasks)
