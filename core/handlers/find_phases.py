"""From a trace set to its phases in one step: features, number of phases and model, chosen with reasons."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from core.phases import PhaseSettings
from core.phases.choosing.features import choose_features
from core.phases.choosing.phase_count import fit_best_count
from core.tasks.kind import Kind

if TYPE_CHECKING:
    from collections.abc import Mapping

    from core.application import Workspace
    from core.tasks.kind import TaskContext
    from core.workspace.records import TaskInfo


def _run(context: TaskContext[Workspace], params: Mapping[str, Any]) -> dict[str, Any]:
    """Find phases."""
    workspace = context.workspace
    info = workspace.traces.get(str(params["trace_set"]))
    context.progress(0.0, f"Loading {info.name}")
    traces = workspace.traces.load(info.id)
    useful = choose_features(traces)
    for one in useful.left_out:
        context.log(f"“{one.name}” is left out: {one.reason}.")
    settings = PhaseSettings.from_dict(dict(params.get("settings") or {}))
    names = [feature.name for feature in useful.features]
    context.log(f"The model reads {', '.join(f'“{name}”' for name in names)}.")
    model, choice = fit_best_count(traces, settings, names, progress=context.progress)
    context.log(f"{choice.reason} {choice.doubt}".strip())
    stored = workspace.models.add(
        model, name=f"{choice.recommended} phases · {info.name}", trace_set=info, task=context.task
    )
    return {"model": stored.id, "phases": choice.recommended, "doubt": choice.doubt}


def _outcome(task: TaskInfo) -> str:
    result = task.result or {}
    count = result.get("phases")
    sentence = f"{count} phases are found." if isinstance(count, int) else "Phases are found."
    return f"{sentence} {result.get('doubt') or ''}".strip()


KIND = Kind(
    name="find_phases",
    title="Find phases",
    icon="timeline",
    run=_run,
    outcome=_outcome,
    gives=("model", "phases"),
)
