"""Running an experiment: every policy on every seed, and what their comparison says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from core.runtime.experiments.infos import Keep
from core.runtime.tasks.kind import Kind

if TYPE_CHECKING:
    from collections.abc import Mapping

    from core.runtime.tasks.context import TaskContext


def _run(context: TaskContext, params: Mapping[str, Any]) -> dict[str, Any]:
    """Run an experiment that was asked for.

    Parameters
    ----------
    context
        The task.
    params
        ``experiment``, its id, and ``keep``, which runs keep their ledgers.

    Returns
    -------
    dict
        ``experiment``, its id.
    """
    keep = Keep(params.get("keep", Keep.FIRST))
    made = context.workspace.runs.make(str(params["experiment"]), context.progress, keep, context.task)
    return {"experiment": made.id}


SIMULATE = Kind("simulate", _run)
