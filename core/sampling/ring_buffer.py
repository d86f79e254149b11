"""The last minutes of every container, in a file that one process writes and others read at the same time.

Rows lie one after another in a memory-mapped array of fixed length, the newest over the oldest. A counter at
the head of the file is odd while a row is being written and even otherwise: a reader that sees the same even
number before and after its copy has a whole one, and any other reader tries again (a sequence lock, as in
Lameter 2005, *Effective synchronization on Linux/NUMA systems*). The writer never waits.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from core.workspace.files import new_id

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

Values: TypeAlias = npt.NDArray[np.float32]
Copy = TypeVar("Copy")

FIELDS = (
    *("cpu", "cpu_limit", "memory", "memory_limit", "loss", "throttled", "io", "network"),
    *("gpu", "gpu_memory", "gpu_power"),
)
"""What is sampled of a container and kept, in recordings and in the history."""
ROW = (*FIELDS, "withheld")
"""What a ring has of it: in its last place what only policies need that are attached now."""
TOTALS = "*"
_MAGIC = 0x50444B5F52494E33
_HEAD = np.dtype([("magic", "<i8"), ("turn", "<i8"), ("capacity", "<i8"), ("length", "<i8"), ("rows", "<i8")])
_TRIES = 50
_PAUSE = 0.002


@dataclass(frozen=True, slots=True)
class RingHistory:
    """A copy of rows of a ring, oldest first."""

    #: Seconds since 1970, shape (n,).
    time: npt.NDArray[np.float64]
    #: Shape (n, len(ROW)); NaN where nothing was known.
    values: Values


class _Parts:
    """The parts of a ring's file, as arrays over its memory map."""

    def __init__(self, path: Path, mode: Any) -> None:
        head = np.fromfile(path, _HEAD, 1)
        if len(head) == 0 or head["magic"][0] != _MAGIC:
            raise ValueError("not a ring")
        self.capacity, self.length = int(head["capacity"][0]), int(head["length"][0])
        if path.stat().st_size != _size(self.capacity, self.length):
            raise ValueError("not a whole ring")
        memory = np.memmap(path, np.uint8, mode)
        self.head = memory[: _HEAD.itemsize].view(_HEAD)
        start = _HEAD.itemsize
        stop = start + 8 * self.length
        self.time = memory[start:stop].view(np.float64)
        start, stop = stop, stop + 64 * self.capacity
        self.ids = memory[start:stop].view("S64")
        start, stop = stop, stop + 8 * self.capacity
        self.last = memory[start:stop].view(np.int64)
        self.values = memory[stop:].view(np.float32).reshape(self.length, self.capacity, len(ROW))

    @property
    def turn(self) -> int:
        return int(self.head["turn"][0])

    @property
    def rows(self) -> int:
        return int(self.head["rows"][0])


class RingWriter:
    """Writes a ring; one at a time."""

    def __init__(self, path: Path, length: int = 600, capacity: int = 64) -> None:
        self._path = path
        self._parts = _opened(path, length) or _made(path, length, capacity)
        self._slots = {
            name.decode(): at for at, name in enumerate(self._parts.ids.tolist()) if name
        }  # numpy strips the zeros at the end

    def append(self, at: float, rows: Mapping[str, Sequence[float]]) -> None:
        """Write one row: of each container the values of `ROW`, NaN where unknown."""
        new = [name for name in rows if name not in self._slots]
        self._make_room(rows, len(new))
        parts = self._parts
        row, place = parts.rows, parts.rows % parts.length
        taken = set(self._slots.values())
        free = (slot for slot in range(parts.capacity) if slot not in taken)
        parts.head["turn"] += 1
        for name, slot in zip(new, free, strict=False):
            self._slots[name] = slot
            parts.ids[slot] = name.encode()
            parts.values[:, slot] = np.nan
        parts.values[place] = np.nan
        slots = [self._slots[name] for name in rows]
        if slots:
            parts.values[place, slots] = np.array(list(rows.values()), np.float32)
            parts.last[slots] = row
        parts.time[place] = at
        parts.head["rows"] = row + 1
        parts.head["turn"] += 1

    def _make_room(self, coming: Mapping[str, object], wanted: int) -> None:
        """Forget containers of which no row is left and none comes; double the room if that is not enough."""
        parts, before = self._parts, self._parts.rows - self._parts.length
        slots = self._slots.items()
        old = [name for name, slot in slots if name not in coming and parts.last[slot] <= before]
        if old:
            parts.head["turn"] += 1
            parts.ids[[self._slots.pop(name) for name in old]] = b""
            parts.head["turn"] += 1
        while len(self._slots) + wanted > self._parts.capacity:
            self._double()

    def _double(self) -> None:
        before = self._parts
        draft = self._path.with_name(f".{self._path.name}.{new_id()}")
        after = _made(draft, before.length, 2 * before.capacity)
        n = before.capacity
        after.time[:], after.ids[:n], after.last[:n] = before.time, before.ids, before.last
        after.values[:, :n] = before.values
        after.head["rows"] = before.rows
        draft.replace(self._path)
        self._parts = after


