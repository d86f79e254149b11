"""What an attached policy has freed, or would have: the sums, and their course in few points."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from core.scheduling.policies.autopilot.evidence import Book

if TYPE_CHECKING:
    from core.scheduling.loop import Entry
    from core.scheduling.policies.autopilot.evidence import Evidence

MOST_POINTS = 240
"""Of a course; every second one is left out when there are more."""
_SHOWN = 8

Point = tuple[float, float, float, float]


class EvidenceLog:
    """Takes the entries of a policy.

    Parameters
    ----------
    begun
        When the run's clock began, seconds since 1970.

    Attributes
    ----------
    evidence
        The sums so far, with the containers that say most about them; None of a policy that sees no samples.
    course
        See `core.runtime.live.view.control_values.Attached`.
    """

    def __init__(self, begun: float) -> None:
        self._book = Book()
        self._begun = begun
        self._every, self._due = 1.0, 0.0
        self.evidence: Evidence | None = None
        self.course: list[Point] = []

    def take(self, entry: Entry) -> None:
        """Take the next entry."""
        self._book.take(entry)
        found = self._book.evidence()
        if found is None:
            return
        shown = found.containers[:_SHOWN]
        left = [each for each in found.containers[_SHOWN:] if each.left or each.unfamiliar]
        self.evidence = replace(found, containers=(*shown, *left))
        seen = entry.observation.time
        if found.seconds > 0 and seen >= self._due:
            self.course.append(
                (self._begun + seen, found.freed_cores_now, found.freed_bytes_now, found.short_share)
            )
            self._due = seen + self._every
        if len(self.course) > MOST_POINTS:
            self.course = self.course[1::2]
            self._every *= 2
