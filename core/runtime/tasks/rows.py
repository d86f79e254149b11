"""Rows of tasks as they are shown: what became of a lost task counts more than what its row still says."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING

from sqlalchemy import and_, or_

from core.runtime.database.tables import TaskRow
from core.runtime.infos import TaskInfo, TaskState
from core.runtime.storage.repository import moment

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sqlalchemy import ColumnElement

    from core.runtime.tasks.lost import Fate


def shown_as(states: set[str], fates: Mapping[str, Fate]) -> ColumnElement[bool]:
    """The condition that a task is shown in one of some states, whatever its row still says."""
    inside = [task for task, fate in fates.items() if fate.state in states]
    plain = and_(TaskRow.state.in_(states), TaskRow.id.not_in(list(fates)))
    return or_(plain, TaskRow.id.in_(inside))


def task_info(row: TaskRow, fate: Fate | None = None) -> TaskInfo:
    """A task as its row has it, or with a fate that its row does not have yet."""
    info = _as_stored(row)
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
        finished=moment(now["finished"]),
        seconds_left=None,
        cancelling=False,
    )


def _error(message: str | None, hint: str | None) -> tuple[str, str] | None:
    return None if message is None else (message, hint or "")


def _as_stored(row: TaskRow) -> TaskInfo:
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
        error=_error(row.error_message, row.error_hint),
        created=moment(row.created),
        started=None if row.started is None else moment(row.started),
        finished=None if row.finished is None else moment(row.finished),
        seconds_left=left,
        attempt=row.attempt,
        retry_of=row.retry_of,
        cancelling=running and row.cancel_asked,
    )
