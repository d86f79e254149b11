"""What a job has printed of its evaluation function E, kept as a few numbers per job.

An observation shows each printed value once; what policies need later is the first, the last and the
largest value, and running sums from which the mean of any interval follows. E is divided by the largest
value that the job has shown so far, so that jobs with different losses can be compared; both ends of a
difference are on the same scale.
"""

from __future__ import annotations

from math import isfinite, nan
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from core.scheduling import lookup

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from core.scheduling.model import Observation


class Track(NamedTuple):
    """The values of E that one job has printed so far."""

    #: The first and the latest value.
    first: float
    last: float
    #: The largest value so far (in magnitude, for a loss that goes below zero).
    largest: float
    #: Sum and number of all values.
    total: float
    n_printed: int

    def change(self, before: float, after: float) -> float:
        """|after − before| on the normalised scale: divided by the largest value so far."""
        return abs(after - before) / (self.largest or 1.0)

    def mean_since(self, total: float, printed: int) -> float:
        """Mean of the values printed since the sums were `total` and `printed`; or else the last value."""
        return (self.total - total) / (self.n_printed - printed) if self.n_printed > printed else self.last


Tracks: TypeAlias = "Mapping[str, Track]"


def update_tracks(tracks: Tracks, seen: Observation) -> Tracks:
    """Add what was printed since the previous observation; forget the jobs that ended.

    A NaN or infinite value (a diverged loss) is skipped.
    """
    fresh = lookup.new_values(seen)
    if not fresh and not seen.ended:
        return tracks
    updated = dict(tracks)
    for name, values in fresh:
        track = extend_track(tracks.get(name), values)
        if track is not None:
            updated[name] = track
    for job in seen.ended:
        updated.pop(job.id, None)
    return updated


def extend_track(track: Track | None, values: Sequence[float]) -> Track | None:
    """A track with further values, at least one; None while no value was finite."""
    first, _, magnitude, total, printed = track or (nan, nan, 0.0, 0.0, 0)
    values = keep_finite(values)
    if not values:
        return track
    if not printed:
        first = values[0]
    sums = (sum(values, total), printed + len(values))
    return Track._make((first, values[-1], max_magnitude(magnitude, values), *sums))


def keep_finite(values: Sequence[float]) -> Sequence[float]:
    """Those that are neither NaN nor infinite, as a diverged loss is."""
    return values if isfinite(sum(values)) else [value for value in values if isfinite(value)]


def max_magnitude(before: float, values: Sequence[float]) -> float:
    """The largest magnitude of what was printed before, and of further values, at least one."""
    found = before
    if (high := max(values)) > found:
        found = high
    if (depth := -min(values)) > found:
        found = depth
    return found
