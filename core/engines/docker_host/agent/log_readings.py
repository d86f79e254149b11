"""Reading losses from a container's log, for jobs without an agent."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from core.engines.docker_host.agent.readings import Place
from core.engines.values import GOAL, LOGS_EVERY, LOSS
from core.errors import InputError, PhaseDockError
from core.progress import Goal, ProgressReader

if TYPE_CHECKING:
    from collections.abc import Mapping

    from core.engines.docker_host.agent.files import AgentFolder
    from core.engines.docker_host.agent.readings import AgentReadings
    from core.engines.docker_host.host.host import Host
    from core.scheduling.model import Reading

_FEW: Final = 1000
_MANY: Final = 100_000
"""Lines that are read at most; what a container printed before them is left out."""


class LogReadings:
    """Finds E, the value of the evaluation function, in a container's log."""

    def __init__(
        self, host: Host, container: str, labels: Mapping[str, str], every: float = LOGS_EVERY
    ) -> None:
        self._host, self._container, self._every = host, container, every
        self._since, self._asked = 0.0, float("-inf")
        self._reader: ProgressReader | None
        try:
            self._reader = ProgressReader(labels.get(LOSS, ""), labels.get(GOAL, "") or Goal.MIN)
        except InputError:
            self._reader = None

    def place(self) -> Place:
        """Steps done and in all, and how long one takes, as far as its lines say."""
        if self._reader is None:
            return Place()
        found = self._reader.position
        return Place(found.steps, found.total_steps, self._reader.step_seconds)

    def news(self, at_end: bool = False) -> list[Reading]:
        """Unix seconds and E of what was printed since the last read; nothing where it cannot be read."""
        now = time.monotonic()
        if self._reader is None or (now - self._asked < self._every and not at_end):
            return []
        self._asked = now
        try:
            lines = self._lines()
        except PhaseDockError:
            return []
        if lines:
            self._since = lines[-1][0]
        return list(self._reader.feed(lines))

    def _lines(self) -> list[tuple[float, str]]:
        """New lines; Docker reads as many as are requested, new or not, so few are requested at first."""
        if self._since:
            lines = self._host.logs_since(self._container, self._since, _FEW)
            if len(lines) < _FEW:
                return lines
        return self._host.logs_since(self._container, self._since, _MANY)


class AgentOrLog:
    """Reads what an agent reports, and the log for as long as no agent has said anything.

    Every program is given a folder; whether it has an agent is known only once that writes there, which it
    does before its first step.
    """

    def __init__(self, agent: AgentFolder, reported: AgentReadings, printed: LogReadings) -> None:
        self._agent, self._reported, self._printed = agent, reported, printed

    def place(self) -> Place:
        """Steps done and in all, as far as the log says; an agent reports them elsewhere."""
        return self._printed.place()

    def news(self, at_end: bool = False) -> list[Reading]:
        """Unix seconds and E of what was reported, or printed, since the last read."""
        return self._reported.news(at_end) if self._agent.says().state else self._printed.news(at_end)
