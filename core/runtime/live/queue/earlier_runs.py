"""What earlier runs of each kind of job have shown, kept from one run to the next."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from core.runtime.database.tables import EarlierRunsRow
from core.runtime.live.queue.kinds import kind_of
from core.scheduling.deadlines.earlier import Earlier

if TYPE_CHECKING:
    from core.runtime.database.engine import Database
    from core.runtime.live.queue.spec import JobSpec
    from core.scheduling.deadlines.earlier import Course

_NOTHING = Earlier()


class EarlierRuns:
    """All kinds of job that ran.

    Parameters
    ----------
    database
        Where they are.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    def of(self, spec: JobSpec) -> Earlier:
        """What is known of a job's kind."""
        with self._database.read() as session:
            row = session.get(EarlierRunsRow, kind_of(spec))
            return _NOTHING if row is None else Earlier.from_dict(row.found)

    def add(self, spec: JobSpec, run: Course) -> None:
        """Remember a run that is over, if anything was seen of its speed."""
        kind = kind_of(spec)
        with self._database.write() as session:
            row = session.get(EarlierRunsRow, kind)
            before = _NOTHING if row is None else Earlier.from_dict(row.found)
            after = before.after(run)
            if after is before:
                return
            about = {"image": spec.image, "command": list(spec.command), "data": spec.data}
            session.merge(EarlierRunsRow(kind=kind, about=about, found=after.to_dict(), updated=time.time()))
