"""Comparing numbers of phases on the codes of a trace set, with a recommendation."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from core.phases import PhaseSettings, fit
from core.phases.choosing.phase_count import choose_k_for_model
from core.progress_reporting import scale_progress
from core.tasks.kind import Kind, ResultLink

if TYPE_CHECKING:
    from collections.abc import Mapping

    from core.application import Workspace
    from core.phases import PhaseModel
    from core.tasks.kind import TaskContext
    from core.traces.model import TraceSet
    from core.workspace.records import TaskInfo

_ENCODING = 0.5


def _run(context: TaskContext[Workspace], params: Mapping[str, Any]) -> dict[str, Any]:
    """Choose k."""
    workspace = context.workspace
    traces = workspace.traces.load(str(params["trace_set"]))
    if params.get("model"):
        model, encoding_share = workspace.models.load(str(params["model"])), 0.0
    else:
        model, encoding_share = _train_encoder(context, params, traces), _ENCODING
    progress = scale_progress(context.progress, encoding_share, 1.0)
    choice = choose_k_for_model(model, traces, seed=int(params.get("seed", 0)), progress=progress)
    return {
        "candidates": [asdict(each) for each in choice.candidates],
        "elbow": choice.elbow,
        "recommended": choice.recommended,
        "reason": f"{choice.reason} {choice.doubt}".strip(),
    }


def _train_encoder(
    context: TaskContext[Workspace], params: Mapping[str, Any], traces: TraceSet
) -> PhaseModel:
    """Train the model whose codes are compared; its number of phases does not matter."""
    settings = PhaseSettings.from_dict({**(params.get("settings") or {}), "phases": 2})
    return fit(traces, settings, params.get("features"), scale_progress(context.progress, 0.0, _ENCODING))


def _outcome(task: TaskInfo) -> str:
    best = (task.result or {}).get("recommended")
    return "Numbers of phases are compared." if best is None else f"{best} phases are recommended."


def _link(task: TaskInfo) -> ResultLink:
    return ResultLink(
        "models", {"view": "choose", "task": task.id, "trace_set": task.params.get("trace_set")}
    )


KIND = Kind(
    name="choose_k",
    title="Choose k",
    icon="target",
    run=_run,
    outcome=_outcome,
    gives=("candidates", "elbow", "recommended", "reason"),
    link=_link,
)
