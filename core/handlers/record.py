"""Recording running containers into a trace set, until somebody ends it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from core.live.recording.recorder import record
from core.live.sessions import RECORD as NAME
from core.tasks.kind import Kind

if TYPE_CHECKING:
    from collections.abc import Mapping

    from core.application import Workspace
    from core.tasks.context import TaskContext
    from core.workspace.records import TaskInfo


def _run(context: TaskContext[Workspace], params: Mapping[str, Any]) -> dict[str, Any]:
    """Record; see `core.live.recording.recorder.record`. Cancelling it is how it is ended."""

    def say(text: str) -> None:
        context.progress(0.0, text)

    space = context.workspace
    home, engines = space.settings.home, space.live.engines
    return {"trace_set": record(home, engines, space.traces, space.models, params, context.task, say)}


def _outcome(_task: TaskInfo) -> str:
    return "The recording is stored as a trace set."


KIND = Kind(
    name=NAME,
    title="Record containers",
    icon="activity",
    run=_run,
    outcome=_outcome,
    gives=("trace_set",),
    lasting=True,
)
