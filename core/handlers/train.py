"""Training a phase model on a stored trace set, with its error as a live curve."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any

from core.phases import PhaseSettings, fit
from core.tasks.kind import Kind

if TYPE_CHECKING:
    from collections.abc import Mapping

    from core.application import Workspace
    from core.tasks.kind import TaskContext
    from core.workspace.records import TaskInfo


def _run(context: TaskContext[Workspace], params: Mapping[str, Any]) -> dict[str, Any]:
    """Train a model."""
    workspace = context.workspace
    settings = PhaseSettings.from_dict(dict(params.get("settings") or {}))
    info = workspace.traces.get(str(params["trace_set"]))
    context.progress(0.0, f"Loading {info.name}")
    traces = workspace.traces.load(info.id)
    model = fit(traces, settings, params.get("features"), context.progress)
    stored = workspace.models.add(
        model, name=str(params["name"]), trace_set=info, sample=info.sample, task=context.task
    )
    epochs = len(model.training.errors)
    if 0 < epochs < settings.epochs:
        context.log(f"Training ended after {epochs} of {settings.epochs} epochs: the error stopped falling.")
    return {"model": stored.id}


def _outcome(_task: TaskInfo) -> str:
    return "The model is trained and stored."


def _count_epochs(params: Mapping[str, Any]) -> int | None:
    """Only a CRBM learns in epochs."""
    values = {field.name: field.default for field in fields(PhaseSettings)} | (params.get("settings") or {})
    return int(values["epochs"]) if values["encoder"] == "crbm" else None


KIND = Kind(
    name="train",
    title="Train a model",
    icon="stack-2",
    run=_run,
    outcome=_outcome,
    gives=("model",),
    curve=_count_epochs,
)
