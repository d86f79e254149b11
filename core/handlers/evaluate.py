"""Comparing provisioning policies on a stored trace set."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from core.tasks.kind import Kind, ResultLink
from core.workspace.evaluations import Question

if TYPE_CHECKING:
    from collections.abc import Mapping

    from core.application import Workspace
    from core.tasks.kind import TaskContext
    from core.workspace.records import TaskInfo


def _run(context: TaskContext[Workspace], params: Mapping[str, Any]) -> dict[str, Any]:
    """Compare policies."""
    question, again = Question.from_dict(params), bool(params.get("again"))
    evaluation = context.workspace.evaluations.make(question, context.progress, again=again)
    for note in evaluation.report["notes"]:
        context.log(str(note))
    return {"evaluation": evaluation.key}


def _outcome(_task: TaskInfo) -> str:
    return "The policies are compared."


def _link(task: TaskInfo) -> ResultLink | None:
    """Link to the comparison, unless a policy had its own settings: no address can express those."""
    params = task.params
    if "evaluation" not in (task.result or {}) or params.get("own_settings"):
        return None
    shared = ("trace_set", "model", "settings", "policies")
    return ResultLink("provisioning", {name: params[name] for name in shared if name in params})


KIND = Kind(
    name="evaluate",
    title="Compare policies",
    icon="chart-bar",
    run=_run,
    outcome=_outcome,
    gives=("evaluation",),
    link=_link,
)
