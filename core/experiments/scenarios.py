"""The scenario (jobs, arrivals, machines) that an experiment and a seed give; the same for every policy.

Random numbers come in separate streams for kinds, times, sizes and claims, so that changing one of them
leaves the others as they were. Nothing here depends on the policy: differences between policies are paired.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from core.experiments.parts import JobKind
from core.simulation.arrivals import normal_times
from core.simulation.loss import FAMILIES, Exponential, Hyperbolic, Replayed, weibull_through
from core.simulation.scenario import JobSpec, Scenario, WorkerSpec
from core.simulation.speedup import SpeedUp, Throughput
from core.units import GIB

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from core.experiments.parts import Arrivals, Drawn, ListedJob, Span, World
    from core.experiments.spec import Experiment
    from core.simulation.loss import LossCurve
    from core.simulation.scenario import Contention
    from core.simulation.speedup import Scaling

    Floats: TypeAlias = NDArray[np.float64]

_STREAMS = ("kinds", "times", "work", "demand", "checkpoint", "restore", "claims")
_FIRST = 0.2


@dataclass(frozen=True, slots=True)
class _Job:
    """A job before its random values are drawn."""

    id: str
    kind: str
    work: float | None = None
    demand: float | None = None
    at: float | None = None
    listed: ListedJob | None = None


def scenario(experiment: Experiment, seed: int) -> Scenario:
    """The machines and jobs of one seed.

    Parameters
    ----------
    experiment
        What is run.
    seed
        Seeds everything random in it.

    Returns
    -------
    Scenario
        The same for every policy.

    Raises
    ------
    InputError
        If no loss curve has the wanted early fall.
    """
    streams = dict(zip(_STREAMS, np.random.SeedSequence(seed).spawn(len(_STREAMS)), strict=True))
    rngs = {name: np.random.default_rng(stream) for name, stream in streams.items()}
    jobs = _in_time(experiment, rngs)
    workers = tuple(
        WorkerSpec(name, group.cores, group.memory * GIB or None)
        for group in experiment.workers
        for name in group.names
    )
    luck = {name: rngs[name].random(len(jobs)) for name in ("work", "demand", "checkpoint", "restore")}
    luck["claims"] = rngs["claims"].standard_normal(len(jobs))
    world, made = experiment.world, []
    for at, job in enumerate(jobs):
        kind = experiment.kinds.get(job.kind, JobKind())
        made.append(_spec(job, kind, world, {name: float(values[at]) for name, values in luck.items()}))
    contention: Contention = "effective" if world.contention == "effective" else "count"
    return Scenario(
        workers=workers,
        jobs=tuple(sorted(made, key=lambda each: each.arrival)),
        gamma=world.gamma,
        contention=contention,
        control_s=world.control,
        checkpoint_failure=world.checkpoint_failure,
        restore_failure=world.restore_failure,
    )


def loss_curve(kind: JobKind, family: str) -> LossCurve:
    """A kind's loss curve: its recorded losses, or one of a family, through its own early fall or a model's.

    Raises
    ------
    InputError
        If no curve of the family has that early fall.
    """
    if kind.losses:
        shares = np.linspace(0.0, 1.0, len(kind.losses)).tolist()
        return Replayed(tuple(zip(shares, kind.losses, strict=True)))
    if kind.early is None and kind.final == JobKind.__dataclass_fields__["final"].default:
        return FAMILIES[family][kind.like]
    known = FAMILIES["hyperbolic"][kind.like].reduction(np.array(_FIRST))
    early = kind.early if kind.early is not None else float(known)
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
        found = math.expm1(-_FIRST * middle) / math.expm1(-middle)
        low, high = (low, middle) if found > early else (middle, high)
    return math.sqrt(low * high)


def _spec(job: _Job, kind: JobKind, world: World, luck: Mapping[str, float]) -> JobSpec:
    demand = job.demand if job.demand is not None else _between(kind.demand, luck["demand"])
    work = job.work if job.work is not None else _between(kind.work, luck["work"])
    return JobSpec(
        id=job.id,
        work=work if work is not None else kind.work[0],
        arrival=job.at or 0.0,
        demand=demand,
        loss=loss_curve(kind, world.curves),
        values=kind.values,
        noise_sigma=world.noise,
        noise_phi=world.correlation,
        checkpoint_s=_between(kind.checkpoint, luck["checkpoint"]),
        restore_s=_between(kind.restore, luck["restore"]) or 0.0,
        steps=kind.steps or None,
        size_error=math.exp(world.size_error * luck["claims"]),
        model=job.kind,
        threads=kind.threads or None,
        resizable=kind.malleable,
        speedup=scaling(kind),
        **_terms(job.listed, kind),
    )


def _terms(listed: ListedJob | None, kind: JobKind) -> dict[str, Any]:
    """What is said of one job, or else of its kind."""
    said = {}
    for name in ("request", "min", "max", "memory", "priority", "deadline"):
        own = getattr(listed, name) if listed is not None else None
        said[name] = own if own is not None else getattr(kind, name)
    said["memory"] = said["memory"] * GIB if said["memory"] is not None else None
    return said


def scaling(kind: JobKind) -> Scaling | None:
    """How a kind's speed grows with its cores; None: in proportion."""
    if kind.throughput:
        return Throughput(kind.throughput)
    if kind.fixed or kind.overhead:
        return SpeedUp(kind.fixed, 1.0 - kind.fixed, kind.overhead)
    return None


def _between(span: Span | None, luck: float) -> float | None:
    return None if span is None else span[0] + (span[1] - span[0]) * luck


def _in_time(experiment: Experiment, rngs: Mapping[str, np.random.Generator]) -> list[_Job]:
    """All jobs with the times at which they come: those listed first, then those drawn, numbered in time."""
    kinds = _drawn_kinds(experiment.drawn, experiment.kinds, rngs["kinds"])
    waiting = [job for job in experiment.jobs if job.at is None]
    times = arrival_times(experiment.arrivals, len(waiting) + len(kinds), rngs["times"])
    given = iter(times[: len(waiting)].tolist())
    listed = [
        _Job(job.id, job.kind, job.work, job.demand, job.at if job.at is not None else next(given), job)
        for job in experiment.jobs
    ]
    later = np.sort(times[len(waiting) :]).tolist()
    drawn = [
        _Job(f"{experiment.drawn.id}-{n + 1}", kind, at=at)
        for n, (kind, at) in enumerate(zip(kinds, later, strict=True))
    ]
    return [*listed, *drawn]


def _drawn_kinds(drawn: Drawn, kinds: Mapping[str, JobKind], rng: np.random.Generator) -> list[str]:
    names = [name for name, kind in kinds.items() if kind.weight > 0]
    if not names or not drawn.count:
        return []
    if drawn.draw == "rotation":
        rounds = math.ceil(drawn.count / len(names))
        return [names[at] for _ in range(rounds) for at in rng.permutation(len(names))][: drawn.count]
    weights = np.array([kinds[name].weight for name in names])
    picked = rng.choice(len(names), drawn.count, p=weights / weights.sum())
    return [names[at] for at in picked]


def arrival_times(arrivals: Arrivals, n: int, rng: np.random.Generator) -> Floats:
    """When `n` jobs come, seconds; only those at random within an interval are not in order.

    Parameters
    ----------
    arrivals
        The rule.
    n
        How many.
    rng
        The random generator.
    """
    match arrivals.by:
        case "uniform":
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
