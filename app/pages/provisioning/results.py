"""The state of the Provisioning page: the view in its address, its comparison, and the rows."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from app.context import workspace
from app.figures.provisioning.frontier import BEST, BOUND, NAMED, OTHER, Curve
from app.figures.provisioning.frontier import OURS as OURS_CURVE
from app.pages.provisioning.policy_settings import OwnSettings, of_text
from app.ui import evaluations, task_card
from app.ui.evaluations import USUAL, Result
from app.ui.links import PageState, Query, free_text, option, whole_number
from core.errors import ConflictError, InputError, NotFoundError
from core.provisioning import manifests
from core.provisioning.evaluation.comparison import PAPERS_BASE
from core.provisioning.evaluation.evaluate import EvaluationSettings
from core.provisioning.fleet import Resource
from core.provisioning.manifests import write
from core.provisioning.manifests.manifest_comments import About
from core.provisioning.policies import policy_title
from core.provisioning.policy import PolicyKind
from core.provisioning.verdict.choice import kind_of
from core.provisioning.verdict.savings import PriceSettings, assumptions
from core.provisioning.verdict.verdict import verdict
from core.settings_fields import build, describe
from core.units import NO_NAMES, format_number
from core.workspace.evaluations import Question
from core.workspace.records import TaskState

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from app.context import Choice
    from core.provisioning.verdict.verdict import Verdict
    from core.workspace.records import ModelInfo, TaskInfo


PATH = "/provisioning"
FIELDS = tuple(spec.name for spec in describe(EvaluationSettings))
PRICES = tuple(spec.name for spec in describe(PriceSettings))
MATCHED, PUBLISHED = "matched", "published"
RESOURCES = {"cpu": "CPU", "memory": "Memory"}
SCALES = {MATCHED: "Matched", PUBLISHED: "As published"}
SORTS = ("policy", "kind", "over", "under", "resizes", "saving")
FORMATS = {name: each.title for name, each in manifests.FORMATS.items()}
"""The formats of the verdict and their titles."""
POLICY_PARAMETERS = {"cpu": "policy", "memory": "memory_policy"}
"""The parameter of the address with the chosen policy for a resource."""
PARTS = ("policies", "paper", "phases", "settings")
"""The parts below the table of workloads, of which one is unfolded."""


@dataclass(frozen=True, slots=True)
class View(PageState):
    """The choices of the page."""

    #: The resource, ``cpu`` or ``memory``, and the scale, ``matched`` or ``published``.
    resource: str = option(RESOURCES, "cpu")
    scale: str = option(SCALES, MATCHED)
    #: The column that sorts the table, and the export's format.
    sort: str = option(SORTS, "over")
    form: str = option(FORMATS, "patch", name="format")
    #: The open workload, the text that names have, the order and the first row of the table of workloads.
    open: str | None = free_text()
    find: str = free_text("")
    order: str = free_text("saved")
    start: int = whole_number(0)
    #: The unfolded part below the table.
    part: str | None = option(PARTS)
    #: The comparison's settings in the address, or None without any or with an invalid one.
    settings: EvaluationSettings | None = None
    #: Message and hint about invalid settings in the address, or None.
    problem: tuple[str, str] | None = None
    #: The policies to compare, or ``("all",)`` or ``("usual",)``.
    policies: tuple[str, ...] = (USUAL,)
    #: The policies' own settings in the address.
    own_settings: OwnSettings = field(default_factory=OwnSettings)
    #: The policies chosen by the user, by resource.
    chosen_policies: Mapping[Resource, str] = field(default_factory=dict)
    #: The price of an hour.
    prices: PriceSettings = field(default_factory=PriceSettings)

    @classmethod
    def derive(cls, query: Query) -> dict[str, Any]:
        """The settings of the comparison and the prices; the first invalid setting is the problem."""
        names = tuple(name for name in (query.get("policies") or USUAL).split(",") if name)
        parts: dict[str, Any] = {
            "policies": names or (USUAL,),
            "chosen_policies": {
                Resource(key): name for key, each in POLICY_PARAMETERS.items() if (name := query.get(each))
            },
        }
        values = {name: query.values[name] for name in FIELDS if name in query.values}
        try:
            if values or query.get("policies"):
                parts["settings"] = build(EvaluationSettings, values)
            parts["own_settings"] = of_text(query.get("own"))
            parts["prices"] = build(PriceSettings, {n: query.values[n] for n in PRICES if query.get(n)})
        except (InputError, NotFoundError) as error:
            parts["problem"] = (error.message, error.hint)
        return parts

    def looking_at(self, resource: str) -> View:
        """The same view of another resource."""
        return replace(self, resource=resource)

    def among(self, report: Mapping[str, Any]) -> View:
        """The same view without choices of policies that were not compared."""
        compared = {
            Resource(resource): {row["policy"] for row in part["policies"]}
            for resource, part in report["resources"].items()
        }
        selected = {
            each: name for each, name in self.chosen_policies.items() if name in compared.get(each, ())
        }
        return replace(self, chosen_policies=selected)

    @property
    def policy(self) -> str | None:
        """The policy chosen by the user for the visible resource."""
        return self.chosen_policies.get(Resource(self.resource))

    @property
    def takes(self) -> str:
        """The parameter of the address that chooses it."""
        return POLICY_PARAMETERS[self.resource]

    @property
    def matched(self) -> bool:
        """Whether policies are compared at the same violation."""
        return self.scale == MATCHED


_OFTEN = 60.0
"""Resizes an hour from which a policy is said to resize often."""


def often_resized(per_hour: float) -> str:
    """A note on a policy that resizes more often than once a minute; empty for others."""
    return f"resizes {format_number(per_hour / 60.0, 1)}× a minute" if per_hour > _OFTEN else ""


WITHOUT_SAVING = tuple(kind for kind in PolicyKind if kind.knows_future)
"""Kinds of policies that use the future: their saving cannot be achieved."""
Pair = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Row:
    """One policy's line of the table; shares are between 0 and 1, None where there is no value."""

    policy: str
    kind: str
    about: str
    best: bool
    over: float | None
    interval: Pair | None
    under: float | None
    under_05: float | None
    resizes: float | None
    resizes_per_hour: float
    saving: float | None
    saving_interval: Pair | None
    group_interval: Pair | None
    worst: float | None
    above: float | None
    cold_over: float | None
    cold_under: float | None
    gap_closed: float | None


