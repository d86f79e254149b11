"""What a running task can use: the workspace, progress reporting, and cancellation.

Work calls `progress` as often as it likes, thousands of times a second if need be; the database
hears of it a few times a second. Every call may raise `Cancelled`: that is how work is stopped.
"""

from __future__ import annotations

import math
import time
from collections import deque
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from sqlalchemy import insert, select, update

from core.errors import Cancelled, Interrupted
from core.workspace.records import TaskState
from core.workspace.tables import LogRow, MetricRow, TaskRow

if TYPE_CHECKING:
    import threading

    from core.workspace.database import Database

_WRITE_EVERY = 0.25
_PACE_OVER = 15.0
_STEP_NAMES = ("epoch", "step", "k")


class HasDatabase(Protocol):
    """What a running task itself needs of the workspace."""

    database: Database


W = TypeVar("W", bound=HasDatabase)


class TaskContext(Generic[W]):
    """One running task.

    Parameters
    ----------
    workspace
        Everything that is stored.
    task
        The task's id.
    stopping
        Set when the worker is to end.
    """

    def __init__(self, workspace: W, task: str, stopping: threading.Event) -> None:
        self.workspace = workspace
        self.task = task
        self._stopping = stopping
        self._metrics: list[dict[str, Any]] = []
        self._steps = 0
        self._written = -math.inf
        self._last = (0.0, "")
        self._pace: deque[tuple[float, float]] = deque([(time.monotonic(), 0.0)])

    def progress(self, fraction: float, message: str = "", /, **metrics: float) -> None:
        """Say how far the work is.

        Parameters
        ----------
        fraction
            0 to 1.
        message
            What it is doing, for people, such as ``"epoch 12 of 100"``.
        **metrics
            Values for live curves; one called `epoch`, `step` or `k` numbers the others, and one
            called `trial` makes curves of their own.

        Raises
        ------
        Cancelled
            If a person asked for that.
        Interrupted
            If the worker is ending.
        """
        now = time.monotonic()
        fraction = min(max(float(fraction), 0.0), 1.0)
        self._collect(metrics)
        self._last = (fraction, message or self._last[1])
        if self._stopping.is_set():
            raise Interrupted("The worker was stopped before this was finished.", "Retry it.")
        if now - self._written >= _WRITE_EVERY:
            self._note_pace(now, fraction)
            self.flush()
            self.check()

    def check(self) -> None:
        """Raise `Cancelled` if a person asked for that."""
        with self.workspace.database.read() as session:
            asked = session.execute(select(TaskRow.cancel_asked).where(TaskRow.id == self.task)).scalar()
        if asked is not False:
            raise Cancelled

    def log(self, text: str, internal: bool = False) -> None:
        """Add a line to the task's log."""
        with self.workspace.database.write() as session:
            session.add(LogRow(task=self.task, time=time.time(), text=text, internal=internal))

    def flush(self) -> None:
        """Write what `progress` has collected to the database."""
        metrics, self._metrics = self._metrics, []
        fraction, message = self._last
        values = {"progress": fraction, "message": message, "expected_end": self._expected_end()}
        with self.workspace.database.write() as session:
            session.execute(
                update(TaskRow)
                .where(TaskRow.id == self.task, TaskRow.state == TaskState.RUNNING)
                .values(**values)
            )
            if metrics:
                session.execute(insert(MetricRow), metrics)
        self._written = time.monotonic()

    def _collect(self, metrics: dict[str, float]) -> None:
        if not metrics:
            return
        self._steps += 1
        trial = f" · trial {int(metrics['trial'])}" if "trial" in metrics else ""
        named = next((name for name in _STEP_NAMES if name in metrics and not trial), None)
        step = self._steps if named is None else int(metrics[named])
        self._metrics += [
            {"task": self.task, "step": step, "name": f"{name}{trial}", "value": float(value)}
            for name, value in metrics.items()
            if name not in (named, "trial") and math.isfinite(value)
        ]

    def _note_pace(self, now: float, fraction: float) -> None:
        self._pace.append((now, fraction))
        while len(self._pace) > 2 and now - self._pace[0][0] > _PACE_OVER:
            self._pace.popleft()

    def _expected_end(self) -> float | None:
        (begun, before), (now, fraction) = self._pace[0], self._pace[-1]
        if fraction <= before or now - begun < 0.5:
            return None
        return time.time() + (1.0 - fraction) * (now - begun) / (fraction - before)
