"""How finely the past is kept, and for how long."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from core.runtime.live.sampling.ring_buffer import FIELDS

HOUR, DAY = 3600.0, 86_400.0
PEAKS = ("cpu", "memory")
"""Of `FIELDS`, those whose largest value is kept beside the mean."""


class Level(NamedTuple):
    """One fineness.

    Parameters
    ----------
    seconds
        That each record stands for.
    kept
        Seconds for which records are kept at least.
    chunk
        Seconds in one file.
    """

    seconds: int
    kept: float
    chunk: int


LEVELS = (Level(1, HOUR, 600), Level(10, DAY, 7200), Level(60, 30 * DAY, 86_400))
"""Finest first; each is made of the one before."""

RECORD: np.dtype[Any] = np.dtype(
    [
        ("container", "<i4"),
        ("at", "<f8"),
        ("values", "<f4", (len(FIELDS),)),
        ("peaks", "<f4", (len(PEAKS),)),
    ]
)
"""One container over a level's seconds: when that ended, means of `FIELDS` (NaN: unknown), and maxima."""


def level_for(start: float, end: float, now: float) -> Level:
    """The finest level that has kept all of a stretch of time, in at most some thousands of records."""
    able = [each for each in LEVELS if now - start <= each.kept + each.chunk / 2]
    fine = [each for each in able if (end - start) / each.seconds <= _MOST]
    return (fine or able or [LEVELS[-1]])[0]


_MOST = 10_000
