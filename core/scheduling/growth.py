"""The printed values of the evaluation function E, summed up in a few numbers per job.

An observation contains each printed value once. Policies need the first, the last and the largest value, and
running sums for the mean over any interval. E is divided by the largest value so far, so that jobs with
different losses can be compared.
"""

from __future__ import annotations

from math import isfinite, nan
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from core.scheduling import lookup

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from core.scheduling.model import Observation


class Track(NamedTuple):
    """The printed values of one job."""

    #: The first and the latest value.
    first: float
    last: float
    #: The largest value so far (by magnitude, for losses below zero).
    largest: float
    #: Sum and number of all values.
    total: float
    n_printed: int

    def change(self, before: float, after: float) -> float:
        """Return |after − before| divided by the largest value so far."""
        return abs(after - before) / (self.largest or 1.0)

    def mean_since(self, total: float, printed: int) -> float:
        """Return the mean of the values since the sums were `total` and `printed`, or the last value."""
        return (self.total - total) / (self.n_printed - printed) if self.n_printed > printed else self.last


Tracks: TypeAlias = "Mapping[str, Track]"


def update_tracks(tracks: Tracks, observation: Observation) -> Tracks:
    """Add the values of an observation and drop the jobs that ended.

    NaN and infinite values (a diverged loss) are skipped.
    """
    fresh = lookup.new_values(observation)
    if not fresh and not observation.ended:
        return tracks
    updated = dict(tracks)
    for name, values in fresh:
        track = extend_track(tracks.get(name), values)
        if track is not None:
            updated[name] = track
    for job in observation.ended:
        updated.pop(job.id, None)
    return updated


def extend_track(track: Track | None, values: Sequence[float]) -> Track | None:
    """Return a track with at least one more value; None while no value was finite."""
    first, _, magnitude, total, printed = track or (nan, nan, 0.0, 0.0, 0)
    values = keep_finite(values)
    if not values:
        return track
    if not printed:
        first = values[0]
    sums = (sum(values, total), printed + len(values))
    return Track._make((first, values[-1], max_magnitude(magnitude, values), *sums))


def keep_finite(values: Sequence[float]) -> Sequence[float]:
    """Drop NaN and infinite values, as a diverged loss prints them."""
    return values if isfinite(sum(values)) else [value for value in values if isfinite(value)]


def max_magnitude(before: float, values: Sequence[float]) -> float:
    """Return the largest magnitude of an earlier maximum and new values."""
    largest = before
    if (high := max(values)) > largest:
        largest = high
    if (depth := -min(values)) > largest:
        largest = depth
    return largest
