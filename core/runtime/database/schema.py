"""The version of a database's tables, and the upgrade from an older one to this program's.

Each version is a step in `core.runtime.database.migrations`, whose number `alembic_version` holds once it was
taken. `schema_version`, which PhaseDock 0.1.0 made and reads, gets the same number, so that 0.1.0, too,
refuses tables that it does not know. Alembic is imported only where there is a step to take.
"""

from __future__ import annotations

import shutil
import sqlite3
import threading
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlalchemy import inspect, text

from core.errors import ConflictError
from core.runtime.storage.files import disk_errors, sync_file
from core.runtime.storage.sources import program_version

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy import Connection, Engine

STEPS = Path(__file__).with_name("migrations")
_LOCK = 7_420_241  # any number, the same in all processes
_LOCK_TIMEOUT = 120.0
# Alembic's context is one for the whole process
_ONE_AT_A_TIME = threading.Lock()


@dataclass(frozen=True, slots=True)
class Written:
    """What a database says about its tables.

    Parameters
    ----------
    number
        The last step that was taken.
    program
        The version of PhaseDock that took it; empty where it did not say so.
    recorded
        Whether Alembic knows of it; tables of 0.1.0 are older than that.
    """

    number: int
    program: str
    recorded: bool


def head() -> int:
    """The number of the last step, by the names of their files."""
    return max(int(path.name[:4]) for path in (STEPS / "versions").glob("[0-9]*_*.py"))


def bring_up(engine: Engine) -> None:
    """Upgrade a database's tables to those of this program; does nothing where they are up to date.

    Parameters
    ----------
    engine
        The database; its transactions take the write lock at their beginning.

    Raises
    ------
    ConflictError
        If a newer PhaseDock wrote them.
    StorageError
        If the copy that is kept of a SQLite file does not fit on the disk.
    """
    with engine.connect() as connection:
        found = written(connection)
    if _missing(found):
        with _ONE_AT_A_TIME, _locked(engine) as connection:
            # another process may have been faster
            found = written(connection)
            if _missing(found):
                _upgrade(connection, found)


def written(connection: Connection) -> Written | None:
    """What the database says about its tables; None where it has none."""
    there = set(inspect(connection).get_table_names())
    row: dict[str, Any] = {}
    if "schema_version" in there:
        row = dict(connection.execute(text("SELECT * FROM schema_version")).mappings().first() or {})
    taken = None
    if "alembic_version" in there:
        taken = connection.execute(text("SELECT version_num FROM alembic_version")).scalar()
    if taken is None and not row:
        return None
    return Written(
        max(int(taken or 0), int(row.get("version", 0))), row.get("program") or "", taken is not None
    )


def _missing(found: Written | None) -> bool:
    """Whether there are steps to take; refuses tables of a newer program."""
    known = head()
    if found is None or (found.number, found.recorded) < (known, True):
        return True
    if found.number > known:
        writer = f"PhaseDock {found.program}" if found.program else "a newer PhaseDock"
        raise ConflictError(
            f"The database was written by {writer}"
            f" and has version {found.number} of the tables; this one, {program_version()}, knows {known}.",
            "Start the PhaseDock that wrote it or a newer one, or choose another PHASEDOCK_HOME.",
        )
    return False


def _upgrade(connection: Connection, found: Written | None) -> None:
    from alembic import command  # noqa: PLC0415 - costs a quarter of a second
    from alembic.config import Config  # noqa: PLC0415

    known = head()
    config = Config()
    config.set_main_option("script_location", str(STEPS).replace("%", "%%"))
    config.attributes["connection"] = connection
    if found is not None:
        _keep_copy(connection, f"{known:04d}")
        if not found.recorded:
            command.stamp(config, f"{found.number:04d}")
    command.upgrade(config, "head")
    connection.execute(
        text("UPDATE schema_version SET version = :version, program = :program"),
        {"version": known, "program": program_version()},
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
    kept, draft = path.with_name(f"{prefix}{step}"), path.with_name(f"{prefix}{step}.part")
    draft.unlink(missing_ok=True)
    try:
        with disk_errors("a copy of the database"):
            # a reader beside our write lock, which no other process can have now
            with closing(sqlite3.connect(path)) as source, closing(sqlite3.connect(draft)) as copy:
                source.backup(copy)
            shutil.copymode(path, draft)
            sync_file(draft)
            draft.replace(kept)
    finally:
        draft.unlink(missing_ok=True)
    for earlier in path.parent.iterdir():
        if earlier.name.startswith(prefix) and earlier != kept:
            earlier.unlink(missing_ok=True)
