"""What each phase is: statistics over labelled samples, and a plain description generated from them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from core.phases.describing.statistics import FeatureStatistics, GpuIdle, PhaseStatistics, five_numbers
from core.phases.describing.wording import described
from core.phases.matching import main_feature
from core.traces.durations import sample_seconds
from core.traces.model import Role

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from core.phases.encoders import Labels
    from core.traces.model import FloatArray, IntArray, TraceSet
    from core.units import Unit

WARM_UP = -1
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
IDLE_GPU = 0.05
FEEDING = (Role.CPU, Role.BLOCK_IN, Role.NETWORK_IN)
LOADING, CLEAR = 1.25, 3.0
"""How much more is used while GPUs idle, as a factor and in standard errors, where data is being loaded."""


@dataclass(frozen=True, slots=True)
class Runs:
    """Maximal stretches of one phase, none across an execution's boundary or a gap."""

    #: First sample and number of samples, shape (n_runs,).
    start: IntArray
    length: IntArray
    #: The phase of each.
    phase: Labels
    #: How long each lasted: until the next one begins, and the last before a gap or the end for one period
    #: after its last sample. Those of a stretch without a gap add up to its duration.
    seconds: FloatArray


def phase_runs(traces: TraceSet, labels: Labels) -> Runs:
    """The runs of a labelled trace set, in the order of its samples."""
    if not len(labels):
        empty = np.empty(0, np.int64)
        return Runs(empty, empty, np.empty(0, np.int16), np.empty(0))
    begins = np.empty(len(labels), dtype=bool)
    np.not_equal(labels[1:], labels[:-1], out=begins[1:])
    begins[traces.segments()[:-1]] = True
    start = np.flatnonzero(begins)
    length = np.diff(start, append=len(labels))
    return Runs(start, length, labels[start], np.add.reduceat(_seconds(traces), start))


def _seconds(traces: TraceSet) -> FloatArray:
    return sample_seconds(traces.time, traces.segments(), traces.period)


def phase_statistics(traces: TraceSet, labels: Labels, phases: Sequence[int]) -> tuple[PhaseStatistics, ...]:
    """Statistics and descriptions of phases over a labelled trace set.

    Parameters
    ----------
    traces
        The samples.
    labels
        The phase of each sample, shape (n_samples,); −1 is warm-up.
    phases
        The model's phases, in order; each gets an entry even if no sample has it. Warm-up comes last
        and only if there is any.
    """
    runs, order = phase_runs(traces, labels), np.argsort(labels, kind="stable")
    whole = float(runs.seconds.sum())
    sorted_labels, growth = labels[order], _growth(traces, labels)
    wanted = [*phases, *([WARM_UP] if (labels == WARM_UP).any() else [])]
    table = []
    for phase in wanted:
        low, high = np.searchsorted(sorted_labels, [phase, phase + 1])
        picked = order[low:high]
        mine = runs.seconds[runs.phase == phase]
        table.append(
            PhaseStatistics(
                phase=phase,
                samples=len(picked),
                share=float(mine.sum()) / whole if whole > 0 else 0.0,
                runs=len(mine),
                median_stay=float(np.median(mine)) if len(mine) else 0.0,
                memory_growth=growth.get(phase, 0.0),
                features=tuple(
                    _feature(f.name, f.role, f.unit, values[picked])
                    for f, values in zip(traces.features, traces.columns, strict=True)
                ),
                gpu_idle=gpu_idle(traces, picked),
            )
        )
    return described(table)


def _feature(name: str, role: Role, unit: Unit, values: FloatArray) -> FeatureStatistics:
    values = values[np.isfinite(values)]
    if not len(values):
        return FeatureStatistics(name, role, unit, 0.0, 0.0, (0.0,) * 5)
    ordered = np.sort(values.astype(np.float64))
    place = np.array(QUANTILES) * (len(ordered) - 1)
    quantiles = _between(ordered, place)
    return FeatureStatistics(
        name, role, unit, float(ordered.mean()), float(ordered.std()), five_numbers(quantiles)
    )


def _between(ordered: FloatArray, place: FloatArray) -> FloatArray:
    below = place.astype(np.int64)
    above = np.minimum(below + 1, len(ordered) - 1)
    return ordered[below] + (place - below) * (ordered[above] - ordered[below])


def gpu_idle(traces: TraceSet, picked: IntArray) -> GpuIdle | None:
    """How much of some samples all their GPUs idle, and whether data is being loaded meanwhile.

    A GPU idles below 5% of its use. Data is being loaded where, while the GPUs idle, the processors are used
    more, or more is read from disk or network, than while the GPUs work: by a quarter, and by three standard
    errors, counted over stretches, since neighbouring samples say the same.

    Parameters
    ----------
    traces
        The trace set.
    picked
        The samples to look at, shape (n,).

    Returns
    -------
    GpuIdle or None
        None without a GPU in the set, or without samples.
    """
    used = [
        values[picked]
        for feature, values in zip(traces.features, traces.columns, strict=True)
        if feature.role is Role.GPU
    ]
    known = np.isfinite(used).any(axis=0) if used else np.zeros(0, dtype=bool)
    if not known.any():
        return None
    idle = np.nanmax(np.array(used)[:, known], axis=0) < IDLE_GPU
    seconds = _seconds(traces)[picked][known]
    share = float(seconds[idle].sum() / seconds.sum())
    if idle.all() or not idle.any():
        return GpuIdle(share, loading=False)
    feeding = [main_feature(traces.features, role) for role in FEEDING]
    columns = [traces.column(each.name)[picked][known] for each in feeding if each is not None]
    return GpuIdle(share, loading=any(_more_while(values, idle) for values in columns))


def _more_while(values: FloatArray, idle: npt.NDArray[np.bool_]) -> bool:
    """Whether values are clearly larger where `idle` is true than where it is not."""
    there = np.isfinite(values)
    values, idle = values[there], idle[there]
    while_idle, else_ = values[idle], values[~idle]
    if not len(while_idle) or not len(else_):
        return False
    stretches = 1 + int(np.count_nonzero(np.diff(idle)))
    error = np.sqrt((while_idle.var() + else_.var()) / max(stretches / 2, 1.0))
    more = while_idle.mean() - else_.mean()
    return bool(more > CLEAR * error and while_idle.mean() > LOADING * max(else_.mean(), 1e-12))


def _growth(traces: TraceSet, labels: Labels) -> dict[int, float]:
    """Memory growth per minute within runs: a phase's increases over the time between its samples.

    The first and last step of a run are left out, since a boundary is found a sample early or late and the
    jump from one phase's memory to another's is no growth of either. A phase of short runs has only those.
    """
    memory = main_feature(traces.features, Role.MEMORY)
    if memory is None or len(labels) < 2:
        return {}
    rise, took = np.diff(traces.column(memory.name).astype(np.float64)), np.diff(traces.time)
    within = labels[1:] == labels[:-1]
    within[traces.segments()[1:-1] - 1] = False
    inner = within.copy()
    inner[1:] &= within[:-1]
    inner[:-1] &= within[1:]
    inner[[0, -1]] = False
    phase, known = labels[1:].astype(np.int64) - WARM_UP, np.isfinite(rise)
    growth: dict[int, float] = {}
    for steps in (within & known, inner & known):
        rose, seconds = (np.bincount(phase[steps], each[steps]) for each in (rise, took))
        growth |= {int(code) + WARM_UP: 60.0 * rose[code] / seconds[code] for code in np.flatnonzero(seconds)}
    return growth
