"""The files through which worker and web process exchange the state of running containers.

| file in ``live/`` | written by | what |
|---|---|---|
| ``<engine>.wanted`` | whoever looks | a page looks at it (time of change); the model for phases |
| ``<engine>.json`` | the watcher | the last sample, once a second |
| ``<engine>.ring`` | the watcher | the last ten minutes (`core.sampling.ring_buffer`) |
| ``<engine>.history/`` | the watcher | a month (`core.live.history`) |
| ``<engine>.lock`` | the watcher | held by the one process that samples this engine |
| ``<engine>.attached.json`` | the task of the attached policy | what it does, and its lists |
| ``<engine>.jobs.json`` | the same task | how submitted jobs stand (`core.live.queue.values`) |
| ``<engine>.recording.json`` | the task that records | how much it has |

Each is replaced as a whole, so a reader has the old one or the new one; none survives a restart of the
machine in any way that matters, but for the history, so none is synced to the disk.
"""

from __future__ import annotations

import math
import os
import time
from typing import TYPE_CHECKING, Any

import orjson

from core.sampling.values import (
    ActivityEntry,
    Attached,
    ContainerRow,
    EngineInfo,
    EngineState,
    LiveView,
    Mode,
    Recording,
    Totals,
)
from core.scheduling.policies.autopilot.steering_evidence import evidence_from
from core.workspace.files import new_id

if TYPE_CHECKING:
    from pathlib import Path

WANTED_FOR = 30.0
FRESH_FOR = 5.0


class LiveFiles:
    """The files of one engine."""

    def __init__(self, home: Path, engine: str) -> None:
        folder = home / "live"
        self.engine = engine
        self.wanted = folder / f"{engine}.wanted"
        self.snapshot = folder / f"{engine}.json"
        self.ring = folder / f"{engine}.ring"
        self.history = folder / f"{engine}.history"
        self.lock = folder / f"{engine}.lock"
        self.attached = folder / f"{engine}.attached.json"
        self.jobs = folder / f"{engine}.jobs.json"
        self.recording = folder / f"{engine}.recording.json"

    def want(self, model: str | None) -> None:
        """Say that somebody looks, and by which model samples are to be labelled."""
        data = (model or "").encode()
        if _read(self.wanted) == data and self.wanted.exists():
            os.utime(self.wanted)
        else:
            replace(self.wanted, data)

    def is_wanted(self) -> bool:
        """Tell whether somebody looked, or a task said something, within the last `WANTED_FOR` seconds."""
        return any(age(path) < WANTED_FOR for path in (self.wanted, self.attached, self.recording))

    def model(self) -> str | None:
        """The model that the last one who looked chose."""
        data = _read(self.wanted)
        return data.decode() or None if data else None


def age(path: Path) -> float:
    """Seconds since a file was written; infinite where there is none."""
    try:
        return abs(time.time() - path.stat().st_mtime)
    except OSError:
        return math.inf


def replace(path: Path, data: bytes) -> None:
    """Put a small file in place of another in one step, without waiting for the disk."""
    draft = path.with_name(f".{path.name}.{new_id()}")
    try:
        draft.write_bytes(data)
        draft.replace(path)
    except FileNotFoundError:
        path.parent.mkdir(parents=True, exist_ok=True)
        draft.write_bytes(data)
        draft.replace(path)


def write(path: Path, value: LiveView | Attached | Recording) -> None:
    """Write a value as JSON; NaN becomes null."""
    replace(path, orjson.dumps(value, option=orjson.OPT_SERIALIZE_NUMPY))


def read_view(path: Path) -> LiveView | None:
    """The last sample, or None where there is none that this version can read."""
    try:
        plain = orjson.loads(path.read_bytes())
        totals = plain["totals"]
        labels = tuple((label, n) for label, n in totals["labels"])
        return LiveView(
            engine=_engine(plain["engine"]),
            at=plain["at"],
            rows=tuple(ContainerRow(**row) for row in plain["rows"]),
            others=plain["others"],
            foreign=tuple(ContainerRow(**row) for row in plain["foreign"]),
            totals=Totals(**{**totals, "labels": labels}),
            model=plain["model"],
        )
    except (OSError, orjson.JSONDecodeError, KeyError, TypeError, ValueError):
        return None


def read_attached(path: Path) -> tuple[Attached, dict[str, tuple[str, float | None]]] | None:
    """What the attached policy does, and each container's label and growth; None if nothing can be read."""
    plain = _plain(path)
    try:
        said = tuple(ActivityEntry(**each) for each in plain.pop("said"))
        marks = {name: (label, growth) for name, label, growth in plain.pop("marks")}
        course = tuple(tuple(point) for point in plain.pop("course"))
        evidence = evidence_from(plain.pop("evidence"))
        own = {"said": said, "mode": Mode(plain["mode"]), "course": course, "evidence": evidence}
        return Attached(**{**plain, **own}), marks
    except (KeyError, TypeError, ValueError):
        return None


def write_attached(path: Path, value: Attached, marks: dict[str, tuple[str, float | None]]) -> None:
    """Write what `read_attached` reads."""
    lists = [(name, label, growth) for name, (label, growth) in marks.items()]
    plain = {name: getattr(value, name) for name in Attached.__slots__}
    replace(path, orjson.dumps({**plain, "marks": lists}, default=dict))


def read_recording(path: Path) -> Recording | None:
    """How far the recording is, or None where nothing can be read."""
    try:
        return Recording(**_plain(path))
    except TypeError:
        return None


def _engine(plain: dict[str, Any]) -> EngineInfo:
    return EngineInfo(**{**plain, "state": EngineState(plain["state"])})


def _plain(path: Path) -> dict[str, Any]:
    data = _read(path)
    try:
        found = orjson.loads(data) if data else {}
    except orjson.JSONDecodeError:
        return {}
    return found if isinstance(found, dict) else {}


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""
