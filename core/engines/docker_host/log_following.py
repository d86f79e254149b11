"""Following what a job prints where it has no agent: its container's log, line by line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from core.engines.docker_host.containers import GOAL, LOSS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from core.engines.docker_host.host import Host
    from core.scheduling.model import Reading

_EVERY: Final = 0.9
"""Seconds between two looks at a log; each costs a request."""


class LogReadings:
    """Finds E in a container's log.

    Parameters
    ----------
    host
        Where the container is.
    container
        Its id.
    labels
        Its labels, which may say how E is found and which way it goes.
    """

    def __init__(self, host: Host, container: str, labels: Mapping[str, str]) -> None:
        self._host, self._container = host, container
        self._labels = (labels.get(LOSS, ""), labels.get(GOAL, ""))
        self._since = 0.0
        self._asked = float("-inf")

    def news(self) -> list[Reading]:
        """Unix seconds and E of what was printed since the last call; nothing where it cannot be read."""
        return []
