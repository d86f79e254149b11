"""Ledgers of runs in the database: written in batches during a run, read tick by tick.

A batch is on the disk once `Ledger.add` has written it, so a killed worker loses at most the entries of one
batch, and what is there is a ledger that can be replayed.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import orjson
from sqlalchemy import select, update

from core.errors import NotFoundError
from core.files.ledger import pack, unpack
from core.workspace.database_schema import LedgerRow, RunRow, SeriesRow

if TYPE_CHECKING:
    from collections.abc import Iterator

    from core.scheduling.loop import Entry
    from core.workspace.database import Database

_BATCH = 64
_JOBS = 20_000


@dataclass(frozen=True, slots=True)
class Tick:
    """One entry of a ledger, in short."""

    #: Its index in the ledger, from 0.
    number: int
    #: Seconds of the run's clock.
    time: float
    #: Why the scheduler was asked.
    trigger: str
    #: How many things it did, and how many were seen to have failed.
    actions: int
    failures: int


class LedgerWriter:
    """Takes the entries of one run and writes them in batches."""

    def __init__(self, database: Database, run: str, written: int = 0) -> None:
        self._database = database
        self._run = run
        self._waiting: list[Entry] = []
        self._weight = 0
        self._written = written

    def add(self, entry: Entry) -> None:
        """Take one entry; a full batch is written."""
        self._waiting.append(entry)
        self._weight += 1 + len(entry.observation.jobs)
        if len(self._waiting) >= _BATCH or self._weight >= _JOBS:
            self.flush()

    def flush(self) -> None:
        """Write the entries that are not written yet."""
        if not self._waiting:
            return
        entries, self._waiting, self._weight = self._waiting, [], 0
        row = LedgerRow(
            run=self._run, first=self._written, heads=[_head(each) for each in entries], data=pack(entries)
        )
        self._written += len(entries)
        with self._database.write() as session:
            session.add(row)
            session.execute(update(RunRow).where(RunRow.id == self._run).values(entries=self._written))


class Ledgers:
    """The ledgers of a workspace."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def writer(self, run: str, written: int = 0) -> LedgerWriter:
        """Begin a run's ledger, or go on with one that has so many entries."""
        return LedgerWriter(self._database, run, written)

    def ticks(self, run: str) -> list[Tick]:
        """Summaries of all entries, in order."""
        query = select(LedgerRow.first, LedgerRow.heads).where(LedgerRow.run == run).order_by(LedgerRow.first)
        with self._database.read() as session:
            parts = session.execute(query).all()
        return [
            Tick(first + at, time, trigger, actions, failures)
            for first, heads in parts
            for at, (time, trigger, actions, failures) in enumerate(heads)
        ]

    def entry(self, run: str, number: int) -> Entry:
        """One entry.

        Raises NotFoundError if the ledger has none of this number, or was not kept.
        """
        query = (
            select(LedgerRow.first, LedgerRow.data)
            .where(LedgerRow.run == run, LedgerRow.first <= number)
            .order_by(LedgerRow.first.desc())
            .limit(1)
        )
        with self._database.read() as session:
            part = session.execute(query).first()
        entries: tuple[Entry, ...] = unpack(part.data) if part and number >= 0 else ()
        if part is None or number - part.first >= len(entries):
            raise NotFoundError(
                f"The ledger of this run has no tick {number}.",
                "Choose a tick of the run, or run it again and save its ledger.",
            )
        entry: Entry = entries[number - part.first]
        return entry

    def entries(self, run: str) -> Iterator[Entry]:
        """All entries in order, with one part of the ledger in memory at a time."""
        query = select(LedgerRow.first).where(LedgerRow.run == run).order_by(LedgerRow.first)
        with self._database.read() as session:
            firsts = list(session.scalars(query))
        for first in firsts:
            with self._database.read() as session:
                row = session.get(LedgerRow, (run, first))
            yield from unpack(row.data) if row is not None else ()

    def keep_series(self, run: str, series: dict[str, Any]) -> None:
        """Keep a run's time series."""
        data = zlib.compress(orjson.dumps(series), 6)
        with self._database.write() as session:
            session.merge(SeriesRow(run=run, data=data))

    def series(self, run: str) -> dict[str, Any]:
        """A run's time series.

        Raises NotFoundError if they were not kept.
        """
        with self._database.read() as session:
            row = session.get(SeriesRow, run)
        if row is None:
            raise NotFoundError(
                "The time series of this run were not saved.", "Run it again and save its ledger."
            )
        values: dict[str, Any] = orjson.loads(zlib.decompress(row.data))
        return values


def _head(entry: Entry) -> list[Any]:
    observation = entry.observation
    n_failures = len(entry.failures) + len(observation.failures)
    return [float(observation.time), observation.trigger.value, len(entry.actions), n_failures]
