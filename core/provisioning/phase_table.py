"""Statistics of demand per phase, as policies use them: of training samples, and of a container's own so far.

Warm-up is a phase like the others here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from core.provisioning.fleet import Fleet, Floats, Integers, Labels


@dataclass(frozen=True, eq=False)
class PhaseMoments:
    """Mean and sd of demand per phase.

    Parameters
    ----------
    mean, sd
        Shape (n_phases + 1,): entry p + 1 is phase p; entry 0 is warm-up. A phase without training
        samples has the values of all samples.
    """

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
    """A container's own samples so far in the phase that it is in, per cycle.

    Parameters
    ----------
    count
        How many there are, shape (n_cycles,).
    mean, sd
        Their mean and population sd; NaN in a container's first cycle.
    """

    count: Floats
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
    n_phases = int(labels.max(initial=-1)) + 2
    key = fleet.container * n_phases + labels + 1
    order = np.argsort(key, kind="stable")
    ordered = key[order]
    begins = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1]))
    sizes = np.diff(np.append(begins, len(ordered)))
    origin = np.repeat(values[order][begins], sizes)
    count = np.arange(1, len(ordered) + 1) - np.repeat(begins, sizes)
    apart = values[order] - origin
    shift = _running(apart, begins, sizes) / count
    variance = np.maximum(_running(apart * apart, begins, sizes) / count - shift * shift, 0.0)
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    seen = place[np.maximum(fleet.starts - 1, 0)]
    mean, sd = origin[seen] + shift[seen], np.sqrt(variance[seen])
    unknown = np.where(fleet.first, np.nan, 0.0)
    return OwnMoments(count[seen].astype(np.float64), mean + unknown, sd + unknown)


def _running(values: Floats, begins: Integers, sizes: Integers) -> Floats:
    """Cumulative sums that restart at each stretch."""
    running = np.cumsum(values)
    return running - np.repeat(running[begins] - values[begins], sizes)
