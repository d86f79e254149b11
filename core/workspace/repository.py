"""Base of the repositories of trace sets and models: a row and a folder each, unique names, and a trash.

The folder is written first and the row last, so whatever has a row is complete. Deleting goes the
other way round. A folder without a row was left by a process that died, and is swept later.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from sqlalchemy import select

from core.errors import ConflictError, InputError, NotFoundError
from core.workspace.database_schema import StoredRow
from core.workspace.files import checked_id, disk_errors, new_id, publishing, remove

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from sqlalchemy.orm import Session

    from core.workspace.database import Database

Row = TypeVar("Row", bound=StoredRow)
Info = TypeVar("Info")
_ORPHAN_AFTER = 600.0
_LONGEST_NAME = 120


class Repository(Generic[Row]):
    """The stored things of one sort."""

    def __init__(
        self, database: Database, table: type[Row], folder: Path, scratch: Path, *, what: str
    ) -> None:
        self._database = database
        self._table = table
        self._folder = folder
        self._scratch = scratch
        self._what = what

    def path(self, thing: str) -> Path:
        """The folder of an item's files."""
        return self._folder / checked_id(thing, self._what)

    def row(self, thing: str) -> Row:
        """Look up a thing.

        Raises NotFoundError if there is none of this id.
        """
        with self._database.read() as session:
            return self._required(session, thing)

    def rows(self, trashed: bool) -> list[Row]:
        """The things that are, or are not, in the trash; the newest first."""
        column = self._table.trashed
        query = select(self._table).where(column.is_not(None) if trashed else column.is_(None))
        with self._database.read() as session:
            return list(session.scalars(query.order_by(self._table.created.desc(), self._table.id)))

    def names(self) -> dict[str, str]:
        """The names of all things by id, those in the trash included."""
        with self._database.read() as session:
            return {row[0]: row[1] for row in session.execute(select(self._table.id, self._table.name))}

    def add(self, name: str, write: Callable[[Path], dict[str, Any]], task: str | None = None) -> str:
        """Store a thing."""
        thing = new_id()
        with disk_errors(f"the {self._what}"), publishing(self._folder / thing, self._scratch) as draft:
            facts = write(draft)
        with self._database.write() as session:
            row = self._table(id=thing, created=time.time(), facts=facts, task=task)
            row.name = self._free_name(session, checked_name(name, self._what))
            session.add(row)
        return thing

    def rename(self, thing: str, name: str) -> None:
        """Give a thing another name.

        Raises InputError if the name is empty or too long; ConflictError if another thing has it.
        """
        name = checked_name(name, self._what)
        with self._changing(thing) as (session, row):
            if name != row.name and name in self._names(session):
                raise ConflictError(
                    f"There is already a {self._what} called “{name}”.", "Choose another name."
                )
            row.name = name

    def change_facts(self, thing: str, **facts: Any) -> None:
        """Change some of the facts of a thing; its files stay as they are."""
        with self._changing(thing) as (_, row):
            row.facts = {**row.facts, **facts}

    def trash(self, thing: str) -> None:
        """Put a thing into the trash; nothing is lost yet."""
        with self._changing(thing) as (_, row):
            row.trashed = row.trashed or time.time()

    def restore(self, thing: str) -> None:
        """Take a thing out of the trash."""
        with self._changing(thing) as (_, row):
            row.trashed = None

    def delete(self, thing: str) -> None:
        """Remove a thing in the trash for good.

        Raises ConflictError if it is not in the trash.
        """
        with self._changing(thing) as (session, row):
            if row.trashed is None:
                raise ConflictError(f"“{row.name}” is not in the trash.", "Move it to the trash first.")
            session.delete(row)
        doomed = self._scratch / new_id()
        with suppress(FileNotFoundError):  # a worker has swept it already
            self.path(thing).rename(doomed)
        remove(doomed)

    @contextmanager
    def reading(self, thing: str) -> Iterator[None]:
        """Say in a sentence that the files of a thing are gone, where they vanish while they are read.

        Raises NotFoundError in place of the reader's error.
        """
        try:
            yield
        except (FileNotFoundError, InputError) as error:
            if self.path(thing).exists():
                raise
            self.row(thing)
            raise NotFoundError(
                f"The files of this {self._what} are gone.", f"Choose another {self._what} from the list."
            ) from error

    def sweep(self) -> int:
        """Remove folders that have no row; returns how many there were."""
        doomed = self.without_row()
        for name in doomed:
            remove(self._folder / name)
        return len(doomed)

    def without_row(self) -> list[str]:
        """Folders without a row that no process is about to write, left by killed processes."""
        names = self.names()
        # a folder whose row is about to be written is younger than this
        oldest = time.time() - _ORPHAN_AFTER
        return sorted(
            folder.name
            for folder in self._folder.iterdir()
            if folder.name not in names and folder.stat().st_mtime < oldest
        )

    def without_folder(self) -> dict[str, str]:
        """The things that have a row but no files: names by id."""
        named = self.names()
        missing = [thing for thing in named if not (self._folder / thing).is_dir()]
        # what was deleted meanwhile is missing for a good reason
        still = self.names() if missing else {}
        return {thing: named[thing] for thing in missing if thing in still}

    def _required(self, session: Session, thing: str) -> Row:
        row = session.get(self._table, checked_id(thing, self._what))
        if row is None:
            raise NotFoundError(
                f"This {self._what} is no longer there.", f"Choose another {self._what} from the list."
            )
        return row

    @contextmanager
    def _changing(self, thing: str) -> Iterator[tuple[Session, Row]]:
        with self._database.write() as session:
            yield session, self._required(session, thing)

    def _names(self, session: Session) -> set[str]:
        return set(session.scalars(select(self._table.name)))

    def _free_name(self, session: Session, name: str) -> str:
        names, number, free = self._names(session), 2, name
        while free in names:
            free = f"{name} ({number})"
            number += 1
        return free


def checked_name(name: str, what: str) -> str:
    """A name without spaces around it.

    Raises InputError if nothing is left, or too much.
    """
    name = " ".join(name.split())
    if not name or len(name) > _LONGEST_NAME:
        raise InputError(
            f"A {what} needs a name of 1 to {_LONGEST_NAME} characters; this one has {len(name)}.",
            "Give it another name.",
        )
    return name


def to_datetime(seconds: float) -> datetime:
    """Seconds since 1970 as an aware time."""
    return datetime.fromtimestamp(seconds, UTC)


class Library(ABC, Generic[Row, Info]):
    """The operations on stored things of one sort; each sort adds how it is stored and read."""

    def __init__(self, repository: Repository[Row]) -> None:
        self.repository = repository

    @abstractmethod
    def get(self, thing: str) -> Info:
        """The record of one item; raises `NotFoundError`."""

    @abstractmethod
    def _forget(self, thing: str) -> None:
        """Drop the cached values of one that was deleted."""

    def rename(self, thing: str, name: str) -> Info:
        """Give one another name; `ConflictError` when it is taken."""
        self.repository.rename(thing, name)
        return self.get(thing)

    def trash(self, thing: str) -> Info:
        """Put one into the trash; `restore` takes it out again."""
        self.repository.trash(thing)
        return self.get(thing)

    def restore(self, thing: str) -> Info:
        """Take one out of the trash."""
        self.repository.restore(thing)
        return self.get(thing)

    def delete(self, thing: str) -> None:
        """Remove one that is in the trash for good; `ConflictError` when it is not there."""
        self.repository.delete(thing)
        self._forget(thing)

    def sweep(self) -> int:
        """Remove leftovers of killed processes; return their number."""
        return self.repository.sweep()
