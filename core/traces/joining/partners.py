"""Which samples of two recordings are of the same moment."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from core.traces.model import FloatArray, IntArray


def partners(a: FloatArray, b: FloatArray, limit: float) -> tuple[IntArray, IntArray]:
    """The samples of two recordings that are each other's nearest and less than `limit` apart."""
    there, back = _nearest(a, b), _nearest(b, a)
    mutual = back[there] == np.arange(len(a))
    mine = np.flatnonzero(mutual & (np.abs(a - b[there]) < limit))
    return mine, there[mine]


def _nearest(a: FloatArray, b: FloatArray) -> IntArray:
    """For each of `a`, the position of the nearest of `b`."""
    after = np.searchsorted(b, a)
    left, right = np.maximum(after - 1, 0), np.minimum(after, len(b) - 1)
    return np.asarray(np.where(np.abs(a - b[left]) <= np.abs(b[right] - a), left, right))
