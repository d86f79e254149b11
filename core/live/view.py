"""The present view of an engine: the last sample, its last minutes, its policy and its recording.

Worker and web process exchange it through files:

| file in ``live/`` | written by | what |
|---|---|---|
| ``<engine>.wanted`` | the web process | when a page last looked (its time of change); the model for phases |
| ``<engine>.json`` | the watcher | the last sample, once a second |
| ``<engine>.history/`` | the watcher | the last ten minutes, or a month (`core.live.history`) |
| ``<engine>.lock`` | the watcher | held by the one process that samples this engine |
| ``<engine>.attached.json`` | the task of the attached policy | what it does, and its lists |
| ``<engine>.jobs.json`` | the same task | how submitted jobs stand (`core.live.queue.values`) |
| ``recordings/<id>/about.json`` | the task that records | what it pins (`core.live.history.pins`) |

Each is replaced as a whole, so a reader has the old one or the new one; none but the history and the pins
matters after a restart of the machine, so none of the others is synced to the disk.
"""

from __future__ import annotations

import math
import os
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import orjson

from core.errors import ConflictError, NotFoundError
from core.live.history.chunks import HOST, Stretch, size
from core.live.history.pins import is_recorded, read_pin
from core.live.history.reader import HistoryPoints, oldest, read_points, read_tail
from core.plain_text import without_controls
from core.sampling.sampler import count_labels, mark_rows
from core.sampling.values import (
    FIELDS,
    TOTALS,
    ActivityEntry,
    AttachedPolicy,
    ContainerRow,
    EngineInfo,
    EngineState,
    History,
    LiveView,
    Mode,
    Recording,
    Totals,
)
from core.scheduling.policies import POLICIES
from core.scheduling.policies.autopilot.steering_evidence import evidence_from_dict
from core.workspace.files import write_atomically
from core.workspace.records import TaskState

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from pathlib import Path

    from core.sampling.engines import Engines
    from core.tasks.store import Tasks
    from core.workspace.records import TaskInfo


WANTED_FOR = 30.0
FRESH_FOR = 5.0


class LiveFiles:
    """The files of one engine."""

    def __init__(self, home: Path, engine: str) -> None:
        folder = home / "live"
        self.engine, self.home = engine, home
        self.wanted = folder / f"{engine}.wanted"
        self.snapshot = folder / f"{engine}.json"
        self.history = folder / f"{engine}.history"
        self.lock = folder / f"{engine}.lock"
        self.attached = folder / f"{engine}.attached.json"
        self.jobs = folder / f"{engine}.jobs.json"

    def remove_earlier(self) -> None:
        """Remove the files of an earlier version that are not read any more."""
        for suffix in ("ring", "recording.json"):
            (self.home / "live" / f"{self.engine}.{suffix}").unlink(missing_ok=True)

    def want(self, model: str | None) -> None:
        """Request samples for the next `WANTED_FOR` seconds, labelled by this model."""
        data = (model or "").encode()
        if _read(self.wanted) == data and self.wanted.exists():
            os.utime(self.wanted)
        else:
            _replace(self.wanted, data)

    def is_wanted(self) -> bool:
        """Whether a page looks at the engine, a policy is attached, or a recording is running."""
        fresh = any(age(path) < WANTED_FOR for path in (self.wanted, self.attached))
        return fresh or is_recorded(self.home, self.engine)

    def model(self) -> str | None:
        """Return the model that was requested last."""
        data = _read(self.wanted)
        return data.decode() or None if data else None


def age(path: Path) -> float:
    """Seconds since a file was written; infinite where there is none."""
    try:
        return abs(time.time() - path.stat().st_mtime)
    except OSError:
        return math.inf


def write(path: Path, value: LiveView | AttachedPolicy) -> None:
    """Write a value as JSON; NaN becomes null."""
    _replace(path, orjson.dumps(value, option=orjson.OPT_SERIALIZE_NUMPY))


def read_view(path: Path) -> LiveView | None:
    """Return the last sample; None if there is none, or this version cannot read it."""
    try:
        plain = orjson.loads(path.read_bytes())
        totals = plain["totals"]
        labels = tuple((label, n) for label, n in totals["labels"])
        return LiveView(
            engine=_parse_engine(plain["engine"]),
            at=plain["at"],
            rows=tuple(ContainerRow(**row) for row in plain["rows"]),
            stopped=tuple(ContainerRow(**row) for row in plain["stopped"]),
            others=plain["others"],
            foreign=tuple(ContainerRow(**row) for row in plain["foreign"]),
            totals=Totals(**{**totals, "labels": labels}),
            model=plain["model"],
        )
    except (OSError, orjson.JSONDecodeError, KeyError, TypeError, ValueError):
        return None


