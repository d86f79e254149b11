"""What limits were before they were changed, kept where a killed process cannot lose it.

A hold is committed before the first change that it stands for, and removed only after the exact restore was
verified. So whatever is killed at whatever moment, either nothing was changed or the hold is there, and
whoever comes next can put the limits back. Each owner (a task, or a person, whose name is empty) has holds
of its own: ending a policy that was attached after a person set a limit goes back to that person's limit,
and releasing everything goes back to what was there first.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import delete, select, update

from core.engines.docker_host.host.limits import Limits
from core.runtime.database.tables import PickRow, SavedLimitsRow, TaskRow
from core.runtime.infos import TaskState
from core.runtime.tasks.lost import lost_tasks

if TYPE_CHECKING:
    from collections.abc import Collection

    from core.runtime.database.engine import Database

BY_HAND = ""


@dataclass(frozen=True, slots=True)
class SavedLimits:
    """One container's limits before one owner changed them.

    Parameters
    ----------
    engine, container, name
        The engine's name, the container's full id and its name, where that was known.
    owner
        The id of a task, or `BY_HAND`.
    since
        When it was written, seconds since 1970.
    limits
        What to put back.
    undo
        The limits before the last change by hand, or None.
    paused
        Whether its owner paused it, so that it has to go on, too.
    """

    engine: str
    container: str
    name: str
    owner: str
    since: float
    limits: Limits
    undo: Limits | None = None
    paused: bool = False


class SavedLimitsKeeper:
    """The holds of one owner, as an engine asks for them.

    Parameters
    ----------
    database
        Where they are.
    owner
        The id of a task, or `BY_HAND`.
    """

    def __init__(self, database: Database, owner: str) -> None:
        self._database = database
        self._owner = owner

    def keep(self, host: str, container: str, limits: Limits) -> None:
        """Write down what to put back; what was written first counts. On the disk when this returns."""
        with self._database.write() as session:
            if session.get(SavedLimitsRow, (host, container, self._owner)) is None:
                session.add(_row(host, container, self._owner, limits))

    def keep_paused(self, host: str, container: str, limits: Limits, paused: bool) -> None:
        """Write down, before it is done, that a container is being paused, or goes on again."""
        self.keep(host, container, limits)
        with self._database.write() as session:
            session.execute(
                update(SavedLimitsRow).where(*_key(host, container, self._owner)).values(paused=paused)
            )

    def kept(self, host: str, container: str) -> Limits | None:
        """What to put back, or None where nothing was changed."""
        with self._database.read() as session:
            row = session.get(SavedLimitsRow, (host, container, self._owner))
        return None if row is None else Limits.from_dict(row.limits)

    def forget(self, host: str, container: str) -> None:
        """Remove a hold whose limits were put back."""
        with self._database.write() as session:
            session.execute(delete(SavedLimitsRow).where(*_key(host, container, self._owner)))


class SavedLimitsStore:
    """All holds, and which containers a person picked.

    Parameters
    ----------
    database
        Where they are.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    def keeper(self, owner: str) -> SavedLimitsKeeper:
        """The holds of one owner."""
        return SavedLimitsKeeper(self._database, owner)

    def all(self, engine: str | None = None) -> tuple[SavedLimits, ...]:
        """The holds of an engine, or of all, the newest first: the order in which to put them back."""
        query = select(SavedLimitsRow).order_by(SavedLimitsRow.since.desc(), SavedLimitsRow.owner.desc())
        if engine is not None:
            query = query.where(SavedLimitsRow.engine == engine)
        with self._database.read() as session:
            return tuple(_hold(row) for row in session.scalars(query))

    def orphans(self) -> tuple[SavedLimits, ...]:
        """The holds of tasks that neither run nor wait, because they ended or their worker died."""
        alive = (TaskState.QUEUED.value, TaskState.RUNNING.value)
        with self._database.read() as session:
            tasks = set(session.scalars(select(TaskRow.id).where(TaskRow.state.in_(alive))))
            tasks -= lost_tasks(session).keys()
        return tuple(hold for hold in self.all() if hold.owner != BY_HAND and hold.owner not in tasks)

    def held(self, engine: str) -> frozenset[str]:
        """The ids of containers whose limits are not those that they came with."""
        query = select(SavedLimitsRow.container).where(SavedLimitsRow.engine == engine)
        with self._database.read() as session:
            return frozenset(session.scalars(query))

    def note(self, engine: str, container: str, name: str, undo: Limits | None) -> None:
        """Write down what the last change by hand changed, and the container's name.

        Parameters
        ----------
        engine, container, name
            The container; there must be a hold of `BY_HAND` on it, else nothing is noted.
        undo
            The limits before that change, or None where there is nothing to take back.
        """
        values: dict[str, Any] = {"name": name, "undo": None if undo is None else undo.to_dict()}
        with self._database.write() as session:
            session.execute(update(SavedLimitsRow).where(*_key(engine, container, BY_HAND)).values(**values))

    def picked(self, engine: str) -> frozenset[str]:
        """The ids of the containers that a person picked."""
        with self._database.read() as session:
            return frozenset(session.scalars(select(PickRow.container).where(PickRow.engine == engine)))

    def pick(self, engine: str, container: str, name: str) -> None:
        """Note that a person picked a container."""
        with self._database.write() as session:
            session.merge(PickRow(engine=engine, container=container, name=name, since=time.time()))

    def unpick(self, engine: str, containers: Collection[str]) -> None:
        """Note that containers are not picked any more."""
        chosen = (PickRow.engine == engine, PickRow.container.in_(list(containers)))
        with self._database.write() as session:
            session.execute(delete(PickRow).where(*chosen))


def _key(engine: str, container: str, owner: str) -> tuple[Any, ...]:
    return (
        SavedLimitsRow.engine == engine,
        SavedLimitsRow.container == container,
        SavedLimitsRow.owner == owner,
    )


def _row(engine: str, container: str, owner: str, limits: Limits) -> SavedLimitsRow:
    return SavedLimitsRow(
        engine=engine,
        container=container,
        owner=owner,
        name=container[:12],
        since=time.time(),
        limits=limits.to_dict(),
        undo=None,
        paused=False,
    )


def _hold(row: SavedLimitsRow) -> SavedLimits:
    return SavedLimits(
        row.engine,
        row.container,
        row.name,
        row.owner,
        row.since,
        Limits.from_dict(row.limits),
        None if row.undo is None else Limits.from_dict(row.undo),
        row.paused,
    )
