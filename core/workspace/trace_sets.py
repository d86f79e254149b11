"""The stored trace sets: list, look into, rename, trash and delete; what was read stays in memory."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from core.files import open_trace_set, write_trace_set
from core.files.trace_sets import features_from_json, features_to_json
from core.traces.model import Resampling, summarise
from core.units import MIB
from core.workspace.cache import ByteCache, share_of_memory, weight_of
from core.workspace.database_schema import TraceSetRow
from core.workspace.files import size_of
from core.workspace.records import RECORDED, TraceSetInfo
from core.workspace.repository import Library, Repository, to_datetime

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import pandas as pd

    from core.files import StoredTraces
    from core.traces.model import TraceSet
    from core.traces.validation import Report
    from core.workspace.database import Database

_SHARE = 0.25
_SUMMARIES = 128 * MIB
_OPEN_SETS = 64


class TraceLibrary(Library[TraceSetRow, TraceSetInfo]):
    """The trace sets of a workspace."""

    def __init__(self, database: Database, folder: Path, scratch: Path) -> None:
        super().__init__(Repository(database, TraceSetRow, folder, scratch, what="trace set"))
        self._sets: ByteCache[TraceSet] = ByteCache(share_of_memory(_SHARE), weight_of)
        self._summaries: ByteCache[pd.DataFrame] = ByteCache(_SUMMARIES, _weight_of_table)
        self._stored: ByteCache[StoredTraces] = ByteCache(_OPEN_SETS, lambda _: 1)
        self._reading = threading.Lock()

    def list(self, trashed: bool = False) -> list[TraceSetInfo]:
        """The trace sets, the newest first; with `trashed`, those in the trash."""
        return [_info(row) for row in self.repository.rows(trashed)]

    def names(self) -> dict[str, str]:
        """The names of all trace sets by id, those in the trash included."""
        return self.repository.names()

    def get(self, thing: str) -> TraceSetInfo:
        """Look up a trace set.

        Raises NotFoundError if there is none of this id.
        """
        return _info(self.repository.row(thing))

    def fingerprint(self, trace_set: str) -> str:
        """The digest of a set's samples."""
        return str(self.repository.row(trace_set).facts["fingerprint"])

    def report(self, trace_set: str) -> Report:
        """The problems of the file that a set came from, and how they were resolved."""
        return self._open(trace_set).report()

    def load(self, trace_set: str) -> TraceSet:
        """Load all samples of a set. The arrays are shared: do not modify them.

        Raises NotFoundError if there is none of this id.
        """
        with self.repository.reading(trace_set):
            return self._sets.get(trace_set, self._open(trace_set).load)

    def execution(self, trace_set: str, name: str) -> TraceSet:
        """One execution as a trace set of its own; reads no other.

        Raises NotFoundError if there is no such set, or no such execution in it.
        """
        stored = self._open(trace_set)
        loaded = self._sets.peek(trace_set)
        if loaded is not None:
            return loaded.only([name])
        # the open file has one position for all threads
        with self.repository.reading(trace_set), self._reading:
            return stored.load_execution(name)

    def summary(self, trace_set: str) -> pd.DataFrame:
        """The table of executions; see `core.traces.model.summarise`. Shared: do not modify it."""
        with self.repository.reading(trace_set):
            return self._summaries.get(trace_set, self._open(trace_set).summary)

    def add(
        self,
        traces: TraceSet,
        report: Report | None,
        *,
        name: str,
        source: str = "",
        sample: bool = False,
        task: str | None = None,
        progress: Callable[[float, str], None] | None = None,
    ) -> TraceSetInfo:
        """Store a trace set; it is listed when, and only when, all of it is on the disk."""
        summary = summarise(traces)

        def write(folder: Path) -> dict[str, Any]:
            info = write_trace_set(folder, traces, report, summary, progress)
            return {
                "n_executions": info.n_executions,
                "n_samples": info.n_samples,
                "n_bytes": size_of(folder),
                "period": info.period,
                "resampling": info.resampling.value,
                "features": features_to_json(info.features),
                "attributes": list(info.attributes),
                "fingerprint": info.fingerprint,
                "sample": sample,
                "source": source,
            }

        return self.get(self.repository.add(name, write, task))

    def _forget(self, thing: str) -> None:
        for cache in (self._sets, self._summaries, self._stored):
            cache.forget(lambda key: key == thing)

    def _open(self, trace_set: str) -> StoredTraces:
        # looked up each time: another process may have deleted it
        self.repository.row(trace_set)
        with self.repository.reading(trace_set):
            return self._stored.get(trace_set, lambda: open_trace_set(self.repository.path(trace_set)))


def _weight_of_table(table: pd.DataFrame) -> float:
    return float(table.memory_usage(deep=True).sum())


def _info(row: TraceSetRow) -> TraceSetInfo:
    facts = row.facts
    return TraceSetInfo(
        id=row.id,
        name=row.name,
        created=to_datetime(row.created),
        n_executions=facts["n_executions"],
        n_samples=facts["n_samples"],
        n_bytes=facts["n_bytes"],
        period=facts["period"],
        resampling=Resampling(facts["resampling"]),
        features=features_from_json(facts["features"]),
        attributes=tuple(facts["attributes"]),
        sample=bool(facts.get("sample")),
        source=facts["source"],
        recorded=facts["source"].startswith(RECORDED),
        fingerprint=facts["fingerprint"],
        trashed=None if row.trashed is None else to_datetime(row.trashed),
    )