@dataclass(frozen=True, slots=True)
class Values:
    """One resource of a report."""

    #: The resource's part of the report.
    part: Mapping[str, Any]
    #: Whether figures are those at matched violation, or those of the policies as published.
    matched: bool
    #: The policy that the verdict recommends, or None.
    verdict_policy: str | None = None

    @property
    def best(self) -> str | None:
        """The best reactive rule, chosen on training containers."""
        policy: str | None = self.part.get("best_reactive")
        return policy

    @property
    def reference(self) -> str | None:
        """The reference of savings: the best reactive rule; as published, ``prev.step.rules``."""
        return self.best if self.matched else PAPERS_BASE

    def names(self) -> list[str]:
        """The policies that were compared."""
        return [each["policy"] for each in self.part["policies"]]

    def ours(self) -> str | None:
        """Our own policy; else the recommended one, or the least wasteful one beyond simple rules."""
        rows = [row for row in self.rows() if row.kind not in WITHOUT_SAVING and row.over is not None]
        our_policy = next((row.policy for row in self.rows() if row.kind == PolicyKind.OURS), None)
        if our_policy is not None or self.verdict_policy in self.names():
            return our_policy or self.verdict_policy
        simple_kinds = tuple(kind for kind in PolicyKind if kind.plain)
        rows = [row for row in rows if row.kind not in simple_kinds] or [row for row in rows if not row.best]
        return min(rows, key=lambda row: row.over or 0.0).policy if rows else None

    def rows(self) -> list[Row]:
        """A row per policy, those that over-allocate least first."""
        rows = [self._row(each) for each in self.part["policies"]]
        return sorted(rows, key=lambda row: math.inf if row.over is None else row.over)

    def _row(self, each: Mapping[str, Any]) -> Row:
        at = each["matched"] if self.matched else each
        kind = kind_of(each)
        against = each["matched"].get("against_best") if self.matched else None
        against = against if kind not in WITHOUT_SAVING else None
        saving = (against or {}).get("saving") if self.matched else each["headline"].get("over_saving")
        cold = each.get("cold") or {}
        return Row(
            policy=each["policy"],
            kind=kind,
            about=each["about"],
            best=each["policy"] == self.best,
            over=at["over"],
            interval=_pair(at, "low", "high"),
            under=at["under_time_0"],
            under_05=at["under_time_05"],
            resizes=at["resizes_per_cycle"],
            resizes_per_hour=float(each.get("resizes_per_hour") or 0.0),
            saving=None if kind in WITHOUT_SAVING or each["policy"] == self.reference else saving,
            saving_interval=_pair(against, "low", "high"),
            group_interval=_pair(against, "group_low", "group_high"),
            worst=at.get("worst_under_time"),
            above=at.get("share_above_10"),
            cold_over=cold.get("over"),
            cold_under=cold.get("under_time_0"),
            gap_closed=each["matched"].get("gap_closed"),
        )

    def curves(self, chosen: str | None) -> list[Curve]:
        """The policies' curves for the frontier."""
        ours = chosen or self.ours()
        rows = {row.policy: row for row in self.rows()}
        edge, curves = self.edge(), []
        for each in self.part["policies"]:
            row = rows[each["policy"]]
            at = None if row.over is None or row.under is None else (row.under, row.over)
            points = tuple(
                (p["under_time_0"], p["over"])
                for p in each["frontier"]
                if p["over"] is not None and p["under_time_0"] is not None
            )
            curves.append(
                Curve(policy_title(row.policy), self._part(row, ours, edge), points, at, row.interval)
            )
        return curves

    def edge(self) -> set[str]:
        """The policies that over-allocate least at some share of time short, of those that can be had."""
        real = [each for each in self.part["policies"] if kind_of(each) not in WITHOUT_SAVING]
        lines = [[(p["over"], each["policy"]) for p in each["frontier"]] for each in real]
        policies = set()
        for points in zip(*lines, strict=False):
            finite = [point for point in points if point[0] is not None]
            policies |= {min(finite)[1]} if finite else set()
        return policies

    def _part(self, row: Row, ours: str | None, edge: set[str]) -> str:
        if row.kind == PolicyKind.BOUND:
            return BOUND
        if row.policy == ours:
            return OURS_CURVE
        if row.best:
            return BEST
        return NAMED if row.policy in edge else OTHER


