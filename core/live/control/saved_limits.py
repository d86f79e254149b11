"""Containers' original limits, saved before they are changed, so that no crash loses them.

A record is committed before the first change to a container, and removed only after the exact restore was
verified. So after a kill at any time, either nothing was changed or the record exists, and the next process
can restore the limits. Each owner has its own records: a task, or a person (with an empty name). Detaching a
policy restores the limit that a person had set before; releasing everything restores the original limits.

A record belongs to an engine by the engine's own id, because names in the settings may change, two names may
reach the same engine, and a name may later mean another one.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from sqlalchemy import and_, delete, or_, select, update

from core.engines.values import EngineKey
from core.sampling.values import ContainerAllowance
from core.tasks.crashed_workers import lost_tasks
from core.workspace.database_schema import PickRow, SavedLimitsRow, TaskRow
from core.workspace.records import TaskState

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from sqlalchemy import ColumnElement

    from core.workspace.database import Database

BY_HAND = ""


@dataclass(frozen=True, slots=True)
class UndoStep:
    """What a change by hand can be taken back to."""

    #: The limits before the change, as the engine wrote them; only the engine reads them.
    limits: Mapping[str, Any]
    #: What they allow, in cores and bytes; None where an earlier version did not write it.
    allowance: ContainerAllowance | None = None


@dataclass(frozen=True, slots=True)
class SavedLimits:
    """One container's limits before one owner changed them."""

    #: Which engine the container is on; without an id where an earlier version wrote the name only.
    engine: EngineKey
    #: The container's full id, and its name, where that was known.
    container: str
    name: str
    #: The id of a task, or `BY_HAND`.
    owner: str
    #: When it was written, seconds since 1970.
    since: float
    #: The limits to restore, as the engine wrote them; only the engine reads them.
    limits: Mapping[str, Any]
    #: The limits before each change by hand that was not taken back, oldest first.
    undo: tuple[UndoStep, ...] = ()
    #: Whether its owner paused it, so that it has to be resumed, too.
    paused: bool = False
    #: The limits that its owner set last, and those before, of which a kill leaves one; only for the engine.
    new_limits: tuple[Mapping[str, Any], ...] = ()


class SavedLimitsKeeper:
    """The records of one owner, as an engine needs them."""

    def __init__(self, database: Database, owner: str) -> None:
        self._database = database
        self._owner = owner

    def keep(
        self,
        engine: EngineKey,
        container: str,
        limits: Mapping[str, Any],
        new_limits: Mapping[str, Any] | None = None,
    ) -> None:
        """Save the limits to restore, unless some are saved already, and those that are set in their place.

        On the disk when this returns.
        """
        with self._database.write() as session:
            row = session.scalar(select(SavedLimitsRow).where(*_is_record_of(engine, container, self._owner)))
            if row is None:
                session.add(row := _make_row(engine, container, self._owner, limits))
            if new_limits is not None:
                row.new_limits = [*(row.new_limits or [])[-1:], dict(new_limits)]

    def keep_paused(self, engine: EngineKey, container: str, limits: Mapping[str, Any], paused: bool) -> None:
        """Write down, before it is done, that a container is being paused or resumed."""
        self.keep(engine, container, limits)
        with self._database.write() as session:
            session.execute(
                update(SavedLimitsRow)
                .where(*_is_record_of(engine, container, self._owner))
                .values(paused=paused)
            )

    def saved_limits(self, engine: EngineKey, container: str) -> Mapping[str, Any] | None:
        """Return the limits to restore; None if nothing was changed."""
        with self._database.read() as session:
            row = session.scalar(select(SavedLimitsRow).where(*_is_record_of(engine, container, self._owner)))
        return None if row is None else row.limits

    def replace(self, engine: EngineKey, container: str, limits: Mapping[str, Any]) -> None:
        """Replace saved limits by those that the owner has set since. On the disk when this returns."""
        with self._database.write() as session:
            session.execute(
                update(SavedLimitsRow)
                .where(*_is_record_of(engine, container, self._owner))
                .values(limits=dict(limits))
            )

    def forget(self, engine: EngineKey, container: str) -> None:
        """Remove a record whose limits were restored."""
        with self._database.write() as session:
            session.execute(delete(SavedLimitsRow).where(*_is_record_of(engine, container, self._owner)))


