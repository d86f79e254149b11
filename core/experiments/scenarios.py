"""The scenario (jobs, arrivals, machines) of an experiment and a seed, and its ground truth.

Random numbers come in separate streams for kinds, times, sizes and claims, so that changing one of them
leaves the others as they were. Nothing here depends on the policy: differences are paired.
The truth, which only the simulator has, is when losses reach their goals and how long fair sharing takes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from core.experiments.measures import GOALS
from core.experiments.outcome import Truth
from core.experiments.parts import JobKind
from core.scheduling.model import Profile
from core.simulation.arrivals import normal_times
from core.simulation.loss import FAMILIES, Exponential, Hyperbolic, Replayed, weibull_through
from core.simulation.scenario import JobSpec, Scenario, WorkerSpec
from core.simulation.speedup import SpeedUp, Throughput
from core.units import GIB

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from core.experiments.parts import Arrivals, DrawnJobs, ListedJob, Span, World
    from core.experiments.spec import Experiment
    from core.simulation.loss import LossCurve
    from core.simulation.scenario import Contention
    from core.simulation.speedup import Scaling

    Floats: TypeAlias = NDArray[np.float64]


_STREAMS = (
    "kinds", "times", "work", "demand", "checkpoint", "restore", "claims", "predictions", "slack",
)  # fmt: skip
_FIRST = 0.2
_SOON = 1e-3
"""Seconds after its arrival at which a job is due that was due before."""


@dataclass(frozen=True, slots=True)
class _Job:
    """A job before its random values are drawn."""

    id: str
    kind: str
    work: float | None = None
    demand: float | None = None
    at: float | None = None
    listed: ListedJob | None = None
    listed_at: float | None = None


def scenario(experiment: Experiment, seed: int) -> Scenario:
    """The machines and jobs of one seed."""
    streams = dict(zip(_STREAMS, np.random.SeedSequence(seed).spawn(len(_STREAMS)), strict=True))
    rngs = {name: np.random.default_rng(stream) for name, stream in streams.items()}
    jobs = _in_time(experiment, rngs)
    workers = tuple(
        WorkerSpec(name, group.cores, group.memory * GIB or None)
        for group in experiment.workers
        for name in group.names
    )
    luck = {
        name: rngs[name].random(len(jobs)) for name in ("work", "demand", "checkpoint", "restore", "slack")
    }
    for name in ("claims", "predictions"):
        luck[name] = rngs[name].standard_normal(len(jobs))
    world, specs = experiment.world, []
    for at, job in enumerate(jobs):
        kind = experiment.kinds.get(job.kind, JobKind())
        specs.append(_spec(job, kind, world, {name: float(values[at]) for name, values in luck.items()}))
    if any(spec.deadline is not None for spec in specs):
        largest, error = max(group.cores for group in experiment.workers), world.prediction_error
        factors = np.exp(error * luck["predictions"]).tolist()
        specs = [_with_profile(spec, factor, largest) for spec, factor in zip(specs, factors, strict=True)]
    contention: Contention = "effective" if world.contention == "effective" else "count"
    return Scenario(
        workers=workers,
        jobs=tuple(sorted(specs, key=lambda each: each.arrival)),
        gamma=world.gamma,
        contention=contention,
        control_s=world.control,
        checkpoint_failure=world.checkpoint_failure,
        restore_failure=world.restore_failure,
    )


def loss_curve(kind: JobKind, family: str) -> LossCurve:
    """A kind's loss curve: its recorded losses, or a family's through its own or a model's early fall."""
    if kind.losses:
        shares = np.linspace(0.0, 1.0, len(kind.losses)).tolist()
        return Replayed(tuple(zip(shares, kind.losses, strict=True)))
    if kind.early is None and kind.final == JobKind.__dataclass_fields__["final"].default:
        return FAMILIES[family][kind.like]
    default = FAMILIES["hyperbolic"][kind.like].reduction(np.array(_FIRST))
    early = kind.early if kind.early is not None else float(default)
    if family == "weibull":
        return weibull_through(early, final=kind.final)
    if family == "hyperbolic":
        return Hyperbolic(max((early - _FIRST) / (_FIRST * (1 - early)), 1e-6), kind.final)
    return Exponential(_rate(early), kind.final)


