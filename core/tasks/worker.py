"""The worker process: takes tasks from the queue and runs a few at a time, in threads.

Compiled kernels, pyarrow and NumPy release the interpreter lock, so threads suffice; and a killed process
ends all its work at once, so other processes can recognise *interrupted* tasks. At its start and regularly
afterwards, a worker ends the tasks of dead workers, removes their files, and queues waiting tasks that only
the database has.
"""

from __future__ import annotations

import logging
import os
import signal
import threading
import time
import traceback
from typing import TYPE_CHECKING, Any, Protocol

from sqlalchemy import delete, select, update
from sqlalchemy.exc import SQLAlchemyError

from core.errors import Cancelled, Interrupted, PhaseDockError
from core.tasks.crashed_workers import BEAT_EVERY, birth_of, is_alive, stored_result, this_host
from core.tasks.kind import TaskContext
from core.tasks.states import Move, transition
from core.tasks.store import WorkQueue
from core.workspace.database_schema import WorkerRow
from core.workspace.files import StorageError, disk_sentence, new_id

if TYPE_CHECKING:
    from collections.abc import Sequence

    from core.config import Settings
    from core.registry import Registry
    from core.tasks.kind import Kind
    from core.tasks.store import Tasks
    from core.workspace.database import Database
    from core.workspace.database_schema import TaskRow

_LOG = logging.getLogger("phasedock.worker")
_TIDY_EVERY = 15.0
_GRACE = 4.0


class Watching(Protocol):
    """Runs beside tasks for as long as a worker lives."""

    def start(self) -> None:
        """Begin."""

    def stop(self, seconds: float = 5.0) -> None:
        """End, and wait up to so long."""


class WorkedOn(Protocol):
    """The part of the workspace that a worker needs."""

    settings: Settings
    database: Database
    tasks: Tasks

    def watcher(self) -> Watching:
        """Return the sampler that runs beside tasks."""

    def clean_up(self) -> None:
        """Clean up what dead workers left outside the record of tasks."""


