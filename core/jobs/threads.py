"""Threads of the numerical libraries and their processors, changed while a program runs.

TensorFlow's number of threads is fixed once it has started: Eigen splits each computation into as many parts
as its pool had threads at the start. With fewer allowed processors these threads take turns, so the process
uses the requested number of processors and splits its sums as before. It takes the processors that other
processes use least and exchanges crowded ones, because the kernel no longer balances the load by itself.
"""

from __future__ import annotations

import os
import random
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping


MIN_USAGE_DIFFERENCE = 0.2
"""Difference in other processes' usage, as a share of a processor, that makes a process change processors."""
CHECK_INTERVAL = 0.5
"""Minimum number of seconds over which the usage of processors is compared."""
_TASKS, _STAT = Path("/proc/self/task"), Path("/proc/stat")


def least_used_processors(count: int, usable: Collection[int], used: Mapping[int, float]) -> set[int]:
    """Return the `count` processors of `usable` with the least usage by others, at least one."""
    order = sorted(usable, key=lambda one: (used.get(one, 0.0), one))
    return set(order[: max(1, count)])


def exchange_crowded_processor(
    allowed: Collection[int], usable: Collection[int], used: Mapping[int, float]
) -> set[int]:
    """Return `allowed` with the most crowded processor exchanged for a clearly freer one."""
    others = [one for one in usable if one not in allowed]
    if not allowed or not others:
        return set(allowed)
    crowded = max(allowed, key=lambda one: (used.get(one, 0.0), one))
    free = min(others, key=lambda one: (used.get(one, 0.0), one))
    if used.get(crowded, 0.0) - used.get(free, 0.0) <= MIN_USAGE_DIFFERENCE:
        return set(allowed)
    return (set(allowed) - {crowded}) | {free}


def parse_busy_ticks(text: str) -> dict[int, int]:
    """Return each processor's busy time in hundredths of seconds from the text of ``/proc/stat``."""
    ticks = {}
    for line in text.splitlines():
        name, *fields = line.split() or [""]
        if name[3:].isdecimal() and name.startswith("cpu"):
            numbers = [int(one) for one in fields[:8]]
            ticks[int(name[3:])] = sum(numbers) - sum(numbers[3:5])  # without idle and waiting for disks
    return ticks


@dataclass(frozen=True)
class ProcessorUsage:
    """Usage counters of the processors at one time."""

    #: Seconds of a monotonic clock.
    at: float
    #: Processor seconds that this process has used.
    process_seconds: float
    #: Hundredths of seconds that each processor was busy.
    busy: Mapping[int, int]

    @classmethod
    def now(cls) -> ProcessorUsage:
        """Read the counters; processors whose counters the system hides count as idle."""
        try:
            busy = parse_busy_ticks(_STAT.read_text(encoding="ascii"))
        except (OSError, ValueError):
            busy = {}
        return cls(time.monotonic(), time.process_time(), busy)

    def used_by_others_since(self, before: ProcessorUsage, allowed: Collection[int]) -> dict[int, float]:
        """Return the share of each processor, 0 to 1, used by other processes since `before`."""
        seconds = self.at - before.at
        share = (self.process_seconds - before.process_seconds) / max(1, len(allowed))
        busy = {one: (ticks - before.busy.get(one, 0)) / 100 for one, ticks in self.busy.items()}
        return {one: (used - (share if one in allowed else 0)) / seconds for one, used in busy.items()}


