"""Recording containers into a trace set, from what the watcher samples.

The ring buffer keeps ten minutes, so a recorder that is late for a while loses nothing; it reads what is new
every two seconds and appends it. However a recording is ended, a trace set is made of what it has; only when
the worker itself ends is it left as it is, to be continued or finished later.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np
import orjson

from core.errors import Cancelled, ConflictError
from core.live.recording.recording_file import ABOUT, Recorded, RecordingFile, folder_of
from core.live.view.snapshot import LiveFiles, read_view, replace, write
from core.sampling.phases import PhaseTracker
from core.sampling.ring_buffer import RingHistory, read_ring
from core.sampling.values import Recording
from core.traces.validation import many
from core.workspace.files import remove

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from core.application import Workspace

_EVERY = 2.0
_STEP = 0.5
_BACK = 600.0
_SILENT_AFTER = 30.0


class Recorder:
    """Takes what the watcher sampled and appends it to a recording's file.

    Parameters
    ----------
    files
        The files of the engine.
    tape
        The recording's file.
    only
        The ids of the containers to record, or None for all that are labelled or picked.
    phaser
        Labels samples, or None.
    """

    def __init__(
        self, files: LiveFiles, tape: RecordingFile, only: Sequence[str] | None, phaser: PhaseTracker | None
    ) -> None:
        self._files = files
        self._tape = tape
        self._only = None if only is None else frozenset(only)
        self._phaser = phaser
        self._taken = max(time.time(), tape.last)

    def take(self) -> float:
        """Append all that is new; returns the moment of the newest sample that was there."""
        view = read_view(self._files.snapshot)
        rows = () if view is None else view.rows
        wanted = [row for row in rows if self._only is None or row.id in self._only]
        self._tape.meet(Recorded(row.id, row.name, row.image) for row in wanted)
        known = list(self._tape.known)
        found = read_ring(self._files.ring, known, _BACK)
        for at, values in _in_order(found, self._taken):
            phases = {} if self._phaser is None else self._phaser.push(at, values)
            self._tape.add(at, values, phases)
            self._taken = at
        return self._taken


def _in_order(
    found: Mapping[str, RingHistory], after: float
) -> list[tuple[float, dict[str, tuple[float, ...]]]]:
    """Samples of all containers by moment, those only that are newer than `after` and whose CPU is known."""
    moments: dict[float, dict[str, tuple[float, ...]]] = {}
    for name, past in found.items():
        new = (past.time > after) & np.isfinite(past.values[:, 0])
        for at, values in zip(past.time[new].tolist(), past.values[new].tolist(), strict=True):
            moments.setdefault(at, {})[name] = values
    return sorted(moments.items())


def record(
    workspace: Workspace, params: Mapping[str, Any], task: str | None, say: Callable[[str], None]
) -> str:
    """Record until somebody ends it, and store the trace set; returns its id.

    Parameters
    ----------
    workspace
        Where to store the trace set.
    params
        ``engine``, ``name``, ``containers`` (ids or None), ``model`` (id or None), ``recording`` (the id of
        its folder), and ``finish``: True to store what is there already without recording more.
    task
        The task that this is, or None.
    say
        Called several times a second with how far it is; ends the recording by raising `Cancelled`, or
        leaves it as it is by raising anything else.

    Raises
    ------
    ConflictError
        If nothing was recorded, or the engine was not sampled for half a minute.
    """
    files = LiveFiles(workspace.settings.home, str(params["engine"]))
    folder = folder_of(workspace.settings.home, str(params["recording"]))
    tape = RecordingFile(folder)
    about = {name: params.get(name) for name in ("engine", "name", "model")}
    replace(folder / ABOUT, orjson.dumps(about))
    if not params.get("finish"):
        model = params.get("model")
        phaser = None if model is None else PhaseTracker(workspace.models.load(str(model)))
        recorder = Recorder(files, tape, params.get("containers"), phaser)
        try:
            _until_ended(recorder, tape, files, Recording(task or "", str(params["name"]), time.time()), say)
        except Cancelled:
            recorder.take()
        finally:
            files.recording.unlink(missing_ok=True)
    traces = tape.traces(phased=params.get("model") is not None)
    name, source = str(params["name"]), source_of(workspace, str(params["engine"]))
    stored = workspace.traces.add(traces, None, name=name, source=source, task=task)
    remove(folder)
    return stored.id


def source_of(workspace: Workspace, engine: str) -> str:
    """Where a trace set comes from; of the demo it says what was recorded there."""
    engines = workspace.live.engine_registry
    demo = engine in engines.names and engines.is_demo(engine)
    return f"recorded from “{engines.kind(engine).title}”" if demo else f"recorded from {engine}"


def _until_ended(
    recorder: Recorder, tape: RecordingFile, files: LiveFiles, begun: Recording, say: Callable[[str], None]
) -> None:
    newest = time.time()
    while True:
        newest = max(newest, recorder.take())
        now = Recording(begun.task, begun.name, begun.since, tape.samples, len(tape.known), tape.size)
        write(files.recording, now)
        if time.time() - newest > _SILENT_AFTER and not _sampled(files):
            raise ConflictError(
                f"The engine {files.engine} is not being sampled.",
                "Check that Docker answers; what was recorded so far can be finished.",
            )
        until = time.monotonic() + _EVERY
        while time.monotonic() < until:
            say(f"{many(now.samples, 'sample')} of {many(now.containers, 'container')}")
            time.sleep(_STEP)


def _sampled(files: LiveFiles) -> bool:
    view = read_view(files.snapshot)
    return view is not None and view.at is not None and time.time() - view.at < _SILENT_AFTER
