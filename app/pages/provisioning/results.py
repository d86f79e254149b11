"""The comparisons that the store keeps, as the Provisioning page asks for them, and what they recommend."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from app.context import workspace
from app.pages.provisioning.query import PRICES, TAKEN
from app.pages.provisioning.values import Values
from app.ui import evaluations, task_card
from app.ui.evaluations import Result
from core.errors import ConflictError, NotFoundError
from core.provisioning.fleet import Resource
from core.provisioning.manifests import write
from core.provisioning.manifests.manifest_comments import About
from core.provisioning.verdict.savings import assumptions
from core.provisioning.verdict.verdict import verdict
from core.workspace.evaluations import Question
from core.workspace.records import TaskState

if TYPE_CHECKING:
    from app.context import Choice
    from app.pages.provisioning.policy_settings import Own
    from app.pages.provisioning.query import View
    from core.provisioning.evaluation.evaluate import EvaluationSettings
    from core.provisioning.verdict.answer import Verdict
    from core.workspace.records import TaskInfo

_UNDER_WAY = (TaskState.QUEUED, TaskState.RUNNING)


def question(
    choice: Choice, settings: EvaluationSettings, policies: tuple[str, ...], own: Own | None = None
) -> Question:
    """The comparison to make on a trace set and a model.

    Raises
    ------
    ConflictError
        If there is no trace set.
    """
    if choice.traces is None:
        raise ConflictError("There are no traces to compare policies on.", "Add some first.")
    model = choice.model.id if choice.model else None
    return Question(choice.traces.id, model, settings, policies, own or {})


def find(choice: Choice, view: View) -> Result | None:
    """The comparison that an address asks for; the last one on the pair where it asks for none."""
    if view.problem is not None:
        return None
    if view.settings is None:
        return evaluations.latest(choice)
    kept, asked = workspace().evaluations, question(choice, view.settings, view.policies, view.own)
    try:
        found = kept.find(asked)
        shown = found or kept.find_earlier(asked)
    except NotFoundError:
        return None
    return (
        None
        if shown is None
        else Result(shown.key, shown.report, view.policies, view.own, earlier=found is None)
    )


def running(choice: Choice) -> bool:
    """Whether a comparison on the pair is under way."""
    return any(task.state in _UNDER_WAY for task in evaluations.tasks_on(choice))


def tasks(choice: Choice, wanted: str | None) -> list[TaskInfo]:
    """The task asked for, else those under way, else the last one."""
    return task_card.tasks_of(evaluations.KIND, evaluations.about(choice), wanted)


def worth_showing(found: list[TaskInfo], wanted: str | None, *, shown: bool) -> list[TaskInfo]:
    """The tasks that say more than the result: the one asked for, those under way, or one that failed."""
    if wanted:
        return found
    # what is done is shown as its result, or is of other settings
    hidden = TaskState if shown else (TaskState.DONE,)
    return [task for task in found if task.state in _UNDER_WAY or task.state not in hidden]


def submit(
    choice: Choice,
    settings: EvaluationSettings,
    policies: tuple[str, ...],
    own: Own | None = None,
    *,
    again: bool = False,
) -> str:
    """Submit a comparison, with `again` even if it is kept; returns the id of its task."""
    return workspace().evaluations.submit(question(choice, settings, policies, own), again=again)


def is_done(task_id: str) -> bool:
    """Whether a comparison ended well."""
    try:
        task = workspace().tasks.get(task_id)
    except NotFoundError:
        return False
    return task.kind == evaluations.KIND and task.state is TaskState.DONE


def typical_seconds(trace_set_id: str) -> float:
    """The median length of a trace set's executions."""
    return float(workspace().traces.summary(trace_set_id)["duration_s"].median())


def verdict_of(result: Result, view: View) -> Verdict | None:
    """The verdict of a comparison with the policies and prices of an address; None for one of long ago."""
    return verdict(result.report, view.taken, view.prices)


def values_of(result: Result, view: View) -> Values:
    """The resource that is looked at."""
    found = verdict_of(result, view)
    taken = None if found is None else found.picks[Resource(view.resource)].policy
    return Values(result.report["resources"][view.resource], view.matched, taken)


def manifest(choice: Choice, result: Result, view: View, style: str) -> str:
    """The verdict as the text of a file.

    Raises
    ------
    InputError
        If there is no such format, or nothing that can be set.
    ConflictError
        If the comparison was made before there were verdicts.
    """
    found = verdict_of(result, view)
    if found is None or choice.traces is None:
        raise ConflictError("This comparison was made by an earlier version.", "Evaluate again.")
    model = choice.model.name if choice.model and result.report["model"] else None
    today = datetime.now(UTC).date().isoformat()
    said = tuple(assumptions(result.report["recorded"], view.prices))
    return write(found, About(choice.traces.name, model, today, result.report, said), style)


def manifest_address(choice: Choice, result: Result, view: View, style: str) -> str:
    """Where that file can be downloaded."""
    chosen = {name: view.query.get(name) for name in (*TAKEN.values(), *PRICES)}
    query = {**choice.query(), **{name: value for name, value in chosen.items() if value}}
    return f"/api/provisioning/{result.id}/verdict/{style}?{urlencode(query)}"
