"""The simulator's constants from a recorded run without policy: γ, p, and each job's work, demand and loss.

A run records usage C(t), which contention does not change, and printed values at even shares of the training.
With n_e jobs on a worker, dC core-seconds of usage do dC/(1 + γ(n_e − 1)) of work, and in training
1/(1 + p·x) of that with x threads too many for each core. γ and p are fitted so that the values of every job
are evenly spaced in its work; γ only if neighbours also occur without excess threads. A job's work is the
work from its start to its end; it prepares until one value's worth before the first value and finishes after
the last. The run must have no limits, pauses or migrations, so that its jobs compete freely.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from math import exp, log, nan, sqrt
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from core.errors import InputError
from core.scheduling.model import JobState
from core.simulation.loss import Exponential, Hyperbolic, Replayed, Weibull
from core.simulation.scenario import JobSpec, Scenario, WorkerSpec
from core.simulation.speedup import PENALTY, excess_threads

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from core.scheduling.model import Job, Observation, Reading
    from core.simulation.loss import Floats, LossCurve
    from core.simulation.scenario import Contention


_BUSY_SHARE: Final = (
    0.85  # of a worker's cores in use: below, no job waited for another; the host takes some, too
)
_WHOLE_SHARE: Final = 0.995  # of a worker's cores: from there on the rest is rounding
_MIN_IDLE_SHARE: Final = 0.1  # of a job's life beside idle cores, enough for its usage to show its demand


class Costs(NamedTuple):
    """The loss of speed: γ by contention, and p by excess threads."""

    gamma: float = 0.0
    penalty: float = 0.0


class _Stretch(NamedTuple):
    """A job between two observations: its usage and its neighbours."""

    until: float
    begin: float
    usage: float
    crowd: float
    excess: float = 0.0
    idle: bool = False


@dataclass(frozen=True)
class JobTrace:
    """The recorded life of one job."""

    #: The final state of the job.
    final: Job
    #: Start and ends of its stretches, seconds, shape (n + 1,).
    time: Floats
    #: Core-seconds used in each stretch, shape (n,).
    usage: Floats
    #: n_e in each stretch, the job included, shape (n,).
    crowd: Floats
    #: Excess threads for each core that it could have, shape (n,); 0 while it does not train, since only one
    #: thread computes then.
    excess: Floats
    #: Whether a stretch lies in its training, shape (n,).
    is_training: np.ndarray[tuple[int], np.dtype[np.bool_]]
    #: Whether its worker had cores to spare, shape (n,).
    has_idle_cores: np.ndarray[tuple[int], np.dtype[np.bool_]]
    #: The times of its printed values, and the values, shape (m,).
    read_at: Floats
    values: Floats

    def work_at(self, when: Floats, costs: Costs) -> Floats:
        """Return the core-seconds of work done at times `when`, linear within a stretch.

        Σ ΔC/((1 + γ(n_e − 1))·(1 + p·x)) with x excess threads per core.
        """
        waste = (1 + costs.gamma * (self.crowd - 1)) * (1 + costs.penalty * self.excess)
        work = np.concatenate([[0.0], np.cumsum(self.usage / waste)])
        return np.asarray(np.interp(when, self.time, work))

    def work(self, costs: Costs) -> float:
        """Return the core-seconds of its whole work."""
        return float(self.work_at(self.time[-1:], costs)[0])

    @property
    def demand(self) -> float | None:
        """The cores that it uses where it may use more; None where that hardly ever happened.

        It is the usage in the busiest tenth of its life: while a container is created, reads data with one
        thread or waits for a disk, it uses less than its demand.
        """
        spans = np.diff(self.time)
        if spans[self.has_idle_cores].sum() < _MIN_IDLE_SHARE * spans.sum():
            return None
        return _quantile(self.usage / spans, spans, 1 - _MIN_IDLE_SHARE) or None


def effective_cores(observations: Sequence[Observation]) -> dict[str, float]:
    """Return the cores that each worker's jobs had together while none were idle.

    That is the median over time, at most the capacity; the capacity itself where jobs never waited for each
    other. The rest is other work of the host.
    """
    busy_spans: dict[str, list[tuple[float, float]]] = {worker.id: [] for worker in observations[0].workers}
    last: dict[str, float] = {}
    for before, after in pairwise(observations):
        span = after.time - before.time
        used = dict.fromkeys(busy_spans, 0.0)
        for job in (*after.jobs, *after.ended):
            if job.worker is not None:  # NaN, if one is not measured, is never busy
                used[job.worker] += (nan if job.cpu_seconds is None else job.cpu_seconds) - last.get(
                    job.id, 0.0
                )
            if job.cpu_seconds is not None:
                last[job.id] = job.cpu_seconds
        for worker in after.workers:
            if span > 0 and used[worker.id] >= _BUSY_SHARE * worker.capacity * span:
                busy_spans[worker.id].append((used[worker.id] / span, span))
    return {
        worker.id: _effective_capacity(worker.capacity, np.array(busy_spans[worker.id]))
        for worker in observations[0].workers
    }


def _effective_capacity(capacity: float, busy: Floats) -> float:
    if not len(busy):
        return capacity
    middle = _quantile(busy[:, 0], busy[:, 1], 0.5)
    return middle if middle < _WHOLE_SHARE * capacity else capacity


def _quantile(rates: Floats, spans: Floats, share: float) -> float:
    """Return the rate that is not exceeded for a share of the time, weighted by spans."""
    order = np.argsort(rates)
    passed = np.cumsum(spans[order])
    return float(rates[order][min(np.searchsorted(passed, share * passed[-1]), len(rates) - 1)])


def extract_traces(observations: Sequence[Observation], contention: Contention) -> tuple[JobTrace, ...]:
    """Return the traces of all jobs that ran, in order of start."""
    stretches: dict[str, list[_Stretch]] = defaultdict(list)
    readings: dict[str, list[Reading]] = defaultdict(list)
    last: dict[str, Job] = {}
    for before, after in pairwise([observations[0], *observations]):
        present = [job for job in (*after.jobs, *after.ended) if job.started is not None]
        for job in present:
            readings[job.id] += job.readings
        for worker in after.workers:
            here = {job.id: job for job in present if job.worker == worker.id}
            present_stretches = _stretches(list(here.values()), last, before.time, after.time, contention)
            span, used = (
                after.time - before.time,
                sum(stretch.usage for stretch in present_stretches.values()),
            )
            idle = used < _BUSY_SHARE * worker.capacity * span
            for name, stretch in present_stretches.items():
                spare = worker.capacity - (used - stretch.usage) / span
                cores, threads = max(spare, worker.capacity / len(present_stretches)), here[name].threads
                too_many = 0.0 if threads is None else excess_threads(threads, cores)
                stretches[name].append(stretch._replace(idle=idle, excess=too_many))
        last.update((job.id, job) for job in present if job.cpu_seconds is not None)
    return tuple(_build_trace(last[name], lines, readings[name]) for name, lines in stretches.items())


def _stretches(
    jobs: Sequence[Job], last: dict[str, Job], begin: float, end: float, contention: Contention
) -> dict[str, _Stretch]:
    begins = {job.id: max(begin, job.started or 0.0) for job in jobs}
    running, usage = [], []
    for job in jobs:
        if job.cpu_seconds is not None and end > begins[job.id]:
            running.append(job)
            usage.append(job.cpu_seconds - ((last[job.id].cpu_seconds or 0.0) if job.id in last else 0.0))
    if contention == "count":
        crowd = sum(end - begins[job.id] for job in running) / (end - begin) if running else 1.0
    else:
        squares = sum(one * one for one in usage)
        crowd = sum(usage) ** 2 / squares if squares > 0 else 1.0
    return {
        job.id: _Stretch(end, begins[job.id], used, max(crowd, 1.0))
        for job, used in zip(running, usage, strict=True)
    }


def _build_trace(job: Job, lines: Sequence[_Stretch], readings: Sequence[Reading]) -> JobTrace:
    """Return a job's trace; its stretches are split where training began and ended."""
    read_at = np.array([when for when, _ in readings])
    edges = np.array([lines[0].begin, *(line.until for line in lines)])
    # its first value took as long as its second
    begin, end = (2 * read_at[0] - read_at[1], read_at[-1]) if len(read_at) > 1 else (edges[-1], edges[-1])
    time = np.union1d(edges, np.clip([begin, end], edges[0], edges[-1]))
    middle = (time[:-1] + time[1:]) / 2
    trains = (begin < middle) & (middle < end)
    part_of = np.searchsorted(edges, middle) - 1
    used = np.cumsum([0.0, *(line.usage for line in lines)])
    return JobTrace(
        job,
        time,
        np.diff(np.interp(time, edges, used)),
        np.array([line.crowd for line in lines])[part_of],
        np.where(trains, np.array([line.excess for line in lines])[part_of], 0.0),
        trains,
        np.array([line.idle for line in lines])[part_of],
        read_at,
        np.array([value for _, value in readings]),
    )