def _pair(values: Mapping[str, Any] | None, low: str, high: str) -> Pair | None:
    if not values or values.get(low) is None or values.get(high) is None:
        return None
    return float(values[low]), float(values[high])


def resources_of(report: Mapping[str, Any]) -> list[str]:
    """The resources that were compared."""
    return list(report["resources"])


def sorted_rows(rows: Sequence[Row], by: str) -> list[Row]:
    """The rows in the order of a column, unknown values last."""
    if by in ("policy", "kind"):
        return sorted(rows, key=lambda row: (getattr(row, by), row.policy))
    sign = -1.0 if by == "saving" else 1.0

    def key(row: Row) -> float:
        value = getattr(row, by)
        return math.inf if value is None else sign * value

    return sorted(rows, key=key)


_UNDER_WAY = (TaskState.QUEUED, TaskState.RUNNING)


def question(
    choice: Choice,
    settings: EvaluationSettings,
    policies: tuple[str, ...],
    own_settings: OwnSettings | None = None,
) -> Question:
    """The comparison to make on a trace set and a model.

    Raises ConflictError if there is no trace set.
    """
    if choice.traces is None:
        raise ConflictError("There are no traces to compare policies on.", "Add some first.")
    model = choice.model.id if choice.model else None
    return Question(choice.traces.id, model, settings, policies, own_settings or {})


