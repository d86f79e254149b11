"""Thinning of long lines to what a screen can show."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from core.traces.model import FloatArray, IntArray

MOST_POINTS = 4_000
"""The most samples drawn of one line."""


def minmax_indices(values: FloatArray, most: int = MOST_POINTS) -> IntArray:
    """Indices of the samples to draw, ascending, at most `most` (and two more for the ends).

    Samples are cut into equal stretches; each keeps its smallest and its largest value, so that every spike
    survives.
    """
    n = len(values)
    if n <= most:
        return np.arange(n)
    stretches = max(most // 2, 1)
    size = -(-n // stretches)
    padded = np.full(size * stretches, np.nan)
    padded[:n] = values
    table = padded.reshape(stretches, size)[: -(-n // size)]
    starts = np.arange(len(table)) * size
    low = starts + np.argmin(np.where(np.isnan(table), np.inf, table), axis=1)
    high = starts + np.argmax(np.where(np.isnan(table), -np.inf, table), axis=1)
    chosen = np.unique(np.concatenate([low, high, [0, n - 1]]))
    return chosen[chosen < n]
