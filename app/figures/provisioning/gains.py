"""Dots with whiskers in a table: where they lie on a track that all rows share.

The track is drawn by style sheets (``provisioning.css``); here is only its arithmetic, so that the
table costs no figure per row.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

_LOSS, _GAIN = -0.6, 0.6
_LEAST = 0.08
_ROOM = 1.15


@dataclass(frozen=True, slots=True)
class Track:
    """The savings at the left and the right end of the track; zero lies between them."""

    left: float
    right: float

    def place(self, value: float) -> float:
        """Where a saving lies, in percent of the track's width, kept inside it."""
        share = (value - self.left) / (self.right - self.left)
        return round(100 * min(max(share, 0.0), 1.0), 1)


@dataclass(frozen=True, slots=True)
class Mark:
    """One row's dot and whisker in percent of the track, and what it means."""

    #: Where the estimate lies; None when it is off the track.
    dot: float | None
    #: The whisker.
    start: float
    end: float
    #: ``better`` or ``worse`` where the interval excludes zero, else ``open``.
    verdict: str
    #: ``left`` or ``right`` where the estimate is off the track, else empty.
    off: str = ""


def track(savings: Iterable[tuple[float, float | None, float | None]]) -> Track:
    """The track that fits the rows' (saving, low, high); the largest losses may lie off it."""
    values = [bound for row in savings for bound in row if bound is not None and _LOSS <= bound <= _GAIN]
    return Track(
        min([-_LEAST, *(value * _ROOM for value in values)]),
        max([_LEAST, *(value * _ROOM for value in values)]),
    )


def verdict(low: float | None, high: float | None) -> str:
    """What an interval says: ``better``, ``worse``, or ``open`` where it holds zero or there is none."""
    if low is not None and low > 0:
        return "better"
    return "worse" if high is not None and high < 0 else "open"


def mark(value: float, low: float | None, high: float | None, on: Track) -> Mark:
    """Put a saving with its interval on the track."""
    off = "left" if value < on.left else "right" if value > on.right else ""
    ends = [value if bound is None else bound for bound in (low, high)]
    return Mark(
        None if off else on.place(value), on.place(ends[0]), on.place(ends[1]), verdict(low, high), off
    )