def _rate(early: float) -> float:
    """λ with (1 − e^{−0.2λ}) / (1 − e^{−λ}) = `early`, by bisection of a function that grows with λ."""
    low, high = 1e-6, 1e4
    for _ in range(200):
        middle = math.sqrt(low * high)
        share = math.expm1(-_FIRST * middle) / math.expm1(-middle)
        low, high = (low, middle) if share > early else (middle, high)
    return math.sqrt(low * high)


def _with_profile(spec: JobSpec, factor: float, largest: float) -> JobSpec:
    """With a profile of its time per step, wrong by a factor."""
    if spec.steps is None:
        return spec
    measured = spec.speedup.points if isinstance(spec.speedup, Throughput) else ()
    cores = [at for at, _ in measured] or [2.0**k for k in range(1 + int(math.log2(max(largest, 1.0))))]
    one = factor * spec.training / spec.steps
    points = tuple((at, one / (at if spec.speedup is None else spec.speedup.speed(at))) for at in cores)
    return replace(spec, profile=Profile(points))


def _work(job: _Job, kind: JobKind, luck: float) -> float:
    """Core-seconds: as listed, by its steps, or as drawn for its kind."""
    if job.work is not None:
        return job.work
    if job.listed is not None and job.listed.steps is not None and kind.throughput:
        return job.listed.steps / Throughput(kind.throughput).measured(1.0)
    sampled = _between(kind.work, luck)
    return kind.work[0] if sampled is None else sampled


def _deadline(job: _Job, kind: JobKind, work: float, luck: float) -> float | None:
    """Seconds after its arrival: a time of the run, a duration, or a multiple of its time at its request."""
    listed = job.listed
    if listed is not None and listed.due is not None:
        return max(listed.due - (job.listed_at or 0.0), _SOON)
    job_terms = (None, None) if listed is None else (listed.deadline, listed.slack)
    for deadline, slack in (job_terms, (kind.deadline, _between(kind.slack, luck))):
        if deadline is not None:
            return deadline
        if slack is not None:
            curve, request = scaling(kind), _request(job, kind)
            return slack * work / (request if curve is None else curve.speed(request))
    return None


def _request(job: _Job, kind: JobKind) -> float:
    listed_request = job.listed.request if job.listed is not None else None
    return listed_request or kind.request or 1.0


def _spec(job: _Job, kind: JobKind, world: World, luck: Mapping[str, float]) -> JobSpec:
    demand = job.demand if job.demand is not None else _between(kind.demand, luck["demand"])
    work = _work(job, kind, luck["work"])
    steps = job.listed.steps if job.listed is not None and job.listed.steps is not None else kind.steps
    return JobSpec(
        id=job.id,
        work=work,
        arrival=job.at or 0.0,
        demand=demand,
        loss=loss_curve(kind, world.curves),
        values=kind.values,
        noise_sigma=world.noise,
        noise_phi=world.correlation,
        checkpoint_s=_between(kind.checkpoint, luck["checkpoint"]),
        restore_s=_between(kind.restore, luck["restore"]) or 0.0,
        steps=steps or None,
        size_error=math.exp(world.size_error * luck["claims"]),
        model=job.kind,
        threads=kind.threads or None,
        resizable=kind.malleable,
        speedup=scaling(kind),
        deadline=_deadline(job, kind, work, luck["slack"]),
        **_terms(job.listed, kind),
    )


def _terms(listed: ListedJob | None, kind: JobKind) -> dict[str, Any]:
    """Terms of one job, or else of its kind."""
    terms = {}
    for name in ("request", "min", "max", "memory", "priority"):
        job_value = getattr(listed, name) if listed is not None else None
        terms[name] = job_value if job_value is not None else getattr(kind, name)
    terms["memory"] = terms["memory"] * GIB if terms["memory"] is not None else None
    return terms


