"""What a job has printed of its evaluation function E, kept as a few numbers per job.

An observation shows each printed value once; what policies need later is the first, the last and the
largest value, and running sums from which the mean of any interval follows. E is divided by the largest
value that the job has shown so far, so that jobs with different losses compare; both ends of a difference
are on the same scale.
"""

from __future__ import annotations

from math import isfinite
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
    """Add what was printed since the observation before; forget the jobs that ended.

    A value that is not a number (a diverged loss) is passed over.
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
    """A track with further values; None while no value was a number."""
    values = [value for _, value in readings]
    summed = sum(values)
    if not isfinite(summed):  # one look at the sum is cheaper than one at every value
        values = [value for value in values if isfinite(value)]
        summed = sum(values)
    if not values:
        return track
    largest = max(max(values), -min(values))  # noqa: PLW3301 - unpacking the values costs more than they do
    if track is None:
        return Track(values[0], values[-1], largest, summed, len(values))
    first, _, before, total, printed = track
    return Track(first, values[-1], max(largest, before), total + summed, printed + len(values))
