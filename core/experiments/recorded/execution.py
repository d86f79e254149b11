"""One recorded execution as a job: its work, its demand, its losses, and what is uncertain of them.

A sample's value holds since the sample before it; the first one, and one after a gap, count for one sampling
period: what happened in a gap is unknown and no work. What CPU is missing is taken to be like the rest.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from core.settings_fields import setting
from core.traces.model import Role
from core.traces.validation import many

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from core.traces.model import FloatArray, TraceSet

    Floats: TypeAlias = NDArray[np.float64]

OTHER_KIND = "recorded"
"""The kind of jobs whose workload is not known."""
_LEAST_WORK, _LEAST_DEMAND = 1e-3, 0.01
_MOST_MISSING = 0.05
_LOSS_POINTS = 41
_LEAST_FALL = 0.01
_AT_LIMIT = 0.95


@dataclass(frozen=True, slots=True)
class TraceJobs:
    """How executions of a trace set become jobs."""

    count: int = setting(20, label="Executions", low=1, high=1000, help="How many become jobs.")
    pick: str = setting(
        "first",
        label="Which",
        choices={"first": "The first to arrive", "spread": "Spread over all"},
        help="The first keep the crowd that was recorded; spread ones stand for the whole set.",
    )
    spacing: str = setting(
        "recorded",
        label="Arrivals",
        choices={"recorded": "As recorded", "compressed": "Compressed"},
        help="Compressed: the same order and proportions, within the time below.",
    )
    within: float = setting(
        300.0, label="Compressed to", low=1.0, high=1e7, unit="s", help="From the first arrival to the last."
    )
    demand: str = setting(
        "quantile",
        label="Demand",
        choices={"quantile": "A quantile of use", "mean": "Mean use"},
        help="The most cores a job can use. With the mean it takes, alone, as long as recorded.",
    )
    quantile: float = setting(
        0.95, label="Quantile", low=0.5, high=1.0, help="The share of the time in which it used no more."
    )
    losses: bool = setting(
        True, label="Recorded losses", help="Replay losses where the set has them, else loss curves."
    )


@dataclass(frozen=True, slots=True)
class LeftOut:
    """An execution of which no job can be made, and why, in one sentence."""

    execution: str
    reason: str


@dataclass(frozen=True, slots=True)
class Recorded:
    """What is known of one execution."""

    #: Its name, and its workload.
    name: str
    kind: str
    #: The time of its first sample, and the seconds that its samples stand for.
    start: float
    duration: float
    #: Core-seconds, and the most cores that it can use.
    work: float
    demand: float
    #: The recorded loss at even shares of the work, and how many different values there were; or nothing.
    losses: tuple[float, ...]
    printed: int
    #: Whether its use came near its limit, how many gaps it has, and the share of its time without CPU.
    limited: bool
    gaps: int
    missing: float


def recorded(traces: TraceSet, position: int, settings: TraceJobs) -> Recorded | LeftOut:
    """Look at one execution of a trace set, by its position; CPU in cores."""
    name = traces.ids[position]
    part = slice(int(traces.offsets[position]), int(traces.offsets[position + 1]))
    if part.stop - part.start < 2:
        return LeftOut(name, f"“{name}” has {many(part.stop - part.start, 'sample')}: its time is not known.")
    used = np.asarray(traces.values(Role.CPU), dtype=float)[part]
    seconds = weights(traces, part)
    if (seconds <= 0).any():
        return LeftOut(name, f"“{name}” has two samples at one time: its time is not known.")
    there = ~np.isnan(used)
    missing = 1.0 - float(seconds[there].sum() / seconds.sum())
    if missing > _MOST_MISSING:
        return LeftOut(name, f"“{name}” has no CPU for {missing:.0%} of its time.")
    # what is missing is taken to be like the rest
    mean = float((used[there] * seconds[there]).sum() / seconds[there].sum())
    work = mean * float(seconds.sum())
    if work < _LEAST_WORK:
        return LeftOut(name, f"“{name}” used no CPU.")
    high = quantile_over_time(used[there], seconds[there], settings.quantile)
    demand = max(high if settings.demand == "quantile" else mean, mean, _LEAST_DEMAND)
    done = np.cumsum(np.nan_to_num(used, nan=mean) * seconds) / work
    losses, printed = _losses(traces, part, done) if settings.losses else ((), 0)
    return Recorded(
        name=name,
        kind=_workload(traces, position),
        start=float(traces.time[part.start]),
        duration=float(seconds.sum()),
        work=work,
        demand=demand,
        losses=losses,
        printed=printed,
        limited=_limited(traces, part, high),
        gaps=int(((traces.breaks > part.start) & (traces.breaks < part.stop)).sum()),
        missing=missing,
    )


def weights(traces: TraceSet, part: slice) -> Floats:
    """The seconds that each sample of an execution stands for, shape (n,).

    Since the sample before it; one period for the first, and for one after a gap.
    """
    time = np.asarray(traces.time[part], dtype=float)
    seconds = np.diff(time, prepend=time[0] - traces.period if len(time) else 0.0)
    after = traces.breaks[(traces.breaks > part.start) & (traces.breaks < part.stop)] - part.start
    seconds[after] = traces.period
    return np.asarray(seconds)


def quantile_over_time(values: Floats, seconds: Floats, share: float) -> float:
    """The least value that is not exceeded for `share` of the time, by values and the seconds of each."""
    order = np.argsort(values, kind="stable")
    spent = np.cumsum(seconds[order])
    at = int(np.searchsorted(spent, share * spent[-1] * (1 - 1e-12)))
    return float(values[order][min(at, len(values) - 1)])


def _losses(traces: TraceSet, part: slice, done: Floats) -> tuple[tuple[float, ...], int]:
    """The loss at even shares of the work, and how many values were printed; nothing if it rises."""
    column = traces.values(Role.LOSS)
    if column is None:
        return (), 0
    values = np.asarray(column, dtype=float)[part]
    there = np.isfinite(values)
    printed = int((np.diff(values[there]) != 0).sum()) + 1
    if there.sum() < 3 or printed < 3:
        return (), 0
    fall = values[there][0] - values[there][-1]
    if fall <= _LEAST_FALL * abs(values[there][0]):
        return (), 0
    even = np.interp(np.linspace(0.0, 1.0, _LOSS_POINTS), np.clip(done[there], 0.0, 1.0), values[there])
    return tuple(digits(float(value)) for value in even), printed


def _limited(traces: TraceSet, part: slice, high: float) -> bool:
    """Whether its use came near its limit, so that it may have wanted more."""
    column = traces.values(Role.CPU_LIMIT)
    if column is None:
        return False
    limits: FloatArray = np.asarray(column, dtype=float)[part]
    known = limits[np.isfinite(limits) & (limits > 0)]
    return bool(len(known)) and high >= _AT_LIMIT * float(np.median(known))


def _workload(traces: TraceSet, position: int) -> str:
    named = traces.attributes.get("workload")
    return str(named[position]) if named is not None and str(named[position]).strip() else OTHER_KIND


def digits(value: float) -> float:
    """Six significant digits: an experiment is read by people."""
    return float(f"{value:.6g}")
