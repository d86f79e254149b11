"""Recording running containers into a trace set, until it is stopped."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from core.live.recordings import record
from core.live.view import RECORD as NAME
from core.tasks.kind import Kind

if TYPE_CHECKING:
    from collections.abc import Mapping

    from core.application import Workspace
    from core.tasks.kind import TaskContext
    from core.workspace.records import TaskInfo


def _run(context: TaskContext[Workspace], params: Mapping[str, Any]) -> dict[str, Any]:
    """Record until the task is cancelled; see `core.live.recordings.record`."""

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
