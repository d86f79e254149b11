"""The run of an attached policy: its ledger and time series, stored like any other run's."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Self

from sqlalchemy import update

from core.errors import Cancelled, Interrupted
from core.experiments.outcome import Outcome
from core.experiments.series import Series
from core.workspace.files import new_id
from core.workspace.ledgers import Ledgers
from core.workspace.records import NO_EXPERIMENT, RunState
from core.workspace.tables import RunRow

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import TracebackType

    from core.scheduling.loop import Entry
    from core.workspace.database import Database


class AttachedRun:
    """A run that is written as it proceeds; a context manager that notes how it ended."""

    def __init__(
        self,
        database: Database,
        name: str,
        engine: str,
        policy: str,
        settings: Mapping[str, Any],
        seed: int,
        task: str,
    ) -> None:
        self.id = new_id()
        self._database = database
        self._ledgers = Ledgers(database)
        self._ledger = self._ledgers.writer(self.id)
        self._series, self._outcome = Series(), Outcome()
        row = RunRow(
            id=self.id,
            experiment=NO_EXPERIMENT,
            name=name,
            label=policy,
            policy=policy,
            settings=dict(settings),
            seed=seed,
            scenario=f"live {engine}"[:64],
            key=self.id,
            state=RunState.RUNNING,
            task=task,
            created=time.time(),
            entries=0,
            summary=None,
            jobs=None,
        )
        with database.write() as session:
            session.add(row)

    def add(self, entry: Entry) -> None:
        """Take the next entry; it is on the disk when this returns."""
        self._ledger.add(entry)
        self._ledger.flush()
        self._series.add(entry)
        self._outcome.add(entry)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ledgers.keep_series(self.id, self._series.to_dict())
        plain = self._outcome.result().to_dict()
        jobs = list(plain.pop("jobs"))
        values = {"state": _state(error), "summary": plain, "jobs": jobs}
        with self._database.write() as session:
            session.execute(update(RunRow).where(RunRow.id == self.id).values(**values))


def _state(error: BaseException | None) -> RunState:
    match error:
        case None | Cancelled():
            return RunState.DONE
        case Interrupted():
            return RunState.INTERRUPTED
    return RunState.FAILED