_GOLDEN: Final = (sqrt(5) - 1) / 2


def golden_section(cost: Callable[[float], float], low: float, high: float, steps: int = 60) -> float:
    """Return where `cost` is least between two bounds; a step leaves 0.618 of the interval (Kiefer, 1953)."""
    lower, upper = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
    at_lower, at_upper = cost(lower), cost(upper)
    for _ in range(steps):
        if at_lower <= at_upper:
            high, upper, at_upper = upper, lower, at_lower
            lower = high - _GOLDEN * (high - low)
            at_lower = cost(lower)
        else:
            low, lower, at_lower = lower, upper, at_upper
            upper = low + _GOLDEN * (high - low)
            at_upper = cost(upper)
    return (low + high) / 2


_MAX_CURVE_ERROR: Final = (
    0.05  # of the whole fall: beyond that the recorded points describe it better than a family
)
_WEIBULL_SHAPES: Final = (0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.2)


# The loss curve that fits recorded values best, and the noise around it.
#
# Given its shape, each family of `core.simulation.loss` is linear in the level a and the fall b of E(x) = a +
# b(1 − r(x)), so those two are solved for and only the shape is searched. E is divided by the fitted E(0) = a
# + b, since every scheduler divides it by the first values anyway.


@dataclass(frozen=True, slots=True)
class CurveFit:
    """A fitted curve."""

    #: The curve, from 1 down, or the recorded points where no family comes near.
    curve: LossCurve
    #: ``exponential``, ``hyperbolic``, ``weibull`` or ``replayed``.
    family: str
    #: Root mean square of the residuals, as a share of E(0).
    error: float
    #: Correlation of one residual with the next, from 0 to 0.95.
    phi: float


