"""The compiled loop that merges segments shorter than a minimum dwell time (see `core.phases.dwell`)."""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING, Any

import numpy as np

from core.phases.kernels.compiling import compiled

if TYPE_CHECKING:
    import numpy.typing as npt


@compiled
def merge(  # noqa: C901, PLR0912  # a compiled loop: its parts share a dozen arrays
    bounds: npt.NDArray[Any],
    phase: npt.NDArray[Any],
    begin: npt.NDArray[Any],
    until: npt.NDArray[Any],
    minimum: float,
) -> None:
    """Give segments shorter than `minimum` the phase of the neighbour that takes them, in place.

    Parameters
    ----------
    bounds
        Segments ``bounds[i]:bounds[i + 1]`` are one stretch, shape (n_stretches + 1,).
    phase
        The phase of each segment, shape (n,); it is changed.
    begin, until
        When each begins and ends in seconds, shape (n,); they are changed, too.
    minimum
        The minimum dwell time in seconds.
    """
    n = len(phase)
    before, after, into = np.empty(n, np.int64), np.empty(n, np.int64), np.arange(n)
    for stretch in range(len(bounds) - 1):
        low, high = bounds[stretch], bounds[stretch + 1]
        waiting: list[Any] = [(0.0, np.int64(0)) for _ in range(0)]
        for at in range(low, high):
            before[at], after[at] = at - 1, at + 1
            if until[at] - begin[at] < minimum:
                waiting.append((until[at] - begin[at], np.int64(at)))
        heapify(waiting)
        while waiting:
            length, i = heappop(waiting)
            if into[i] != i or length != until[i] - begin[i]:
                continue
            left, right = before[i], after[i]
            taker: Any = left
            if left < low and right >= high:
                break
            longer = right < high and (left < low or until[left] - begin[left] < until[right] - begin[right])
            if longer:
                taker = right
            into[i] = taker
            begin[taker], until[taker] = min(begin[taker], begin[i]), max(until[taker], until[i])
            if left >= low:
                after[left] = right
            if right < high:
                before[right] = left
            if left >= low and right < high and phase[left] == phase[right]:
                into[right] = left
                until[left] = until[right]
                after[left] = after[right]
                if after[left] < high:
                    before[after[left]] = left
                taker = left
            if until[taker] - begin[taker] < minimum:
                heappush(waiting, (until[taker] - begin[taker], taker))
    for at in range(n):
        root = at
        while into[root] != root:
            root = into[root]
        step = at
        while into[step] != root:
            after_step = into[step]
            into[step] = root
            step = after_step
        phase[at] = phase[root]
