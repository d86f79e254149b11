"""The database: SQLite by default, PostgreSQL where `DATABASE_URL` says so.

Web and worker write at the same time, so SQLite runs in WAL mode, waits for locks, and every
writing transaction takes its lock at its beginning (`BEGIN IMMEDIATE`): a transaction that reads
first and writes later would otherwise fail at once when another one wrote in between.
"""

from __future__ import annotations

import sqlite3
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.exc import ArgumentError, OperationalError, SQLAlchemyError
from sqlalchemy.orm import Session

from core.errors import SettingsError
from core.runtime.database.errors import UNREACHABLE, database_sentence, spoken
from core.runtime.database.schema import bring_up
from core.runtime.storage.files import StorageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_BUSY_SECONDS = 15.0


class Database:
    """Short transactions on the tables of PhaseDock.

    Parameters
    ----------
    url
        SQLAlchemy address.

    Raises
    ------
    SettingsError
        If the database cannot be reached or opened.
    ConflictError
        If a newer PhaseDock wrote it.
    """

    def __init__(self, url: str) -> None:
        self._engine = _engine(url)
        self._writing = self._engine.execution_options(phasedock_write=True)
        try:
            bring_up(self._writing)
        except (SQLAlchemyError, sqlite3.Error, StorageError) as error:
            self.close()
            raise _unusable(error) from error
        except BaseException:
            self.close()
            raise

    @property
    def dialect(self) -> str:
        """``"sqlite"`` or ``"postgresql"``."""
        return self._engine.dialect.name

    @contextmanager
    def read(self) -> Iterator[Session]:
        """Open a transaction that only reads.

        Raises
        ------
        StorageError
            If the database cannot be used now: busy, damaged, out of reach.
        """
        with spoken(), Session(self._engine, expire_on_commit=False) as session:
            yield session

    @contextmanager
    def write(self) -> Iterator[Session]:
        """Open a transaction that may write; it is committed at the end, or undone on any error.

        Raises
        ------
        StorageError
            If the database cannot be used now: a full disk, read-only, busy, damaged, out of reach.
        """
        with spoken(), Session(self._writing, expire_on_commit=False) as session, session.begin():
            yield session

    def close(self) -> None:
        """Close all connections."""
        self._engine.dispose()


def _engine(url: str) -> Engine:
    try:
        sqlite = url.startswith("sqlite")
        options: dict[str, Any] = {"connect_args": {"timeout": _BUSY_SECONDS}} if sqlite else {}
        engine = create_engine(url, pool_pre_ping=not sqlite, **options)
    except (ArgumentError, ModuleNotFoundError) as error:
        raise SettingsError(
            f"The database of DATABASE_URL cannot be used: {_first_line(error)}.",
            "PostgreSQL needs the extra “phasedock[postgres]”; SQLite needs nothing.",
        ) from error
    if sqlite:
        event.listen(engine, "connect", _on_connect)
        event.listen(engine, "begin", _on_begin)
    return engine


def _on_connect(connection: Any, _record: object) -> None:
    # transactions are begun by _on_begin and not by the driver
    connection.isolation_level = None
    connection.execute(f"PRAGMA busy_timeout = {int(_BUSY_SECONDS * 1000)}")
    connection.execute("PRAGMA foreign_keys = ON")
    _retry_while_locked(lambda: connection.execute("PRAGMA journal_mode = WAL"))


def _on_begin(connection: Connection) -> None:
    writing = connection.get_execution_options().get("phasedock_write", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writing else "BEGIN")


def _retry_while_locked(action: Callable[[], object]) -> None:
    """Retry what SQLite refuses at once, without waiting, while another process has locked the file."""
    deadline = time.monotonic() + _BUSY_SECONDS
    while True:
        try:
            action()
        except Exception as error:
            if "locked" not in str(error) or time.monotonic() > deadline:
                raise
            time.sleep(0.02)
        else:
            return


def _unusable(error: Exception) -> SettingsError:
    """Why PhaseDock does not start; where the database cannot be found, the driver's message says most."""
    if isinstance(error, StorageError):
        said: tuple[str, str] | None = (error.message, error.hint)
    else:
        said = database_sentence(error)
    if said is None or said in UNREACHABLE:
        said = (
            f"{_first_line(error)}.",
            "Check that it exists, that it may be written, and that the address is right.",
        )
    return SettingsError(f"The database of DATABASE_URL cannot be used: {said[0]}", said[1])


def _first_line(error: BaseException) -> str:
    cause = error.orig if isinstance(error, OperationalError) and error.orig else error
    return str(cause).strip().splitlines()[0].rstrip(".") if str(cause).strip() else type(error).__name__
