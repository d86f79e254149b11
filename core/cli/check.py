"""Consistency check of the store: rows in impossible states, folders without rows, and so on.

A healthy store has no finding at any moment, whatever was killed before: what processes leave behind when
they die is either no contradiction (a task whose worker is dead is an interrupted one) or is swept by the
next worker. The check changes nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import func, select

from core.errors import PhaseDockError
from core.runs.values import RunState
from core.tasks.states import contradictions
from core.workspace.records import TaskState
from core.workspace.tables import LedgerRow, LogRow, MetricRow, RunRow, SeriesRow, TaskRow

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy.orm import Session

    from core.application import Workspace
    from core.workspace.repository import Repository


@dataclass(frozen=True, slots=True)
class Finding:
    """One contradiction.

    Parameters
    ----------
    about
        What sort of thing it is about: ``"task"``, ``"run"``, ``"trace set"`` or ``"model"``.
    id
        Its id.
    sentence
        What is wrong with it.
    """

    about: str
    id: str
    sentence: str


@dataclass(frozen=True, slots=True)
class StoreCheck:
    """The outcome of a check.

    Parameters
    ----------
    checked
        How many things of each sort were looked at.
    findings
        What is wrong; nothing in a healthy store.
    """

    checked: dict[str, int]
    findings: tuple[Finding, ...]


def check_store(workspace: Workspace) -> StoreCheck:
    """Look for contradictions in a workspace's database and folders."""
    with workspace.database.read() as session:
        findings = [*_tasks(session), *_loose(session), *_uploads(session, workspace), *_runs(session)]
        checked = {name: _count(session, table) for name, table in (("tasks", TaskRow), ("runs", RunRow))}
    for what, repository in (
        ("trace set", workspace.traces.repository),
        ("model", workspace.models.repository),
    ):
        findings += _folders(what, repository)
        checked[f"{what}s"] = len(repository.names())
    return StoreCheck(checked, tuple(findings))


def _count(session: Session, table: type[TaskRow | RunRow]) -> int:
    return session.scalars(select(func.count()).select_from(table)).one()


def _tasks(session: Session) -> Iterator[Finding]:
    for row in session.scalars(select(TaskRow).order_by(TaskRow.created)):
        for sentence in contradictions(row):
            yield Finding("task", row.id, sentence)


def _loose(session: Session) -> Iterator[Finding]:
    """Parts that outlived what they are a part of."""
    for table, what in ((MetricRow, "A curve"), (LogRow, "A log")):
        loose = select(table.task).outerjoin(TaskRow, table.task == TaskRow.id).where(TaskRow.id.is_(None))
        for task in session.scalars(loose.distinct()):
            yield Finding("task", task, f"{what} is there, but its task is not.")
    for part, what in ((LedgerRow, "A ledger"), (SeriesRow, "A time series")):
        loose = select(part.run).outerjoin(RunRow, part.run == RunRow.id).where(RunRow.id.is_(None))
        for run in session.scalars(loose.distinct()):
            yield Finding("run", run, f"{what} is there, but its run is not.")


def _uploads(session: Session, workspace: Workspace) -> Iterator[Finding]:
    """Waiting work whose file is gone; a running one discards its file before it ends."""
    waiting = session.execute(select(TaskRow.id, TaskRow.params).where(TaskRow.state == TaskState.QUEUED))
    for task, params in waiting:
        upload = params.get("upload")
        try:
            if upload is not None:
                workspace.uploads.path(str(upload))
        except PhaseDockError as error:
            yield Finding("task", task, f"It waits for an upload that cannot be read: {error.message}")


def _runs(session: Session) -> Iterator[Finding]:
    for run, state, entries, summary in session.execute(
        select(RunRow.id, RunRow.state, RunRow.entries, RunRow.summary).order_by(RunRow.created)
    ):
        if state not in list(RunState):
            yield Finding("run", run, f"It is in the unknown state “{state}”.")
        elif state == RunState.DONE and summary is None:
            yield Finding("run", run, "It is done but has no result.")
        if entries < 0:
            yield Finding("run", run, f"It has {entries} decisions.")


def _folders(what: str, repository: Repository[Any]) -> Iterator[Finding]:
    for thing, name in repository.without_folder().items():
        yield Finding(what, thing, f"The files of “{name}” are missing.")
    for thing in repository.without_row():
        yield Finding(what, thing, "Its files exist, but no row names them; a worker will remove them.")
