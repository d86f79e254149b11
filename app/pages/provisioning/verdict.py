"""What a comparison says, in sentences: for each resource the policy to take, and why that one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from app.pages.provisioning.query import RESOURCES
from app.pages.provisioning.values import WITHOUT_SAVING, Row, Values
from core.provisioning.evaluation.comparison import PAPERS_BASE
from core.provisioning.policy import PolicyKind
from core.units import MINUS, format_share

if TYPE_CHECKING:
    from collections.abc import Mapping

_NOT_TO_TAKE = (*WITHOUT_SAVING, PolicyKind.STATIC)
_PHASES = (PolicyKind.PUBLISHED, PolicyKind.OURS)


@dataclass(frozen=True, slots=True)
class Verdict:
    """Which policy to take for a resource.

    Parameters
    ----------
    resource
        ``cpu`` or ``memory``.
    policy
        Its name, or None where nothing was compared that could be taken.
    better
        Whether its interval against the best reactive rule excludes zero.
    sentence
        Why.
    row
        Its line of the table, at matched violation.
    from_base
        How much less it over-allocates than ``prev.step.rules``, or None.
    """

    resource: str
    policy: str | None
    better: bool
    sentence: str
    row: Row | None
    from_base: float | None


def verdict(resource: str, part: Mapping[str, Any]) -> Verdict:
    """Choose the policy for one resource of a report.

    A policy is taken in place of the best reactive rule only where its whole interval is above zero, over
    groups too where containers were held out by groups; of those, the one with the highest lower bound.
    """
    values = Values(part, matched=True)
    rows = [row for row in values.rows() if row.kind not in _NOT_TO_TAKE]
    winners = [row for row in rows if _surely(row) > 0]
    chosen = max(winners, key=_surely, default=None)
    reference = next((row for row in rows if row.policy == values.best), None)
    taken = chosen or reference
    if taken is None:
        return Verdict(
            resource, None, better=False, sentence="No reactive rule was compared.", row=None, from_base=None
        )
    sentence = _why(chosen, values.best) if chosen else _why_not(rows, values.best)
    return Verdict(
        resource, taken.policy, chosen is not None, sentence, taken, _from_base(part, taken.policy)
    )


def _surely(row: Row) -> float:
    """The lower bound of a policy's saving; below zero where that is not known."""
    lows = [pair[0] for pair in (row.saving_interval, row.group_interval) if pair is not None]
    return min(lows) if lows else -1.0


def _why(row: Row, best: str | None) -> str:
    low, high = row.saving_interval or (0.0, 0.0)
    words = (
        f"{format_share(row.saving or 0.0, 0)} less over-allocation than {best}, the best reactive rule; "
        f"interval {_span(low, high)}"
    )
    if row.group_interval is not None:
        words += f", over groups {_span(*row.group_interval)}"
    return f"{words}."


def _why_not(rows: list[Row], best: str | None) -> str:
    if any(row.kind in _PHASES for row in rows):
        return f"No policy with phases reliably beats {best} on these traces, so none is recommended."
    return f"Nothing that was compared reliably beats {best} on these traces."


def _span(low: float, high: float) -> str:
    return f"{_bare(low)} to {_bare(high)}%"


def _bare(share: float) -> str:
    return f"{MINUS if round(share * 100) < 0 else ''}{abs(share) * 100:.0f}"


def _from_base(part: Mapping[str, Any], policy: str) -> float | None:
    each = next((row for row in part["policies"] if row["policy"] == policy), None)
    against = (each or {"matched": {}})["matched"].get("against") or {}
    found = against.get(PAPERS_BASE)
    return None if found is None else found.get("saving")


def title(found: Verdict) -> str:
    """The resource and the policy, as a sentence begins."""
    name = RESOURCES.get(found.resource, found.resource)
    return f"{name}: {found.policy}." if found.policy else f"{name}."
