"""The database: SQLite by default, PostgreSQL where `DATABASE_URL` says so.

Web and worker write at the same time, so SQLite runs in WAL mode, waits for locks, and every
writing transaction takes its lock at its beginning (`BEGIN IMMEDIATE`): a transaction that reads
first and writes later would otherwise fail at once when another one wrote in between.
"""

from __future__ import annotations

import logging
import shutil
import sqlite3
import threading
import time
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, Engine, create_engine, event, inspect, text
from sqlalchemy.exc import ArgumentError, DBAPIError, OperationalError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError
from sqlalchemy.orm import Session

from core.errors import ConflictError, SettingsError
from core.workspace.code_version import program_version
from core.workspace.files import StorageError, disk_errors, sync_file

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from sqlalchemy import Connection, Engine


_LOG = logging.getLogger(__name__)
_FULL = (
    "The disk of the database is full, so this could not be stored.",
    "Make room in PHASEDOCK_HOME (or where DATABASE_URL points) and try again.",
)
_READ_ONLY = (
    "The database cannot be written, so this could not be stored.",
    "Give the user who runs PhaseDock write access to it and its folder, then try again.",
)
_BUSY = (
    "The database was busy for too long, so this could not be done.",
    "Try again in a moment; if it lasts, see which other program has the database open.",
)
_DAMAGED = (
    "The database is damaged.",
    "Stop PhaseDock and restore the database from a backup.",
)
_DISK = (
    "The disk failed while the database was read or written.",
    "Check that the disk has room and no faults, then try again; the log has the details.",
)
_CLOSED = (
    "The database cannot be opened.",
    "Check that it is running or its folder is there, and that PhaseDock may use it.",
)
_OTHER = (
    "The database could not do what was asked.",
    "Try again; if it happens again, the log has the details.",
)
UNREACHABLE = (_CLOSED, _OTHER)
# https://www.sqlite.org/rescode.html: the low byte of an extended code is its primary code
_SQLITE = {
    sqlite3.SQLITE_FULL: _FULL,
    sqlite3.SQLITE_READONLY: _READ_ONLY,
    sqlite3.SQLITE_PERM: _READ_ONLY,
    sqlite3.SQLITE_BUSY: _BUSY,
    sqlite3.SQLITE_LOCKED: _BUSY,
    sqlite3.SQLITE_CORRUPT: _DAMAGED,
    sqlite3.SQLITE_NOTADB: _DAMAGED,
    sqlite3.SQLITE_IOERR: _DISK,
    sqlite3.SQLITE_CANTOPEN: _CLOSED,
}
# https://www.postgresql.org/docs/current/errcodes-appendix.html: codes, and classes of two characters
_POSTGRES = {
    "53100": _FULL,
    "25006": _READ_ONLY,
    "40001": _BUSY,
    "40P01": _BUSY,
    "55P03": _BUSY,
    "57014": _BUSY,
    "53": _BUSY,
    "08": _CLOSED,
    "57": _CLOSED,
    "58": _DISK,
    "XX": _DAMAGED,
}


@contextmanager
def spoken() -> Iterator[None]:
    """Turn errors of the connection into sentences; errors in statements pass unchanged.

    Raises StorageError in place of the database's error.
    """
    try:
        yield
    except (DBAPIError, PoolTimeoutError, sqlite3.Error) as error:
        sentence = database_sentence(error)
        if sentence is None:
            raise
        _LOG.warning("the database refused: %s", getattr(error, "orig", None) or error)
        raise StorageError(*sentence) from error


def database_sentence(error: BaseException) -> tuple[str, str] | None:
    """The message and hint for an error of a database; None where a statement was wrong."""
    if isinstance(error, PoolTimeoutError):
        return _BUSY
    cause = error.orig if isinstance(error, DBAPIError) else error
    code, state = getattr(cause, "sqlite_errorcode", None), getattr(cause, "sqlstate", None)
    if code is not None:
        sentence = _SQLITE.get(code & 0xFF)
    else:
        # a server that does not answer has no code to send
        sentence = _POSTGRES.get(state) or _POSTGRES.get(state[:2]) if state else _CLOSED
    if sentence is None and isinstance(error, (OperationalError, sqlite3.OperationalError)):
        return _OTHER
    return sentence


STEPS = Path(__file__).with_name("migrations")
_LOCK = 7_420_241  # any number, the same in all processes
_LOCK_TIMEOUT = 120.0
# Alembic's context is one for the whole process
_ONE_AT_A_TIME = threading.Lock()


# The version of a database's tables, and the upgrade from an older one to this program's.
#
# Each version is a step in `core.workspace.migrations`, whose number `alembic_version` holds once it was
# taken. `schema_version`, which PhaseDock 0.1.0 made and reads, gets the same number, so that 0.1.0, too,
# refuses tables that it does not know. Alembic is imported only where there is a step to take.


@dataclass(frozen=True, slots=True)
class Written:
    """The version of a database's tables, and the program that wrote them."""

    #: The last step that was taken.
    number: int
    #: The version of PhaseDock that took it; empty where it did not say so.
    program: str
    #: Whether Alembic knows of it; tables of 0.1.0 are older than that.
    recorded: bool


def head() -> int:
    """The number of the last step, by the names of their files."""
    return max(int(path.name[:4]) for path in (STEPS / "versions").glob("[0-9]*_*.py"))


