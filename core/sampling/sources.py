"""Samples of containers, for policies that steer by them: the watcher's, or their own without a watcher."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, TypeAlias

from core.sampling.ring_buffer import rows_since
from core.sampling.sampler import ring_row, row_of
from core.sampling.usage import UsageReader

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable
    from pathlib import Path

    from core.engines.ports import WatchedHost
    from core.sampling.sampler import Rows

Samples: TypeAlias = "Callable[[], list[tuple[float, Rows]]]"
"""Gives the samples since it was last called, each with its moment in seconds since 1970, oldest first."""

_EVERY = 1.0
_EARLY = 0.05


class RingSamples:
    """What the watcher of an engine writes from now on.

    Parameters
    ----------
    ring
        Its file.
    """

    def __init__(self, ring: Path) -> None:
        self._ring = ring
        self._since = time.time()

    def __call__(self) -> list[tuple[float, Rows]]:
        """The samples since the last call."""
        found = rows_since(self._ring, self._since)
        if found:
            self._since = found[-1][0]
        return found


class HostSamples:
    """Looks at containers itself, at most once a second.

    Parameters
    ----------
    hosts
        Where they are.
    wanted
        The ids of those that are looked at.
    """

    def __init__(self, hosts: Iterable[WatchedHost], wanted: Callable[[], Collection[str]]) -> None:
        self._readers = [(host, UsageReader()) for host in hosts]
        self._wanted = wanted
        self._due = 0.0

    def __call__(self) -> list[tuple[float, Rows]]:
        """One sample, or none where the last one was less than a second ago."""
        now = time.monotonic()
        if now < self._due - _EARLY:
            return []
        self._due = max(self._due + _EVERY, now)
        wanted, rows = set(self._wanted()), {}
        for host, reader in self._readers:
            containers = [each for each in host.containers() if each.id in wanted]
            usage, at = reader.take(host.counters(containers)), time.time()
            shown = [row_of(each, usage.get(each.id), False, False, at) for each in containers]
            rows.update({row.id: ring_row(row) for row in shown if row.cpu is not None})
        return [(time.time(), rows)] if rows else []
