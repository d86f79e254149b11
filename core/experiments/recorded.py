"""Recorded executions as the jobs of an experiment: what a person's own containers would do under a policy.

A trace says what a container used, not what it wanted, so a job is made of it by assumptions, each of them
in `core.experiments.read_execution` and here:

- **Work** is the integral of the used cores over time; what happened in a gap is unknown and no work.
- **Demand**, the most cores that it can use, is a high quantile of the used cores over time, at least their
  mean. Alone on a machine a job takes work / demand, which is at most the time that was recorded: pauses in
  which it used little are not replayed. With the mean as demand it takes exactly as long as recorded.
- **Arrival** is the time of its first sample, the earliest of all chosen ones at 0; or all arrivals scaled by
  one factor, so that they fit into a given time.
- **Loss** is the recorded loss against the share of the work that was done, where it falls; all other jobs
  have the loss curve of a kind.

An execution that was throttled wanted more than it used; such jobs are counted in the notes.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from math import ceil
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from core.errors import InputError
from core.experiments.parts import JobKind, ListedJob
from core.settings_fields import setting
from core.traces.censoring import AT_LIMIT, is_limit
from core.traces.model import Role
from core.units import Unit, plural

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from core.traces.model import FloatArray, TraceSet

    Floats: TypeAlias = NDArray[np.float64]

OTHER_KIND = "recorded"
"""The kind of jobs with unknown workload."""
_MIN_WORK, _MIN_DEMAND = 1e-3, 0.01
_MAX_MISSING = 0.05
_LOSS_POINTS = 41
_MIN_FALL = 0.01


# One recorded execution as a job: its work, its demand, its losses, and what is uncertain of them.
#
# A sample's value holds since the sample before it; the first one, and one after a gap, count for one
# sampling period: what happened in a gap is unknown and no work. What CPU is missing is taken to be like the
# rest.


@dataclass(frozen=True, slots=True)
class TraceJobs:
    """Settings for converting executions of a trace set into jobs."""

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
class SkippedExecution:
    """An execution that cannot become a job, with the reason."""

    execution: str
    reason: str


@dataclass(frozen=True, slots=True)
class RecordedExecution:
    """The work, demand and losses of one recorded execution."""

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


def read_execution(
    traces: TraceSet, position: int, settings: TraceJobs
) -> RecordedExecution | SkippedExecution:
    """Look at one execution of a trace set, by its position; CPU in cores."""
    name = traces.ids[position]
    part = slice(int(traces.offsets[position]), int(traces.offsets[position + 1]))
    if part.stop - part.start < 2:
        return SkippedExecution(
            name, f"“{name}” has {plural(part.stop - part.start, 'sample')}: its time is not known."
        )
    used = np.asarray(traces.values(Role.CPU), dtype=float)[part]
    seconds = weights(traces, part)
    if (seconds <= 0).any():
        return SkippedExecution(name, f"“{name}” has two samples at one time: its time is not known.")
    is_present = ~np.isnan(used)
    missing = 1.0 - float(seconds[is_present].sum() / seconds.sum())
    if missing > _MAX_MISSING:
        return SkippedExecution(name, f"“{name}” has no CPU for {missing:.0%} of its time.")
    # what is missing is taken to be like the rest
    mean = float((used[is_present] * seconds[is_present]).sum() / seconds[is_present].sum())
    work = mean * float(seconds.sum())
    if work < _MIN_WORK:
        return SkippedExecution(name, f"“{name}” used no CPU.")
    high = quantile_over_time(used[is_present], seconds[is_present], settings.quantile)
    demand = max(high if settings.demand == "quantile" else mean, mean, _MIN_DEMAND)
    progress = np.cumsum(np.nan_to_num(used, nan=mean) * seconds) / work
    losses, printed = _losses(traces, part, progress) if settings.losses else ((), 0)
    return RecordedExecution(
        name=name,
        kind=_workload(traces, position),
        start=float(traces.time[part.start]),
        duration=float(seconds.sum()),
        work=work,
        demand=demand,
        losses=losses,
        printed=printed,
        limited=_is_limited(traces, part, high),
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


def _losses(traces: TraceSet, part: slice, progress: Floats) -> tuple[tuple[float, ...], int]:
    """The loss at even shares of the work, and how many values were printed; nothing if it rises."""
    column = traces.values(Role.LOSS)
    if column is None:
        return (), 0
    values = np.asarray(column, dtype=float)[part]
    is_present = np.isfinite(values)
    printed = int((np.diff(values[is_present]) != 0).sum()) + 1
    if is_present.sum() < 3 or printed < 3:
        return (), 0
    fall = values[is_present][0] - values[is_present][-1]
    if fall <= _MIN_FALL * abs(values[is_present][0]):
        return (), 0
    even = np.interp(
        np.linspace(0.0, 1.0, _LOSS_POINTS), np.clip(progress[is_present], 0.0, 1.0), values[is_present]
    )
    return tuple(round_digits(float(value)) for value in even), printed


def _is_limited(traces: TraceSet, part: slice, high: float) -> bool:
    """Whether its use came near its limit, so that it may have wanted more."""
    column = traces.values(Role.CPU_LIMIT)
    if column is None:
        return False
    limits: FloatArray = np.asarray(column, dtype=float)[part]
    present = limits[is_limit(limits, Unit.CORES)]
    return bool(len(present)) and high >= AT_LIMIT * float(np.median(present))


def _workload(traces: TraceSet, position: int) -> str:
    named = traces.attributes.get("workload")
    return str(named[position]) if named is not None and str(named[position]).strip() else OTHER_KIND


def round_digits(value: float) -> float:
    """Six significant digits: an experiment is read by people."""
    return float(f"{value:.6g}")


_MAX_VALUES = 100_000
_POLICIES = ("fewest", "specon", "phasedock")


@dataclass(frozen=True, slots=True)
class ConvertedJobs:
    """The jobs, and what a person has to know of how they were made."""

    #: In order of arrival.
    jobs: tuple[ListedJob, ...]
    #: The kinds that they name.
    kinds: Mapping[str, JobKind]
    #: Seconds that each job took when it was recorded, by its id.
    durations: Mapping[str, float]
    #: Chosen executions that cannot become jobs.
    left_out: tuple[SkippedExecution, ...]
    #: What is uncertain, one sentence each.
    notes: tuple[str, ...]

    @property
    def busiest(self) -> float:
        """The most cores that the jobs used together at any moment: each its mean, as long as recorded."""
        begins = np.array([job.at or 0.0 for job in self.jobs])
        length = np.array([self.durations[job.id] for job in self.jobs])
        mean = np.array([job.work or 0.0 for job in self.jobs]) / length
        cores_at_starts = [float(mean[(begins <= at) & (at < begins + length)].sum()) for at in begins]
        return max(cores_at_starts, default=0.0)


def jobs_from_traces(traces: TraceSet, settings: TraceJobs | None = None) -> ConvertedJobs:
    """Make jobs of a trace set."""
    chosen = settings or TraceJobs()
    _refuse_without_cores(traces)
    converted: list[RecordedExecution] = []
    skipped: list[SkippedExecution] = []
    for position in _choose_executions(traces, chosen):
        one = read_execution(traces, int(position), chosen)
        if isinstance(one, SkippedExecution):
            skipped.append(one)
        else:
            converted.append(one)
    if not converted:
        reason = skipped[0].reason if skipped else "The set has no executions."
        raise InputError(f"None of these executions can become a job. {reason}", "Choose another trace set.")
    starts = _arrivals(np.array([one.start for one in converted]), chosen)
    kinds, kinds_of = _kinds(converted)
    jobs = tuple(
        ListedJob(
            one.name,
            kinds_of[one.name],
            round_digits(one.work),
            round_digits(one.demand),
            round_digits(float(at)),
        )
        for one, at in zip(converted, starts, strict=True)
    )
    return ConvertedJobs(
        jobs, kinds, {one.name: one.duration for one in converted}, tuple(skipped), _notes(converted, starts)
    )


def experiment_values(source: ConvertedJobs, name: str) -> dict[str, Any]:
    """An experiment on these jobs as plain values, to be changed in the form and read by the reader.

    The machines of a trace are not known: two are given, which together have as many cores as the jobs used
    at their busiest moment, and each at least what the most demanding job can use.
    """
    widest = max(job.demand or 0.0 for job in source.jobs)
    replayed = all(kind.losses for kind in source.kinds.values())
    return {
        "version": 1,
        "name": name,
        "about": f"{plural(len(source.jobs), 'recorded execution')} as jobs; work is the CPU that each used.",
        "workers": [
            {"id": "worker", "count": 2, "cores": float(max(ceil(widest), ceil(source.busiest / 2)))}
        ],
        # a recorded loss has its own noise
        "world": {"noise": 0.0} if replayed else {},
        "kinds": {name: _kind_values(kind) for name, kind in source.kinds.items()},
        "jobs": [_without_none(asdict(job)) for job in source.jobs],
        "policies": [{"policy": name} for name in _POLICIES],
        "baseline": _POLICIES[0],
        "seeds": {"count": 5, "first": 1},
    }


def _without_none(values: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


def _kind_values(kind: JobKind) -> dict[str, Any]:
    return {"values": kind.values, "losses": list(kind.losses)} if kind.losses else {}


def _refuse_without_cores(traces: TraceSet) -> None:
    feature = traces.feature(Role.CPU)
    if feature is None:
        raise InputError(
            "This trace set has no CPU column, so the work of its executions is not known.",
            "Choose a set with CPU, or import the file again and choose its CPU column.",
        )
    if feature.unit is not Unit.CORES:
        raise InputError(
            f"CPU (“{feature.name}”) of this trace set is not in cores, so its work is not known.",
            "Import the file again and say how many cores the machine has.",
        )


def _choose_executions(traces: TraceSet, settings: TraceJobs) -> NDArray[np.int64]:
    """Positions of the chosen executions in order of their first samples."""
    spans = zip(traces.offsets[:-1], traces.offsets[1:], strict=True)
    begins = np.array([traces.time[at] if at < stop else np.inf for at, stop in spans])
    order: NDArray[np.int64] = np.argsort(begins, kind="stable")
    n = min(settings.count, len(order))
    if settings.pick == "first" or n == len(order):
        return order[:n]
    chosen: NDArray[np.int64] = order[np.linspace(0, len(order) - 1, n).round().astype(int)]
    return chosen


def _arrivals(starts: Floats, settings: TraceJobs) -> Floats:
    begins = starts - starts.min()
    if settings.spacing == "recorded" or len(begins) == 1:
        return np.asarray(begins)
    if begins.max() <= 0:
        raise InputError(
            "All recordings begin at the same time, so there is nothing to compress.",
            "Choose “As recorded”, and spread them under Arrivals.",
        )
    return np.asarray(begins * settings.within / begins.max())


def _kinds(converted: Sequence[RecordedExecution]) -> tuple[dict[str, JobKind], dict[str, str]]:
    """The kinds, and the kind of each job: one of its own with a recorded loss, else its workload's."""
    kinds: dict[str, JobKind] = {one.kind: JobKind() for one in converted if not one.losses}
    kind_of_job = {one.name: one.kind for one in converted}
    for one in converted:
        if one.losses:
            name = one.name
            while name in kinds:
                name += " (recorded loss)"
            kinds[name] = JobKind(losses=one.losses, values=min(one.printed, _MAX_VALUES))
            kind_of_job[one.name] = name
    return kinds, kind_of_job


def _notes(converted: Sequence[RecordedExecution], starts: Floats) -> tuple[str, ...]:
    n = len(converted)
    limited, gaps = sum(one.limited for one in converted), sum(one.gaps > 0 for one in converted)
    missing, replayed = sum(one.missing > 0 for one in converted), sum(bool(one.losses) for one in converted)
    notes = []
    if n > 1 and float(starts.max()) <= 0:
        notes.append("All recordings begin at the same time: when they really arrived is not known.")
    if limited:
        notes.append(f"{plural(limited, 'job')} ran at the CPU limit and may have wanted more.")
    if gaps:
        notes.append(f"{plural(gaps, 'job')} had gaps, in which no work is counted.")
    if missing:
        notes.append(f"{plural(missing, 'job')} had missing CPU values, taken to be like the rest.")
    if replayed < n:
        notes.append(
            f"{plural(n - replayed, 'job')} without a falling recorded loss: the loss curve of VAE is used."
        )
    return tuple(notes)
