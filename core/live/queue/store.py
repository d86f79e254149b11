"""The store of submitted jobs: one row each, written before its submission is acknowledged."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from sqlalchemy import and_, delete, or_, select, update

from core.errors import NotFoundError
from core.live.queue.values import ACTIVE, COMES_FROM, QueueState, queued_job
from core.workspace.database_schema import SubmittedJobRow
from core.workspace.files import new_id

if TYPE_CHECKING:
    from collections.abc import Collection

    from sqlalchemy import ColumnElement
    from sqlalchemy.orm import Session

    from core.engines.values import EngineKey
    from core.live.queue.spec import JobSpec
    from core.live.queue.values import QueuedJob
    from core.workspace.database import Database

_LISTED = 100
"""Jobs that are over which a list shows at most."""


class SubmittedJobs:
    """All submitted jobs."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(
        self, engine: EngineKey, name: str, spec: JobSpec, priority: int, taken: Collection[str] = ()
    ) -> QueuedJob:
        """Store a job that waits, with a number where a job has its name, or it is one of `taken`.

        On the disk when this returns.
        """
        with self._database.write() as session:
            row = SubmittedJobRow(
                id=new_id(),
                engine=engine.id or engine.name,
                engine_name=engine.name,
                name=_free_name(session, engine, name, taken),
                spec=spec.to_dict(),
                created=time.time(),
                priority=priority,
                state=QueueState.WAITING,
                why="",
                cancel_asked=False,
                container="",
            )
            session.add(row)
            session.flush()
            return queued_job(row)

    def list(self, engine: EngineKey) -> tuple[QueuedJob, ...]:
        """The jobs of an engine: those that are not over in order of submission, then the last that are."""
        query = select(SubmittedJobRow).where(_is_on_engine(engine))
        over = query.where(SubmittedJobRow.state.not_in(ACTIVE)).order_by(SubmittedJobRow.finished.desc())
        with self._database.read() as session:
            rows = [*session.scalars(_select_active(query)), *session.scalars(over.limit(_LISTED))]
            return tuple(queued_job(row) for row in rows)

    def active(self, engine: EngineKey | None = None) -> tuple[QueuedJob, ...]:
        """Return the unfinished jobs of an engine, or of all, in order of submission."""
        query = select(SubmittedJobRow)
        with self._database.read() as session:
            rows = session.scalars(
                _select_active(query if engine is None else query.where(_is_on_engine(engine)))
            )
            return tuple(queued_job(row) for row in rows)

    def find(self, engine: EngineKey, named: str) -> QueuedJob:
        """Return a job of an engine by its name or its id.

        Raises NotFoundError if there is none.
        """
        by = or_(SubmittedJobRow.name == named, SubmittedJobRow.id == named)
        with self._database.read() as session:
            row = session.scalar(select(SubmittedJobRow).where(_is_on_engine(engine), by))
        if row is None:
            raise NotFoundError(
                f"No job called “{named}” was submitted to {engine.name}.", "See “phasedock queue” for those."
            )
        return queued_job(row)

    def move(
        self,
        job: str,
        to: QueueState,
        sources: Collection[QueueState] | None = None,
        **values: Any,
    ) -> bool:
        """Move a job to another state with other values; False if its state does not allow it."""
        from_ = COMES_FROM[to] if sources is None else sources
        if to not in ACTIVE:
            values = {"finished": time.time(), "cancel_asked": False, **values}
        with self._database.write() as session:
            return _change_if(session, job, from_, state=to, **values)

    def claim(self, job: str) -> bool:
        """Record that a waiting job is about to start; False if it was cancelled meanwhile."""
        started = {"started": time.time(), "container": "", "why": ""}
        return self.move(job, QueueState.RUNNING, (QueueState.WAITING,), **started)

    def note(self, job: str, why: str) -> None:
        """Write down why a job waits."""
        self._update(job, (QueueState.WAITING,), why=why)

    def note_cores(self, job: str, cores: float | None) -> None:
        """Store the cores of a job."""
        self._update(job, (QueueState.RUNNING, QueueState.PAUSED), cores=cores)

    def note_promise(self, job: str, promised: bool) -> None:
        """Write down whether a job was promised its deadline."""
        self._update(job, ACTIVE, promised=promised)

    def set_priority(self, job: str, priority: int) -> bool:
        """Give a job that waits another priority; False if it does not wait."""
        return self._update(job, (QueueState.WAITING,), priority=priority)

    def ask_cancel(self, job: str) -> bool:
        """Record that a running job is to be ended and removed; False if it has ended."""
        return self._update(job, (QueueState.RUNNING, QueueState.PAUSED), cancel_asked=True)

    def remove(self, job: str) -> bool:
        """Forget a job that is over; False if it is not."""
        mine = (SubmittedJobRow.id == job, SubmittedJobRow.state.not_in(ACTIVE))
        with self._database.write() as session:
            deleted = delete(SubmittedJobRow).where(*mine).returning(SubmittedJobRow.id)
            return session.scalar(deleted) is not None

    def _update(self, job: str, states: Collection[QueueState], **values: Any) -> bool:
        with self._database.write() as session:
            return _change_if(session, job, states, **values)


def _change_if(session: Session, job: str, states: Collection[QueueState], **values: Any) -> bool:
    """Change a job that is in one of these states; False if it is not."""
    mine = (SubmittedJobRow.id == job, SubmittedJobRow.state.in_(states))
    changed = update(SubmittedJobRow).where(*mine).values(**values).returning(SubmittedJobRow.id)
    return session.scalar(changed) is not None


def _select_active(query: Any) -> Any:
    return query.where(SubmittedJobRow.state.in_(ACTIVE)).order_by(
        SubmittedJobRow.created, SubmittedJobRow.id
    )


def _is_on_engine(engine: EngineKey) -> ColumnElement[bool]:
    """Return the condition for an engine's jobs, by its id, or by its name while the id is unknown."""
    by_name = SubmittedJobRow.engine_name == engine.name
    nameless = and_(by_name, SubmittedJobRow.engine == engine.name)
    return or_(SubmittedJobRow.engine == engine.id, nameless) if engine.id else by_name


def _free_name(session: Session, engine: EngineKey, name: str, taken: Collection[str]) -> str:
    names = {*taken, *session.scalars(select(SubmittedJobRow.name).where(_is_on_engine(engine)))}
    number, free = 1, name
    while free in names:
        number += 1
        free = f"{name}-{number}"
    return free
