"""Chooses the policy for a resource from a comparison's report, with the reason."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from core.bootstrap_intervals import MIN_UNITS
from core.provisioning.policies import POLICIES
from core.provisioning.policy import PolicyKind
from core.units import MINUS, format_share

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_WITH_PHASES = (PolicyKind.PUBLISHED, PolicyKind.OURS)


@dataclass(frozen=True, slots=True)
class Pick:
    """The policy taken for a resource."""

    #: Its name, or None where nothing was compared that could be taken.
    policy: str | None
    #: Whether its interval against the best reactive rule excludes zero.
    better: bool
    #: Whether a person chose it.
    by_hand: bool
    #: Why.
    sentence: str


def kind_of(row: Mapping[str, Any]) -> PolicyKind:
    """A policy's kind as it is declared now; as the report has it where the policy is gone."""
    name = str(row["policy"])
    return PolicyKind(POLICIES[name].kind if name in POLICIES else row["kind"])


def pick(part: Mapping[str, Any], held_out: int, override: str | None = None) -> Pick:
    """Choose the policy for one resource.

    A policy is taken in place of the best reactive rule only where its whole interval is above zero: over
    groups too where containers were held out by groups, and also where both are short for the same share of
    the held-out containers' time, so that no policy wins by falling short more often than it was calibrated
    to. Of those, the one with the highest lower bound. With fewer than `MIN_UNITS` held-out containers, or
    groups of them, nothing can be shown, so the rule is taken.
    """
    rows, best = list(part["policies"]), part.get("best_reactive")
    if override is not None and any(row["policy"] == override for row in rows):
        return Pick(override, better=False, by_hand=True, sentence=_by_hand(rows, override))
    if held_out < MIN_UNITS:
        sentence = f"It did best of the rules without learning; {_FEW}." if best else _NOTHING
        return Pick(best, better=False, by_hand=False, sentence=sentence)
    winner = max((row for row in rows if surely(row) > 0), key=surely, default=None)
    if winner is not None:
        return Pick(winner["policy"], better=True, by_hand=False, sentence=_why(winner, str(best)))
    return Pick(best, better=False, by_hand=False, sentence=_why_not(rows, best))


_NOTHING = "No reactive rule was compared, so there is nothing to fall back on."
_PICKED = "It was picked on these same containers, which flatters it a little."
_FEW = "with so few held out no other policy can be shown to be better"


def units(report: Mapping[str, Any]) -> int:
    """The number of independent held-out units: groups where whole groups were held out, else containers."""
    split = report["split"]
    if not split.get("tested", True):
        return 0
    return len(split.get("held_out_groups") or split["held_out"])


def _by_hand(rows: Sequence[Mapping[str, Any]], override: str) -> str:
    row = next(row for row in rows if row["policy"] == override)
    if kind_of(row).knows_future:
        return "Chosen in the table. It knows the future, so these amounts cannot be set."
    return "Chosen in the table."


def surely(row: Mapping[str, Any]) -> float:
    """The lower bound of what a policy that can be used saves; below zero where that is not known."""
    kind = kind_of(row)
    if kind.knows_future or kind is PolicyKind.STATIC:
        return -1.0
    against = row["matched"].get("against_best") or {}
    lows = [against[name] for name in ("low", "group_low", "exact_low") if against.get(name) is not None]
    return float(min(lows)) if against.get("low") is not None else -1.0


def _why(row: Mapping[str, Any], best: str) -> str:
    against = row["matched"]["against_best"]
    words = (
        f"{format_share(against['saving'], 0)} less over-allocation than {best}, the best reactive rule; "
        f"95% interval {_span(against['low'], against['high'])}"
    )
    if against.get("group_low") is not None:
        words += f", over groups {_span(against['group_low'], against['group_high'])}"
    if against.get("exact_low") is not None:
        words += f", with both short equally often {_span(against['exact_low'], against['exact_high'])}"
    return f"{words}. {_PICKED}"


def _why_not(rows: Sequence[Mapping[str, Any]], best: str | None) -> str:
    if best is None:
        return _NOTHING
    if any(kind_of(row) in _WITH_PHASES for row in rows):
        return f"No policy with phases reliably beats {best} on these traces, so none is recommended."
    return f"Nothing that was compared reliably beats {best} on these traces."


def _span(low: float, high: float) -> str:
    return f"{_bare(low)} to {_bare(high)}%"


def _bare(share: float) -> str:
    return f"{MINUS if round(share * 100) < 0 else ''}{abs(share) * 100:.0f}"