def fit_curve(x: Floats, values: Floats) -> CurveFit:
    """Fit recorded `values` of E at shares `x` of the work, both of shape (n,), n ≥ 2, `x` rising."""
    best = min(_fit_families(x, values), key=lambda fit: fit.error)
    fall = 1.0 - float(best.curve.level(np.array(1.0)))
    return best if fall > 0 and best.error <= _MAX_CURVE_ERROR * fall else _replay_curve(x, values)


def _replay_curve(x: Floats, values: Floats) -> CurveFit:
    largest = float(np.max(np.abs(values))) or 1.0
    usable = np.concatenate([[True], np.diff(x) > 0]) & (x >= 0) & (x <= 1)
    points = zip(x[usable].tolist(), (values[usable] / largest).tolist(), strict=True)
    return CurveFit(Replayed(tuple(points)), "replayed", 0.0, 0.0)


def _fit_families(x: Floats, values: Floats) -> Iterator[CurveFit]:
    yield _search_shape("exponential", Exponential, 0.05, 300.0, x, values)
    yield _search_shape("hyperbolic", Hyperbolic, 0.01, 5000.0, x, values)
    for shape in _WEIBULL_SHAPES:
        yield _search_shape("weibull", partial(_make_weibull, shape), 1e-4, 10.0, x, values)