def read_attached(path: Path) -> tuple[AttachedPolicy, dict[str, tuple[str, float | None]]] | None:
    """Read the attached policy, and each container's label and growth; None if nothing can be read."""
    plain = _read_object(path)
    try:
        entries = tuple(ActivityEntry(**each) for each in plain.pop("entries"))
        marks = {name: (label, growth) for name, label, growth in plain.pop("marks")}
        course = tuple(tuple(point) for point in plain.pop("course"))
        evidence = evidence_from_dict(plain.pop("evidence"))
        decoded = {"entries": entries, "mode": Mode(plain["mode"]), "course": course, "evidence": evidence}
        return AttachedPolicy(**{**plain, **decoded}), marks
    except (KeyError, TypeError, ValueError):
        return None


def write_attached(path: Path, value: AttachedPolicy, marks: dict[str, tuple[str, float | None]]) -> None:
    """Write what `read_attached` reads."""
    lists = [(name, label, growth) for name, (label, growth) in marks.items()]
    plain = {name: getattr(value, name) for name in AttachedPolicy.__slots__}
    _replace(path, orjson.dumps({**plain, "marks": lists}, default=dict))


def _replace(path: Path, data: bytes) -> None:
    """Replace a file in one step, without waiting for the disk."""
    write_atomically(path, data, sync=False)


def _parse_engine(plain: dict[str, Any]) -> EngineInfo:
    return EngineInfo(**{**plain, "state": EngineState(plain["state"])})


def _read_object(path: Path) -> dict[str, Any]:
    data = _read(path)
    try:
        plain = orjson.loads(data) if data else {}
    except orjson.JSONDecodeError:
        return {}
    return plain if isinstance(plain, dict) else {}


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


# Sessions: attached policies and running recordings are tasks that last until they are cancelled.

ATTACH, RECORD, KEEP_PAST, TEACH = "attach", "record", "keep_past", "teach"
_MAX_TASKS = 10_000
_ALIVE = (TaskState.QUEUED, TaskState.RUNNING)
_POLL = 0.1
_RECENT = 20
_FAILURE_SHOWN_FOR = 600.0


_MOST_ENDS, _ENDS_WITHIN = 3, 600.0
"""A policy that ended with its worker so often within so many seconds is not attached again by itself."""


def is_reattached(task: TaskInfo) -> bool:
    """Whether a policy that ended with its worker is attached again as soon as one is back."""
    return bool(task.params.get("reattach")) and not ends_too_often(task)


def ends_too_often(task: TaskInfo) -> bool:
    """Whether an interrupted policy ended with its worker so often of late that it may be the cause."""
    ends = [*task.params.get("worker_ends", ()), _ended_at(task)]
    return len(ends) >= _MOST_ENDS and ends[-1] - ends[-_MOST_ENDS] < _ENDS_WITHIN


def _ended_at(task: TaskInfo) -> float:
    return (task.finished or task.created).timestamp()


