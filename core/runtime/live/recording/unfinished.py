"""Recordings that are on the disk and not a trace set yet: still running, or their worker was killed."""

from __future__ import annotations

from dataclasses import dataclass
from dataclasses import replace as replaced
from typing import TYPE_CHECKING, Any

import orjson

from core.runtime.live.recording.recording_file import RecordingFile
from core.runtime.live.view.values import Recording
from core.runtime.storage.files import checked_id

if TYPE_CHECKING:
    from pathlib import Path

ABOUT = "about.json"
"""The file in a recording's folder that says what it is called and where it comes from."""


def folder_of(home: Path, recording: str) -> Path:
    """Where a recording is until it is a trace set."""
    return home / "live" / "recordings" / checked_id(recording, "recording")


@dataclass(frozen=True, slots=True)
class Unfinished:
    """A recording that is on the disk and not a trace set yet.

    Parameters
    ----------
    recording
        The id of its folder.
    about
        ``engine``, ``name`` and ``model``.
    shown
        What there is of it.
    """

    recording: str
    about: dict[str, Any]
    shown: Recording


def unfinished(home: Path) -> tuple[Unfinished, ...]:
    """Every recording that is on the disk, running ones included."""
    found = []
    for path in sorted((home / "live" / "recordings").glob(f"*/{ABOUT}")):
        try:
            about, tape = orjson.loads(path.read_bytes()), RecordingFile(path.parent, writing=False)
        except (OSError, orjson.JSONDecodeError):
            continue
        shown = Recording(
            "", str(about["name"]), path.stat().st_mtime, tape.samples, len(tape.known), tape.size
        )
        found.append(Unfinished(path.parent.name, about, replaced(shown, recording=path.parent.name)))
    return tuple(found)
