"""Arithmetic on a run's time series; the figures draw its results.

A run's series (`core.experiments.series.Series.to_dict`) has a value for every observation. Usage, limits,
workers and states belong to the interval that ends with their observation; a label is a decision, so it
belongs to the interval that begins with it. Everything here is converted to intervals: n observations make n
intervals with n + 1 edges, the first of zero length.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from core.traces.model import FloatArray, IntArray

MAX_INTERVALS = 600
HEAVY_TO_LIGHT = (
    ("NL", "WL", "CL"),
    ("PC", "WC", "CC"),
    ("to 90%", "to 95%", "to 99%", "to the end", "unknown"),
)
"""The lists and categories that policies put jobs in, each in order from most to least learning."""
OTHER = "none"
_SOON = 1e-6


def edges(series: Mapping[str, Any]) -> FloatArray:
    """The bounds of the intervals between observations, seconds, shape (n + 1,)."""
    times = np.asarray(series["time"], dtype=float)
    return np.concatenate([times[:1], times]) if len(times) else np.zeros(1)


def line(series: Mapping[str, Any], job: str, name: str) -> FloatArray:
    """One line of a job over all intervals, shape (n,); NaN where it is unknown or absent."""
    lines, n = series["jobs"][job], len(series["time"])
    values = np.full(n, np.nan)
    samples = np.array([np.nan if value is None else value for value in lines[name]], dtype=float)
    values[lines["first"] : lines["first"] + len(samples)] = samples
    return values


def label_names(series: Mapping[str, Any]) -> tuple[str, ...]:
    """The labels that a run's policy assigned, from most to least learning."""
    used_labels = {label for lines in series["jobs"].values() for label in lines["label"] if label}
    for names in HEAVY_TO_LIGHT:
        if used_labels and used_labels <= set(names):
            return names
    # ranks such as #2 and #10 in the order of their numbers
    return tuple(sorted(used_labels, key=lambda label: (len(label), label)))


def labels(series: Mapping[str, Any], job: str, names: Sequence[str]) -> IntArray:
    """The index in `names` of a job's label in each interval, shape (n,); −1 without a label."""
    lines, n = series["jobs"][job], len(series["time"])
    place = {name: at for at, name in enumerate(names)}
    all_indices = np.array([place.get(label, -1) for label in lines["label"]], dtype=int)
    values = np.full(n, -1)
    first = lines["first"] + 1
    indices = all_indices[: max(n - first, 0)]
    values[first : first + len(indices)] = indices
    return values


def by_label(series: Mapping[str, Any], names: Sequence[str]) -> dict[str, FloatArray]:
    """Cores used in each interval by the jobs under each label, shape (n,); `OTHER` is the rest."""
    n = len(series["time"])
    total = np.zeros((len(names) + 1, n))
    columns = np.arange(n)
    for job in series["jobs"]:
        np.add.at(total, (labels(series, job, names), columns), np.nan_to_num(line(series, job, "cpu")))
    parts = {name: total[at] for at, name in enumerate(names)}
    return parts | ({OTHER: total[-1]} if not names or total[-1].any() else {})


LOSS_STAGES = ("before 90%", "90 to 99%", "after 99%")
"""Stages of a job by how far its loss had fallen, measured after the run."""


def by_loss(
    series: Mapping[str, Any], reached: Mapping[str, tuple[float | None, float | None]]
) -> dict[str, FloatArray]:
    """Cores per interval of jobs whose loss had fallen by less than 90%, by 90 to 99%, and by more."""
    bounds = edges(series)
    lengths = np.where(np.diff(bounds) > 0, np.diff(bounds), 1.0)
    total = np.zeros((len(LOSS_STAGES), len(lengths)))
    for job in series["jobs"]:
        cores = np.nan_to_num(line(series, job, "cpu"))
        first, second = (np.inf if at is None else at for at in reached.get(job, (None, None)))
        before, until = (np.clip((at - bounds[:-1]) / lengths, 0.0, 1.0) for at in (first, second))
        total += np.stack([before, np.maximum(until - before, 0.0), 1.0 - np.maximum(until, before)]) * cores
    return dict(zip(LOSS_STAGES, total, strict=True))


