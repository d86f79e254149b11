"""The record of tasks, and the queue that sends new ones to workers.

For a task of a dead worker, the derived end takes precedence over the stored state.
"""

from __future__ import annotations

import json
import logging
import time
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any

from huey import RedisHuey, SqliteHuey
from huey.registry import Message
from huey.serializer import Serializer
from sqlalchemy import and_, delete, func, or_, select, update

from core.errors import ConflictError, NotFoundError, SettingsError
from core.tasks.crashed_workers import is_alive, lost_tasks
from core.tasks.states import RETRYABLE, Move, transition
from core.workspace.database_schema import LogRow, MetricRow, TaskRow, WorkerRow
from core.workspace.files import checked_id, new_id
from core.workspace.records import TaskInfo, TaskState, WorkerInfo
from core.workspace.repository import to_datetime

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from sqlalchemy import ColumnElement
    from sqlalchemy.orm import Session

    from core.config import Settings
    from core.tasks.crashed_workers import Fate
    from core.workspace.database import Database


_NAME = "phasedock"


# The queue between the web process and the workers: huey, on SQLite or on Redis.
#
# The queue contains only the id of a task; its parameters and its progress are in the database. Losing or
# repeating a message is therefore harmless: a task starts only by the one update from *queued* to *running*,
# and a worker queues waiting tasks without a message again.
#
# It has two lanes, so that short imports are not stuck behind long trainings.


class PlainSerializer(Serializer):  # type: ignore[misc]
    """Messages as JSON: data from a queue is never executed."""

    def _serialize(self, data: Any) -> bytes:
        return json.dumps(list(data) if isinstance(data, tuple) else data).encode()

    def _deserialize(self, data: bytes) -> Any:
        value = json.loads(data)
        return Message(*value) if isinstance(value, list) else value


class WorkQueue:
    """Hands ids of tasks from the processes that submit to the workers."""

    def __init__(self, settings: Settings, work: Callable[[str], None] | None = None) -> None:
        common: dict[str, Any] = {"results": False, "serializer": PlainSerializer()}
        if settings.redis_url:
            make: Any = partial(RedisHuey, url=settings.redis_url, **common)
        else:
            file = settings.home / "queue.db"
            make = partial(SqliteHuey, filename=str(file), fsync=True, timeout=15, **common)
        self.ordinary, self.brief = make(_NAME), make(f"{_NAME}-brief")

        # huey names a task by the module of its function, which must be the same in all processes
        def do(task: str) -> None:
            (work or _refuse_task)(task)

        self._put = {lane: lane.task(name="work")(do) for lane in (self.ordinary, self.brief)}

    def put(self, task: str, *, brief: bool = False) -> None:
        """Add the id of a task; those that are brief have a lane of their own."""
        self._put[self.brief if brief else self.ordinary](task)

    def waiting(self) -> set[str]:
        """Return the ids in the queue."""
        return {str(message.args[0]) for lane in self._put for message in lane.pending()}

    def check(self) -> None:
        """Make sure that the queue can be reached.

        Raises SettingsError if it cannot.
        """
        try:
            self.ordinary.pending_count()
        except Exception as error:
            raise SettingsError(
                f"The task queue cannot be reached: {error}.",
                "Check REDIS_URL and that Redis runs; without REDIS_URL none is needed.",
            ) from error

    def close(self) -> None:
        """Close the connection of this thread."""
        for lane in self._put:
            lane.storage.close()


def _refuse_task(task: str) -> None:
    raise RuntimeError(f"task {task} was given to a process that does no work")


def shown_as(states: set[str], fates: Mapping[str, Fate]) -> ColumnElement[bool]:
    """Return the condition for tasks in some states, by their derived ends."""
    inside = [task for task, fate in fates.items() if fate.state in states]
    plain = and_(TaskRow.state.in_(states), TaskRow.id.not_in(list(fates)))
    return or_(plain, TaskRow.id.in_(inside))


def task_info(row: TaskRow, fate: Fate | None = None) -> TaskInfo:
    """Return a task from its row, with a derived end if it has one."""
    info = _stored_info(row)
    if fate is None:
        return info
    now = fate.values
    return replace(
        info,
        state=fate.state,
        progress=now.get("progress", info.progress),
        message=now.get("message", info.message),
        result=now.get("result"),
        error=_error(now.get("error_message"), now.get("error_hint")),
        finished=to_datetime(now["finished"]),
        seconds_left=None,
        cancelling=False,
    )


def _error(message: str | None, hint: str | None) -> tuple[str, str] | None:
    return None if message is None else (message, hint or "")


