"""One resource's part of an evaluation's report, as the page shows it: typed rows, and who is who in them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from app.figures.provisioning.frontier import BEST, BOUND, NAMED, OTHER, Curve
from app.figures.provisioning.frontier import OURS as OURS_CURVE
from core.provisioning.evaluation.comparison import PAPERS_BASE
from core.provisioning.policy import PolicyKind
from core.provisioning.verdict.choice import kind_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

WITHOUT_SAVING = tuple(kind for kind in PolicyKind if kind.knows_future)
"""Kinds of policies that know the future: nobody can achieve what they save."""
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
    #: The policy that the verdict takes, or None.
    taken: str | None = None

    @property
    def best(self) -> str | None:
        """The best reactive rule, chosen on training containers."""
        found: str | None = self.part.get("best_reactive")
        return found

    @property
    def reference(self) -> str | None:
        """What savings are measured against: the best reactive rule; as published, ``prev.step.rules``."""
        return self.best if self.matched else PAPERS_BASE

    def names(self) -> list[str]:
        """The policies that were compared."""
        return [each["policy"] for each in self.part["policies"]]

    def ours(self) -> str | None:
        """Our own policy; else the one that is taken, or the least wasteful one that is no simple rule."""
        rows = [row for row in self.rows() if row.kind not in WITHOUT_SAVING and row.over is not None]
        own = next((row.policy for row in self.rows() if row.kind == PolicyKind.OURS), None)
        if own is not None or self.taken in self.names():
            return own or self.taken
        plain = tuple(kind for kind in PolicyKind if kind.plain)
        rows = [row for row in rows if row.kind not in plain] or [row for row in rows if not row.best]
        return min(rows, key=lambda row: row.over or 0.0).policy if rows else None

    def rows(self) -> list[Row]:
        """A row per policy, those that over-allocate least first."""
        found = [self._row(each) for each in self.part["policies"]]
        return sorted(found, key=lambda row: math.inf if row.over is None else row.over)

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
            curves.append(Curve(row.policy, self._part(row, ours, edge), points, at, row.interval))
        return curves

    def edge(self) -> set[str]:
        """The policies that over-allocate least at some share of time short, of those that can be had."""
        real = [each for each in self.part["policies"] if kind_of(each) not in WITHOUT_SAVING]
        lines = [[(p["over"], each["policy"]) for p in each["frontier"]] for each in real]
        found = set()
        for points in zip(*lines, strict=False):
            known = [point for point in points if point[0] is not None]
            found |= {min(known)[1]} if known else set()
        return found

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
    """The rows in the order of a column; what is unknown comes last."""
    if by in ("policy", "kind"):
        return sorted(rows, key=lambda row: (getattr(row, by), row.policy))
    sign = -1.0 if by == "saving" else 1.0

    def key(row: Row) -> float:
        value = getattr(row, by)
        return math.inf if value is None else sign * value

    return sorted(rows, key=key)
