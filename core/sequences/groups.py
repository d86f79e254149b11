"""Grouping whole numbers: `numpy.unique` in linear time where the numbers are small."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from core.traces.model import IntArray

_ROOM = 1 << 16


def grouped(keys: IntArray, bound: int) -> tuple[IntArray, IntArray]:
    """The distinct keys, ascending, and the index of each key among them.

    Parameters
    ----------
    keys
        Shape (n,), each from 0 to below `bound`.
    bound
        Where it is not much larger than n, nothing is sorted.
    """
    if bound > len(keys) + _ROOM:
        found, place = np.unique(keys, return_inverse=True)
        return found, place
    there = np.zeros(bound, bool)
    there[keys] = True
    found = np.flatnonzero(there)
    places = np.zeros(bound, np.int64)
    places[found] = np.arange(len(found))
    return found, places[keys]
