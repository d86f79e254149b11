"""Comparing provisioning policies on a stored trace set."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from core.runtime.storage.evaluations import Question
from core.runtime.tasks.kind import Kind

if TYPE_CHECKING:
    from collections.abc import Mapping

    from core.runtime.tasks.context import TaskContext


def _run(context: TaskContext, params: Mapping[str, Any]) -> dict[str, Any]:
    """Compare policies.

    Parameters
    ----------
    context
        The task.
    params
        As `core.runtime.storage.evaluations.Question.to_dict` writes them.

    Returns
    -------
    dict
        ``evaluation``, the key that the comparison is kept under.
    """
    made = context.workspace.evaluations.make(Question.from_dict(params), context.progress)
    for note in made.report["notes"]:
        context.log(str(note))
    return {"evaluation": made.key}


EVALUATE = Kind("evaluate", _run)