def _make_weibull(shape: float, scale: float, final: float) -> LossCurve:
    return Weibull(scale, shape, final)


def _search_shape(
    family: str, make: Callable[[float, float], LossCurve], low: float, high: float, x: Floats, values: Floats
) -> CurveFit:
    def cost(logarithm: float) -> float:
        return _fit_line(make(exp(logarithm), 0.0).reduction(x), values)[2]

    # A grid first: far from its minimum the cost of a shape is flat.
    grid = np.linspace(log(low), log(high), 25).tolist()
    best = min(range(len(grid)), key=lambda i: cost(grid[i]))
    shape = exp(golden_section(cost, grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)], 40))
    level, fall, error = _fit_line(make(shape, 0.0).reduction(x), values)
    start = level + fall
    if start <= 0 or fall <= 0:
        return CurveFit(make(shape, 1.0), family, float("inf"), 0.0)
    curve = make(shape, max(level / start, 0.0))
    return CurveFit(curve, family, error / start, _autocorrelation(values / start - curve.level(x)))


def _fit_line(reduction: Floats, values: Floats) -> tuple[float, float, float]:
    """Return a, b and the root mean square of values − a − b(1 − r)."""
    remaining = 1 - reduction
    spread = remaining - remaining.mean()
    fall = float(spread @ values / max(float(spread @ spread), 1e-300))
    level = float(values.mean() - fall * remaining.mean())
    return level, fall, float(np.sqrt(np.mean((values - level - fall * remaining) ** 2)))


def _autocorrelation(residuals: Floats) -> float:
    whole = float(residuals @ residuals)
    return float(np.clip(residuals[1:] @ residuals[:-1] / whole, 0.0, 0.95)) if whole > 0 else 0.0


_MIN_READINGS: Final = 5
_MAX_GAMMA: Final = 2.0
_MAX_PENALTY: Final = 30.0  # up to 17 was measured (docs/docker/jobs.md)
_PENALTY_STEPS: Final = 25
"""Steps of the search for p, which give it to 30·0.618²⁵ = 0.0002."""

