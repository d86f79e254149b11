"""Recordings: stretches of the history kept second by second until they become trace sets.

A recording only pins the history (`core.live.history.pins`), which the watcher continues to write. The task
counts the samples, detects the end of sampling, and finally cuts the trace set from the history. However a
recording is stopped, its samples become a trace set. After a kill of the worker the recording lacks the same
samples as the history: the one being written, and those that no other worker took.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import orjson

from core.errors import Cancelled, ConflictError, InputError, NotFoundError
from core.live.history.chunks import FINEST, PEAKS, SAMPLE, RecordedContainer, Stretch, chunks_of, read
from core.live.history.pins import GRACE, Pin, folder_of, pins_of, read_pin, write_pin
from core.live.history.reader import join, make_traces, oldest, read_span
from core.live.view import KEEP_PAST, RECORD, TEACH, LiveFiles, read_view
from core.sampling.phases import PhaseTracker
from core.sampling.values import FIELDS, Recording
from core.traces.model import Feature, Role
from core.units import plural
from core.workspace.files import hold_folder, new_id, remove
from core.workspace.records import RECORDED
from core.workspace.repository import checked_name

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    import numpy.typing as npt

    from core.live.view import Sessions
    from core.sampling.engines import Engines
    from core.traces.model import TraceSet
    from core.workspace.models import ModelLibrary
    from core.workspace.records import TaskQueue
    from core.workspace.trace_sets import TraceLibrary

_COUNT_EVERY = 2.0
_STEP = 0.5
_PHASE = Feature("phase", Role.PHASE)


class Recordings:
    """Checks recordings and submits them to a worker."""

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

        Raises ConflictError if something is being recorded on this engine already; NotFoundError if there is
        no such engine or model.
        """
        self._engines.check_ready(engine)
        name = checked_name(name, "trace set")
        if ids is not None and not ids:
            raise InputError("No container was chosen for recording.", "Choose one, or record all.")
        if model is not None:
            PhaseTracker(self._models.load(model))
        with hold_folder(self._home / "live"):
            if RECORD in self._sessions.of(engine):
                raise ConflictError(f"A recording is already running on {engine}.", "Stop that first.")
            return self._submit(engine, name, ids, model, new_id(), finish=False)

    def stop(self, engine: str) -> str:
        """Stop the recording; its trace set is in the library once the task, whose id is returned, is done.

        Raises ConflictError if nothing is being recorded; NotFoundError if the settings name no such engine.
        """
        self._engines.address(engine)
        return self._sessions.cancel(engine, RECORD, "Nothing is being recorded", "Start a recording first.")

    def keep_past(
        self, engine: str, name: str, start: float, end: float, ids: Sequence[str] | None = None
    ) -> str:
        """Make a trace set of a stretch of the history; returns the task's id.

        Raises NotFoundError if there is no such engine, or its history does not go back to that time.
        """
        self._check_remembered(engine, end)
        name = checked_name(name, "trace set")
        containers = None if ids is None else list(ids)
        params = {"engine": engine, "name": name, "start": start, "end": end, "containers": containers}
        return self._tasks.submit(KEEP_PAST, f"Keep “{name}” from {engine}", params)

    def teach(self, engine: str, model: str, ids: Sequence[str], start: float, end: float) -> str:
        """Train a model further on the history of containers that it does not know; the task's id.

        Raises NotFoundError if there is no such engine or model, or the history does not go back to that
        time; ConflictError if the trace set that the model was trained on is not stored here.
        """
        self._check_remembered(engine, end)
        info = self._models.get(model)
        if info.trace_set_id is None:
            raise ConflictError(
                f"The trace set that “{info.name}” was trained on is not stored here.",
                "Train a new model on a recording.",
            )
        params = {"engine": engine, "model": model, "containers": list(ids), "start": start, "end": end}
        return self._tasks.submit(TEACH, f"Train “{info.name}” further", params)

    def unfinished(self) -> tuple[Recording, ...]:
        """Recordings whose worker ended before they became trace sets."""
        busy = self._with_tasks()
        unfinished = (pin for pin in pins_of(self._home) if pin.id not in busy)
        return tuple(describe(_with_earlier(self._home, pin), "") for pin in unfinished)

    def finish(self, recording: str) -> str:
        """Make a trace set of an unfinished recording; returns the task's id.

        Raises NotFoundError if there is no such recording, or it is still running.
        """
        pin = read_pin(self._home, recording)
        if pin is None or recording in self._with_tasks():
            raise NotFoundError("There is no unfinished recording with this id.", "Choose one from the list.")
        return self._submit(pin.engine, pin.name, pin.containers, pin.model, recording, finish=True)

    def _check_remembered(self, engine: str, end: float) -> None:
        self._engines.address(engine)
        since = oldest(LiveFiles(self._home, engine).history)
        if since is None or end < since:
            raise NotFoundError(
                f"Nothing is remembered of {engine} at that time.",
                "Choose a later time, or record from now on.",
            )

    def _with_tasks(self) -> set[str]:
        """Return the recordings with a waiting or running task."""
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
    """Record until `say` raises `Cancelled`, and store the trace set; returns its id.

    Raises ConflictError if nothing was recorded, or the engine was not sampled for half a minute.
    """
    pin = _pin_of_task(home, params)
    if not params.get("finish"):
        if pin.model is not None:
            PhaseTracker(models.load(pin.model))
        pin = replace(pin, end=None)
        write_pin(home, pin)
        try:
            _count_until_stopped(home, pin, say)
        except Cancelled:
            pin = replace(pin, end=time.time())
            write_pin(home, pin)
    trace_set = cut(home, pin, models)
    stored = traces.add(trace_set, None, name=pin.name, source=source_of(engines, pin.engine), task=task)
    remove(folder_of(home, pin.id))
    return stored.id


