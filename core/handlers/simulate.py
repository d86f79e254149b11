"""Running an experiment: every policy on every seed, and their comparison."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from core.runs.values import Keep
from core.tasks.kind import Kind, ResultLink

if TYPE_CHECKING:
    from collections.abc import Mapping

    from core.application import Workspace
    from core.tasks.kind import TaskContext
    from core.workspace.records import TaskInfo


def _run(context: TaskContext[Workspace], params: Mapping[str, Any]) -> dict[str, Any]:
    """Run the experiment of the request."""
    keep = Keep(params.get("keep", Keep.FIRST))
    run = context.workspace.runs.make(str(params["experiment"]), context.progress, keep, context.task)
    return {"experiment": run.id}


def _outcome(_task: TaskInfo) -> str:
    return "All runs are done and compared."


def _link(task: TaskInfo) -> ResultLink | None:
    experiment = (task.result or {}).get("experiment") or task.params.get("experiment")
    return ResultLink("runs", {"experiment": experiment}) if experiment else None


KIND = Kind(
    name="simulate",
    title="Run an experiment",
    icon="player-play",
    run=_run,
    outcome=_outcome,
    gives=("experiment",),
    link=_link,
    kept="The runs that were done are kept; a retry makes only the others.",
)
