"""The definition of a kind of task: its run, its display, and the context of a running task.

Work may call `TaskContext.progress` thousands of times a second; the database is updated a few times a
second. Every call may raise `Cancelled`, which stops the work.
"""

from __future__ import annotations

import math
import time
from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from sqlalchemy import insert, select, update

from core.errors import Cancelled, Interrupted
from core.workspace.database_schema import LogRow, MetricRow, TaskRow
from core.workspace.records import TaskState

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Mapping

    from core.workspace.database import Database
    from core.workspace.records import TaskInfo


_WRITE_EVERY = 0.25
_PACE_OVER = 15.0
_STEP_NAMES = ("epoch", "step", "k")


class HasDatabase(Protocol):
    """The part of the workspace that a running task itself needs."""

    database: Database


W = TypeVar("W", bound=HasDatabase)


class TaskContext(Generic[W]):
    """One running task."""

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
        """Report how far the work is.

        Raises Cancelled if a person asked for that; Interrupted if the worker is ending.
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
        """Raise `Cancelled` if the task was cancelled."""
        with self.workspace.database.read() as session:
            is_cancelled = session.execute(
                select(TaskRow.cancel_asked).where(TaskRow.id == self.task)
            ).scalar()
        if is_cancelled is not False:
            raise Cancelled

    def log(self, text: str, internal: bool = False) -> None:
        """Add a line to the task's log."""
        with self.workspace.database.write() as session:
            session.add(LogRow(task=self.task, time=time.time(), text=text, internal=internal))

    def flush(self) -> None:
        """Write the collected progress to the database."""
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
        (then, before), (now, fraction) = self._pace[0], self._pace[-1]
        if fraction <= before or now - then < 0.5:
            return None
        return time.time() + (1.0 - fraction) * (now - then) / (fraction - before)


NOTHING_KEPT = "Nothing was saved; retry it if you like."


@dataclass(frozen=True, slots=True)
class ResultLink:
    """The place of a task's result; the application turns it into an address."""

    #: The page's name, such as ``"models"``.
    page: str
    #: What to show there: ids by what they are (``trace_set``, ``model``, ``run`` …) and further choices.
    about: Mapping[str, Any] = field(default_factory=dict)


def what_it_made(task: TaskInfo) -> ResultLink | None:
    """Return a link to the phases of a task's model, the model, or its trace set; None for other results."""
    result = task.result or {}
    traces = result.get("trace_set") or task.params.get("trace_set")
    if "model" in result:
        model = {"model": result["model"]}
        return ResultLink("phases", {**model, "trace_set": traces}) if traces else ResultLink("models", model)
    return ResultLink("traces", {"trace_set": result["trace_set"]}) if "trace_set" in result else None


def no_curve(_params: Mapping[str, Any]) -> None:
    """Draw no curve."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A named piece of long work."""

    #: Its name in the register.
    name: str
    #: What it is called, for people, such as ``"Train a model"``.
    title: str
    #: The name of its Tabler icon.
    icon: str
    # each kind knows what workspace it works on; the tasks' record and the worker do not
    #: Does it, given its context and the task's JSON parameters; returns a JSON result.
    run: Callable[[TaskContext[Any], Mapping[str, Any]], dict[str, Any]]
    #: One sentence about a task that is done. It may be asked about tasks of earlier versions, so it has to
    #: do without any part of their parameters and results.
    outcome: Callable[[TaskInfo], str]
    #: The keys of its result.
    gives: tuple[str, ...]
    #: Where the result of a task that is done can be looked at, or None; as careful as `outcome`.
    link: Callable[[TaskInfo], ResultLink | None] = what_it_made
    #: True if it runs until it is cancelled and mostly waits: it then gets a thread of its own, so that
    #: other tasks do not wait for it.
    lasting: bool = False
    #: True if it takes seconds: it then does not wait until longer ones have ended.
    brief: bool = False
    #: What became of the work of a task that was cancelled, in a sentence.
    kept: str = NOTHING_KEPT
    #: How many epochs the error curve of a task with these parameters has; None where it draws none.
    curve: Callable[[Mapping[str, Any]], int | None] = no_curve