def used_share(series: Mapping[str, Any]) -> float | None:
    """The share of all workers' cores that was used from the first arrival to the last end."""
    bounds = edges(series)
    cores = sum(float(lines["capacity"]) for lines in series["workers"].values())
    capacity_time = cores * float(bounds[-1] - bounds[0])
    used_time = sum(
        float((np.nan_to_num(line(series, job, "cpu")) * np.diff(bounds)).sum()) for job in series["jobs"]
    )
    return used_time / capacity_time if capacity_time > 0 else None


def total_limits(series: Mapping[str, Any]) -> FloatArray:
    """Cores that all jobs may use in each interval: the sum of limits on each worker, at most its cores.

    A job without a limit may use its whole worker, so without limits this is the cores of all workers
    that have a job. Shape (n,).
    """
    names = {worker: at for at, worker in enumerate(series["workers"])}
    capacity = np.array([lines["capacity"] for lines in series["workers"].values()], dtype=float)
    n = len(series["time"])
    allowed = np.zeros((len(names), n))
    for lines in series["jobs"].values():
        for at, (worker, limit) in enumerate(zip(lines["worker"], lines["limit"], strict=True)):
            if worker in names:
                place = names[worker]
                allowed[place, lines["first"] + at] += capacity[place] if limit is None else limit
    total: FloatArray = np.minimum(allowed, capacity[:, None]).sum(axis=0)
    return total


def rebin(
    bounds: FloatArray, values: FloatArray, max_intervals: int = MAX_INTERVALS
) -> tuple[FloatArray, FloatArray]:
    """The same line in at most `max_intervals` intervals: their means, so that areas are preserved."""
    if len(values) <= max_intervals:
        return bounds, values
    area = np.concatenate([[0.0], np.cumsum(np.nan_to_num(values) * np.diff(bounds))])
    coarse = np.linspace(bounds[0], bounds[-1], max_intervals + 1)
    return coarse, np.diff(np.interp(coarse, bounds, area)) / np.diff(coarse)