def find(choice: Choice, view: View) -> Result | None:
    """The comparison in the address, else the last one on the pair."""
    if view.problem is not None:
        return None
    if view.settings is None:
        return evaluations.latest(choice)
    store, requested = (
        workspace().evaluations,
        question(choice, view.settings, view.policies, view.own_settings),
    )
    try:
        exact = store.find(requested)
        stored = exact or store.find_earlier(requested)
    except NotFoundError:
        return None
    return (
        None
        if stored is None
        else Result(stored.key, stored.report, view.policies, view.own_settings, earlier=exact is None)
    )


def running(choice: Choice) -> bool:
    """Whether a comparison on the pair is under way."""
    return any(task.state in _UNDER_WAY for task in evaluations.tasks_on(choice))


def tasks(choice: Choice, task_id: str | None) -> list[TaskInfo]:
    """The requested task, else those under way, else the last one."""
    return task_card.tasks_of(evaluations.KIND, evaluations.about(choice), task_id)


def relevant_tasks(recent: list[TaskInfo], task_id: str | None, *, has_result: bool) -> list[TaskInfo]:
    """The tasks to show next to a result: the requested one, those under way, or a failed one."""
    if task_id:
        return recent
    # a finished task shows as its result, or has other settings
    left_out = TaskState if has_result else (TaskState.DONE,)
    return [task for task in recent if task.state in _UNDER_WAY or task.state not in left_out]


def submit(
    choice: Choice,
    settings: EvaluationSettings,
    policies: tuple[str, ...],
    own_settings: OwnSettings | None = None,
    *,
    again: bool = False,
) -> str:
    """Submit a comparison, with `again` even if it is stored; returns the id of its task."""
    return workspace().evaluations.submit(question(choice, settings, policies, own_settings), again=again)


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


def verdict_of(result: Result, view: View, model: ModelInfo | None = None) -> Verdict | None:
    """The verdict of a comparison with the policies and prices of an address; None for an old report."""
    names = model.phase_names if model else NO_NAMES
    return verdict(result.report, view.chosen_policies, view.prices, names)


def values_of(result: Result, view: View) -> Values:
    """The values of the visible resource."""
    answer = verdict_of(result, view)
    selected = None if answer is None else answer.picks[Resource(view.resource)].policy
    return Values(result.report["resources"][view.resource], view.matched, selected)


def manifest(choice: Choice, result: Result, view: View, style: str, workload: str | None = None) -> str:
    """The verdict on all workloads, or on one, as the text of a file.

    Raises InputError for an unknown format or without an amount to set; ConflictError if the
    comparison is of a version without verdicts.
    """
    answer = verdict_of(result, view, choice.model)
    if answer is None or choice.traces is None:
        raise ConflictError("This comparison was made by an earlier version.", "Evaluate again.")
    if workload is not None:
        answer = replace(answer, cards=tuple(each for each in answer.cards if each.name == workload))
    model = choice.model.name if choice.model and result.report["model"] else None
    today = datetime.now(UTC).date().isoformat()
    basis = tuple(assumptions(result.report["recorded"], view.prices))
    return write(answer, About(choice.traces.name, model, today, result.report, basis), style)


def manifest_address(
    choice: Choice, result: Result, view: View, style: str, workload: str | None = None
) -> str:
    """Where that file can be downloaded."""
    chosen = {name: view.query.get(name) for name in (*POLICY_PARAMETERS.values(), *PRICES)}
    return Query(f"/api/provisioning/{result.id}/verdict/{style}", choice.query())(
        workload=workload, **chosen
    )