class Worker:
    """One worker process, or in tests one that lives inside another process."""

    def __init__(self, workspace: WorkedOn, kinds: Registry[Kind], threads: int | None = None) -> None:
        self.id = new_id()
        self._workspace = workspace
        self._kinds = kinds
        self._stopping = threading.Event()
        self._queue = WorkQueue(workspace.settings, self.work)
        self._consumers = (
            _make_consumer(self._queue.ordinary, threads or workspace.settings.task_threads),
            _make_consumer(self._queue.brief, 1),
        )
        self._beating = threading.Thread(target=self._write_heartbeat, name="beat", daemon=True)
        self._lasting: list[threading.Thread] = []
        self._lasting_lock = threading.Lock()
        self._unwritten: dict[str, tuple[Move, dict[str, Any]]] = {}
        self._watcher = workspace.watcher()

    def start(self) -> None:
        """Begin to take tasks.

        Raises SettingsError if the queue cannot be reached.
        """
        self._queue.check()
        self._register()
        self.tidy()
        self._beating.start()
        self._watcher.start()
        for consumer in self._consumers:
            consumer.start()

    def stop(self, grace: float = _GRACE) -> bool:
        """End: running tasks stop at their next step and are marked interrupted."""
        self._stopping.set()
        for consumer in self._consumers:
            consumer.stop_flag.set()
        deadline = time.monotonic() + grace
        # first those that begin lasting tasks, so that none is begun after they were counted
        threads = [thread for consumer in self._consumers for _, thread in consumer.worker_threads]
        ended = _join_threads(threads, deadline)
        ended = _join_threads(self._lasting_threads(), deadline) and ended
        self._watcher.stop(max(0.0, deadline - time.monotonic()))
        self._beating.join(BEAT_EVERY)
        self._write_ends()
        with self._workspace.database.write() as session:
            session.execute(delete(WorkerRow).where(WorkerRow.id == self.id))
        self._workspace.tasks.reap()
        return ended

    def run(self) -> None:
        """Work until SIGTERM or SIGINT."""
        stopping = threading.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: stopping.set())
        self.start()
        _LOG.info("worker %s is ready", self.id)
        while not stopping.wait(1.0):
            for consumer in self._consumers:
                consumer.check_worker_health()
        if not self.stop():
            # a thread that does not stop must not keep the process alive; its task is marked already
            os._exit(0)

    def tidy(self) -> None:
        """Clean up what dead workers left: tasks, files and messages."""
        workspace = self._workspace
        workspace.tasks.reap()
        workspace.tasks.requeue_waiting()
        with workspace.database.write() as session:
            dead = [w.id for w in session.scalars(select(WorkerRow)) if w.id != self.id and not is_alive(w)]
            session.execute(delete(WorkerRow).where(WorkerRow.id.in_(dead)))
        workspace.clean_up()

    def work(self, task: str) -> None:
        """Do one task, whatever comes; called by the queue's threads."""
        row = self._claim(task)
        if row is None:
            return
        if row.kind not in self._kinds or not self._kinds[row.kind].lasting:
            self._run_task(task, row)
            return
        thread = threading.Thread(target=self._run_task, args=(task, row), name=row.kind, daemon=True)
        with self._lasting_lock:
            self._lasting = [*(each for each in self._lasting if each.is_alive()), thread]
            thread.start()

    def _lasting_threads(self) -> list[threading.Thread]:
        with self._lasting_lock:
            return list(self._lasting)

    def _run_task(self, task: str, row: TaskRow) -> None:
        context = TaskContext(self._workspace, task, self._stopping)
        try:
            result = self._kinds[row.kind].run(context, row.params)
            context.flush()
            self._end(task, Move.FINISH, result=result)
        except Cancelled:
            self._end(task, Move.STOP, message="Cancelled")
        except Interrupted as error:
            self._end(task, Move.INTERRUPT, error_message=error.message, error_hint=error.hint)
        except Exception as error:  # noqa: BLE001 - whatever it is, the task says it in words
            self._fail(context, error)

    def _claim(self, task: str) -> TaskRow | None:
        """Begin a task; None when another worker did, or it was cancelled."""
        with self._workspace.database.write() as session:
            return transition(session, task, Move.BEGIN, worker=self.id, message="Starting")

    def _end(self, task: str, move: Move, **values: Any) -> None:
        """Write down how a task ended; while the database cannot be written, the heartbeats try again."""
        self._unwritten[task] = move, {"finished": time.time(), **values}
        self._write_ends()

    def _write_ends(self) -> None:
        for task, (move, values) in list(self._unwritten.items()):
            try:
                self._write_end(task, move, values)
            except StorageError as error:
                _LOG.warning("the end of task %s has to wait: %s", task, error)
                return
            self._unwritten.pop(task, None)

    def _write_end(self, task: str, move: Move, values: dict[str, Any]) -> None:
        with self._workspace.database.write() as session:
            result = stored_result(session, task) if move in (Move.FAIL, Move.INTERRUPT) else None
            if result is not None:
                # its inputs may be removed by now, so it could not be repeated
                move, values = Move.FINISH, {"finished": values["finished"], "result": result}
            transition(session, task, move, owner=self.id, **values)

    def _fail(self, context: TaskContext[Any], error: Exception) -> None:
        message, hint = explain(error, reference := new_id()[:8])
        if not isinstance(error, PhaseDockError):
            _LOG.error("task %s failed (reference %s)", context.task, reference, exc_info=error)
        try:
            context.log(f"{message} {hint}".strip())
            context.log("".join(traceback.format_exception(error)), internal=True)
        except (SQLAlchemyError, StorageError):
            _LOG.exception("the log of task %s could not be written", context.task)
        self._end(context.task, Move.FAIL, error_message=message, error_hint=hint)

    def _register(self) -> None:
        now = time.time()
        pid = os.getpid()
        row = WorkerRow(id=self.id, host=this_host(), pid=pid, birth=birth_of(pid), started=now, beat=now)
        with self._workspace.database.write() as session:
            session.add(row)

    def _write_heartbeat(self) -> None:
        tidied = time.monotonic()
        while not self._stopping.wait(BEAT_EVERY):
            try:
                with self._workspace.database.write() as session:
                    statement = update(WorkerRow).where(WorkerRow.id == self.id)
                    session.execute(statement.values(beat=time.time()))
                self._write_ends()
                if time.monotonic() - tidied > _TIDY_EVERY:
                    tidied = time.monotonic()
                    self.tidy()
            except Exception:  # noqa: BLE001 - database, queue or disk: the next beat tries again
                _LOG.warning("tidying up is postponed", exc_info=True)


def _make_consumer(lane: Any, threads: int) -> Any:
    """Threads that take tasks from a lane of the queue."""
    consumer = lane.create_consumer(
        workers=threads,
        worker_type="thread",
        periodic=False,
        initial_delay=0.05,
        backoff=1.3,
        max_delay=0.25,
    )
    # the worker handles signals by itself, and only in the main thread
    consumer._set_signal_handlers = lambda: None  # noqa: SLF001
    return consumer


def _join_threads(threads: Sequence[threading.Thread], deadline: float) -> bool:
    """Wait for threads until a moment of the monotonic clock; True when all have ended."""
    for thread in threads:
        thread.join(max(0.0, deadline - time.monotonic()))
    return not any(thread.is_alive() for thread in threads)


def explain(error: Exception, reference: str) -> tuple[str, str]:
    """Return an error in two sentences for people; `reference` leads to its details in the log."""
    if isinstance(error, PhaseDockError):
        return error.message, error.hint
    if isinstance(error, MemoryError):
        return (
            "There was not enough memory for this.",
            "Use fewer executions or features, or a machine with more memory.",
        )
    if isinstance(error, OSError) and (sentence := disk_sentence(error, "the result")) is not None:
        return sentence
    return (
        f"Something went wrong inside PhaseDock (reference {reference}).",
        "Retry it; if it happens again, report it with this reference. The log has the details.",
    )
