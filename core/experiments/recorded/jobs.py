"""Recorded executions as the jobs of an experiment: what a person's own containers would do under a policy.

A trace says what a container used, not what it wanted, so a job is made of it by assumptions, each of them
in `core.experiments.recorded.execution` and here:

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
from core.experiments.jobs import JobKind, ListedJob
from core.experiments.recorded.execution import LeftOut, Recorded, TraceJobs, digits, recorded
from core.traces.model import Role
from core.traces.validation import many
from core.units import Unit

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from core.traces.model import TraceSet

    Floats: TypeAlias = NDArray[np.float64]

_MOST_VALUES = 100_000
_POLICIES = ("fewest", "specon", "phasedock")


@dataclass(frozen=True, slots=True)
class MadeJobs:
    """The jobs, and what a person has to know of how they were made."""

    #: In order of arrival.
    jobs: tuple[ListedJob, ...]
    #: The kinds that they name.
    kinds: Mapping[str, JobKind]
    #: Seconds that each job took when it was recorded, by its id.
    durations: Mapping[str, float]
    #: Executions that were asked for and cannot be made.
    left_out: tuple[LeftOut, ...]
    #: What is uncertain, one sentence each.
    notes: tuple[str, ...]

    @property
    def busiest(self) -> float:
        """The most cores that the jobs used together at any moment: each its mean, as long as recorded."""
        begins = np.array([job.at or 0.0 for job in self.jobs])
        length = np.array([self.durations[job.id] for job in self.jobs])
        mean = np.array([job.work or 0.0 for job in self.jobs]) / length
        together = [float(mean[(begins <= at) & (at < begins + length)].sum()) for at in begins]
        return max(together, default=0.0)


def jobs_from_traces(traces: TraceSet, settings: TraceJobs | None = None) -> MadeJobs:
    """Make jobs of a trace set.

    Parameters
    ----------
    traces
        Samples; CPU in cores.
    settings
        How many, which, and when.

    Raises
    ------
    InputError
        If the set has no CPU in cores, no job can be made of it, or arrivals that are all at one moment are
        to be compressed.
    """
    chosen = settings or TraceJobs()
    _refuse_without_cores(traces)
    made: list[Recorded] = []
    left: list[LeftOut] = []
    for position in _picked(traces, chosen):
        one = recorded(traces, int(position), chosen)
        if isinstance(one, LeftOut):
            left.append(one)
        else:
            made.append(one)
    if not made:
        why = left[0].reason if left else "The set has no executions."
        raise InputError(f"None of these executions can become a job. {why}", "Choose another trace set.")
    starts = _arrivals(np.array([one.start for one in made]), chosen)
    kinds, kinds_of = _kinds(made)
    jobs = tuple(
        ListedJob(one.name, kinds_of[one.name], digits(one.work), digits(one.demand), digits(float(at)))
        for one, at in zip(made, starts, strict=True)
    )
    return MadeJobs(jobs, kinds, {one.name: one.duration for one in made}, tuple(left), _notes(made, starts))


def experiment_values(made: MadeJobs, name: str) -> dict[str, Any]:
    """An experiment on these jobs as plain values, to be changed in the form and read by the reader.

    The machines of a trace are not known: two are given, which together have as many cores as the jobs used
    at their busiest moment, and each at least what the most demanding job can use.
    """
    widest = max(job.demand or 0.0 for job in made.jobs)
    replayed = all(kind.losses for kind in made.kinds.values())
    return {
        "version": 1,
        "name": name,
        "about": f"{many(len(made.jobs), 'recorded execution')} as jobs; work is the CPU that each used.",
        "workers": [{"id": "worker", "count": 2, "cores": float(max(ceil(widest), ceil(made.busiest / 2)))}],
        # a recorded loss has its own noise
        "world": {"noise": 0.0} if replayed else {},
        "kinds": {name: _kind_values(kind) for name, kind in made.kinds.items()},
        "jobs": [_said(asdict(job)) for job in made.jobs],
        "policies": [{"policy": name} for name in _POLICIES],
        "baseline": _POLICIES[0],
        "seeds": {"count": 5, "first": 1},
    }


def _said(values: dict[str, Any]) -> dict[str, Any]:
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


def _picked(traces: TraceSet, settings: TraceJobs) -> NDArray[np.int64]:
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


def _kinds(made: Sequence[Recorded]) -> tuple[dict[str, JobKind], dict[str, str]]:
    """The kinds, and that of each job: its own where its loss was recorded, else its workload's."""
    kinds: dict[str, JobKind] = {one.kind: JobKind() for one in made if not one.losses}
    of = {one.name: one.kind for one in made}
    for one in made:
        if one.losses:
            name = one.name
            while name in kinds:
                name += " (recorded loss)"
            kinds[name] = JobKind(losses=one.losses, values=min(one.printed, _MOST_VALUES))
            of[one.name] = name
    return kinds, of


def _notes(made: Sequence[Recorded], starts: Floats) -> tuple[str, ...]:
    n = len(made)
    limited, gaps = sum(one.limited for one in made), sum(one.gaps > 0 for one in made)
    missing, replayed = sum(one.missing > 0 for one in made), sum(bool(one.losses) for one in made)
    notes = []
    if n > 1 and float(starts.max()) <= 0:
        notes.append("All recordings begin at the same time: when they really arrived is not known.")
    if limited:
        notes.append(f"{many(limited, 'job')} ran at the CPU limit and may have wanted more.")
    if gaps:
        notes.append(f"{many(gaps, 'job')} had gaps, in which no work is counted.")
    if missing:
        notes.append(f"{many(missing, 'job')} had missing CPU values, taken to be like the rest.")
    if replayed < n:
        notes.append(
            f"{many(n - replayed, 'job')} without a falling recorded loss: the loss curve of VAE is used."
        )
    return tuple(notes)