def bring_up(engine: Engine) -> None:
    """Upgrade a database's tables to those of this program; no effect if they are up to date.

    Raises ConflictError if a newer PhaseDock wrote them; StorageError if the copy that is kept of a SQLite
    file does not fit on the disk.
    """
    with engine.connect() as connection:
        stored = written(connection)
    if _missing(stored):
        with _ONE_AT_A_TIME, _locked(engine) as connection:
            # another process may have been faster
            stored = written(connection)
            if _missing(stored):
                _upgrade(connection, stored)


def written(connection: Connection) -> Written | None:
    """The version of the database's tables; None where it has none."""
    tables = set(inspect(connection).get_table_names())
    row: dict[str, Any] = {}
    if "schema_version" in tables:
        row = dict(connection.execute(text("SELECT * FROM schema_version")).mappings().first() or {})
    version = None
    if "alembic_version" in tables:
        version = connection.execute(text("SELECT version_num FROM alembic_version")).scalar()
    if version is None and not row:
        return None
    return Written(
        max(int(version or 0), int(row.get("version", 0))), row.get("program") or "", version is not None
    )


def _missing(stored: Written | None) -> bool:
    """Whether there are steps to take; refuses tables of a newer program."""
    newest = head()
    if stored is None or (stored.number, stored.recorded) < (newest, True):
        return True
    if stored.number > newest:
        writer = f"PhaseDock {stored.program}" if stored.program else "a newer PhaseDock"
        raise ConflictError(
            f"The database was written by {writer}"
            f" and has version {stored.number} of the tables; this one, {program_version()}, knows {newest}.",
            "Start the PhaseDock that wrote it or a newer one, or choose another PHASEDOCK_HOME.",
        )
    return False


def _upgrade(connection: Connection, stored: Written | None) -> None:
    from alembic import command  # noqa: PLC0415 - costs a quarter of a second
    from alembic.config import Config  # noqa: PLC0415

    newest = head()
    config = Config()
    config.set_main_option("script_location", str(STEPS).replace("%", "%%"))
    config.attributes["connection"] = connection
    if stored is not None:
        _keep_copy(connection, f"{newest:04d}")
        if not stored.recorded:
            command.stamp(config, f"{stored.number:04d}")
    command.upgrade(config, "head")
    connection.execute(
        text("UPDATE schema_version SET version = :version, program = :program"),
        {"version": newest, "program": program_version()},
    )


@contextmanager
def _locked(engine: Engine) -> Iterator[Connection]:
    """A transaction that only one process can be in; others wait for it."""
    with engine.connect() as connection:
        if engine.dialect.name == "sqlite":
            raw: Any = connection.connection.dbapi_connection
            connection.detach()
            # replacing a table would delete the rows that refer to it
            raw.execute("PRAGMA foreign_keys = OFF")
            raw.execute(f"PRAGMA busy_timeout = {int(_LOCK_TIMEOUT * 1000)}")
        with connection.begin():
            if engine.dialect.name == "postgresql":
                connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _LOCK})
            yield connection


def _keep_copy(connection: Connection, step: str) -> None:
    """Keep a SQLite file as it was before the upgrade, in place of an earlier such copy."""
    path = Path(connection.engine.url.database or "")
    if connection.dialect.name != "sqlite" or not path.is_file():
        return
    prefix = f"{path.name}.before-"
    backup, draft = path.with_name(f"{prefix}{step}"), path.with_name(f"{prefix}{step}.part")
    draft.unlink(missing_ok=True)
    try:
        with disk_errors("a copy of the database"):
            # a reader beside our write lock, which no other process can have now
            with closing(sqlite3.connect(path)) as source, closing(sqlite3.connect(draft)) as copy:
                source.backup(copy)
            shutil.copymode(path, draft)
            sync_file(draft)
            draft.replace(backup)
    finally:
        draft.unlink(missing_ok=True)
    for earlier in path.parent.iterdir():
        if earlier.name.startswith(prefix) and earlier != backup:
            earlier.unlink(missing_ok=True)


_BUSY_SECONDS = 15.0


class Database:
    """Short transactions on the tables of PhaseDock.

    Raises SettingsError if the database cannot be reached or opened; ConflictError if a newer PhaseDock wrote
    it.
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

        Raises StorageError if the database cannot be used now: busy, damaged, out of reach.
        """
        with spoken(), Session(self._engine, expire_on_commit=False) as session:
            yield session

    @contextmanager
    def write(self) -> Iterator[Session]:
        """Open a transaction that may write; it is committed at the end, or undone on any error.

        Raises StorageError if the database cannot be used now: a full disk, read-only, busy, damaged, out of
        reach.
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
        sentence: tuple[str, str] | None = (error.message, error.hint)
    else:
        sentence = database_sentence(error)
    if sentence is None or sentence in UNREACHABLE:
        sentence = (
            f"{_first_line(error)}.",
            "Check that it exists, that it may be written, and that the address is right.",
        )
    return SettingsError(f"The database of DATABASE_URL cannot be used: {sentence[0]}", sentence[1])


def _first_line(error: BaseException) -> str:
    cause = error.orig if isinstance(error, OperationalError) and error.orig else error
    return str(cause).strip().splitlines()[0].rstrip(".") if str(cause).strip() else type(error).__name__
