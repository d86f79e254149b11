"""One tick of a ledger in words: what was seen, what was decided, and why."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from core.scheduling.actions import (
    Migrate,
    Pause,
    Refuse,
    Resume,
    SetLimit,
    SetMemory,
    SetThreads,
    Start,
    Stop,
)
from core.units import format_bytes, format_cores, format_duration, format_number

if TYPE_CHECKING:
    from collections.abc import Mapping

    from core.scheduling.actions import Action, Reason
    from core.scheduling.loop import Entry
    from core.scheduling.model import Job

TRIGGERS = {
    "tick": "its interval has passed",
    "arrival": "a job arrived",
    "departure": "a job ended",
    "outcome": "an action has ended or failed",
}
_PLAIN: dict[type, str] = {
    Refuse: "is refused",
    Pause: "is paused",
    Resume: "resumes",
    Stop: "is stopped",
}
_CHANGES = ("label", "worker", "limit", "state")


@dataclass(frozen=True, slots=True)
class Line:
    """A job at one tick."""

    #: As it was seen.
    job: Job
    #: Its list and G, as the policy has them after this tick.
    label: str
    growth: float | None
    #: Cores used since the observation before, or None.
    used: float | None
    #: The limit after this tick; `before` says what it was.
    limit: float | None
    #: The limit that was seen.
    before: float | None
    #: The last printed value, or None.
    loss: float | None
    #: What was done about it, and why.
    actions: tuple[Action, ...] = field(default=())
    reasons: tuple[Reason, ...] = field(default=())

    @property
    def decided(self) -> bool:
        """Whether something was done about it."""
        return bool(self.actions)


def lines(entry: Entry, series: Mapping[str, Any] | None) -> list[Line]:
    """The jobs of a tick, in order of submission; those that ended come last."""
    marks = {mark.job: mark for mark in entry.marks}
    made = []
    for job in (*entry.observation.jobs, *entry.observation.ended):
        actions = tuple(action for action in entry.actions if action.job == job.id)
        given = [action.limit for action in actions if isinstance(action, SetLimit | Start)]
        mark = marks.get(job.id)
        made.append(
            Line(
                job=job,
                label=mark.label if mark else "",
                growth=mark.growth if mark else None,
                used=_used(series, job.id, entry.observation.number),
                limit=given[-1] if given else job.limit,
                before=job.limit,
                loss=_at(series, job.id, "loss", entry.observation.number),
                actions=actions,
                reasons=tuple(reason for reason in entry.reasons if reason.job == job.id),
            )
        )
    return made


def _used(series: Mapping[str, Any] | None, job: str, number: int) -> float | None:
    first = (series or {}).get("jobs", {}).get(job, {}).get("first")
    return None if number == first else _at(series, job, "cpu", number)


def _at(series: Mapping[str, Any] | None, job: str, name: str, number: int) -> float | None:
    own = (series or {}).get("jobs", {}).get(job)
    if own is None or not 0 <= number - own["first"] < len(own[name]):
        return None
    value = own[name][number - own["first"]]
    return None if value is None else float(value)


def cores(value: float | None) -> str:
    """A limit in words."""
    return "no limit" if value is None else format_cores(value)


def sentence(action: Action) -> str:
    """An action in words."""
    match action:
        case Start(worker=worker, limit=limit):
            what = f"starts on {worker}" + ("" if limit is None else f" with {format_cores(limit)}")
        case SetLimit(limit=limit, weight=weight):
            what = f"may use {format_cores(limit)}" if limit is not None else "has no limit"
            what += "" if weight == 1 else f", weight {format_number(weight)}"
        case SetMemory(limit=limit):
            what = "has no memory limit" if limit is None else f"may use {format_bytes(limit)} of memory"
        case SetThreads(threads=threads):
            what = f"uses {threads:,} thread{'s' if threads != 1 else ''}"
        case Migrate(to=to):
            what = f"moves to {to}"
        case _:
            what = _PLAIN[type(action)]
    return f"{action.job} {what}"


def figures(reason: Reason) -> str:
    """The figures that decided: ``G 0.21, α 0.03``."""
    return ", ".join(f"{name} {_figure(value)}" for name, value in reason.values)


def _figure(value: float) -> str:
    if value != value or value in (float("inf"), float("-inf")):  # noqa: PLR0124 - not a number
        return "–"
    text = f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
    return text.replace("-", "−")


def history(series: Mapping[str, Any], job: str) -> list[tuple[int, str]]:
    """When something changed for a job: (tick, what) in order.

    A limit or a worker that is seen at a tick was given at the one before.
    """
    own = series.get("jobs", {}).get(job)
    if own is None:
        return []
    found: list[tuple[int, str]] = []
    before: dict[str, Any] = {}
    for at in range(len(own["label"])):
        words = []
        for name in _CHANGES:
            value = own[name][at]
            if name in before and before[name] != value and (value or name == "limit"):
                words.append(_change(name, value))
            before[name] = value
        if words or at == 0:
            found.append((own["first"] + at, ", ".join(words) or "seen for the first time"))
    return found


def _change(name: str, value: Any) -> str:
    match name:
        case "limit":
            return cores(value)
        case "worker":
            return f"on {value}"
        case "label":
            return f"now {value}"
        case _:
            return str(value)


def asked_because(entry: Entry) -> str:
    """When and why the policy was asked."""
    seen = entry.observation
    return f"At {format_duration(seen.time)}: {TRIGGERS.get(seen.trigger.value, seen.trigger.value)}."
