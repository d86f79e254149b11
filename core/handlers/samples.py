"""Loading the bundled trace set and the model trained on it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from core.tasks.kind import Kind
from core.workspace.samples import load_samples

if TYPE_CHECKING:
    from collections.abc import Mapping

    from core.application import Workspace
    from core.tasks.context import TaskContext
    from core.workspace.records import TaskInfo


def _run(context: TaskContext[Workspace], _params: Mapping[str, Any]) -> dict[str, Any]:
    trace_set, model = load_samples(
        context.workspace.traces, context.workspace.models, context.progress, context.task
    )
    return {"trace_set": trace_set.id, "model": model.id}


def _outcome(_task: TaskInfo) -> str:
    return "The samples and their model are stored."


KIND = Kind(
    name="samples",
    title="Load the samples",
    icon="flask",
    run=_run,
    outcome=_outcome,
    gives=("trace_set", "model"),
    brief=True,
)
