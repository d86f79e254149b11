"""The simulator's constants from a recorded run without policy: γ, p, and each job's work, demand and loss.

What a run shows is usage C(t), which contention does not change, and printed values, which come at even
shares of the training. With n_e jobs on a worker, dC core-seconds of usage do dC/(1 + γ(n_e − 1)) of work,
and in training 1/(1 + p·x) of that with x threads too many for each core; γ and p are those for which the
values of every job come as evenly in its work as they should, γ only where neighbours also come without such
threads. A job's work is then what it did from its start to its end, of which it prepared until one value's
worth before the first and finished after the last. The run must be one without limits, pauses and migrations,
so that usage and neighbours are those of free competition.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from core.errors import InputError
from core.scheduling.model import JobState
from core.simulation.calibration.curve_fit import fit_curve, golden_section
from core.simulation.calibration.histories import Costs, given, histories_of
from core.simulation.scenario import JobSpec, Scenario, WorkerSpec
from core.simulation.speedup import PENALTY

if TYPE_CHECKING:
    from collections.abc import Sequence

    from core.scheduling.model import Observation
    from core.simulation.calibration.curve_fit import CurveFit
    from core.simulation.calibration.histories import History
    from core.simulation.loss import Floats
    from core.simulation.scenario import Contention

_FEWEST_READINGS: Final = 5
_LARGEST_GAMMA: Final = 2.0
_LARGEST_PENALTY: Final = 30.0  # up to 17 was measured (docs/docker/jobs.md)
_STEPS: Final = 25
"""Of the search for p: it is then known to 30·0.618²⁵ = 0.0002."""

_NOTHING: Final = 1e-6
_CHANGES: Final = 0.05
_ALL_THREADS: Final = 0.8
"""Share of its threads from which on a job that could have more cores is taken to use all of them."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """What a recorded run says about its machines and jobs."""

    #: The same workers, with the cores that their jobs really had, and the same jobs, with fitted constants.
    scenario: Scenario
    #: For each job, the family of the loss curve that fits best.
    families: tuple[str, ...]
    #: For each job, root mean square of its curve's residuals, as a share of E(0).
    curve_errors: tuple[float, ...]
    #: Root mean square of the printed values' distances from even positions, as shares of the work.
    progress_error: float
    #: False where no job's number of neighbours ever changed while it trained with no thread too many, so
    #: that γ is only assumed 0: what comes with threads too many is put down to them.
    gamma_known: bool
    #: False where no job's threads too many changed in number while it trained, so that p is only assumed.
    penalty_known: bool
    #: Jobs that did not complete, printed too little, or all at one moment.
    left_out: tuple[str, ...]


def calibrate(observations: Sequence[Observation], contention: Contention = "count") -> Calibration:
    """Fit the simulator to a run.

    Raises
    ------
    InputError
        If no job completed with at least five printed values.
    """
    every = histories_of(observations, contention)
    used = [one for one in every if _usable(one)]
    if not used:
        raise InputError(
            f"None of the run's {len(every)} jobs completed with at least {_FEWEST_READINGS} printed values.",
            "Record a run in which jobs print their loss and end by themselves.",
        )
    crowds = any(_changes(one.crowd[one.trains & (one.excess == 0)]) for one in used)
    exceeds = any(_changes(one.excess[one.trains]) for one in used)
    costs = _costs(used, crowds, exceeds)
    trained = [_training(one, costs) for one in used]
    fits = [
        fit_curve((one.work_at(one.read_at, costs) - begin) / (end - begin), one.values)
        for one, (begin, end) in zip(used, trained, strict=True)
    ]
    jobs = tuple(_spec(one, costs, fit, span) for one, fit, span in zip(used, fits, trained, strict=True))
    had = given(observations)
    # requests and limits are of the whole machine, so that is what policies have to see
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
        tuple(one.last.id for one in every if not _usable(one)),
    )


def _costs(used: Sequence[History], crowds: bool, exceeds: bool) -> Costs:
    """γ and p for which printed values come most evenly; each is only looked for where it shows."""

    def gamma(penalty: float) -> float:
        if not crowds:
            return 0.0
        found = golden_section(lambda each: _unevenness(used, Costs(each, penalty)), 0.0, _LARGEST_GAMMA)
        return found if found > _NOTHING else 0.0

    def left(penalty: float) -> float:
        return _unevenness(used, Costs(gamma(penalty), penalty))

    penalty = golden_section(left, 0.0, _LARGEST_PENALTY, _STEPS) if exceeds else PENALTY
    return Costs(gamma(penalty), penalty)


def _changes(values: Floats) -> bool:
    return len(values) > 0 and float(np.ptp(values)) > _CHANGES


def _usable(one: History) -> bool:
    if one.last.state is not JobState.DONE or len(one.values) < _FEWEST_READINGS:
        return False
    first, last = one.work_at(one.read_at[[0, -1]], Costs()).tolist()
    return bool(last > first)


def _unevenness(histories: Sequence[History], costs: Costs) -> float:
    """Mean square of how far printed values are from even positions between a job's first and its last."""
    return float(
        np.mean(np.concatenate([_misplaced(one.work_at(one.read_at, costs)) for one in histories]) ** 2)
    )


def _misplaced(work: Floats) -> Floats:
    whole = float(work[-1] - work[0])
    places = (work - work[0]) / whole if whole > 0 else np.zeros_like(work)
    return np.asarray(places - np.linspace(0, 1, len(work)))


def _training(one: History, costs: Costs) -> tuple[float, float]:
    """After how much of its work a job began to train, and after how much it had ended."""
    first, last = one.work_at(one.read_at[[0, -1]], costs).tolist()
    each = (last - first) / (len(one.values) - 1)
    return max(first - each, 0.0), last


def _demand(one: History) -> float | None:
    """Most cores that a job can use; None where that is not known, or is as many as it has threads."""
    demand, threads = one.demand, one.last.threads
    return None if demand is None or (threads is not None and demand > _ALL_THREADS * threads) else demand


def _spec(one: History, costs: Costs, fit: CurveFit, trained: tuple[float, float]) -> JobSpec:
    job, work = one.last, one.work(costs)
    return JobSpec(
        id=job.id,
        work=work,
        arrival=job.arrived,
        demand=_demand(one),
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
