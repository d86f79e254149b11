"""Losses of running containers, from their agent's file or their log.

An agent's file is read at every sample, since that costs microseconds. Logs have to be requested from Docker,
a few milliseconds for each container, so they are read in turn: only a few per sample, those first that are
longest overdue, and the log of a container that prints nothing new is read less and less often.
"""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, TypeAlias

from core.engines.errors import ChangeRefused, ContainerGone
from core.engines.values import GOAL, LOSS
from core.errors import InputError
from core.progress import Evaluation, ProgressReader, read_goal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from core.engines.ports import Container, Readings, WatchedHost

Loss: TypeAlias = "tuple[float | None, str]"
"""The last value of E, and where there is none a sentence that says why."""

_AT_MOST = 8
_FOR_AT_MOST = 0.1
_SOONEST, _LATEST, _SLOWER = 2.0, 20.0, 1.5
_FIRST_LINES, _LINES = 400, 4000
_NOTHING_YET = "Its agent has reported nothing yet: wait for its first step."


class LossReader:
    """Follows the containers of one host."""

    def __init__(self, host: WatchedHost) -> None:
        self._host = host
        self._known: dict[str, _FromAgent | _FromLog] = {}

    def read(self, containers: Sequence[Container], at: float) -> dict[str, Loss]:
        """The last value of each container, by id.

        Raises
        ------
        HostLost
            If the host does not answer.
        """
        known = self._known
        self._known = {each.id: known.get(each.id) or self._source(each) for each in containers}
        logs = []
        for source in self._known.values():
            if isinstance(source, _FromAgent):
                source.read()
            elif source.due <= at:
                logs.append(source)
        begun = time.monotonic()
        for source in sorted(logs, key=lambda each: each.due)[:_AT_MOST]:
            source.read(self._host, at)
            if time.monotonic() - begun > _FOR_AT_MOST:
                break
        return {name: (source.value, source.why) for name, source in self._known.items()}

    def _source(self, container: Container) -> _FromAgent | _FromLog:
        readings = self._host.readings(container)
        if readings is not None:
            return _FromAgent(readings, container.labels.get(GOAL, ""))
        return _FromLog(container)


class _FromAgent:
    """The readings that an agent writes."""

    def __init__(self, readings: Readings, goal: str) -> None:
        self._readings = readings
        self.value: float | None = None
        self.why = _NOTHING_YET
        try:
            self._evaluate = Evaluation(read_goal(goal))
        except InputError as error:
            self.why = str(error)
            self._evaluate = Evaluation(read_goal(""))

    def read(self) -> None:
        for _, printed in self._readings.news():
            value = self._evaluate(printed)
            if value is not None:
                self.value, self.why = value, ""


class _FromLog:
    """What a container prints."""

    def __init__(self, container: Container) -> None:
        self._container = container.id
        self._since, self._every = 0.0, _SOONEST
        self._reader: ProgressReader | None = None
        self.value: float | None = None
        self.why = ""
        self.due = 0.0
        try:
            self._reader = ProgressReader(
                container.labels.get(LOSS, ""), container.labels.get(GOAL, "") or "min"
            )
        except InputError as error:
            self.why, self.due = str(error), math.inf

    def read(self, host: WatchedHost, at: float) -> None:
        """Read what was printed since the last time."""
        if self._reader is None:
            return
        try:
            lines = host.logs_since(self._container, self._since, _LINES if self._since else _FIRST_LINES)
        except (ContainerGone, ChangeRefused) as error:
            self.value, self.why, self.due = None, str(error), at + _LATEST
            return
        self._since = lines[-1][0] if lines else self._since
        for _, value in self._reader.feed(lines):
            self.value = value
        self.why = self._reader.why or ""
        if self.why:
            self.value = None
        self._every = _SOONEST if lines else min(self._every * _SLOWER, _LATEST)
        self.due = at + self._every