def read_ring(path: Path, names: Sequence[str], seconds: float) -> dict[str, RingHistory]:
    """The last rows of some containers; those without any are left out."""
    return _whole(path, lambda parts: _copied(parts, names, seconds)) or {}


def rows_since(path: Path, since: float) -> list[tuple[float, dict[str, tuple[float, ...]]]]:
    """The rows that came after a moment, oldest first."""
    return _whole(path, lambda parts: _rows(parts, since)) or []


def _whole(path: Path, copied: Callable[[_Parts], Copy]) -> Copy | None:
    """A copy of a part of a ring that nothing was written to in the meantime; None where there is no ring."""
    for _ in range(_TRIES):
        try:
            parts = _Parts(path, "r")
        except (OSError, ValueError):
            return None
        before = parts.turn
        copy = None if before % 2 else copied(parts)
        if copy is not None and parts.turn == before:
            return copy
        time.sleep(_PAUSE)
    return None


def _order(parts: _Parts) -> npt.NDArray[np.int64]:
    """The places of its rows, oldest first."""
    return np.arange(max(0, parts.rows - parts.length), parts.rows) % parts.length


def _slots(parts: _Parts) -> dict[str, int]:
    return {name.decode(): at for at, name in enumerate(parts.ids.tolist()) if name}


def _rows(parts: _Parts, since: float) -> list[tuple[float, dict[str, tuple[float, ...]]]]:
    order = _order(parts)
    new = order[np.array(parts.time[order]) > since]
    slots = _slots(parts)
    slots.pop(TOTALS, None)
    values = np.array(parts.values[new]).astype(np.float64)
    known = np.asarray(np.isfinite(values).any(axis=2))
    return [
        (
            float(parts.time[place]),
            {name: tuple(values[at, slot].tolist()) for name, slot in slots.items() if known[at, slot]},
        )
        for at, place in enumerate(new.tolist())
    ]


def _copied(parts: _Parts, names: Sequence[str], seconds: float) -> dict[str, RingHistory]:
    order = _order(parts)
    moments = np.array(parts.time[order])
    if not len(moments):
        return {}
    order, moments = order[moments >= moments[-1] - seconds], moments[moments >= moments[-1] - seconds]
    slots = _slots(parts)
    known = [name for name in names if name in slots]
    values = parts.values[np.ix_(order, np.array([slots[name] for name in known], np.int64))]
    found: dict[str, RingHistory] = {}
    for at, name in enumerate(known):
        own = np.ascontiguousarray(values[:, at])
        there = np.isfinite(own).any(axis=1)
        if there.any():
            first = int(there.argmax())
            found[name] = RingHistory(moments[first:], own[first:])
    return found


def _size(capacity: int, length: int) -> int:
    return _HEAD.itemsize + 8 * length + 72 * capacity + 4 * length * capacity * len(ROW)


def _opened(path: Path, length: int) -> _Parts | None:
    """A whole ring that is there already, or None."""
    try:
        parts = _Parts(path, "r+")
    except (OSError, ValueError):
        return None
    return parts if parts.turn % 2 == 0 and parts.length == length else None


def _made(path: Path, length: int, capacity: int) -> _Parts:
    draft = path.with_name(f".{path.name}.{new_id()}")
    draft.parent.mkdir(parents=True, exist_ok=True)
    head = np.zeros(1, _HEAD)
    head["magic"], head["capacity"], head["length"] = _MAGIC, capacity, length
    try:
        with draft.open("wb") as file:
            # if the disk were full later, writing into a hole of a mapped file would kill the process
            os.posix_fallocate(file.fileno(), 0, _size(capacity, length))
            file.write(head.tobytes())
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
    return _Parts(path, "r+")
