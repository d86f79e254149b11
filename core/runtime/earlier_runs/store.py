"""What earlier runs of each kind of job have shown, kept from one run to the next."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from core.runtime.database.tables import EarlierRunsRow
from core.scheduling.deadlines.earlier import Earlier

if TYPE_CHECKING:
    from core.runtime.database.engine import Database
    from core.runtime.earlier_runs.kinds import Kind
    from core.scheduling.deadlines.earlier import Course
    from core.scheduling.model import Profile

_NOTHING = Earlier()


class EarlierRuns:
    """All kinds of job that ran.

    Parameters
    ----------
    database
        Where they are.
    replayed
        Whether recordings are replayed in place of programs, as on the demo: they teach real jobs nothing,
        and how many steps they have is known from their runs alone.
    """

    def __init__(self, database: Database, *, replayed: bool = False) -> None:
        self._database, self._replayed = database, replayed

    def replayed(self) -> EarlierRuns:
        """Those of jobs in whose place recordings are replayed."""
        return EarlierRuns(self._database, replayed=True)

    def of(self, kind: Kind) -> Earlier:
        """What is known of a kind."""
        with self._database.read() as session:
            row = session.get(EarlierRunsRow, self._key(kind))
            return _NOTHING if row is None else Earlier.from_dict(row.found)

    def profile(self, kind: Kind) -> Profile | None:
        """What a job of a kind is expected to take; None where none has run."""
        return self.of(kind).profile(None if self._replayed else kind.steps)

    def add(self, kind: Kind, run: Course) -> None:
        """Remember a run that is over, if anything was seen of its speed."""
        with self._database.write() as session:
            row = session.get(EarlierRunsRow, self._key(kind))
            before = _NOTHING if row is None else Earlier.from_dict(row.found)
            after = before.after(run)
            if after is not before:
                values = {"about": kind.to_dict(), "found": after.to_dict(), "updated": time.time()}
                session.merge(EarlierRunsRow(kind=self._key(kind), **values))

    def _key(self, kind: Kind) -> str:
        return kind._replace(image=f"replayed {kind.image}").key if self._replayed else kind.key
