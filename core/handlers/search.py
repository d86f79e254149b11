"""Searching hyper-parameters by the reconstruction error on held-out executions."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any

from core.errors import InputError
from core.phases import PhaseSettings
from core.phases.choosing.hyper_parameters import SearchSpace, search
from core.tasks.kind import Kind, ResultLink

if TYPE_CHECKING:
    from collections.abc import Mapping

    from core.application import Workspace
    from core.tasks.kind import TaskContext
    from core.workspace.records import TaskInfo


def _run(context: TaskContext[Workspace], params: Mapping[str, Any]) -> dict[str, Any]:
    """Search."""
    traces = context.workspace.traces.load(str(params["trace_set"]))
    at_most = params.get("at_most")
    trials = search(
        traces,
        space_of(params.get("space") or {}),
        PhaseSettings.from_dict(dict(params.get("settings") or {})),
        features=params.get("features"),
        at_most=None if at_most is None else int(at_most),
        held_out=float(params.get("held_out", 0.25)),
        seed=int(params.get("seed", 0)),
        progress=context.progress,
    )
    return {
        "trials": [
            {
                "settings": trial.settings.to_dict(),
                "held_out_error": trial.held_out_error,
                "training_error": trial.training_error,
            }
            for trial in trials
        ]
    }


def space_of(values: Mapping[str, Any]) -> SearchSpace:
    """Return the values to try, with defaults for missing ones.

    Raises InputError if a name is unknown, or a list holds something that is no number.
    """
    names = [each.name for each in fields(SearchSpace)]
    unknown = set(values) - set(names)
    if unknown:
        raise InputError(f"“{min(unknown)}” cannot be searched.", f"Search {', '.join(names)}.")
    default = SearchSpace()
    try:
        return SearchSpace(
            hidden=tuple(int(value) for value in values.get("hidden", default.hidden)),
            history=tuple(int(value) for value in values.get("history", default.history)),
            learning_rate=tuple(float(value) for value in values.get("learning_rate", default.learning_rate)),
            epochs=tuple(int(value) for value in values.get("epochs", default.epochs)),
        )
    except (TypeError, ValueError) as error:
        raise InputError(
            f"The values to try cannot be read: {error}.", "Give lists of numbers, such as 5, 10, 20."
        ) from None


def _outcome(task: TaskInfo) -> str:
    return f"{len((task.result or {}).get('trials', ())):,} settings were tried; the best comes first."


def _link(task: TaskInfo) -> ResultLink:
    return ResultLink(
        "models", {"view": "search", "task": task.id, "trace_set": task.params.get("trace_set")}
    )


KIND = Kind(
    name="search",
    title="Search settings",
    icon="search",
    run=_run,
    outcome=_outcome,
    gives=("trials",),
    link=_link,
)