def scaling(kind: JobKind) -> Scaling | None:
    """The speed of a kind by its cores; None if it is proportional."""
    if kind.throughput:
        return Throughput(kind.throughput)
    if kind.fixed or kind.overhead:
        return SpeedUp(kind.fixed, 1.0 - kind.fixed, kind.overhead)
    return None


def _between(span: Span | None, luck: float) -> float | None:
    return None if span is None else span[0] + (span[1] - span[0]) * luck


def _in_time(experiment: Experiment, rngs: Mapping[str, np.random.Generator]) -> list[_Job]:
    """All jobs with their arrival times: listed ones first, then sampled ones, numbered in time."""
    if experiment.resampled:
        return _resampled(experiment, rngs)
    kinds = _drawn_kinds(experiment.drawn, experiment.kinds, rngs["kinds"])
    waiting = [job for job in experiment.jobs if job.at is None]
    coming = [*(_listed(job, job.id, 0.0) for job in waiting), *(_Job(kind, kind) for kind in kinds)]
    times = arrival_times(_at_load(experiment, coming), len(coming), rngs["times"])
    next_times = iter(times[: len(waiting)].tolist())
    listed = [
        _listed(job, job.id, job.at if job.at is not None else next(next_times)) for job in experiment.jobs
    ]
    later = np.sort(times[len(waiting) :]).tolist()
    sampled = [
        _Job(f"{experiment.drawn.id}-{n + 1}", kind, at=at)
        for n, (kind, at) in enumerate(zip(kinds, later, strict=True))
    ]
    return [*listed, *sampled]


def _listed(job: ListedJob, name: str, at: float) -> _Job:
    return _Job(name, job.kind, job.work, job.demand, at, job, at if job.at is None else job.at)


def _resampled(experiment: Experiment, rngs: Mapping[str, np.random.Generator]) -> list[_Job]:
    """Jobs drawn from the listed ones with replacement, at times of their own."""
    sampling = experiment.drawn
    picked = rngs["kinds"].integers(0, len(experiment.jobs), sampling.count)
    jobs = [experiment.jobs[at] for at in picked]
    arrivals = _at_load(experiment, [_listed(job, job.id, 0.0) for job in jobs])
    times = np.sort(arrival_times(arrivals, sampling.count, rngs["times"])).tolist()
    return [
        _listed(job, f"{sampling.id}-{n + 1}", at)
        for n, (job, at) in enumerate(zip(jobs, times, strict=True))
    ]


def _at_load(experiment: Experiment, jobs: list[_Job]) -> Arrivals:
    """The rule of arrivals; at a load, the time in which machines have what jobs take with their requests."""
    arrivals = experiment.arrivals
    if arrivals.by != "load":
        return arrivals
    core_seconds = 0.0
    for job in jobs:
        kind = experiment.kinds.get(job.kind, JobKind())
        curve, work, request = scaling(kind), _work(job, kind, 0.5), _request(job, kind)
        core_seconds += request * work / (request if curve is None else curve.speed(request))
    cores = sum(group.cores * group.count for group in experiment.workers)
    return replace(arrivals, within=core_seconds / (cores * arrivals.load))


def _drawn_kinds(sampling: DrawnJobs, kinds: Mapping[str, JobKind], rng: np.random.Generator) -> list[str]:
    names = [name for name, kind in kinds.items() if kind.weight > 0]
    if not names or not sampling.count:
        return []
    if sampling.draw == "rotation":
        rounds = math.ceil(sampling.count / len(names))
        return [names[at] for _ in range(rounds) for at in rng.permutation(len(names))][: sampling.count]
    weights = np.array([kinds[name].weight for name in names])
    picked = rng.choice(len(names), sampling.count, p=weights / weights.sum())
    return [names[at] for at in picked]


def arrival_times(arrivals: Arrivals, n: int, rng: np.random.Generator) -> Floats:
    """When `n` jobs come, seconds; only those at random within an interval are not in order."""
    match arrivals.by:
        case "uniform" | "load":
            return np.asarray(arrivals.start + arrivals.within * rng.random(n))
        case "poisson":
            return np.asarray(arrivals.start + np.cumsum(rng.exponential(arrivals.spacing, n)))
        case "normal":
            return normal_times(arrivals.spacing, arrivals.spread, n, rng, arrivals.start)
        case "spacing":
            return np.asarray(arrivals.start + arrivals.spacing * np.arange(n))
        case "list":
            return np.array(arrivals.times[:n], float)
        case _:
            return np.full(n, arrivals.start)


