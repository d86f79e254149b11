"""From cumulative counters to usage since the previous reading."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from core.engines.values import Counters


@dataclass(frozen=True, slots=True)
class Usage:
    """What a container used between two readings.

    Parameters
    ----------
    cpu
        Cores, the mean over the interval; None at the first reading.
    memory
        Bytes at its end.
    io, network
        Bytes per second, both directions together; None at the first reading.
    throttled
        The share of its quota's periods in which it was throttled; None where no period passed.
    withheld
        Cores that its quota kept from it: for how long its threads were throttled, on each processor, per
        second; None at the first reading.
    """

    cpu: float | None
    memory: float
    io: float | None = None
    network: float | None = None
    throttled: float | None = None
    withheld: float | None = None


class UsageReader:
    """Remembers the last reading of every container."""

    def __init__(self) -> None:
        self._before: dict[str, Counters] = {}

    def take(self, counters: Mapping[str, Counters]) -> dict[str, Usage]:
        """What each container used since it was read before; others are forgotten."""
        usage = {name: between(self._before.get(name), now) for name, now in counters.items()}
        self._before = dict(counters)
        return usage


def between(before: Counters | None, now: Counters) -> Usage:
    """What was used between two readings of a container.

    A counter that fell belongs to a container that was started again: there is no reading before.
    """
    if before is None or now.time <= before.time or now.cpu_seconds < before.cpu_seconds:
        return Usage(None, float(now.memory))
    seconds = now.time - before.time
    periods = now.periods - before.periods
    held_back = now.throttled_periods - before.throttled_periods
    moved = now.io_read + now.io_written - before.io_read - before.io_written
    talked = now.net_received + now.net_sent - before.net_received - before.net_sent
    return Usage(
        (now.cpu_seconds - before.cpu_seconds) / seconds,
        float(now.memory),
        max(moved, 0) / seconds,
        max(talked, 0) / seconds,
        min(max(held_back / periods, 0.0), 1.0) if periods > 0 else None,
        max(now.throttled_seconds - before.throttled_seconds, 0.0) / seconds,
    )