class Sessions:
    """Finds and cancels the tasks that attach policies and record."""

    def __init__(self, tasks: Tasks) -> None:
        self._tasks = tasks

    def all(self) -> list[TaskInfo]:
        """Return the sessions of all engines, the newest first."""
        return self._tasks.list(_MAX_TASKS, _ALIVE, (ATTACH, RECORD))

    def of(self, engine: str) -> dict[str, TaskInfo]:
        """Return the sessions of an engine, by kind of task."""
        return {task.kind: task for task in self.all() if task.params.get("engine") == engine}

    def controlled(self, engine: str) -> TaskInfo | None:
        """Return the policy that controls an engine, or None."""
        task = self.of(engine).get(ATTACH)
        return task if task is not None and task.params.get("mode") == Mode.CONTROL else None

    def interrupted(self, engine: str) -> TaskInfo | None:
        """Return the last policy of an engine if it ended with its worker."""
        last = self._last_attached(engine)
        return last if last is not None and last.state is TaskState.INTERRUPTED else None

    def resume(self, task: str) -> str | None:
        """Let an interrupted session go on in a new task, whose id is returned; None if one did so already.

        The task knows its run, and when its workers ended.
        """
        info = self._tasks.get(task)
        ends = [*info.params.get("worker_ends", ()), _ended_at(info)]
        more = {"run": info.params.get("run") or task, "worker_ends": ends[-_MOST_ENDS:]}
        return self._tasks.resume(task, more)

    def withdraw(self, engine: str) -> bool:
        """Prevent that a policy which ended with its worker is attached again; whether there was one."""
        task = self.interrupted(engine)
        return task is not None and self._tasks.withdraw_interrupted(task.id)

    def _last_attached(self, engine: str) -> TaskInfo | None:
        tasks = self._tasks.list(_RECENT, kinds=(ATTACH,))
        return next((task for task in tasks if task.params.get("engine") == engine), None)

    def failed(self, engine: str) -> TaskInfo | None:
        """Return the last policy of an engine if it failed within minutes, or ended with its worker."""
        last = self._last_attached(engine)
        if last is not None and last.state is TaskState.INTERRUPTED:
            return last
        if last is None or last.state is not TaskState.FAILED or last.finished is None:
            return None
        return last if time.time() - last.finished.timestamp() < _FAILURE_SHOWN_FOR else None

    def cancel(self, engine: str, kind: str, nothing: str, hint: str) -> str:
        """Ask the session of a kind on an engine to end; returns its task's id.

        Raises ConflictError if there is none: `nothing` and `hint` say so.
        """
        task = self.of(engine).get(kind)
        if task is None:
            raise ConflictError(f"{nothing} on {engine}.", hint)
        self._tasks.cancel(task.id)
        return task.id

    def end(self, tasks: Collection[str], seconds: float) -> None:
        """Cancel tasks and wait until they have ended; those that are over already are fine.

        Raises ConflictError if one has not ended after `seconds`.
        """
        for task in tasks:
            self._cancel(task)
        until = time.monotonic() + seconds
        remaining = set(tasks)
        while remaining := self.alive(remaining):
            if time.monotonic() > until:
                raise ConflictError(
                    "The policy has not finished restoring its containers.", "Try again in a few seconds."
                )
            time.sleep(_POLL)

    def _cancel(self, task: str) -> None:
        try:
            self._tasks.cancel(task)
        except ConflictError:
            return  # it has just ended by itself

    def alive(self, tasks: Collection[str]) -> set[str]:
        """Return the tasks that wait or run."""
        return {task.id for task in self._tasks.list(_MAX_TASKS, _ALIVE)} & set(tasks)


# The view itself.

LOG_LINES = 200
"""The lines of a container's log that its window shows."""
_MAX_LINE = 2000


def readable_line(text: str) -> str:
    """Return a line of a log as a terminal leaves it: what was written last, without escape sequences."""
    plain = without_controls(text.rstrip("\r").rpartition("\r")[2])
    return plain if len(plain) <= _MAX_LINE else f"{plain[:_MAX_LINE]} …"


_FORGOTTEN_AFTER = 60.0
_SHOWN = ("cpu", "cpu_limit", "memory", "memory_limit", "loss", "throttled")


_NOTHING = Stretch(HOST, np.empty(0), np.empty((0, len(FIELDS)), np.float32), np.empty((0, 2), np.float32))


class HistoryExtent(NamedTuple):
    """Since when it is remembered, seconds since 1970 (None: nothing is), and the bytes that it takes."""

    since: float | None
    bytes: int