class ProcessorLimit:
    """Limits all threads of this process to some of its initial processors."""

    def __init__(
        self,
        chance: Callable[[], float] = random.random,
        read_usage: Callable[[], ProcessorUsage] = ProcessorUsage.now,
    ) -> None:
        self._chance, self._read_usage = chance, read_usage
        self._start, self._limited = os.sched_getaffinity(0), False
        self._last_usage, self._used = read_usage(), dict[int, float]()

    def limit(self, count: int) -> None:
        """Limit all threads to `count` processors, or to all if there are no more."""
        self._update_usage()
        usable = self._usable_processors()
        self._limited = count < len(usable)
        _set_affinity(least_used_processors(count, usable, self._used) if self._limited else usable)

    def move_if_crowded(self) -> None:
        """Exchange a crowded processor for a freer one.

        Only every second time: otherwise two processes that share a processor would both leave it.
        """
        if not self._limited or not self._update_usage():
            return
        allowed = allowed_now()
        usable = self._usable_processors()
        _set_affinity(
            exchange_crowded_processor(allowed & usable or usable, usable, self._used)
            if self._chance() < 0.5
            else allowed
        )

    def _update_usage(self) -> bool:
        """Measure other processes' usage, unless just measured; return whether it was measured."""
        now = self._read_usage()
        if now.at - self._last_usage.at < CHECK_INTERVAL:
            return False
        self._used = now.used_by_others_since(self._last_usage, allowed_now())
        self._last_usage = now
        return True

    def _usable_processors(self) -> set[int]:
        """Return the initial processors that the container still has, else all that it has now."""
        for processors in (self._start, range(os.sysconf("SC_NPROCESSORS_CONF"))):
            with suppress(OSError):  # the container has none of them any more
                os.sched_setaffinity(0, processors)
                break
        return os.sched_getaffinity(0)


def allowed_now() -> set[int]:
    """Return the processors that at least one thread of this process may use."""
    allowed: set[int] = set()
    for task in _thread_ids():
        with suppress(OSError):  # it has ended
            allowed |= os.sched_getaffinity(task)
    return allowed


def _thread_ids() -> set[int]:
    return {int(one.name) for one in _TASKS.iterdir()}


def _set_affinity(processors: Collection[int]) -> None:
    """Limit every thread; a new thread inherits the limits of its creator."""
    limited: set[int] = set()
    while new := _thread_ids() - limited:
        for task in new:
            with suppress(OSError):  # it has ended, or the container lost the processors meanwhile
                os.sched_setaffinity(task, processors)
        limited |= new


POOLS = ("TF_NUM_INTRAOP_THREADS", "TF_NUM_INTEROP_THREADS")
"""TensorFlow's variables for the sizes of its pools: inside an operation, and of operations side by side."""
_PROCESSORS = ProcessorLimit()


def fix_pools(threads: int) -> None:
    """Set the initial number of threads of libraries that cannot change it later (TensorFlow).

    Must be called before such a library is loaded.
    """
    os.environ.update(dict.fromkeys(POOLS, str(threads)))


def set_threads(count: int | None) -> int:
    """Set the number of threads of this process's numerical libraries and return the number in use.

    Sets PyTorch where it is loaded, and OpenMP and NumPy's linear algebra where threadpoolctl is installed.
    TensorFlow keeps its initial threads, but all of them together may use at most `count` processors. Must
    be called from the computing thread, because OpenMP counts by thread.
    """
    in_use = _set_library_threads(count)
    torch = sys.modules.get("torch")
    if torch is not None:
        if count is not None:
            torch.set_num_threads(count)
        in_use = int(torch.get_num_threads())
    if "tensorflow" in sys.modules:
        in_use = _limit_tensorflow(count)
    return in_use


def count_usable_cores() -> int:
    """Return the number of processors this process may run on: the libraries' initial number of threads."""
    return len(os.sched_getaffinity(0))


def _set_library_threads(count: int | None) -> int:
    with suppress(ImportError):
        import threadpoolctl  # noqa: PLC0415 - a program without it keeps its threads

        if count is not None:
            threadpoolctl.threadpool_limits(limits=count)
        return max([pool["num_threads"] for pool in threadpoolctl.threadpool_info()], default=1)
    return 1


def _limit_tensorflow(count: int | None) -> int:
    """Limit TensorFlow's processors and return how many of its threads can compute at the same time."""
    pool = _read_pool_size()
    if count is None:
        _PROCESSORS.move_if_crowded()
    else:
        _PROCESSORS.limit(count if count < pool else sys.maxsize)
    return min(pool, len(allowed_now()))


@cache
def _read_pool_size() -> int:
    size = os.environ.get(POOLS[0], "")
    return int(size) if size.isdecimal() and int(size) > 0 else count_usable_cores()
