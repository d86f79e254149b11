"""What a job has printed of its evaluation function E, kept as a few numbers per job.

An observation shows each printed value once; what policies need later is the first, the last and the
largest value, and running sums from which the mean of any interval follows. E is divided by the largest
value that the job has shown so far, so that jobs with different losses can be compared; both ends of a
difference are on the same scale.
"""

from __future__ import annotations

from math import isfinite, nan
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping

    from core.scheduling.model import Observation, Reading


class Track(NamedTuple):
    """The values of E that one job has printed so far.

    Parameters
    ----------
    first, last
        The first and the latest value.
    largest
        The largest value so far (in magnitude, for a loss that goes below zero).
    total, printed
        Sum and number of all values.
    """

    first: float
    last: float
    largest: float
    total: float
    printed: int

    def change(self, before: float, after: float) -> float:
        """|after − before| on the normalised scale: divided by the largest value so far."""
        return abs(after - before) / (self.largest or 1.0)

    def mean_since(self, total: float, printed: int) -> float:
        """Mean of the values printed since the sums were `total` and `printed`; or else the last value."""
        return (self.total - total) / (self.printed - printed) if self.printed > printed else self.last


Tracks: TypeAlias = "Mapping[str, Track]"


def follow(tracks: Tracks, seen: Observation) -> Tracks:
    """Add what was printed since the previous observation; forget the jobs that ended.

    A NaN or infinite value (a diverged loss) is skipped.
    """
    fresh = [job for job in seen.jobs if job.readings]
    if not fresh and not seen.ended:
        return tracks
    updated = dict(tracks)
    for job in fresh:
        track = extended(updated.get(job.id), job.readings)
        if track is not None:
            updated[job.id] = track
    for job in seen.ended:
        updated.pop(job.id, None)
    return updated


def extended(track: Track | None, readings: tuple[Reading, ...]) -> Track | None:
    """A track with further values; None while no value was finite."""
    first, last, largest, total, printed = track or (nan, nan, 0.0, 0.0, 0)
    for _, value in readings:
        if not isfinite(value):
            continue
        if not printed:
            first = value
        if value > largest:
            largest = value
        elif -value > largest:
            largest = -value
        last = value
        total += value
        printed += 1
    return Track(first, last, largest, total, printed) if printed else track
