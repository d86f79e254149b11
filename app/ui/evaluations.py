"""Comparisons of policies that the store keeps, as pages show them."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from dash import dcc, html

from app.context import workspace
from app.ui.basics import kpi
from core.errors import NotFoundError, PhaseDockError
from core.provisioning.evaluation.evaluate import EvaluationSettings
from core.provisioning.policies import policy_title
from core.provisioning.verdict.savings import LEAST_MONEY, assumptions, money
from core.provisioning.verdict.table import rows_of
from core.settings_fields import describe
from core.units import DASH, plural
from core.workspace.evaluations import Question
from core.workspace.records import TaskState

if TYPE_CHECKING:
    from collections.abc import Mapping

    from app.context import Choice
    from app.ui.basics import Node
    from core.provisioning.verdict.savings import PriceSettings
    from core.provisioning.verdict.verdict import Verdict
    from core.workspace.evaluations import StoredEvaluation
    from core.workspace.records import TaskInfo

KIND = "evaluate"
ALL_POLICIES, USUAL = "all", "usual"
_LOOK_BACK = 100


@dataclass(frozen=True, slots=True)
class Result:
    """A stored comparison."""

    #: The store's key of it.
    id: str
    #: All results (`core.provisioning.evaluation.evaluate.Evaluation`). Shared: do not modify it.
    report: Mapping[str, Any]
    #: The requested policies; ``("all",)`` for all, ``("usual",)`` for the usual ones.
    policies: tuple[str, ...]
    #: Settings that were chosen for single policies.
    own_settings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    #: Whether it was made before the code or a default of its policies changed.
    earlier: bool = False


def latest(choice: Choice) -> Result | None:
    """The newest stored comparison on a trace set and model, or None."""
    finished = [task for task in tasks_on(choice) if task.state is TaskState.DONE]
    for task in finished:
        try:
            stored = workspace().evaluations.get(str((task.result or {}).get("evaluation", "")))
        except NotFoundError:
            continue
        policies = tuple(task.params.get("policies") or ("all",))
        own_settings = dict(task.params.get("own_settings") or {})
        return Result(stored.key, stored.report, policies, own_settings, earlier=_now(task) != stored.key)
    return None


def _now(task: TaskInfo) -> str | None:
    """The key of the same comparison under the present data; None if it is no longer possible."""
    try:
        return workspace().evaluations.key(Question.from_dict(task.params))
    except PhaseDockError:
        return None


def get(evaluation_id: str) -> Result:
    """A comparison by its key.

    Raises
    ------
    NotFoundError
        If it is no longer stored.
    """
    stored: StoredEvaluation = workspace().evaluations.get(evaluation_id)
    return Result(stored.key, stored.report, ())


def saved_tile(
    verdict: Verdict, report: Mapping[str, Any], prices: PriceSettings, href: str = "", where: str = ""
) -> html.Div:
    """What the recommended amounts save per day, of what all workloads cost; with `href` a link to them.

    `where` follows the number of workloads.
    """
    rows = rows_of(verdict, float(report["settings"]["tolerance"]))
    costs = [line.cost.money or 0.0 for card in verdict.cards for line in card.lines]
    saved = [row.saved for row in rows if row.saved is not None]
    number, _, unit = money(sum(saved), prices).partition(" ")
    of = f"of {money(sum(costs), prices)}" if unit else ""
    fewer, more = sum(each > LEAST_MONEY for each in saved), sum(each < -LEAST_MONEY for each in saved)
    words = f"{fewer:,} of {plural(len(rows), 'workload')}" + (
        f"; {more:,} need{'s' if more == 1 else ''} more" if more else ""
    )
    words = (words if saved else "nothing was tested") + where
    basis = " ".join(assumptions(report["recorded"], prices))
    sub = (
        dcc.Link(words, href=href, className="link quietlink", title=basis)
        if href
        else html.Span(words, title=basis)
    )
    return kpi("Saved per day", number if saved else DASH, of, sub)


def policy_name(name: str) -> Node:
    """A policy's title, and in grey the identifier by which settings and commands know it."""
    title = policy_title(name)
    if title == name:
        return name
    parts = re.split(r"(?<=[.+])", name)
    broken = [each for part in parts for each in (part, html.Wbr())][:-1]
    return html.Span([title, " ", html.Code(broken, className="ident")], className="policyname")


def about(choice: Choice) -> dict[str, Any]:
    """The task parameters that identify a comparison of the chosen pair."""
    return {
        "trace_set": choice.traces.id if choice.traces else None,
        "model": choice.model.id if choice.model else None,
    }


def tasks_on(choice: Choice) -> list[TaskInfo]:
    """The tasks that compare policies on the chosen pair, newest first."""
    pair = about(choice)
    return [
        task
        for task in workspace().tasks.list(_LOOK_BACK)
        if task.kind == KIND and all(task.params.get(name) == value for name, value in pair.items())
    ]


def address_values(settings: EvaluationSettings, policies: tuple[str, ...]) -> dict[str, str | None]:
    """The comparison as parameters of an address; defaults are left out, except for the cycle.

    Without policies an address means the usual ones.
    """
    values: dict[str, str | None] = {}
    for spec in describe(EvaluationSettings):
        value = getattr(settings, spec.name)
        is_written = value != spec.default or spec.name == "cycle"
        values[spec.name] = (f"{value:g}" if isinstance(value, float) else str(value)) if is_written else None
    return values | {"policies": None if policies == (USUAL,) else ",".join(policies)}
