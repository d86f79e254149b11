"""Statistics of demand per phase, as policies use them: of training samples, and of a container's own so far.

Warm-up is a phase like the others here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from core.phases.kernels.compiling import exact, inlined
from core.provisioning.advice import serializable

if TYPE_CHECKING:
    from core.provisioning.fleet import Fleet, Floats, Integers, Labels


@serializable
@dataclass(frozen=True, eq=False)
class PhaseMoments:
    """Mean and sd of demand per phase."""

    #: Shape (n_phases + 1,): entry p + 1 is phase p; entry 0 is warm-up. A phase without training samples has
    #: the values of all samples.
    mean: Floats
    sd: Floats

    def of(self, phase: Labels) -> tuple[Floats, Floats]:
        """Mean and sd of phases; those never seen in training have the values of all samples."""
        place = places(phase, len(self.mean) - 1)
        return self.mean[place], self.sd[place]


def places(phase: Labels, size: int) -> Integers:
    """The index of phases in tables: warm-up at 0, phase p at p + 1, unknown ones at the end."""
    place = phase.astype(np.int64) + 1
    return np.where(place < size, place, size)


def phase_moments(values: Floats, labels: Labels) -> PhaseMoments:
    """Mean and population sd of each phase, and, as the last entry, of all samples."""
    n = int(labels.max(initial=-1)) + 2
    place = labels.astype(np.int64) + 1
    size = np.bincount(place, minlength=n)
    total = np.bincount(place, values, minlength=n)
    mean = np.divide(total, size, out=np.zeros(n), where=size > 0)
    low, high = np.full(n, np.inf), np.full(n, -np.inf)
    np.minimum.at(low, place, values)
    np.maximum.at(high, place, values)
    mean = np.where(size > 0, np.clip(mean, low, high), values.mean())
    squares = np.bincount(place, (values - mean[place]) ** 2, minlength=n)
    sd = np.sqrt(np.divide(squares, size, out=np.full(n, values.var()), where=size > 0))
    return PhaseMoments(np.append(mean, values.mean()), np.append(sd, values.std()))


@dataclass(frozen=True, eq=False)
class OwnMoments:
    """A container's own samples so far in the phase that it is in, per cycle."""

    #: How many there are, shape (n_cycles,).
    count: Floats
    #: Their mean and population sd. All are NaN in a container's first cycle.
    mean: Floats
    sd: Floats


def own_moments(values: Floats, fleet: Fleet, labels: Labels) -> OwnMoments:
    """What each container has shown of its phase until just before each cycle.

    Sums are of differences from the container's first value in the phase, so that a constant demand
    has exactly its own mean.

    Parameters
    ----------
    values
        Demand, shape (n,).
    fleet
        The containers.
    labels
        The phase of each sample.
    """
    if not len(values):
        return OwnMoments(np.empty(0), np.empty(0), np.empty(0))
    found = np.full((3, fleet.n_cycles), np.nan)
    n_phases = int(labels.max(initial=-1)) + 2
    add_up((values, labels.astype(np.int64) + 1), fleet.offsets, fleet.starts, n_phases, found)
    return OwnMoments(*found)


class Own(NamedTuple):
    """A container's own samples so far in one phase."""

    #: How many there are.
    size: int = 0
    #: The first one's value.
    origin: float = 0.0
    #: Sums of differences from that, and of their squares.
    apart: float = 0.0
    squares: float = 0.0

    def after(self, value: float) -> Own:
        """Also with this sample."""
        origin = self.origin if self.size else value
        apart = value - origin
        return Own(self.size + 1, origin, self.apart + apart, self.squares + apart * apart)

    @property
    def moments(self) -> tuple[float, float]:
        """Mean and population sd."""
        return _moments(self.size, self.origin, self.apart, self.squares)


def _moments(count: int, origin: float, apart: float, squares: float) -> tuple[float, float]:
    shift = apart / count
    return origin + shift, np.sqrt(max(squares / count - shift * shift, 0.0))


_moments_of = inlined(_moments)


@exact
def add_up(samples: Any, offsets: Integers, starts: Integers, n_phases: int, found: Floats) -> None:
    """Fill `found` with count, mean and sd of a container's phase until just before each of its cycles."""
    values, places_of = samples
    count, origin = np.zeros(n_phases, np.int64), np.empty(n_phases)
    apart, squares = np.empty(n_phases), np.empty(n_phases)
    cycle = 0
    for i in range(len(offsets) - 1):
        count[:] = 0
        for t in range(offsets[i], offsets[i + 1]):
            if cycle < len(starts) and starts[cycle] == t:
                if t > offsets[i]:
                    p = places_of[t - 1]
                    found[0, cycle] = count[p]
                    found[1, cycle], found[2, cycle] = _moments_of(count[p], origin[p], apart[p], squares[p])
                cycle += 1
            p = places_of[t]
            if count[p] == 0:
                origin[p], apart[p], squares[p] = values[t], 0.0, 0.0
            away = values[t] - origin[p]
            count[p] += 1
            apart[p] += away
            squares[p] += away * away
