"""Database errors turned into sentences for people; the database's own message goes to the log."""

from __future__ import annotations

import logging
import sqlite3
from contextlib import contextmanager
from typing import TYPE_CHECKING

from sqlalchemy.exc import DBAPIError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from core.runtime.storage.files import StorageError

if TYPE_CHECKING:
    from collections.abc import Iterator

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
    """Say in words what keeps the database from working; errors in statements pass unchanged.

    Raises
    ------
    StorageError
        In place of the database's error.
    """
    try:
        yield
    except (DBAPIError, PoolTimeoutError, sqlite3.Error) as error:
        said = database_sentence(error)
        if said is None:
            raise
        _LOG.warning("the database refused: %s", getattr(error, "orig", None) or error)
        raise StorageError(*said) from error


def database_sentence(error: BaseException) -> tuple[str, str] | None:
    """The message and hint for an error of a database; None where a statement was wrong."""
    if isinstance(error, PoolTimeoutError):
        return _BUSY
    cause = error.orig if isinstance(error, DBAPIError) else error
    code, state = getattr(cause, "sqlite_errorcode", None), getattr(cause, "sqlstate", None)
    if code is not None:
        known = _SQLITE.get(code & 0xFF)
    else:
        # a server that does not answer has no code to send
        known = _POSTGRES.get(state) or _POSTGRES.get(state[:2]) if state else _CLOSED
    if known is None and isinstance(error, (OperationalError, sqlite3.OperationalError)):
        return _OTHER
    return known
