"""Histories in buckets of a few seconds, on a clock that all containers and all pages share.

A bucket's number is its time divided by its width, so the page can ask again from any moment, write over
the bucket that was not full then, and append the rest: nothing is lost and nothing repeated.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import numpy.typing as npt

    from core.sampling.values import History

SPAN = 600.0
"""Seconds that the page shows at most."""
SPARK, CHART = 5, 2
"""Widths of a bucket in sparklines and in charts, seconds."""
_STEPS = frozenset(("cpu_limit", "memory_limit"))


def number_of(moment: float, width: int) -> int:
    """The number of the bucket that a moment lies in."""
    return int(moment // width)


def first_bucket(since: float | None, at: float, width: int) -> int:
    """Where to begin: at the bucket of `since`, which may not have been full, within `SPAN` before `at`."""
    oldest = number_of(at - SPAN, width) + 1
    return oldest if since is None else min(max(number_of(since, width), oldest), number_of(at, width))


def bucketed(history: History, name: str, first: int, count: int, width: int) -> npt.NDArray[np.float32]:
    """One line of a history in buckets."""
    made = np.full(count, np.nan, np.float32)
    values = getattr(history, name)
    at = np.floor_divide(history.time, width).astype(np.int64) - first
    use = (at >= 0) & (at < count) & np.isfinite(values)
    if not use.any():
        return made
    at, values = at[use], values[use]
    if name in _STEPS:
        made[at] = values  # in order of time, so the last one wins
        return made
    sizes = np.bincount(at, minlength=count)
    sums = np.bincount(at, weights=values, minlength=count)
    made[sizes > 0] = sums[sizes > 0] / sizes[sizes > 0]
    return made


def table(
    histories: Iterable[History | None], names: Sequence[str], first: int, count: int, width: int
) -> dict[str, Any]:
    """Several lines of several histories, as the page takes them."""
    own = list(histories)
    nothing = np.full(count, np.nan, np.float32)
    lines = {
        name: [nothing if each is None else bucketed(each, name, first, count, width) for each in own]
        for name in names
    }
    return {"first": first, "width": width, **lines}
