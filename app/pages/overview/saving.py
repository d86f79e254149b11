"""What the newest comparison of policies says could be saved, as one key figure."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from app.context import address, workspace
from app.ui.evaluations import KIND
from core.errors import NotFoundError
from core.provisioning.evaluation.intervals import LEAST_UNITS
from core.provisioning.verdict.choice import surely, units
from core.units import format_share
from core.workspace.records import TaskState

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from core.workspace.records import TaskInfo

_NAMES = {"cpu": "CPU", "memory": "Memory"}
_LOOK_BACK = 100


@dataclass(frozen=True, slots=True)
class Saving:
    """What one resource over-allocates, and what it would under the best policy that surely does better."""

    #: ``CPU`` or ``Memory``.
    resource: str
    #: Over-allocation of the best reactive rule, as a share of demand, at matched violation; None where no
    #: such rule was compared.
    now: float | None
    #: That of the policy to take; None where none is surely better, or too few containers were held out.
    then: float | None
    #: Between which policies, or why there is nothing to gain, in one sentence.
    words: str
    #: The comparison.
    href: str

    @property
    def figure(self) -> str:
        """Both shares, ``37% → 28%``; one where nothing is surely saved."""
        if self.now is None:
            return "–"
        before = format_share(self.now, 0)
        return before if self.then is None else f"{before} → {format_share(self.then, 0)}"

    @property
    def title(self) -> str:
        """What the figure is."""
        more = "you could avoid" if self.then is not None else "of the best simple rule"
        return f"{self.resource} over-allocation {more}"


def newest_saving(trace_set: str = "") -> Saving | None:
    """The saving of the newest comparison that is still kept, CPU's if it can be; None before the first.

    Comparisons of the trace set that is chosen come before others, which are named.
    """
    done = workspace().tasks.list(_LOOK_BACK, [TaskState.DONE], [KIND])
    for task in sorted(done, key=lambda task: task.params.get("trace_set") != trace_set):
        try:
            stored = workspace().evaluations.get(str((task.result or {}).get("evaluation", "")))
        except NotFoundError:
            continue
        found = [saving_of(name, part, stored.report, _address(task)) for name, part in _parts(stored.report)]
        best = max(found, key=_gain, default=None)
        other = task.params.get("trace_set") != trace_set
        return _of_another(best, str(task.params.get("trace_set"))) if best and trace_set and other else best
    return None


def _of_another(found: Saving, trace_set: str) -> Saving:
    """A saving that is not of the chosen set, and says so."""
    try:
        name = f"“{workspace().traces.get(trace_set).name}”"
    except NotFoundError:
        name = "traces that are gone"
    return replace(found, words=f"{found.words}; on {name}")


def _parts(report: Mapping[str, Any]) -> Sequence[tuple[str, Mapping[str, Any]]]:
    return [(name, report["resources"][name]) for name in _NAMES if name in report["resources"]]


def _gain(found: Saving) -> float:
    """By how much a resource's share falls; of those where it does not, CPU comes first."""
    return (found.now or 0.0) - found.then if found.then is not None else 0.0


def _address(task: TaskInfo) -> str:
    query = {"traces": task.params.get("trace_set"), "model": task.params.get("model")}
    return address("/provisioning", None, **query)


def saving_of(resource: str, part: Mapping[str, Any], report: Mapping[str, Any], href: str) -> Saving:
    """What one resource of a report could save."""
    name, best = _NAMES[resource], part.get("best_reactive")
    rows = {str(each["policy"]): each for each in part["policies"]}
    base = rows.get(str(best))
    if base is None:
        return Saving(name, None, None, "No simple rule was compared.", href)
    now, held_out = float(base["matched"]["over"]), units(report)
    if held_out < LEAST_UNITS:
        what = "groups" if report["split"].get("held_out_groups") else "containers"
        words = f"of demand, under {best}. {held_out} held-out {what} are too few to say what would be less."
        return Saving(name, now, None, words, href)
    if resource == "memory":
        words = f"of demand, under {best}. Too little memory kills: see which fixed limits are recommended."
        return Saving(name, now, None, words, href)
    better = {policy: low for policy, each in rows.items() if (low := surely(each)) > 0}
    if not better:
        return Saving(name, now, None, f"of demand. Nothing compared reliably beats {best}.", href)
    chosen = max(better, key=lambda policy: better[policy])
    matched = rows[chosen]["matched"]
    then, short = float(matched["over"]), format_share(float(matched["under_time_0"]))
    words = f"{chosen} against {best}, short {short} of the time"
    if (report.get("model") or {}).get("trained_on") == "held_out":
        words += "; its phase model was trained on these very containers, so less may be saved on others"
    return Saving(name, now, then, words, href)