_MIN_GAMMA: Final = 1e-6
_MIN_CHANGE: Final = 0.05
_ALL_THREADS_SHARE: Final = 0.8
"""Share of its threads from which a job with idle cores counts as using all of them."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """The constants of a recorded run."""

    #: The same workers, with the cores that their jobs really had, and the same jobs, with fitted constants.
    scenario: Scenario
    #: For each job, the family of the loss curve that fits best.
    families: tuple[str, ...]
    #: For each job, root mean square of its curve's residuals, as a share of E(0).
    curve_errors: tuple[float, ...]
    #: Root mean square of the printed values' distances from even positions, as shares of the work.
    progress_error: float
    #: Whether γ is measured: False where no job's neighbours changed while it trained without excess threads;
    #: then γ is 0 and their effect counts as that of excess threads.
    gamma_known: bool
    #: Whether p is measured: False where no job's excess threads changed while it trained.
    penalty_known: bool
    #: Jobs that did not complete, or printed too few values.
    left_out: tuple[str, ...]


def calibrate(observations: Sequence[Observation], contention: Contention = "count") -> Calibration:
    """Fit the simulator to a run.

    Raises InputError if no job completed with at least five printed values.
    """
    every = extract_traces(observations, contention)
    used = [one for one in every if _is_usable(one)]
    if not used:
        raise InputError(
            f"None of the run's {len(every)} jobs completed with at least {_MIN_READINGS} printed values.",
            "Record a run in which jobs print their loss and end by themselves.",
        )
    crowds = any(_varies(one.crowd[one.is_training & (one.excess == 0)]) for one in used)
    exceeds = any(_varies(one.excess[one.is_training]) for one in used)
    costs = _fit_costs(used, crowds, exceeds)
    trained = [_training_span(one, costs) for one in used]
    fits = [
        fit_curve((one.work_at(one.read_at, costs) - begin) / (end - begin), one.values)
        for one, (begin, end) in zip(used, trained, strict=True)
    ]
    jobs = tuple(_job_spec(one, costs, fit, span) for one, fit, span in zip(used, fits, trained, strict=True))
    had = effective_cores(observations)
    # policies must see the whole machine, because requests and limits refer to it
    workers = tuple(
        WorkerSpec(worker.id, worker.capacity, lost=worker.capacity - had[worker.id])
        for worker in observations[0].workers
    )
    return Calibration(
        Scenario(workers, jobs, costs.gamma, contention),
        tuple(fit.family for fit in fits),
        tuple(fit.error for fit in fits),
        _unevenness(used, costs) ** 0.5,
        crowds,
        exceeds,
        tuple(one.final.id for one in every if not _is_usable(one)),
    )


def _fit_costs(used: Sequence[JobTrace], crowds: bool, exceeds: bool) -> Costs:
    """Fit γ and p so that printed values come most evenly; each only where it shows."""

    def gamma(penalty: float) -> float:
        if not crowds:
            return 0.0
        best = golden_section(lambda each: _unevenness(used, Costs(each, penalty)), 0.0, _MAX_GAMMA)
        return best if best > _MIN_GAMMA else 0.0

    def unevenness(penalty: float) -> float:
        return _unevenness(used, Costs(gamma(penalty), penalty))

    penalty = golden_section(unevenness, 0.0, _MAX_PENALTY, _PENALTY_STEPS) if exceeds else PENALTY
    return Costs(gamma(penalty), penalty)


def _varies(values: Floats) -> bool:
    return len(values) > 0 and float(np.ptp(values)) > _MIN_CHANGE


def _is_usable(one: JobTrace) -> bool:
    if one.final.state is not JobState.DONE or len(one.values) < _MIN_READINGS:
        return False
    first, last = one.work_at(one.read_at[[0, -1]], Costs()).tolist()
    return bool(last > first)


def _unevenness(histories: Sequence[JobTrace], costs: Costs) -> float:
    """Return the mean square distance of printed values from even positions."""
    return float(
        np.mean(
            np.concatenate([_offsets_from_even(one.work_at(one.read_at, costs)) for one in histories]) ** 2
        )
    )


def _offsets_from_even(work: Floats) -> Floats:
    whole = float(work[-1] - work[0])
    places = (work - work[0]) / whole if whole > 0 else np.zeros_like(work)
    return np.asarray(places - np.linspace(0, 1, len(work)))


def _training_span(one: JobTrace, costs: Costs) -> tuple[float, float]:
    """Return the work done before a job's training, and by its end."""
    first, last = one.work_at(one.read_at[[0, -1]], costs).tolist()
    each = (last - first) / (len(one.values) - 1)
    return max(first - each, 0.0), last


def _demand_of(one: JobTrace) -> float | None:
    """Return the most cores that a job can use; None if unknown, or if its threads limit it."""
    demand, threads = one.demand, one.final.threads
    return (
        None if demand is None or (threads is not None and demand > _ALL_THREADS_SHARE * threads) else demand
    )


def _job_spec(one: JobTrace, costs: Costs, fit: CurveFit, trained: tuple[float, float]) -> JobSpec:
    job, work = one.final, one.work(costs)
    return JobSpec(
        id=job.id,
        work=work,
        arrival=job.arrived,
        demand=_demand_of(one),
        loss=fit.curve,
        values=len(one.values),
        noise_sigma=fit.error,
        noise_phi=fit.phi,
        request=job.request,
        steps=job.total_steps,
        threads=job.threads,
        resizable=job.can_resize,
        follows=job.can_resize,
        thread_penalty=costs.penalty,
        prepare=trained[0],
        finish=max(work - trained[1], 0.0),
    )
