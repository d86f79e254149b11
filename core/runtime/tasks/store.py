"""Long work: submitted here, done by a worker, recorded in the database from first to last.

    queued ──► running ──► done | failed | cancelled | interrupted
       └─────► cancelled

Each arrow is one update that names the state it leaves, so of two processes that want the same
arrow exactly one gets it. A task whose worker is dead is shown as interrupted from the first look
on, whether or not another worker lives. A retry is a new task with the same parameters.
"""

from __future__ import annotations

import logging
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, cast

from sqlalchemy import delete, func, select, update

from core.errors import ConflictError, NotFoundError
from core.runtime.database.tables import LogRow, MetricRow, ModelRow, TaskRow, TraceSetRow, WorkerRow
from core.runtime.infos import TaskInfo, TaskState, WorkerInfo
from core.runtime.storage.files import checked_id, new_id
from core.runtime.tasks.liveness import is_alive

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from sqlalchemy import CursorResult
    from sqlalchemy.orm import Session

    from core.runtime.database.engine import Database
    from core.runtime.tasks.queue import WorkQueue

Metrics = list[tuple[int, str, float]]
LogLines = list[tuple[datetime, str]]

INTERRUPTED = (
    "The worker stopped before this was finished.",
    "Retry it; what was complete before is untouched.",
)
_LOG = logging.getLogger(__name__)
_ENDED = [state.value for state in TaskState if state.ended]


class Tasks:
    """The record of all long work, and the way to ask for more.

    Parameters
    ----------
    database
        Where the record is.
    queue
        How workers hear of new tasks.
    kinds
        The names of the kinds of tasks there are.
    """

    def __init__(self, database: Database, queue: WorkQueue, kinds: Collection[str]) -> None:
        self._database = database
        self._queue = queue
        self._kinds = kinds

    def submit(self, kind: str, title: str, params: Mapping[str, Any]) -> str:
        """Ask for work; once this returns, the task will be done even if every process dies.

        Parameters
        ----------
        kind
            A registered kind, such as ``"train"``.
        title
            What it does, for people.
        params
            JSON values.

        Returns
        -------
        str
            The task's id.

        Raises
        ------
        NotFoundError
            If there is no such kind.
        """
        return self._add(kind, title, dict(params), attempt=1, retry_of=None)

    def retry(self, task: str) -> str:
        """Do a task that ended without success once more; gives the new task's id.

        Raises
        ------
        NotFoundError
            If there is no such task.
        ConflictError
            If it waits, runs or succeeded.
        """
        info = self.get(task)
        if info.state not in (TaskState.FAILED, TaskState.CANCELLED, TaskState.INTERRUPTED):
            raise ConflictError(
                f"“{info.title}” is {info.state}, so there is nothing to retry.",
                "Only what failed, was cancelled or was interrupted can be retried.",
            )
        return self._add(info.kind, info.title, dict(info.params), info.attempt + 1, info.id)

    def get(self, task: str) -> TaskInfo:
        """Look one task up.

        Raises
        ------
        NotFoundError
            If there is none of this id.
        """
        self.reap()
        with self._database.read() as session:
            row = session.get(TaskRow, checked_id(task, "task"))
        if row is None:
            raise NotFoundError("There is no task with this id.", "Choose a task from the list.")
        return _info(row)

    def list(self, limit: int = 100, states: Collection[TaskState | str] | None = None) -> list[TaskInfo]:
        """The tasks, the newest first.

        Parameters
        ----------
        limit
            At most so many.
        states
            Only tasks in these states; all when left out.
        """
        self.reap()
        query = select(TaskRow).order_by(TaskRow.created.desc(), TaskRow.id).limit(limit)
        if states is not None:
            query = query.where(TaskRow.state.in_([str(state) for state in states]))
        with self._database.read() as session:
            return [_info(row) for row in session.scalars(query)]

    def metrics(self, task: str, since: int = -1) -> Metrics:
        """The values of a task's live curves after a step: (step, name, value), in order of steps."""
        query = select(MetricRow.step, MetricRow.name, MetricRow.value).where(
            MetricRow.task == task, MetricRow.step > since
        )
        with self._database.read() as session:
            rows = session.execute(query.order_by(MetricRow.step, MetricRow.id)).all()
        return [(step, name, value) for step, name, value in rows]

    def log(self, task: str, internal: bool = False) -> LogLines:
        """A task's log: (time, text), oldest first.

        Parameters
        ----------
        task
            Its id.
        internal
            With the lines that are for those who mend PhaseDock.
        """
        query = select(LogRow).where(LogRow.task == task).order_by(LogRow.id)
        if not internal:
            query = query.where(LogRow.internal.is_(False))
        with self._database.read() as session:
            return [(_moment(row.time), row.text) for row in session.scalars(query)]

    def cancel(self, task: str) -> TaskInfo:
        """Stop a task: at once while it waits, at its next step while it runs.

        Raises
        ------
        NotFoundError
            If there is no such task.
        ConflictError
            If it has ended already.
        """
        info = self.get(task)
        with self._database.write() as session:
            changed = _change(session, info.id, TaskState.QUEUED, _cancelled("Cancelled before it began"))
            changed += _change(session, info.id, TaskState.RUNNING, {"cancel_asked": True})
        if not changed:
            raise ConflictError(f"“{info.title}” has ended already.", "There is nothing left to cancel.")
        return self.get(task)

    def clear_finished(self) -> int:
        """Remove ended tasks from the list, with their logs and curves; say how many there were."""
        with self._database.write() as session:
            doomed = session.scalars(select(TaskRow.id).where(TaskRow.state.in_(_ENDED))).all()
            for table in (MetricRow, LogRow):
                session.execute(delete(table).where(table.task.in_(doomed)))
            session.execute(delete(TaskRow).where(TaskRow.id.in_(doomed)))
        return len(doomed)

    def worker(self) -> WorkerInfo:
        """Tell whether somebody does the queued work."""
        self.reap()
        with self._database.read() as session:
            workers = session.scalars(select(WorkerRow)).all()
            counts = session.execute(select(TaskRow.state, func.count()).group_by(TaskRow.state)).all()
        living = [worker for worker in workers if is_alive(worker)]
        waits: dict[str, int] = {row[0]: row[1] for row in counts}
        return WorkerInfo(
            alive=bool(living),
            count=len(living),
            seconds_since_beat=max(0.0, time.time() - max(w.beat for w in workers)) if workers else None,
            queued=waits.get(TaskState.QUEUED, 0),
            running=waits.get(TaskState.RUNNING, 0),
        )

    def reap(self) -> int:
        """Mark the running tasks of dead workers as interrupted; say how many there were."""
        query = (
            select(TaskRow, WorkerRow)
            .outerjoin(WorkerRow, TaskRow.worker == WorkerRow.id)
            .where(TaskRow.state == TaskState.RUNNING)
        )
        with self._database.read() as session:
            running = session.execute(query).all()
        lost = [task for task, worker in running if worker is None or not is_alive(worker)]
        if not lost:
            return 0
        with self._database.write() as session:
            return sum(_change(session, task.id, TaskState.RUNNING, _fate(session, task)) for task in lost)

    def requeue_waiting(self) -> int:
        """Put tasks back into the queue that wait in the database only; say how many there were."""
        with self._database.read() as session:
            waiting = session.scalars(
                select(TaskRow.id).where(TaskRow.state == TaskState.QUEUED).order_by(TaskRow.queued_at)
            ).all()
        missing = [task for task in waiting if task not in self._queue.waiting()] if waiting else []
        for task in missing:
            self._announce(task)
        return len(missing)

    def _add(self, kind: str, title: str, params: dict[str, Any], attempt: int, retry_of: str | None) -> str:
        if kind not in self._kinds:
            raise NotFoundError(
                f"There is no kind of task called “{kind}”.", f"Choose one of: {', '.join(self._kinds)}."
            )
        now = time.time()
        row = TaskRow(
            id=new_id(),
            kind=kind,
            title=title,
            state=TaskState.QUEUED,
            params=params,
            created=now,
            queued_at=now,
            attempt=attempt,
            retry_of=retry_of,
        )
        with self._database.write() as session:
            session.add(row)
        self._announce(row.id)
        return row.id

    def _announce(self, task: str) -> None:
        try:
            self._queue.put(task)
        except Exception:  # noqa: BLE001 - the task is recorded; a worker finds it there
            _LOG.warning("task %s waits in the database only", task, exc_info=True)