def source_of(engines: Engines, engine: str) -> str:
    """Return the source of a trace set in words; for the demo, the replayed recordings."""
    demo = engine in engines.names and engines.is_demo(engine)
    return f"{RECORDED}“{engines.kind(engine).title}”" if demo else f"{RECORDED}{engine}"


def describe(pin: Pin, task: str) -> Recording:
    """Return a pin as a recording for pages; without a task it can be finished."""
    unfinished = "" if task else pin.id
    return Recording(task, pin.name, pin.start, pin.samples, pin.executions, pin.bytes, unfinished)


def _pin_of_task(home: Path, params: Mapping[str, Any]) -> Pin:
    """Return the pin of a task; a retried or finishing task already has one."""
    ids = params.get("containers")
    new = Pin(
        id=str(params["recording"]),
        engine=str(params["engine"]),
        name=str(params["name"]),
        model=params.get("model"),
        containers=None if ids is None else tuple(ids),
        start=time.time(),
    )
    return read_pin(home, new.id) or new


def _count_until_stopped(home: Path, pin: Pin, say: Callable[[str], None]) -> None:
    """Keep the pin fresh and report its counts, until `say` raises an error."""
    files, counter, started = LiveFiles(home, pin.engine), _Counter(home, pin), time.time()
    while True:
        pin, newest = counter.count()
        write_pin(home, pin)
        if time.time() - max(started, newest) > GRACE and not _is_sampled(files):
            raise ConflictError(
                f"The engine {files.engine} is not being sampled.",
                "Check that Docker answers; what was recorded so far can be finished.",
            )
        until = time.monotonic() + _COUNT_EVERY
        while time.monotonic() < until:
            say(f"{plural(pin.samples, 'sample')} of {plural(pin.executions, 'container')}")
            time.sleep(_STEP)


def _is_sampled(files: LiveFiles) -> bool:
    view = read_view(files.snapshot)
    return view is not None and view.at is not None and time.time() - view.at < GRACE


class _Count(NamedTuple):
    """The samples of a recording in one chunk."""

    containers: frozenset[str]
    samples: int
    bytes: float
    newest: float


class _Counter:
    """Counts the samples of a recording in the history; a packed chunk is read only once."""

    def __init__(self, home: Path, pin: Pin) -> None:
        self._folder, self._pin = LiveFiles(home, pin.engine).history, pin
        self._packed: dict[Path, _Count] = {}
        earlier = read_earlier(folder_of(home, pin.id))
        self._start = max(pin.start, earlier.end)
        self._earlier = _count(list(earlier.stretches.values()), pin)

    def count(self) -> tuple[Pin, float]:
        """Return the pin with its present counts, and the time of its newest sample."""
        chunks = chunks_of(self._folder, FINEST).items()
        paths = [path for begin, path in chunks if begin + FINEST.chunk >= self._start]
        counts = [self._earlier, *map(self._count_chunk, paths)]
        containers = frozenset[str]().union(*(each.containers for each in counts))
        samples, size = sum(each.samples for each in counts), sum(each.bytes for each in counts)
        pin = replace(self._pin, samples=samples, executions=len(containers), bytes=int(size))
        return pin, max(each.newest for each in counts)

    def _count_chunk(self, path: Path) -> _Count:
        if path in self._packed:
            return self._packed[path]
        stretches = read(path, None)
        recorded = [join([each], self._start, np.inf) for each in stretches]
        counted = _count(recorded, self._pin)
        if path.suffix == ".parquet":
            rows = max(sum(len(each.time) for each in stretches), 1)
            counted = counted._replace(bytes=path.stat().st_size * counted.samples / rows)
            self._packed[path] = counted
        return counted


def _count(stretches: Sequence[Stretch], pin: Pin) -> _Count:
    """Count the samples that belong to a recording, as raw records."""
    recorded = [
        each
        for each in stretches
        if len(each.time) and (pin.containers is None or each.container.id in pin.containers)
    ]
    samples = sum(len(each.time) for each in recorded)
    newest = max((float(each.time[-1]) for each in recorded), default=-np.inf)
    ids = frozenset(each.container.id for each in recorded)
    return _Count(ids, samples, float(samples * SAMPLE.itemsize), newest)


def _with_earlier(home: Path, pin: Pin) -> Pin:
    """Return a pin that also counts the samples of an earlier version, if it has none of its own."""
    return pin if pin.samples else _Counter(home, pin).count()[0]


