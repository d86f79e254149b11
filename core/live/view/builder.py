"""Building the Live page's view of an engine from the watcher's sample and the running tasks."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from core.live.history.chunks import size
from core.live.history.reader import Past, look_back, oldest
from core.live.sessions import ATTACH, RECORD
from core.live.view.snapshot import FRESH_FOR, LiveFiles, age, read_attached, read_recording, read_view
from core.sampling.ring_buffer import FIELDS, ROW, TOTALS, RingHistory, read_ring
from core.sampling.sampler import counted, marked
from core.sampling.values import Attached, History, LiveView, Mode, Recording
from core.scheduling.policies import POLICIES

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from core.live.sessions import Sessions
    from core.sampling.engines import Engines
    from core.workspace.records import TaskInfo

_FORGOTTEN_AFTER = 60.0
_SHOWN = ("cpu", "cpu_limit", "memory", "memory_limit", "loss", "throttled")


class Remembered(NamedTuple):
    """Since when it is remembered, seconds since 1970 (None: nothing is), and the bytes that it takes."""

    since: float | None
    bytes: int


class ViewBuilder:
    """Reads what the watcher and the tasks left."""

    def __init__(self, home: Path, engines: Engines, sessions: Sessions) -> None:
        self._home = home
        self._engines = engines
        self._sessions = sessions

    def request_view(self, engine: str, model: str | None = None) -> LiveView:
        """Return what was seen last, and request that sampling continue for the next 30 seconds.

        Raises
        ------
        NotFoundError
            If the settings name no such engine.
        """
        self._files(engine).want(model)
        seen = self.peek(engine)
        return replace(seen, model=model) if seen.at is None else seen

    def peek(self, engine: str) -> LiveView:
        """Return what was seen last; nothing is requested, and the model that a page chose stays.

        Raises
        ------
        NotFoundError
            If the settings name no such engine.
        """
        files = self._files(engine)
        old = age(files.snapshot)
        seen = read_view(files.snapshot) if old < _FORGOTTEN_AFTER else None
        if seen is None or old > FRESH_FOR:
            info = self._engines.get(engine)
            seen = LiveView(info) if seen is None else replace(seen, engine=info)
        going_on = self._sessions.of(engine)
        if ATTACH not in going_on:
            seen = replace(seen, failed=self._sessions.failed(engine))
        return _with_tasks(seen, files, going_on)

    def history(self, engine: str, ids: Sequence[str], seconds: float = 600.0) -> dict[str, History]:
        """The last minutes of some containers, by id; those that were never sampled are left out.

        Raises
        ------
        NotFoundError
            If the settings name no such engine.
        """
        found = read_ring(self._files(engine).ring, ids, seconds)
        return {name: _history(past) for name, past in found.items()}

    def past(
        self, engine: str, ids: Sequence[str], start: float, end: float, most: int = 600
    ) -> dict[str, Past]:
        """The past of some containers, by id, in at most so many points; nothing of what is not kept.

        Raises
        ------
        NotFoundError
            If the settings name no such engine.
        """
        return look_back(self._files(engine).history, ids, start, end, time.time(), most)

    def remembered(self, engine: str) -> Remembered:
        """Since when the containers of an engine are remembered, and how much that takes.

        Raises
        ------
        NotFoundError
            If the settings name no such engine.
        """
        folder = self._files(engine).history
        return Remembered(oldest(folder), size(folder))

    def totals_history(self, engine: str, seconds: float = 600.0) -> History:
        """The last minutes of all containers of `look` together, beside the size of the host.

        Raises
        ------
        NotFoundError
            If the settings name no such engine.
        """
        found = read_ring(self._files(engine).ring, [TOTALS], seconds)
        nothing = RingHistory(np.empty(0), np.empty((0, len(ROW)), np.float32))
        return _history(found.get(TOTALS, nothing))

    def _files(self, engine: str) -> LiveFiles:
        self._engines.address(engine)
        return LiveFiles(self._home, engine)


def _with_tasks(seen: LiveView, files: LiveFiles, going_on: dict[str, TaskInfo]) -> LiveView:
    """A sample with the attached policy and the running recording, and the policy's lists in its rows."""
    attach, record = going_on.get(ATTACH), going_on.get(RECORD)
    if record is not None:
        seen = replace(seen, recording=_recording(record, files))
    if attach is None:
        return seen
    said = read_attached(files.attached)
    if said is None or said[0].task != attach.id:
        return replace(seen, attached=_attaching(attach))
    policy = said[0].policy
    phases = policy in POLICIES and POLICIES[policy].sees_use
    rows = marked(seen.rows, said[1], phases=phases)
    totals = replace(seen.totals, labels=counted(row.label for row in rows))
    return replace(seen, attached=said[0], rows=rows, totals=totals)


def _attaching(task: TaskInfo) -> Attached:
    """A policy that has not said anything yet."""
    params = task.params
    return Attached(
        task=task.id,
        policy=str(params.get("policy", "")),
        mode=Mode(params.get("mode", Mode.WATCH)),
        settings=params.get("settings", {}),
        since=task.created.timestamp(),
    )


def _recording(task: TaskInfo, files: LiveFiles) -> Recording:
    said = read_recording(files.recording)
    if said is not None and said.task == task.id:
        return said
    return Recording(task.id, str(task.params.get("name", "")), task.created.timestamp())


def _history(past: RingHistory) -> History:
    lines = {name: past.values[:, FIELDS.index(name)] for name in _SHOWN}
    return History(past.time, **lines)
