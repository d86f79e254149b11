"""Which processors a process may use: for libraries whose number of threads is fixed once they have started.

TensorFlow's threads are such: Eigen, which computes, asks for as many parts as its pool had threads at the
start. Allowed fewer processors, these threads take turns on them, so the process uses as many processors as
threads were asked for, and splits its sums as before. The processors are those that others use least, and
they are changed while others crowd them: the kernel no longer does that by itself.
"""

from __future__ import annotations

import os
import random
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

MOVE_ABOVE = 0.2
"""Share of a processor that others must use more of ours than of another one before we go there."""
LOOK = 0.5
"""Least number of seconds over which the use of processors is compared."""
_TASKS, _STAT = Path("/proc/self/task"), Path("/proc/stat")


def least_used(wanted: int, usable: Collection[int], used: Mapping[int, float]) -> set[int]:
    """Return the `wanted` processors of `usable` that others use least, at least one."""
    order = sorted(usable, key=lambda one: (used.get(one, 0.0), one))
    return set(order[: max(1, wanted)])


def better(own: Collection[int], usable: Collection[int], used: Mapping[int, float]) -> set[int]:
    """Return the processors to use instead of `own`: one is exchanged where another is clearly less used."""
    others = [one for one in usable if one not in own]
    if not own or not others:
        return set(own)
    crowded = max(own, key=lambda one: (used.get(one, 0.0), one))
    free = min(others, key=lambda one: (used.get(one, 0.0), one))
    if used.get(crowded, 0.0) - used.get(free, 0.0) <= MOVE_ABOVE:
        return set(own)
    return (set(own) - {crowded}) | {free}


def busy_ticks(text: str) -> dict[int, int]:
    """Return the hundredths of seconds that each processor was busy, from the text of ``/proc/stat``."""
    found = {}
    for line in text.splitlines():
        name, *fields = line.split() or [""]
        if name[3:].isdecimal() and name.startswith("cpu"):
            numbers = [int(one) for one in fields[:8]]
            found[int(name[3:])] = sum(numbers) - sum(numbers[3:5])  # without idle and waiting for disks
    return found


@dataclass(frozen=True)
class Look:
    """How much processors were used until a moment."""

    #: The moment, in seconds of a clock that is never set back.
    at: float
    #: Processor seconds that this process has used.
    own: float
    #: Hundredths of seconds that each processor was busy.
    busy: Mapping[int, int]

    @classmethod
    def now(cls) -> Look:
        """Read the counters; where the system hides those of processors, all count as idle."""
        try:
            busy = busy_ticks(_STAT.read_text(encoding="ascii"))
        except (OSError, ValueError):
            busy = {}
        return cls(time.monotonic(), time.process_time(), busy)

    def used_by_others_since(self, before: Look, own: Collection[int]) -> dict[int, float]:
        """Return the share of each processor, 0 to 1, that others used since an earlier look."""
        seconds = self.at - before.at
        share = (self.own - before.own) / max(1, len(own))
        busy = {one: (ticks - before.busy.get(one, 0)) / 100 for one, ticks in self.busy.items()}
        return {one: (used - (share if one in own else 0)) / seconds for one, used in busy.items()}


class ProcessorLimit:
    """Limits all threads of this process to some of the processors that it had when this was made."""

    def __init__(
        self, chance: Callable[[], float] = random.random, look: Callable[[], Look] = Look.now
    ) -> None:
        self._chance, self._now = chance, look
        self._start, self._limited = os.sched_getaffinity(0), False
        self._look, self._used = look(), dict[int, float]()

    def limit(self, wanted: int) -> None:
        """Let all threads use `wanted` processors, or all where there are no more than that."""
        self._look_around()
        usable = self._usable()
        self._limited = wanted < len(usable)
        _allow(least_used(wanted, usable, self._used) if self._limited else usable)

    def look_again(self) -> None:
        """Leave a processor that others crowd for one that is less used.

        Only every second time: of two processes that meet on one processor, both would leave.
        """
        if not self._limited or not self._look_around():
            return
        own = allowed_now()
        usable = self._usable()
        _allow(better(own & usable or usable, usable, self._used) if self._chance() < 0.5 else own)

    def _look_around(self) -> bool:
        """Find out what others use, unless the last look was just now; return whether it was done."""
        now = self._now()
        if now.at - self._look.at < LOOK:
            return False
        self._used = now.used_by_others_since(self._look, allowed_now())
        self._look = now
        return True

    def _usable(self) -> set[int]:
        """Return the processors of the start that the container still has, or all that it has now."""
        for wish in (self._start, range(os.sysconf("SC_NPROCESSORS_CONF"))):
            with suppress(OSError):  # none of them is left
                os.sched_setaffinity(0, wish)
                break
        return os.sched_getaffinity(0)


def allowed_now() -> set[int]:
    """Return the processors that any thread of this process may use now."""
    found: set[int] = set()
    for task in _tasks():
        with suppress(OSError):  # it has ended
            found |= os.sched_getaffinity(task)
    return found


def _tasks() -> set[int]:
    return {int(one.name) for one in _TASKS.iterdir()}


def _allow(processors: Collection[int]) -> None:
    """Limit every thread; one that is made meanwhile has the limits of the one that makes it."""
    done: set[int] = set()
    while new := _tasks() - done:
        for task in new:
            with suppress(OSError):  # it has ended, or the container lost the processors meanwhile
                os.sched_setaffinity(task, processors)
        done |= new
