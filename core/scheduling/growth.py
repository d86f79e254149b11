"""What a job has printed of its evaluation function E, kept as a few numbers per job.

An observation shows each printed value once; what policies need later is the first, the last and the
largest value, and running sums from which the mean of any interval follows. E is divided by the largest
value that the job has shown so far, so that jobs with different losses can be compared; both ends of a
difference are on the same scale.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import isfinite, nan
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from core.scheduling import lookup
from core.scheduling.quick_values import filled_by_slot

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from core.scheduling.model import Observation


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
    fresh = lookup.printed(seen)
    if not fresh and not seen.ended:
        return tracks
    updated = _with(dict(tracks), fresh)
    for job in seen.ended:
        updated.pop(job.id, None)
    return updated


def _with(tracks: dict[str, Track], fresh: lookup.Printed) -> dict[str, Track]:
    for name, values in fresh:
        track = extended(tracks.get(name), values)
        if track is not None:
            tracks[name] = track
    return tracks


@filled_by_slot
@dataclass(frozen=True, slots=True)
class Backlog:
    """Tracks for a policy that needs them only now and then: observations are kept until it does.

    Parameters
    ----------
    tracks
        What every job had printed when they were needed last.
    read
        The last observation that is in them, or None.
    unread
        Those since then.
    """

    tracks: Tracks = field(default_factory=dict)
    read: Observation | None = None
    unread: tuple[Observation, ...] = ()

    def later(self, seen: Observation) -> Backlog:
        """With another observation."""
        return Backlog(self.tracks, self.read, (*self.unread, seen))

    def caught_up(self, names: Collection[str]) -> Backlog:
        """With all of them in the tracks of these jobs; the others are forgotten."""
        if not self.unread:
            return self
        tracks = {name: track for name, track in self.tracks.items() if name in names}
        fresh = lookup.printed_after(self.read, self.unread, names)
        return Backlog(_with(tracks, fresh), self.unread[-1])


def extended(track: Track | None, values: Sequence[float]) -> Track | None:
    """A track with further values, at least one; None while no value was finite."""
    first, _, largest, before, printed = track or (nan, nan, 0.0, 0.0, 0)
    total = sum(values, before)
    if not isfinite(total):
        values = [value for value in values if isfinite(value)]
        if not values:
            return track
        total = sum(values, before)
    if not printed:
        first = values[0]
    if (high := max(values)) > largest:
        largest = high
    if (depth := -min(values)) > largest:
        largest = depth
    return Track._make((first, values[-1], largest, total, printed + len(values)))
