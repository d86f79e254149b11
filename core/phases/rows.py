"""From a trace set to the kernels' input: standardised rows and the positions of windows in them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from core.errors import InputError
from core.phases.kernels import loops
from core.units import plural

if TYPE_CHECKING:
    from collections.abc import Sequence

    from core.traces.model import FloatArray, IntArray, TraceSet


# Sliding windows over a trace set that cross neither an execution's boundary nor a gap.
#
# The window of sample t with history m is the m samples before t and t itself, oldest first. A sample
# with fewer than m earlier samples in its own segment has no window.


def window_ends(segments: IntArray, history: int) -> IntArray:
    """Indices of the samples that have a full window, in order.

    Raises
    ------
    InputError
        If `history` is negative.
    """
    if history < 0:
        raise InputError(f"A history of {history} samples is not possible.", "Give 0 or more.")
    n_samples = int(segments[-1]) if len(segments) else 0
    age = np.arange(n_samples) - np.repeat(segments[:-1], np.diff(segments))
    return np.flatnonzero(age >= history)


FloatVector = npt.NDArray[np.float32]
IntVector = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Scaler:
    """Mean and standard deviation per feature, float64 of shape (n,), in the features' units.

    A feature that never changes has scale 1, so that it becomes 0 instead of dividing by zero.
    """

    mean: npt.NDArray[np.float64]
    scale: npt.NDArray[np.float64]

    @property
    def factor(self) -> npt.NDArray[np.float64]:
        """1/scale: every routine standardises by multiplying with it, so that all agree to the last bit."""
        return 1.0 / self.scale


@dataclass(frozen=True, eq=False)
class Windows:
    """Standardised rows and the windows in them."""

    #: Flat float32, C order of (n_samples, n_features).
    rows: FloatVector
    #: The sample that each window belongs to, shape (n_windows,).
    samples: IntArray
    #: Where each window begins in `rows`, shape (n_windows,).
    starts: IntArray
    #: The number of samples, those without a window included.
    n_samples: int


def fit_scaler(columns: Sequence[FloatArray]) -> Scaler:
    """The mean and the population standard deviation of each column."""
    mean = np.array([np.mean(values, dtype=np.float64) for values in columns])
    scale = np.array([np.std(values, dtype=np.float64) for values in columns])
    constant = scale <= 1e-12 * np.maximum(np.abs(mean), 1e-290)
    return Scaler(mean, np.where(constant, 1.0, scale))


def without_window(segments: IntArray, ready: int) -> IntVector:
    """The first `ready` samples of every segment, or all of a shorter one."""
    early = segments[:-1, None] + np.arange(ready)
    return np.asarray(early[early < segments[1:, None]], np.int64)


LEAVE_OUT = "Leave the feature out, or import the file again with a rule that fills or drops them."


def check_finite(traces: TraceSet, names: Sequence[str], remedy: str = LEAVE_OUT) -> None:
    """Refuse features with missing or infinite values.

    Raises
    ------
    InputError
        Naming the feature, how many values, and the first execution that has one.
    """
    for name in names:
        values = traces.column(name)
        if np.isfinite(np.sum(values, dtype=np.float64)):
            continue
        broken = np.flatnonzero(~np.isfinite(values))
        if len(broken):
            first = int(np.searchsorted(traces.offsets, broken[0], side="right")) - 1
            raise InputError(
                f"The feature “{name}” has {plural(len(broken), 'missing or infinite value')}, "
                f"the first in execution “{traces.ids[first]}”.",
                remedy,
            )


def standardise(columns: Sequence[FloatArray], scaler: Scaler) -> FloatVector:
    """(x − mean)/scale of every column, interleaved into flat rows of float32."""
    n_samples = len(columns[0])
    rows, factor = np.empty(n_samples * len(columns), np.float32), scaler.factor
    for at, values in enumerate(columns):
        plain = np.ascontiguousarray(values)
        loops.standardise(plain, scaler.mean[at], factor[at], rows, at, len(columns))
    return rows


def windows_of(
    columns: Sequence[FloatArray], scaler: Scaler, segments: IntArray, history: int, *, late: bool = False
) -> Windows:
    """Standardise columns and find their windows.

    Parameters
    ----------
    columns
        The features in the model's order.
    scaler
        Their mean and scale.
    segments
        Boundaries of the segments, which no window crosses.
    history
        Earlier rows in a window.
    late
        As in AI4DL's code: the window of sample t ends at t − 1, so one more sample has none.
    """
    rows, delay = standardise(columns, scaler), int(late)
    samples = window_ends(segments, history + delay).astype(np.int64)
    starts = (samples - (history + delay)) * len(columns)
    return Windows(rows, samples, starts, len(columns[0]))