def _stored_info(row: TaskRow) -> TaskInfo:
    running = row.state == TaskState.RUNNING
    seconds_left = (
        max(0.0, row.expected_end - time.time()) if running and row.expected_end is not None else None
    )
    return TaskInfo(
        id=row.id,
        kind=row.kind,
        title=row.title,
        state=TaskState(row.state),
        progress=row.progress,
        message=row.message,
        params=row.params,
        result=row.result,
        error=_error(row.error_message, row.error_hint),
        created=to_datetime(row.created),
        started=None if row.started is None else to_datetime(row.started),
        finished=None if row.finished is None else to_datetime(row.finished),
        seconds_left=seconds_left,
        attempt=row.attempt,
        retry_of=row.retry_of,
        cancelling=running and row.cancel_asked,
    )


def _new_row(kind: str, title: str, params: dict[str, Any], attempt: int, retry_of: str | None) -> TaskRow:
    now = time.time()
    return TaskRow(
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


Metrics = list[tuple[int, str, float]]
LogLines = list[tuple[datetime, str]]

_LOG = logging.getLogger(__name__)
_ENDED = [state.value for state in TaskState if state.ended]


# The store of tasks: submitted here, run by a worker, recorded in the database throughout.
#
# `core.tasks.states` defines the states of a task and its transitions. Readers see the task of a dead worker
# as interrupted at once, whether or not another worker lives; reading writes nothing, so it never waits for a
# writer. A retry is a new task with the same parameters.


def _lock_interrupted(session: Session, task: str) -> TaskRow | None:
    """Return the row of a task that ended with its worker and was not retried, locked; else None.

    Raises NotFoundError if `task` is no id.
    """
    row = session.get(TaskRow, checked_id(task, "task"), with_for_update=True)
    retried = session.scalars(select(TaskRow.id).where(TaskRow.retry_of == task)).first()
    return row if row is not None and row.state == TaskState.INTERRUPTED and retried is None else None


class Tasks:
    """The record of all long work, and the way to ask for more."""

    def __init__(
        self, database: Database, queue: WorkQueue, kinds: Collection[str], brief: Collection[str] = ()
    ) -> None:
        self._database = database
        self._queue = queue
        self._kinds = kinds
        self._brief = brief

    def submit(self, kind: str, title: str, params: Mapping[str, Any]) -> str:
        """Ask for work; once this returns, the task will be done even if every process dies.

        Raises NotFoundError if there is no such kind.
        """
        return self._add(kind, title, dict(params), attempt=1, retry_of=None)

    def retry(self, task: str) -> str:
        """Retry a task that ended without success; returns the new task's id.

        Raises NotFoundError if there is no such task; ConflictError if it waits, runs or succeeded.
        """
        info = self.get(task)
        if info.state not in RETRYABLE:
            raise ConflictError(
                f"“{info.title}” is {info.state}, so there is nothing to retry.",
                "Only tasks that failed, were cancelled or were interrupted can be retried.",
            )
        return self._add(info.kind, info.title, dict(info.params), info.attempt + 1, info.id)

    def resume(self, task: str, more: Mapping[str, Any]) -> str | None:
        """Retry an interrupted task with more parameters, once, whoever asks; returns the new task's id.

        None if it is not interrupted any more, or was retried already.
        """
        self.reap()
        with self._database.write() as session:
            row = _lock_interrupted(session, task)
            if row is None:
                return None
            new = _new_row(row.kind, row.title, {**row.params, **more}, row.attempt + 1, row.id)
            session.add(new)
        self._announce(new)
        return new.id

    def withdraw_interrupted(self, task: str) -> bool:
        """Make an interrupted task a cancelled one, so that it is not resumed; False if it was already."""
        self.reap()
        with self._database.write() as session:
            if _lock_interrupted(session, task) is None:
                return False
            return transition(session, task, Move.STOP, message="Cancelled") is not None

    def get(self, task: str) -> TaskInfo:
        """Look up a task.

        Raises NotFoundError if there is none of this id.
        """
        with self._database.read() as session:
            row = session.get(TaskRow, checked_id(task, "task"))
            fates = lost_tasks(session)
        if row is None:
            raise NotFoundError("There is no task with this id.", "Choose a task from the list.")
        return task_info(row, fates.get(row.id))

    def list(
        self,
        limit: int = 100,
        states: Collection[TaskState | str] | None = None,
        kinds: Collection[str] | None = None,
    ) -> list[TaskInfo]:
        """Return the tasks, the newest first."""
        query = select(TaskRow).order_by(TaskRow.created.desc(), TaskRow.id).limit(limit)
        if kinds is not None:
            query = query.where(TaskRow.kind.in_(list(kinds)))
        with self._database.read() as session:
            fates = lost_tasks(session)
            if states is not None:
                query = query.where(shown_as({str(state) for state in states}, fates))
            return [task_info(row, fates.get(row.id)) for row in session.scalars(query)]

    def metrics(self, task: str, since: int = -1) -> Metrics:
        """Return the values of a task's live curves after a step: (step, name, value), in order of steps."""
        query = select(MetricRow.step, MetricRow.name, MetricRow.value).where(
            MetricRow.task == task, MetricRow.step > since
        )
        with self._database.read() as session:
            rows = session.execute(query.order_by(MetricRow.step, MetricRow.id)).all()
        return [(step, name, value) for step, name, value in rows]

    def log(self, task: str, internal: bool = False) -> LogLines:
        """Return a task's log: (time, text), oldest first."""
        query = select(LogRow).where(LogRow.task == task).order_by(LogRow.id)
        if not internal:
            query = query.where(LogRow.internal.is_(False))
        with self._database.read() as session:
            return [(to_datetime(row.time), row.text) for row in session.scalars(query)]

    def cancel(self, task: str) -> TaskInfo:
        """Stop a task: at once while it waits, at its next step while it runs.

        Raises NotFoundError if there is no such task; ConflictError if it has ended already.
        """
        info = self.get(task)
        if info.state.ended or not self._cancel(info.id):
            raise ConflictError(f"“{info.title}” has already ended.", "There is nothing left to cancel.")
        return self.get(task)

    def _cancel(self, task: str) -> bool:
        running = (TaskRow.id == task, TaskRow.state == TaskState.RUNNING)
        with self._database.write() as session:
            if transition(session, task, Move.WITHDRAW, message="Cancelled before it began") is not None:
                return True
            request = update(TaskRow).where(*running).values(cancel_asked=True).returning(TaskRow.id)
            return session.scalars(request).first() is not None

    def clear_finished(self) -> int:
        """Remove ended tasks with their logs and curves; returns how many there were."""
        self.reap()
        with self._database.write() as session:
            ended_tasks = session.scalars(select(TaskRow.id).where(TaskRow.state.in_(_ENDED))).all()
            for table in (MetricRow, LogRow):
                session.execute(delete(table).where(table.task.in_(ended_tasks)))
            session.execute(delete(TaskRow).where(TaskRow.id.in_(ended_tasks)))
        return len(ended_tasks)

    def worker(self) -> WorkerInfo:
        """Tell whether a worker does the queued work."""
        with self._database.read() as session:
            workers = session.scalars(select(WorkerRow)).all()
            counts = session.execute(select(TaskRow.state, func.count()).group_by(TaskRow.state)).all()
            lost = len(lost_tasks(session))
        living = [worker for worker in workers if is_alive(worker)]
        waits: dict[str, int] = {row[0]: row[1] for row in counts}
        return WorkerInfo(
            alive=bool(living),
            count=len(living),
            seconds_since_beat=max(0.0, time.time() - max(w.beat for w in workers)) if workers else None,
            queued=waits.get(TaskState.QUEUED, 0),
            running=waits.get(TaskState.RUNNING, 0) - lost,
        )

    def reap(self) -> int:
        """Store how the running tasks of dead workers ended; returns how many there were."""
        with self._database.read() as session:
            if not lost_tasks(session):
                return 0
        with self._database.write() as session:
            # found again under the lock: a worker may have sent a heartbeat, or another one reaped
            ended = [
                transition(session, task, fate.move, owner=fate.owner, **fate.values)
                for task, fate in lost_tasks(session).items()
            ]
        return sum(row is not None for row in ended)

    def requeue_waiting(self) -> int:
        """Put tasks that wait in the database only back into the queue; returns how many there were."""
        with self._database.read() as session:
            waiting = session.scalars(
                select(TaskRow).where(TaskRow.state == TaskState.QUEUED).order_by(TaskRow.queued_at)
            ).all()
        queued = self._queue.waiting() if waiting else set()
        missing = [row for row in waiting if row.id not in queued]
        for row in missing:
            self._announce(row)
        return len(missing)

    def _add(self, kind: str, title: str, params: dict[str, Any], attempt: int, retry_of: str | None) -> str:
        if kind not in self._kinds:
            raise NotFoundError(
                f"There is no kind of task called “{kind}”.", f"Choose one of: {', '.join(self._kinds)}."
            )
        row = _new_row(kind, title, params, attempt, retry_of)
        with self._database.write() as session:
            session.add(row)
        self._announce(row)
        return row.id

    def _announce(self, row: TaskRow) -> None:
        try:
            self._queue.put(row.id, brief=row.kind in self._brief)
        except Exception:  # noqa: BLE001 - the task is recorded; a worker finds it there
            _LOG.warning("task %s waits in the database only", row.id, exc_info=True)
