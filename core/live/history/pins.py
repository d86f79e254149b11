"""Pins on the history: recordings that keep every second until their trace set is made.

A pin is a small file, written when a recording starts, every two seconds while it runs, and when it stops. It
contains the recording's subject and its number of samples. The samples themselves are in the history, which
keeps the chunks that a pin needs. A recording of a killed worker stays pinned from its start to half a minute
after its pin was last written.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

import orjson

from core.live.history.chunks import Span
from core.workspace.files import checked_id, write_atomically

if TYPE_CHECKING:
    from pathlib import Path

ABOUT = "about.json"
GRACE = 30.0
"""Seconds after a pin was last written for which its recording counts as running."""


@dataclass(frozen=True, slots=True)
class Pin:
    """A recording: its containers, its time, and how many samples it has so far."""

    #: Its id, and the engine.
    id: str
    engine: str
    #: The name of its trace set, and the id of the model whose phases are recorded as well.
    name: str
    model: str | None = None
    #: The ids of its containers; None for all that are sampled.
    containers: tuple[str, ...] | None = None
    #: Seconds since 1970; the end is None until it is stopped.
    start: float = 0.0
    end: float | None = None
    #: How much there is.
    samples: int = 0
    executions: int = 0
    bytes: int = 0
    #: When it was last written.
    modified: float = 0.0

    @property
    def until(self) -> float:
        """Its end, or the latest possible one."""
        return self.modified + GRACE if self.end is None else self.end

    def is_running(self, now: float) -> bool:
        """Whether samples are still needed for it."""
        return self.end is None and now < self.until

    @property
    def span(self) -> Span:
        """The time and containers that the history keeps for it."""
        return Span(self.start, self.until, None if self.containers is None else frozenset(self.containers))


_STORED = tuple(each.name for each in fields(Pin) if each.name not in ("id", "modified"))


def folder_of(home: Path, pin: str) -> Path:
    """Return the folder of a pin, with the samples of an earlier version's recording."""
    return home / "live" / "recordings" / checked_id(pin, "recording")


def read_pin(home: Path, pin: str) -> Pin | None:
    """Read a pin; None if there is none, or this version cannot read it."""
    path = folder_of(home, pin) / ABOUT
    try:
        modified, plain = path.stat().st_mtime, orjson.loads(path.read_bytes())
        plain = {"start": modified, **{name: plain[name] for name in _STORED if name in plain}}
        containers = plain.get("containers")
        plain["containers"] = None if containers is None else tuple(containers)
        return Pin(id=pin, modified=modified, **plain)
    except (OSError, ValueError, TypeError):
        return None


def write_pin(home: Path, pin: Pin) -> None:
    """Store a pin; its file is synced to the disk when it starts and when it stops."""
    plain = {name: getattr(pin, name) for name in _STORED}
    synced = pin.end is not None or not pin.samples
    write_atomically(folder_of(home, pin.id) / ABOUT, orjson.dumps(plain), sync=synced)


def pins_of(home: Path, engine: str | None = None) -> tuple[Pin, ...]:
    """Return the pins on the history of an engine, or of all, the oldest first."""
    paths = (home / "live" / "recordings").glob(f"*/{ABOUT}")
    pins = (read_pin(home, path.parent.name) for path in paths)
    matching = (pin for pin in pins if pin is not None and engine in (None, pin.engine))
    return tuple(sorted(matching, key=lambda pin: pin.start))


def is_recorded(home: Path, engine: str) -> bool:
    """Whether a recording of an engine is running."""
    now = time.time()
    return any(pin.is_running(now) for pin in pins_of(home, engine))
