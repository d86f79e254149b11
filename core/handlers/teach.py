"""Training a model further on the history of containers that it does not know."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from core.errors import ConflictError
from core.live.history.reader import traces_of
from core.live.recordings import source_of
from core.live.view import TEACH as NAME
from core.live.view import LiveFiles
from core.phases.drift import concatenate, continue_training
from core.progress_reporting import scale_progress
from core.tasks.kind import Kind

if TYPE_CHECKING:
    from collections.abc import Mapping

    from core.application import Workspace
    from core.tasks.kind import TaskContext
    from core.workspace.records import TaskInfo

_READ = 0.3


def _run(context: TaskContext[Workspace], params: Mapping[str, Any]) -> dict[str, Any]:
    """Put the history beside the model's training set, store both, and train further.

    See `core.live.recordings.Recordings.teach`.
    """
    space, engine = context.workspace, str(params["engine"])
    info = space.models.get(str(params["model"]))
    if info.trace_set_id is None:
        raise ConflictError(
            f"The trace set that “{info.name}” was trained on is not stored here.",
            "Train a new model on a recording.",
        )
    model = space.models.load_with_limits(info.id)
    context.progress(0.0, "Reading the history")
    folder, now = LiveFiles(space.settings.home, engine).history, time.time()
    new = traces_of(folder, params["containers"], float(params["start"]), float(params["end"]), now)
    both = concatenate(model, [space.traces.load(info.trace_set_id), new])
    name = f"{space.traces.get(info.trace_set_id).name}, and more"
    stored = space.traces.add(
        both, None, name=name, source=source_of(space.live.engines, engine), task=context.task
    )
    model_after = continue_training(model, both, progress=scale_progress(context.progress, _READ, 1.0))
    stored_model = space.models.add(
        model_after, name=f"{info.name}, trained further", trace_set=stored, task=context.task
    )
    added = len(model_after.phases) - len(model.phases)
    context.log(f"{added} new phase{'' if added == 1 else 's'}; all others keep their numbers.")
    return {"model": stored_model.id, "trace_set": stored.id}


def _outcome(_task: TaskInfo) -> str:
    return "The model is trained further and stored beside the old one."


KIND = Kind(
    name=NAME,
    title="Train a model further",
    icon="stack-2",
    run=_run,
    outcome=_outcome,
    gives=("model", "trace_set"),
)
