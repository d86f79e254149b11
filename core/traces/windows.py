"""Sliding windows over a trace set that cross neither an execution's boundary nor a gap.

The window of sample t with history m is the m samples before t and t itself, oldest first. A sample
with fewer than m earlier samples in its own segment has no window.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from core.errors import InputError

if TYPE_CHECKING:
    from core.traces.model import FloatArray, IntArray, TraceSet


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


def windows(values: FloatArray, ends: IntArray, history: int) -> FloatArray:
    """The windows that end at `ends`, shape (n_windows, history + 1, n_features), oldest sample first."""
    found: FloatArray = values[ends[:, None] + np.arange(-history, 1)]
    return found


def trace_windows(traces: TraceSet, features: tuple[str, ...], history: int) -> tuple[FloatArray, IntArray]:
    """Windows of some features of a trace set, and the index of each window's last sample.

    Raises
    ------
    NotFoundError
        If the set lacks a feature.
    InputError
        If `history` is negative or no feature is named.
    """
    if not features:
        raise InputError("No feature was chosen.", "Choose at least one.")
    ends = window_ends(traces.segments(), history)
    values = np.column_stack([traces.column(name) for name in features])
    return windows(values, ends, history), ends
