"""A size-bounded in-process LRU cache for values that are expensive to compute.

The least recently used go first. Two threads that want the same value at the same time make it
once: the second waits for the first (*single flight*). Values are shared: do not modify them.
"""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from concurrent.futures import Future
from typing import TYPE_CHECKING, Generic, TypeVar

from core.units import GIB

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from core.traces.model import TraceSet

T = TypeVar("T")
_BYTES_PER_ID = 120


class ByteCache(Generic[T]):
    """A thread-safe cache, bounded by the bytes of its values."""

    def __init__(self, capacity: float, weigh: Callable[[T], float]) -> None:
        self._capacity = capacity
        self._weigh = weigh
        self._lock = threading.Lock()
        self._kept: OrderedDict[Hashable, tuple[T, float]] = OrderedDict()
        self._flights: dict[Hashable, Future[T]] = {}
        self._bytes = 0.0

    @property
    def n_bytes(self) -> float:
        """The bytes of all cached values."""
        return self._bytes

    def peek(self, key: Hashable) -> T | None:
        """Give a kept value, or None, without making it."""
        with self._lock:
            entry = self._kept.get(key)
            if entry is None:
                return None
            self._kept.move_to_end(key)
            return entry[0]

    def get(self, key: Hashable, make: Callable[[], T]) -> T:
        """Give the value of a key, made by `make` where it is not kept.

        An error of `make` reaches every caller that waited for it, and nothing is kept.
        """
        with self._lock:
            entry = self._kept.get(key)
            if entry is not None:
                self._kept.move_to_end(key)
                return entry[0]
            flight = self._flights.get(key)
            is_loader = flight is None
            if flight is None:
                flight = self._flights[key] = Future()
        if is_loader:
            self._fly(key, flight, make)
        return flight.result()

    def forget(self, matches: Callable[[Hashable], bool]) -> None:
        """Drop the kept values whose keys match."""
        with self._lock:
            for key in [key for key in self._kept if matches(key)]:
                self._bytes -= self._kept.pop(key)[1]

    def _fly(self, key: Hashable, flight: Future[T], make: Callable[[], T]) -> None:
        try:
            value = make()
        except BaseException as error:
            with self._lock:
                del self._flights[key]
            flight.set_exception(error)
            raise
        with self._lock:
            del self._flights[key]
            self._keep(key, value)
        flight.set_result(value)

    def _keep(self, key: Hashable, value: T) -> None:
        weight = float(self._weigh(value))
        if weight > self._capacity:
            return
        self._kept[key] = (value, weight)
        self._bytes += weight
        while self._bytes > self._capacity:
            _, (_, released) = self._kept.popitem(last=False)
            self._bytes -= released


def share_of_memory(share: float) -> float:
    """A share of the machine's memory in bytes."""
    try:
        total = float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (ValueError, OSError):
        total = 4 * GIB
    return share * total


def weight_of(traces: TraceSet) -> float:
    """The bytes that a trace set takes in memory, about."""
    arrays = sum(values.nbytes for values in traces.columns)
    arrays += traces.time.nbytes + traces.offsets.nbytes + traces.breaks.nbytes
    return float(arrays + _BYTES_PER_ID * traces.n_executions * (1 + len(traces.attributes)))
