"""Making a trace set of a stretch of the history of running containers."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from core.live.history.reader import traces_of
from core.live.recordings import source_of
from core.live.view import KEEP_PAST as NAME
from core.live.view import LiveFiles
from core.tasks.kind import Kind

if TYPE_CHECKING:
    from collections.abc import Mapping

    from core.application import Workspace
    from core.tasks.kind import TaskContext
    from core.workspace.records import TaskInfo


def _run(context: TaskContext[Workspace], params: Mapping[str, Any]) -> dict[str, Any]:
    """Read the history and store it; see `core.live.recordings.Recordings.keep_past`."""
    space, engine = context.workspace, str(params["engine"])
    folder, ids = LiveFiles(space.settings.home, engine).history, params.get("containers")
    context.progress(0.1, "Reading the history")
    traces = traces_of(folder, ids, float(params["start"]), float(params["end"]), time.time())
    context.progress(0.6, "Storing the trace set")
    source = source_of(space.live.engines, engine)
    stored = space.traces.add(traces, None, name=str(params["name"]), source=source, task=context.task)
    return {"trace_set": stored.id}


def _outcome(_task: TaskInfo) -> str:
    return "That time is stored as a trace set."


KIND = Kind(
    name=NAME,
    title="Trace set of the past",
    icon="clock",
    run=_run,
    outcome=_outcome,
    gives=("trace_set",),
    brief=True,
)