class SavedLimitsStore:
    """All records, and which containers a person picked."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def keeper(self, owner: str) -> SavedLimitsKeeper:
        """Return the keeper of one owner's records."""
        return SavedLimitsKeeper(self._database, owner)

    def all(self, engine: EngineKey | None = None) -> tuple[SavedLimits, ...]:
        """Return the records of an engine, or of all, newest first, the order of restoring."""
        query = select(SavedLimitsRow).order_by(SavedLimitsRow.since.desc(), SavedLimitsRow.owner.desc())
        if engine is not None:
            query = query.where(_is_on_engine(engine))
        with self._database.read() as session:
            return tuple(_read_row(row) for row in session.scalars(query))

    def orphans(self) -> tuple[SavedLimits, ...]:
        """Return the records of tasks that ended or whose worker died."""
        alive = (TaskState.QUEUED.value, TaskState.RUNNING.value)
        with self._database.read() as session:
            tasks = set(session.scalars(select(TaskRow.id).where(TaskRow.state.in_(alive))))
            tasks -= lost_tasks(session).keys()
        return tuple(saved for saved in self.all() if saved.owner != BY_HAND and saved.owner not in tasks)

    def saved_containers(self, engine: EngineKey) -> frozenset[str]:
        """Return the ids of an engine's containers with changed limits."""
        query = select(SavedLimitsRow.container).where(
            or_(_is_on_engine(engine), SavedLimitsRow.engine_name.is_(None))
        )
        with self._database.read() as session:
            return frozenset(session.scalars(query))

    def tie(self, saved: SavedLimits, engine: EngineKey) -> SavedLimits:
        """Set the engine of a record that knows only a name: the one on which its container was found."""
        values = {"engine": engine.id or engine.name, "engine_name": engine.name if engine.id else None}
        with self._database.write() as session:
            session.execute(
                update(SavedLimitsRow)
                .where(*_is_record_of(engine, saved.container, saved.owner))
                .values(**values)
            )
        return replace(saved, engine=engine)

    def push_undo(self, engine: EngineKey, container: str, name: str, step: UndoStep) -> None:
        """Add what the last change by hand can be taken back to, and store the container's name."""
        self._write_undo(engine, container, lambda steps: (*steps, step), name)

    def pop_undo(self, engine: EngineKey, container: str) -> None:
        """Remove the newest step, which was taken back."""
        self._write_undo(engine, container, lambda steps: steps[:-1])

    def _write_undo(
        self,
        engine: EngineKey,
        container: str,
        change: Callable[[tuple[UndoStep, ...]], tuple[UndoStep, ...]],
        name: str | None = None,
    ) -> None:
        with self._database.write() as session:
            row = session.scalar(select(SavedLimitsRow).where(*_is_record_of(engine, container, BY_HAND)))
            if row is not None:
                row.undo = [_write_step(step) for step in change(_read_steps(row.undo))]
                row.name = name or row.name

    def picked(self, engine: str) -> frozenset[str]:
        """Return the ids of the containers that a person picked."""
        with self._database.read() as session:
            return frozenset(session.scalars(select(PickRow.container).where(PickRow.engine == engine)))

    def pick(self, engine: str, container: str, name: str) -> None:
        """Note that a person picked a container."""
        with self._database.write() as session:
            session.merge(PickRow(engine=engine, container=container, name=name, since=time.time()))

    def unpick(self, engine: str, containers: Collection[str]) -> None:
        """Note that containers are not picked any more."""
        conditions = (PickRow.engine == engine, PickRow.container.in_(list(containers)))
        with self._database.write() as session:
            session.execute(delete(PickRow).where(*conditions))


def _is_on_engine(engine: EngineKey) -> ColumnElement[bool]:
    """Return the condition for an engine's records, by its id, or by its name if they have no id."""
    by_name = and_(SavedLimitsRow.engine_name.is_(None), SavedLimitsRow.engine == engine.name)
    return or_(
        by_name,
        SavedLimitsRow.engine == engine.id if engine.id else SavedLimitsRow.engine_name == engine.name,
    )


def _is_record_of(engine: EngineKey, container: str, owner: str) -> tuple[ColumnElement[bool], ...]:
    """One owner's record on a container of this engine.

    A container's id is never given twice, so a record that knows only a name is of this engine, too, whatever
    that name is or was.
    """
    here = or_(_is_on_engine(engine), SavedLimitsRow.engine_name.is_(None))
    return (here, SavedLimitsRow.container == container, SavedLimitsRow.owner == owner)


def _make_row(engine: EngineKey, container: str, owner: str, limits: Mapping[str, Any]) -> SavedLimitsRow:
    return SavedLimitsRow(
        engine=engine.id or engine.name,
        engine_name=engine.name if engine.id else None,
        container=container,
        owner=owner,
        name=container[:12],
        since=time.time(),
        limits=dict(limits),
        undo=None,
        new_limits=None,
        paused=False,
    )


def _read_row(row: SavedLimitsRow) -> SavedLimits:
    named = row.engine_name is not None
    return SavedLimits(
        EngineKey(row.engine_name or row.engine, row.engine if named else ""),
        row.container,
        row.name,
        row.owner,
        row.since,
        row.limits,
        _read_steps(row.undo),
        row.paused,
        tuple(row.new_limits or ()),
    )


def _write_step(step: UndoStep) -> dict[str, Any]:
    allowance = step.allowance
    return {
        "limits": dict(step.limits),
        "allowance": None if allowance is None else [allowance.cores, allowance.memory],
    }


def _read_steps(stored: Any) -> tuple[UndoStep, ...]:
    """Read the steps of a row; an earlier version stored the limits of one step alone."""
    if isinstance(stored, dict):
        return (UndoStep(stored),)
    return tuple(
        UndoStep(step["limits"], ContainerAllowance(*step["allowance"]) if step["allowance"] else None)
        for step in stored or ()
    )