def stairs(bounds: FloatArray, values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Intervals as a line with corners: shapes (2n,) each."""
    return np.repeat(bounds, 2)[1:-1], np.repeat(values, 2)


@dataclass(slots=True)
class Stay:
    """An uninterrupted time of one job on one worker."""

    #: Their names.
    job: str
    worker: str
    #: Seconds.
    start: float
    end: float
    #: Whether the job migrated here from another worker.
    moved: bool
    #: Its row among the stays of its worker, from 0.
    lane: int = 0
    #: Whether the migration was to even out the number of jobs.
    rebalanced: bool = False


def stays(series: Mapping[str, Any]) -> list[Stay]:
    """Stays of all jobs on workers, by job and time, with lanes assigned."""
    bounds = edges(series)
    job_stays: list[Stay] = []
    for job, lines in series["jobs"].items():
        last: Stay | None = None
        for at, worker in enumerate(lines["worker"], lines["first"]):
            if worker is None:
                continue
            if last is not None and last.worker == worker:
                last.end = float(bounds[at + 1])
                continue
            start = float(bounds[at]) if last is None or last.end <= bounds[at] else last.end
            moved = last is not None
            last = Stay(job, worker, start, float(bounds[at + 1]), moved=moved)
            last.rebalanced = moved and _is_rebalanced(series, job, worker, start)
            job_stays.append(last)
    _assign_lanes(job_stays)
    return job_stays


def _is_rebalanced(series: Mapping[str, Any], job: str, worker: str, start: float) -> bool:
    """Whether the migration that started a stay was to even out the number of jobs."""
    moves = [
        move
        for move in series.get("moves", [])
        if move["job"] == job
        and move["to"] == worker
        and not move["failed"]
        and move["time"] <= start + _SOON
    ]
    return bool(moves) and bool(moves[-1].get("rebalanced"))


def _assign_lanes(unplaced: list[Stay]) -> None:
    """Give each stay the first lane of its worker that is free when it begins."""
    free: dict[str, list[float]] = {}
    for stay in sorted(unplaced, key=lambda each: each.start):
        lanes = free.setdefault(stay.worker, [])
        open_lane = next((at for at, until in enumerate(lanes) if until <= stay.start), len(lanes))
        stay.lane = open_lane
        lanes[open_lane : open_lane + 1] = [stay.end]


# Which job is in which state, and when.


STATES = {"waiting": "waiting", "running": "running", "paused": "paused", "migrating": "moving"}
"""The states that are drawn, and their names on the screen."""
_ENDED = ("done", "failed", "refused")
_NO_WAIT = 0.01
ROUNDING = 1e-5


@dataclass(slots=True)
class Span:
    """An uninterrupted time of a job in one state; seconds of the run's clock."""

    job: str
    state: str
    start: float
    end: float


@dataclass(frozen=True, slots=True)
class End:
    """How and when a job ended."""

    job: str
    state: str
    time: float


def spans(series: Mapping[str, Any], jobs: Sequence[str] | None = None) -> list[Span]:
    """Intervals of each job in one state, by job and time."""
    job_spans: list[Span] = []
    for job in series["jobs"] if jobs is None else jobs:
        if job in series["jobs"]:
            job_spans += _spans(series["time"], job, series["jobs"][job])
    return job_spans


def _spans(times: Sequence[float], job: str, lines: Mapping[str, Any]) -> list[Span]:
    """The spans of one job; a state holds since the observation before."""
    first, states = lines["first"], np.array(lines["state"])
    changes = np.flatnonzero(states[2:] != states[1:-1]) + 2
    starts, stops = np.concatenate(([1], changes)), np.concatenate((changes, [len(states)]))
    job_spans: list[Span] = []
    for at, stop in zip(starts.tolist(), stops.tolist(), strict=True):
        if at >= len(states):
            break
        # a job that ended was running until then
        state = str(states[at]) if states[at] in STATES else _before_end(states[at], states[at - 1])
        start, end = float(times[first + at - 1]), float(times[first + stop - 1])
        if state is None or end <= start:
            continue
        if job_spans and job_spans[-1].state == state:
            job_spans[-1].end = end
        else:
            job_spans.append(Span(job, state, start, end))
    return job_spans


def _before_end(state: str, before: str) -> str | None:
    if state == "refused" or before in _ENDED:
        return None
    return "running"


def endings(series: Mapping[str, Any], jobs: Sequence[str]) -> list[End]:
    """The final state and time of each job that ended."""
    ends = []
    for job in jobs:
        lines = series["jobs"].get(job)
        if lines is not None and lines["state"] and lines["state"][-1] in _ENDED:
            at = lines["first"] + len(lines["state"]) - 1
            ends.append(End(job, lines["state"][-1], float(series["time"][at])))
    return ends


class ExpectedEnd(NamedTuple):
    """The estimated end of a job, and its bounds or None; seconds of the run's clock."""

    job: str
    ends: float
    low: float | None
    high: float | None


def expected_ends(series: Mapping[str, Any], jobs: Sequence[str], time: float) -> list[ExpectedEnd]:
    """The last estimate up to a time for each job that has not ended by then."""
    times = np.array(series["time"], dtype=float)
    over = {each.job for each in endings(series, jobs) if each.time <= time + ROUNDING}
    expected = []
    for job in jobs:
        estimates = series["jobs"].get(job, {}).get("ends", [])
        until = [each for each in estimates if times[each[0]] <= time]
        if until and job not in over:
            expected.append(ExpectedEnd(job, *until[-1][1:]))
    return expected


def counts(series: Mapping[str, Any], state: str) -> FloatArray:
    """Number of jobs in a state in each interval between observations, shape (n,)."""
    changes = np.zeros(len(series["time"]) + 1)
    bounds = edges(series)
    for span in spans(series):
        if span.state == state:
            changes[np.searchsorted(bounds, span.start, side="right") - 1] += 1
            changes[np.searchsorted(bounds, span.end, side="left")] -= 1
    total: FloatArray = np.cumsum(changes)[: len(series["time"])]
    return total


def queues(series: Mapping[str, Any]) -> bool:
    """Whether jobs queue: one is refused, or they wait or are paused over 1% of the time."""
    all_spans = spans(series)
    whole = sum(span.end - span.start for span in all_spans)
    idle = sum(span.end - span.start for span in all_spans if span.state in ("waiting", "paused"))
    return idle > _NO_WAIT * whole or any(
        each.state == "refused" for each in endings(series, list(series["jobs"]))
    )
