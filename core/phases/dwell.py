"""A minimum dwell time: segments that are too short to mean anything join a neighbour.

Where codes lie between two centres, noise moves samples to and fro, and a phase flickers. The rule: of all
segments shorter than the minimum, the shortest (of equal ones the first) joins the longer one of its
neighbours (of equal ones the one before); if its neighbours are of the same phase, all three become one. This
is repeated until no segment is shorter, or a stretch has only one. Segments join within a stretch only, which
ends at a gap, at the end of an execution and at a warm-up; warm-up itself stays as it is. Applying the same
minimum again changes nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from core.phases.describing.describe import WARM_UP, phase_runs
from core.phases.kernels.merging import merge

if TYPE_CHECKING:
    from core.phases.describing.describe import Runs
    from core.phases.encoders import Labels
    from core.traces.model import TraceSet

MOST_TIME, FEWEST = 0.15, 0.2
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
    merging = merge if len(phase) > WORTH_COMPILING else getattr(merge, "py_func", merge)
    merging(bounds, phase, begin, begin + runs.seconds, float(minimum))
    return np.repeat(phase, runs.length)


def suggested_minimum_dwell(runs: Runs, period: float) -> float:
    """The minimum dwell time that the segments themselves suggest, in seconds; 0 where they do not flicker.

    Segments flicker where no phase has more than 15% of its own time in segments as short, so that a phase
    that is brief by nature is kept. The minimum is a sampling period longer than the longest of them, and
    never longer than the shortest of the others. Where fewer than a fifth of all segments flicker, none is
    worth smoothing.

    Parameters
    ----------
    runs
        The segments as labelled.
    period
        The sampling period in seconds.
    """
    known = runs.phase != WARM_UP
    seconds, phases = runs.seconds[known], runs.phase[known]
    if not len(seconds):
        return 0.0
    longest = min(_longest(np.sort(seconds[phases == phase])) for phase in np.unique(phases))
    # times are stamped late or early: what lacks less than half a period is no shorter
    flickers = seconds < longest - period / 2
    if flickers.mean() < FEWEST:
        return 0.0
    above = float(seconds[flickers].max()) + period
    least = float(np.round(above / period) * period) if period > 0 else above
    return min(least, float(seconds[~flickers].min()))


def _longest(ordered: np.ndarray[tuple[int], np.dtype[np.float64]]) -> float:
    """The longest time such that shorter segments have at most `MOST_TIME` of all, from ascending lengths."""
    total = np.cumsum(ordered)
    at = int(np.searchsorted(total, MOST_TIME * total[-1], side="right"))
    return float(ordered[min(at, len(ordered) - 1)])