def cut(home: Path, pin: Pin, models: ModelLibrary) -> TraceSet:
    """Cut the trace set of a recording from the history, with a column of phases if it has a model.

    Raises ConflictError if there is no sample.
    """
    earlier = read_earlier(folder_of(home, pin.id))
    start = max(pin.start, earlier.end)
    stretches = read_span(LiveFiles(home, pin.engine).history, FINEST, pin.containers, start, pin.until)
    parts: dict[str, list[Stretch]] = {name: [each] for name, each in earlier.stretches.items()}
    for name, each in stretches.items():
        parts.setdefault(name, []).append(each)
    if not parts:
        raise ConflictError(
            "Nothing was recorded: no chosen container ran for two samples.",
            "Start containers with the label phasedock, or select some, and record again.",
        )
    joined = {name: join(parts_of_container, -np.inf, np.inf) for name, parts_of_container in parts.items()}
    trace_set = make_traces(joined.values(), float(FINEST.seconds))
    if pin.model is None:
        return trace_set
    phases = _label(pin.model, models, joined) or earlier.phases
    column = np.full(trace_set.n_samples, -1.0)
    for start, name in zip(trace_set.offsets.tolist(), trace_set.attributes["container"], strict=False):
        parts_of_container = phases.get(str(name), _NO_PHASES)
        column[start : start + len(parts_of_container)] = parts_of_container
    return replace(trace_set, features=(*trace_set.features, _PHASE), columns=(*trace_set.columns, column))


_NO_PHASES = np.empty(0, np.int64)


def _label(
    model: str, models: ModelLibrary, stretches: Mapping[str, Stretch]
) -> dict[str, npt.NDArray[np.int64]]:
    """Return the phase of every sample, -1 without one; empty if the model was removed."""
    try:
        tracker = PhaseTracker(models.load(model))
    except NotFoundError:
        return {}
    names = list(stretches)
    lengths = [len(each.time) for each in stretches.values()]
    time_ = np.concatenate([each.time for each in stretches.values()])
    values = np.concatenate([each.values for each in stretches.values()])
    places = np.repeat(np.arange(len(names)), lengths)
    phases = np.full(len(time_), -1, np.int64)
    order = np.argsort(time_, kind="stable")
    for group in np.split(order, np.flatnonzero(np.diff(time_[order])) + 1):
        rows = {names[place]: values[at] for place, at in zip(places[group], group, strict=True)}
        phase_by_name = tracker.push(float(time_[group[0]]), rows)
        phases[group] = [phase_by_name.get(name, -1) for name in rows]
    return dict(zip(names, np.split(phases, np.cumsum(lengths)[:-1]), strict=True))


# Recordings of an earlier version, which had files of their own: they are only read, when they are finished
# or continued.

_EARLIER_FIELDS = FIELDS[:8]
"""The fields of the oldest recordings, which do not list them."""


class EarlierSamples(NamedTuple):
    """The samples and phases of an earlier version's recording, by container."""

    stretches: dict[str, Stretch]
    phases: dict[str, npt.NDArray[np.int64]]

    @property
    def end(self) -> float:
        """The end of the last sample."""
        newest = max((float(each.time[-1]) for each in self.stretches.values()), default=-np.inf)
        return float(np.nextafter(newest, np.inf))


def read_earlier(folder: Path) -> EarlierSamples:
    """Read the samples in the folder of a recording of an earlier version; none for this version's."""
    names = _read_earlier_fields(folder)
    kind = np.dtype([("container", "<i4"), ("phase", "<i4"), ("at", "<f8"), ("values", "<f4", (len(names),))])
    try:
        data, text = (folder / "samples.bin").read_bytes(), (folder / "containers.jsonl").read_bytes()
    except FileNotFoundError:
        return EarlierSamples({}, {})
    records = np.frombuffer(data, kind, len(data) // kind.itemsize)
    stretches: dict[str, Stretch] = {}
    phases: dict[str, npt.NDArray[np.int64]] = {}
    for place, line in enumerate(text[: text.rfind(b"\n") + 1].splitlines()):
        container = RecordedContainer(**orjson.loads(line))
        samples = records[records["container"] == place]
        samples = samples[np.argsort(samples["at"], kind="stable")]
        if len(samples):
            values = np.full((len(samples), len(FIELDS)), np.nan, np.float32)
            values[:, [FIELDS.index(name) for name in names]] = samples["values"]
            peaks = values[:, [FIELDS.index(name) for name in PEAKS]]
            stretches[container.id] = Stretch(container, samples["at"].copy(), values, peaks)
            phases[container.id] = samples["phase"].astype(np.int64)
    return EarlierSamples(stretches, phases)


def _read_earlier_fields(folder: Path) -> tuple[str, ...]:
    """Return the fields of a recording's records; the oldest fields before an upgrade."""
    if (folder / "samples.upgraded").exists():
        return _EARLIER_FIELDS
    try:
        return tuple(orjson.loads((folder / "fields.json").read_bytes()))
    except (OSError, orjson.JSONDecodeError):
        return _EARLIER_FIELDS