def _change(session: Session, task: str, state: TaskState, values: Mapping[str, Any]) -> int:
    """Change a task that is in a state; 0 when it is not, or no longer."""
    statement = update(TaskRow).where(TaskRow.id == task, TaskRow.state == state).values(**values)
    return cast("CursorResult[Any]", session.execute(statement)).rowcount


def _cancelled(message: str) -> dict[str, Any]:
    return {"state": TaskState.CANCELLED, "finished": time.time(), "message": message}


def _fate(session: Session, task: TaskRow) -> dict[str, Any]:
    """What became of a task whose worker died: what it had published counts as done."""
    for key, table in (("trace_set", TraceSetRow), ("model", ModelRow)):
        published = session.scalars(select(table.id).where(table.task == task.id)).first()
        if published is not None:
            return {
                "state": TaskState.DONE,
                "finished": time.time(),
                "progress": 1.0,
                "result": {key: published},
            }
    if task.cancel_asked:
        return _cancelled("Cancelled")
    message, hint = INTERRUPTED
    return {
        "state": TaskState.INTERRUPTED,
        "finished": time.time(),
        "error_message": message,
        "error_hint": hint,
    }


def _moment(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


def _info(row: TaskRow) -> TaskInfo:
    running = row.state == TaskState.RUNNING
    left = max(0.0, row.expected_end - time.time()) if running and row.expected_end is not None else None
    return TaskInfo(
        id=row.id,
        kind=row.kind,
        title=row.title,
        state=TaskState(row.state),
        progress=row.progress,
        message=row.message,
        params=row.params,
        result=row.result,
        error=(row.error_message, row.error_hint or "") if row.error_message else None,
        created=_moment(row.created),
        started=None if row.started is None else _moment(row.started),
        finished=None if row.finished is None else _moment(row.finished),
        seconds_left=left,
        attempt=row.attempt,
        retry_of=row.retry_of,
        cancelling=running and row.cancel_asked,
    )