_NOTHING = 1e-9


# When each job would have ended under fair sharing: what a slowdown is measured against.
#
# On a virtual worker with the cores of all workers together, every job that has come gets an equal share, at
# most its demand and at most what one worker has; contention is that of jobs spread evenly over the workers.
# On one worker this is free competition itself.


def equal_shares(caps: Floats, capacity: float) -> Floats:
    """Equal shares (n,) of a capacity in cores, each at most its cap; `caps` (n,) ascend."""
    before = np.concatenate(([0.0], np.cumsum(caps)[:-1]))
    levels = (capacity - before) / np.arange(len(caps), 0, -1)
    full = np.nonzero(levels <= caps)[0]
    return np.minimum(caps, levels[full[0]]) if len(full) else caps


def fair_completions(scenario: Scenario) -> dict[str, float]:
    """Seconds from arrival to end of each job under fair sharing, by its id."""
    largest = max(worker.for_jobs for worker in scenario.workers)
    capacity = sum(worker.for_jobs for worker in scenario.workers)
    caps = np.array([min(job.demand or largest, largest) for job in scenario.jobs])
    order = np.argsort(caps, kind="stable")
    jobs = [scenario.jobs[at] for at in order]
    caps = caps[order]
    remaining = np.array([job.work for job in jobs])
    arrivals = np.array([job.arrival for job in jobs])
    ends = np.zeros(len(jobs))
    now = float(arrivals.min())
    while (remaining > _NOTHING).any():
        active = np.nonzero((arrivals <= now) & (remaining > _NOTHING))[0]
        coming = arrivals[arrivals > now]
        next_arrival = float(coming.min()) if len(coming) else np.inf
        if not len(active):
            now = next_arrival
            continue
        crowd = max(len(active) / len(scenario.workers), 1.0)
        rates = equal_shares(caps[active], capacity) / (1 + scenario.gamma * (crowd - 1))
        step = min(float((remaining[active] / rates).min()), next_arrival - now)
        remaining[active] -= rates * step
        now = now + step if step < next_arrival - now else next_arrival
        ended = active[remaining[active] <= _NOTHING * np.maximum(1.0, rates)]
        ends[ended], remaining[ended] = now, 0.0
    return {job.id: float(end - job.arrival) for job, end in zip(jobs, ends, strict=True)}


_FINE = np.linspace(0.0, 1.0, 200) ** 3  # losses fall steeply first


def ground_truth(scenario: Scenario) -> Truth:
    """The truth of a scenario.

    Value i of n is printed when i/n of the training is done (`core.simulation.scenario`), so a share x of the
    training is done at the moment of "value" x·n, between two printed ones.
    """
    goals_of_loss: dict[LossCurve, tuple[float, ...]] = {}
    for job in scenario.jobs:
        if job.loss not in goals_of_loss:
            goals_of_loss[job.loss] = work_at_goals(job.loss)
    return Truth(
        goals={job.id: tuple(x * job.values for x in goals_of_loss[job.loss]) for job in scenario.jobs},
        fair=fair_completions(scenario),
        models={job.id: job.model for job in scenario.jobs},
    )


def work_at_goals(curve: LossCurve) -> tuple[float, ...]:
    """Shares of the work after which a loss has fallen by `GOALS` of its whole fall for the first time."""
    return tuple(_first(curve, goal) for goal in GOALS)


def _first(curve: LossCurve, goal: float) -> float:
    """The first crossing on a fine grid, made exact by bisection between its two grid points."""
    above = np.nonzero(np.asarray(curve.reduction(_FINE)) >= goal)[0]
    if not len(above):
        return 1.0
    low, high = float(_FINE[max(above[0] - 1, 0)]), float(_FINE[above[0]])
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if float(curve.reduction(np.array(middle))) >= goal else (middle, high)
    return high
