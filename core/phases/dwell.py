"""A minimum dwell time: segments that are too short to mean anything join a neighbour.

Where codes lie between two centres, noise moves samples to and fro, and a phase flickers. The rule: of all
segments shorter than the minimum, the shortest (of equal ones the first) joins the longer one of its
neighbours (of equal ones the one before); if its neighbours are of the same phase, all three become one. This
is repeated until no segment is shorter, or a stretch has only one. Segments join within a stretch only, which
ends at a gap, at the end of an execution and at a warm-up; warm-up itself stays as it is. Applying the same
minimum again changes nothing.
"""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING, Any

import numpy as np

from core.phases.describe import WARM_UP, phase_runs
from core.phases.kernels.compiling import compiled

if TYPE_CHECKING:
    import numpy.typing as npt

    from core.phases.describe import Runs
    from core.phases.encoders import Labels
    from core.traces.model import TraceSet


@compiled
def merge_short_runs(  # noqa: C901, PLR0912  # a compiled loop: its parts share a dozen arrays
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


FEWEST = 0.2
WORTH_COMPILING = 20_000


def with_minimum_dwell(traces: TraceSet, labels: Labels, minimum: float) -> Labels:
    """The labels of a trace set after short segments have joined their neighbours.

    Parameters
    ----------
    traces
        The samples.
    labels
        The phase of each as the model gives it, shape (n_samples,); −1 is warm-up. It stays as it is.
    minimum
        The minimum dwell time in seconds; 0 changes nothing.
    """
    runs = phase_runs(traces, labels)
    if minimum <= 0 or not (runs.seconds[runs.phase != WARM_UP] < minimum).any():
        return labels
    edge = np.isin(runs.start, traces.segments())
    warm = runs.phase == WARM_UP
    edge |= warm
    edge[1:] |= warm[:-1]
    bounds = np.append(np.flatnonzero(edge), len(runs.start))
    begin = traces.time[runs.start].astype(np.float64)
    phase = runs.phase.copy()
    # compiling takes longer than going through a few thousand segments without it
    merging = (
        merge_short_runs
        if len(phase) > WORTH_COMPILING
        else getattr(merge_short_runs, "py_func", merge_short_runs)
    )
    merging(bounds, phase, begin, begin + runs.seconds, float(minimum))
    return np.repeat(phase, runs.length)


def suggested_minimum_dwell(runs: Runs, period: float) -> float:
    """Return the minimum dwell time that the segments suggest, in seconds; 0 where they do not flicker.

    Segments flicker that are less than half as long as the time-weighted median of every phase (half of a
    phase's time lies in segments of at least that length), so that a phase that is brief by nature is kept.
    The minimum is one sampling period above the longest of them, and at most the shortest of the others.
    Where fewer than a fifth of all segments flicker, it is 0.

    Parameters
    ----------
    runs
        The segments as labelled.
    period
        The sampling period in seconds.
    """
    labelled = runs.phase != WARM_UP
    seconds, phases = runs.seconds[labelled], runs.phase[labelled]
    if not len(seconds):
        return 0.0
    typical = min(_time_weighted_median(np.sort(seconds[phases == phase])) for phase in np.unique(phases))
    # times are stamped late or early
    flickers = seconds < typical / 2 - period / 100
    if flickers.mean() < FEWEST:
        return 0.0
    above = float(seconds[flickers].max()) + period
    minimum = float(np.round(above / period) * period) if period > 0 else above
    return min(minimum, float(seconds[~flickers].min()))


def _time_weighted_median(ordered: np.ndarray[tuple[int], np.dtype[np.float64]]) -> float:
    """The length such that half of all time lies in segments of at most that length, of ascending ones."""
    total = np.cumsum(ordered)
    return float(ordered[int(np.searchsorted(total, total[-1] / 2))])
