"""How long a phase lasts: P(leave within s seconds) from the empirical hazard of run lengths.

At each duration t at which runs ended, the hazard is d/n: runs that ended then, over runs that had lasted
at least that long. S(t) = Π (1 − d/n) is the product-limit estimate (Kaplan and Meier, 1958), and
P(leave within s | stayed a) = 1 − S(a + s)/S(a). The end of an execution counts as leaving; with
``ends_leave=False`` an execution's last run is only known to have lasted at least that long.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from core.sequences.runs import PhaseSequences
    from core.traces.model import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class DwellTimes:
    """The dwell times in a phase."""

    #: The durations of all runs that were looked at, ascending, shape (n_runs,).
    seconds: FloatArray
    #: The distinct durations after which runs were left, ascending, shape (n,).
    times: FloatArray
    #: How many were left then, and how many had lasted at least that long, shape (n,).
    left: IntArray
    at_risk: IntArray

    @property
    def n_runs(self) -> int:
        """The number of runs."""
        return len(self.seconds)

    @property
    def median(self) -> float:
        """The median duration in seconds; NaN without runs."""
        return float(np.median(self.seconds)) if self.n_runs else float("nan")

    @property
    def mean(self) -> float:
        """The mean duration in seconds; NaN without runs."""
        return float(self.seconds.mean()) if self.n_runs else float("nan")

    @property
    def hazard(self) -> FloatArray:
        """P(left at this duration | lasted that long), shape (n,)."""
        return self.left / np.maximum(self.at_risk, 1)

    @property
    def left_by(self) -> FloatArray:
        """P(left by this duration), shape (n,)."""
        return 1.0 - np.cumprod(1.0 - self.hazard)

    def leave_within(self, seconds: float, stayed: float = 0.0) -> float:
        """P(left within `seconds` more | has stayed `stayed` seconds); NaN where no run lasted that long."""
        if not self.n_runs or stayed >= self.seconds[-1]:
            return float("nan")
        inside = (self.times > stayed) & (self.times <= stayed + seconds)
        return float(1.0 - np.prod(1.0 - self.hazard[inside]))


def runs_after(sequences: PhaseSequences, after: Sequence[int]) -> IntArray:
    """The runs of the last of some phases that directly followed the others."""
    found = np.flatnonzero(sequences.phase == after[-1])
    for back, phase in enumerate(reversed(after[:-1]), 1):
        found = found[found >= back]
        same = sequences.owner[found - back] == sequences.owner[found]
        found = found[same & (sequences.phase[found - back] == phase)]
    return found


def dwell_times_after(
    sequences: PhaseSequences, after: Sequence[int], *, ends_leave: bool = True
) -> DwellTimes:
    """The dwell times in the last of some phases where it directly followed the others.

    Parameters
    ----------
    sequences
        The sequences to count.
    after
        One phase or more, the present one last.
    ends_leave
        Whether the end of an execution counts as leaving.
    """
    runs = runs_after(sequences, after)
    seconds = sequences.seconds[runs].astype(np.float64)
    left = np.ones(len(runs), bool)
    if not ends_leave:
        left = runs != sequences.offsets[1:][sequences.owner[runs]] - 1
    times, inverse = np.unique(seconds[left], return_inverse=True)
    ordered = np.sort(seconds)
    at_risk = len(ordered) - np.searchsorted(ordered, times, side="left")
    return DwellTimes(ordered, times, np.bincount(inverse, minlength=len(times)), at_risk)
