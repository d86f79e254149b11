"""Dividing a phase of a stored model into new ones; the result is a new model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from core.phases import expand
from core.tasks.kind import Kind

if TYPE_CHECKING:
    from collections.abc import Mapping

    from core.application import Workspace
    from core.tasks.kind import TaskContext
    from core.workspace.records import TaskInfo


def _run(context: TaskContext[Workspace], params: Mapping[str, Any]) -> dict[str, Any]:
    """Expand a phase."""
    workspace = context.workspace
    info = workspace.traces.get(str(params["trace_set"]))
    context.progress(0.05, f"Loading {info.name}")
    model, traces = workspace.models.load(str(params["model"])), workspace.traces.load(info.id)
    phase, into = int(params["phase"]), int(params["into"])
    context.progress(0.2, f"Dividing φ{phase + 1} into {into}")
    expanded = expand(model, traces, phase, into, int(params.get("seed", 0)))
    context.progress(0.95, "Storing the model")
    stored = workspace.models.add(
        expanded, name=str(params["name"]), trace_set=info, sample=info.sample, task=context.task
    )
    return {"model": stored.id}


def _outcome(task: TaskInfo) -> str:
    into = task.params.get("into")
    return f"The phase is divided into {into or 'new ones'}; the result is a new model."


KIND = Kind(
    name="expand",
    title="Expand a phase",
    icon="git-branch",
    run=_run,
    outcome=_outcome,
    gives=("model",),
)
