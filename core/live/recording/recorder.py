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

from core.errors import Cancelled, ConflictError, InputError, NotFoundError
from core.live.history.reader import oldest
from core.live.recording.recording_file import ABOUT, Recorded, RecordingFile, folder_of, unfinished
from core.live.sessions import KEEP_PAST, RECORD, TEACH
from core.live.view.snapshot import LiveFiles, read_view, replace, write
from core.sampling.phases import PhaseTracker
from core.sampling.ring_buffer import RingHistory, read_ring
from core.sampling.values import Recording
from core.units import plural
from core.workspace.files import new_id, remove
from core.workspace.repository import checked_name

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from core.live.sessions import Sessions
    from core.sampling.engines import Engines
    from core.workspace.models import ModelLibrary
    from core.workspace.records import TaskQueue
    from core.workspace.trace_sets import TraceLibrary

_EVERY = 2.0
_STEP = 0.5
_BACK = 600.0
_SILENT_AFTER = 30.0


class Recorder:
    """Takes what the watcher sampled and appends it to a recording's file."""

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


class Recordings:
    """Begins and ends recordings: what is asked for is checked here, a worker does it."""

    def __init__(
        self, home: Path, engines: Engines, sessions: Sessions, tasks: TaskQueue, models: ModelLibrary
    ) -> None:
        self._home = home
        self._engines = engines
        self._sessions = sessions
        self._tasks = tasks
        self._models = models

    def record(
        self, engine: str, name: str, ids: Sequence[str] | None = None, model: str | None = None
    ) -> str:
        """Record containers into a trace set, once a second, until stopped; returns the task's id.

        Raises
        ------
        ConflictError
            If something is being recorded on this engine already.
        NotFoundError
            If there is no such engine or model.
        """
        self._engines.check_ready(engine)
        name = checked_name(name, "trace set")
        if ids is not None and not ids:
            raise InputError("No container was chosen for recording.", "Choose one, or record all.")
        if model is not None:
            PhaseTracker(self._models.load(model))
        if RECORD in self._sessions.of(engine):
            raise ConflictError(f"A recording is already running on {engine}.", "Stop that first.")
        return self._submit(engine, name, ids, model, new_id(), finish=False)

    def stop(self, engine: str) -> str:
        """End the recording; its trace set is in the library once the task, whose id is returned, is done.

        Raises
        ------
        ConflictError
            If nothing is being recorded.
        NotFoundError
            If the settings name no such engine.
        """
        self._engines.address(engine)
        return self._sessions.cancel(engine, RECORD, "Nothing is being recorded", "Start a recording first.")

    def keep_past(
        self, engine: str, name: str, start: float, end: float, ids: Sequence[str] | None = None
    ) -> str:
        """Make a trace set of what is remembered of a stretch of time; returns the task's id.

        Raises
        ------
        NotFoundError
            If there is no such engine, or nothing is remembered of that time.
        """
        self._check_remembered(engine, end)
        name = checked_name(name, "trace set")
        containers = None if ids is None else list(ids)
        params = {"engine": engine, "name": name, "start": start, "end": end, "containers": containers}
        return self._tasks.submit(KEEP_PAST, f"Keep “{name}” from {engine}", params)

    def teach(self, engine: str, model: str, ids: Sequence[str], start: float, end: float) -> str:
        """Train a model further on what is remembered of containers that it does not know; the task's id.

        Raises
        ------
        NotFoundError
            If there is no such engine or model, or nothing is remembered of that time.
        ConflictError
            If what the model was trained on is not here.
        """
        self._check_remembered(engine, end)
        info = self._models.get(model)
        if info.trace_set_id is None:
            raise ConflictError(
                f"What “{info.name}” was trained on is not here.", "Train a new model on a recording."
            )
        params = {"engine": engine, "model": model, "containers": list(ids), "start": start, "end": end}
        return self._tasks.submit(TEACH, f"Train “{info.name}” further", params)

    def unfinished(self) -> tuple[Recording, ...]:
        """Recordings whose worker ended before they became trace sets."""
        going_on = self._going_on()
        return tuple(each.shown for each in unfinished(self._home) if each.recording not in going_on)

    def finish(self, recording: str) -> str:
        """Make a trace set of what an unfinished recording has; returns the task's id.

        Raises
        ------
        NotFoundError
            If there is no such recording, or it is still running.
        """
        for each in unfinished(self._home):
            if each.recording == recording and recording not in self._going_on():
                about = each.about
                return self._submit(about["engine"], about["name"], None, about["model"], recording, True)
        raise NotFoundError("There is no unfinished recording with this id.", "Choose one from the list.")

    def _check_remembered(self, engine: str, end: float) -> None:
        self._engines.address(engine)
        since = oldest(LiveFiles(self._home, engine).history)
        if since is None or end < since:
            raise NotFoundError(
                f"Nothing is remembered of {engine} at that time.",
                "Choose a later time, or record from now on.",
            )

    def _going_on(self) -> set[str]:
        """The recordings that a task is working on."""
        return {str(task.params.get("recording")) for task in self._sessions.all()}

    def _submit(
        self,
        engine: str,
        name: str,
        ids: Sequence[str] | None,
        model: str | None,
        recording: str,
        finish: bool,
    ) -> str:
        params = {
            "engine": engine,
            "name": name,
            "containers": None if ids is None else list(ids),
            "model": model,
            "recording": recording,
            "finish": finish,
        }
        verb = "Finish the recording" if finish else "Record"
        return self._tasks.submit(RECORD, f"{verb} “{name}” from {engine}", params)


def record(
    home: Path,
    engines: Engines,
    traces: TraceLibrary,
    models: ModelLibrary,
    params: Mapping[str, Any],
    task: str | None,
    say: Callable[[str], None],
) -> str:
    """Record until somebody ends it, and store the trace set; returns its id.

    Raises
    ------
    ConflictError
        If nothing was recorded, or the engine was not sampled for half a minute.
    """
    files = LiveFiles(home, str(params["engine"]))
    folder = folder_of(home, str(params["recording"]))
    tape = RecordingFile(folder)
    about = {name: params.get(name) for name in ("engine", "name", "model")}
    replace(folder / ABOUT, orjson.dumps(about))
    if not params.get("finish"):
        model = params.get("model")
        phaser = None if model is None else PhaseTracker(models.load(str(model)))
        recorder = Recorder(files, tape, params.get("containers"), phaser)
        try:
            _until_ended(recorder, tape, files, Recording(task or "", str(params["name"]), time.time()), say)
        except Cancelled:
            recorder.take()
        finally:
            files.recording.unlink(missing_ok=True)
    made = tape.traces(phased=params.get("model") is not None)
    name, source = str(params["name"]), source_of(engines, str(params["engine"]))
    stored = traces.add(made, None, name=name, source=source, task=task)
    remove(folder)
    return stored.id


def source_of(engines: Engines, engine: str) -> str:
    """Where a trace set comes from; of the demo it says what was recorded there."""
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
            say(f"{plural(now.samples, 'sample')} of {plural(now.containers, 'container')}")
            time.sleep(_STEP)


def _sampled(files: LiveFiles) -> bool:
    view = read_view(files.snapshot)
    return view is not None and view.at is not None and time.time() - view.at < _SILENT_AFTER