class ViewBuilder:
    """Reads the files that the watcher and the tasks write."""

    def __init__(self, home: Path, engines: Engines, sessions: Sessions) -> None:
        self._home = home
        self._engines = engines
        self._sessions = sessions

    def request_view(self, engine: str, model: str | None = None) -> LiveView:
        """Return the last sample, and request that sampling continue for the next 30 seconds.

        Raises NotFoundError if the settings name no such engine.
        """
        self._files(engine).want(model)
        view = self.peek(engine)
        return replace(view, model=model) if view.at is None else view

    def peek(self, engine: str) -> LiveView:
        """Return the last sample without requesting more; the model that a page chose stays.

        Raises NotFoundError if the settings name no such engine.
        """
        files = self._files(engine)
        old = age(files.snapshot)
        view = read_view(files.snapshot) if old < _FORGOTTEN_AFTER else None
        if view is None or old > FRESH_FOR:
            info = self._engines.get(engine)
            view = LiveView(info) if view is None else replace(view, engine=info)
        sessions = self._sessions.of(engine)
        if ATTACH not in sessions:
            view = replace(view, failed=self._sessions.failed(engine))
        return _with_tasks(view, files, sessions)

    def history(self, engine: str, ids: Sequence[str], seconds: float = 600.0) -> dict[str, History]:
        """Return the last minutes of some containers, by id, without never sampled ones.

        Raises NotFoundError if the settings name no such engine.
        """
        stretches = read_tail(self._files(engine).history, ids, seconds)
        return {name: _history(each) for name, each in stretches.items()}

    def past(
        self, engine: str, ids: Sequence[str], start: float, end: float, max_points: int = 600
    ) -> dict[str, HistoryPoints]:
        """Return the history of some containers, by id, in at most `max_points` points.

        Raises NotFoundError if the settings name no such engine.
        """
        return read_points(self._files(engine).history, ids, start, end, time.time(), max_points)

    def logs(self, engine: str, container: str, lines: int = LOG_LINES) -> list[tuple[float, str]]:
        """Return Unix seconds and text of the last log lines of a container that the view shows.

        Raises NotFoundError if there is no such engine, or the view does not show the container;
        PhaseDockError if the engine is lost or keeps no log of it.
        """
        view = self.peek(engine)
        if all(row.id != container for row in (*view.rows, *view.stopped)):
            raise NotFoundError("This container is no longer shown.", "Choose another one from the table.")
        with self._engines.host(engine) as host:
            return [(at, readable_line(text)) for at, text in host.logs_since(container, 0.0, lines)]

    def remembered(self, engine: str) -> HistoryExtent:
        """Since when the containers of an engine are remembered, and how much that takes.

        Raises NotFoundError if the settings name no such engine.
        """
        folder = self._files(engine).history
        return HistoryExtent(oldest(folder), size(folder))

    def totals_history(self, engine: str, seconds: float = 600.0) -> History:
        """Return the summed last minutes of all containers of a view, beside the size of the host.

        Raises NotFoundError if the settings name no such engine.
        """
        stretches = read_tail(self._files(engine).history, [TOTALS], seconds)
        return _history(stretches.get(TOTALS, _NOTHING))

    def _files(self, engine: str) -> LiveFiles:
        self._engines.address(engine)
        return LiveFiles(self._home, engine)


def _with_tasks(view: LiveView, files: LiveFiles, sessions: dict[str, TaskInfo]) -> LiveView:
    """Return a view with the attached policy, its labels in the rows, and the running recording."""
    attach, record = sessions.get(ATTACH), sessions.get(RECORD)
    if record is not None:
        view = replace(view, recording=_read_recording(record, files.home))
    if attach is None:
        return view
    stored = read_attached(files.attached)
    if stored is None or stored[0].task != attach.id:
        return replace(view, attached=_pending_policy(attach))
    policy = stored[0].policy
    phases = policy in POLICIES and POLICIES[policy].sees_use
    names = stored[0].names
    named = [replace(row, name=names[row.id]) if row.id in names else row for row in view.rows]
    rows = mark_rows(named, stored[1], phases=phases)
    totals = replace(view.totals, labels=count_labels(row.label for row in rows))
    return replace(view, attached=stored[0], rows=rows, totals=totals)


def _pending_policy(task: TaskInfo) -> AttachedPolicy:
    """Return a policy that has not written its state yet."""
    params = task.params
    return AttachedPolicy(
        task=task.id,
        policy=str(params.get("policy", "")),
        mode=Mode(params.get("mode", Mode.WATCH)),
        settings=params.get("settings", {}),
        since=task.created.timestamp(),
        reattach=bool(params.get("reattach")),
        worker_ended_at=ends[-1] if (ends := params.get("worker_ends")) else None,
        reattached_at=task.created.timestamp() if ends else None,
    )


def _read_recording(task: TaskInfo, home: Path) -> Recording:
    pin = read_pin(home, str(task.params.get("recording")))
    if pin is None:
        return Recording(task.id, str(task.params.get("name", "")), task.created.timestamp())
    return Recording(task.id, pin.name, pin.start, pin.samples, pin.executions, pin.bytes)


def _history(stretch: Stretch) -> History:
    lines = {name: stretch.values[:, FIELDS.index(name)] for name in _SHOWN}
    return History(stretch.time, **lines)
