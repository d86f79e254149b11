"""A recorded run, job by job: usage, neighbours and printed values, from observation to observation."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from core.simulation.speedup import excess

if TYPE_CHECKING:
    from collections.abc import Sequence

    from core.scheduling.model import Job, Observation, Reading
    from core.simulation.loss import Floats
    from core.simulation.scenario import Contention

_BUSY: Final = 0.85  # of a worker's cores in use: below, nobody waited for another; the host takes some, too
_WHOLE: Final = 0.995  # of a worker's cores: from there on the rest is rounding
_OFTEN: Final = 0.1  # of a job's life beside idle cores, enough for what it used to say what it can use


class Costs(NamedTuple):
    """What of their usage jobs lose: γ to contention, and p to threads that have no core."""

    gamma: float = 0.0
    penalty: float = 0.0


class _Stretch(NamedTuple):
    """A job between two observations: until when, how it used its worker, and what was in its way."""

    until: float
    begun: float
    usage: float
    crowd: float
    excess: float = 0.0
    idle: bool = False


@dataclass(frozen=True)
class History:
    """One job from its start to its end."""

    #: The job as it was shown last.
    last: Job
    #: Start and ends of its stretches, seconds, shape (n + 1,).
    time: Floats
    #: Core-seconds used in each stretch, shape (n,).
    usage: Floats
    #: n_e in each stretch, the job included, shape (n,).
    crowd: Floats
    #: Threads too many for each core that it could have (`core.simulation.speedup.excess`), shape (n,); none
    #: while it does not train, since only one computes then.
    excess: Floats
    #: Whether a stretch lies in its training, shape (n,).
    trains: np.ndarray[tuple[int], np.dtype[np.bool_]]
    #: Whether its worker had cores to spare, shape (n,).
    idle: np.ndarray[tuple[int], np.dtype[np.bool_]]
    #: When it printed E, and the values, shape (m,).
    read_at: Floats
    values: Floats

    def work_at(self, when: Floats, costs: Costs) -> Floats:
        """Core-seconds of work done at moments `when`, linear within a stretch.

        Σ ΔC/((1 + γ(n_e − 1))·(1 + p·x)) with x threads too many for each core.
        """
        waste = (1 + costs.gamma * (self.crowd - 1)) * (1 + costs.penalty * self.excess)
        done = np.concatenate([[0.0], np.cumsum(self.usage / waste)])
        return np.asarray(np.interp(when, self.time, done))

    def work(self, costs: Costs) -> float:
        """Core-seconds of its whole work."""
        return float(self.work_at(self.time[-1:], costs)[0])

    @property
    def demand(self) -> float | None:
        """Cores that it uses where it may use more, or None where that hardly ever happened.

        What it used in the busiest tenth of its life, at least: while its container is created, it reads its
        data with one thread, or waits for a disk, it uses less than it could, and that is not its demand.
        """
        spans = np.diff(self.time)
        if spans[self.idle].sum() < _OFTEN * spans.sum():
            return None
        return _quantile(self.usage / spans, spans, 1 - _OFTEN) or None


def given(observations: Sequence[Observation]) -> dict[str, float]:
    """Cores that each worker's jobs really had together while none were idle.

    The median over time, at most its capacity; that itself where its jobs never waited for each other. A host
    has other work, too.
    """
    found: dict[str, list[tuple[float, float]]] = {worker.id: [] for worker in observations[0].workers}
    last: dict[str, float] = {}
    for before, after in pairwise(observations):
        span = after.time - before.time
        used = dict.fromkeys(found, 0.0)
        for job in (*after.jobs, *after.ended):
            if job.worker is not None:
                used[job.worker] += job.cpu_seconds - last.get(job.id, 0.0)
            last[job.id] = job.cpu_seconds
        for worker in after.workers:
            if span > 0 and used[worker.id] >= _BUSY * worker.capacity * span:
                found[worker.id].append((used[worker.id] / span, span))
    return {
        worker.id: _had(worker.capacity, np.array(found[worker.id])) for worker in observations[0].workers
    }


def _had(capacity: float, busy: Floats) -> float:
    if not len(busy):
        return capacity
    middle = _quantile(busy[:, 0], busy[:, 1], 0.5)
    return middle if middle < _WHOLE * capacity else capacity


def _quantile(rates: Floats, spans: Floats, share: float) -> float:
    """The rate that is not exceeded for a share of the time, each lasting as long as its span."""
    order = np.argsort(rates)
    passed = np.cumsum(spans[order])
    return float(rates[order][min(np.searchsorted(passed, share * passed[-1]), len(rates) - 1)])


def histories_of(observations: Sequence[Observation], contention: Contention) -> tuple[History, ...]:
    """Every job that ran, in order of its start."""
    stretches: dict[str, list[_Stretch]] = defaultdict(list)
    readings: dict[str, list[Reading]] = defaultdict(list)
    last: dict[str, Job] = {}
    for before, after in pairwise([observations[0], *observations]):
        present = [job for job in (*after.jobs, *after.ended) if job.started is not None]
        for job in present:
            readings[job.id] += job.readings
        for worker in after.workers:
            here = {job.id: job for job in present if job.worker == worker.id}
            found = _stretches(list(here.values()), last, before.time, after.time, contention)
            span, used = after.time - before.time, sum(stretch.usage for stretch in found.values())
            idle = used < _BUSY * worker.capacity * span
            for name, stretch in found.items():
                spare = worker.capacity - (used - stretch.usage) / span
                cores, threads = max(spare, worker.capacity / len(found)), here[name].threads
                too_many = 0.0 if threads is None else excess(threads, cores)
                stretches[name].append(stretch._replace(idle=idle, excess=too_many))
        last.update((job.id, job) for job in present)
    return tuple(_history(last[name], lines, readings[name]) for name, lines in stretches.items())


def _stretches(
    jobs: Sequence[Job], last: dict[str, Job], begin: float, end: float, contention: Contention
) -> dict[str, _Stretch]:
    begun = {job.id: max(begin, job.started or 0.0) for job in jobs}
    ran = [job for job in jobs if end > begun[job.id]]
    usage = [job.cpu_seconds - (last[job.id].cpu_seconds if job.id in last else 0.0) for job in ran]
    if contention == "count":
        crowd = sum(end - begun[job.id] for job in ran) / (end - begin) if ran else 1.0
    else:
        squares = sum(one * one for one in usage)
        crowd = sum(usage) ** 2 / squares if squares > 0 else 1.0
    return {
        job.id: _Stretch(end, begun[job.id], used, max(crowd, 1.0))
        for job, used in zip(ran, usage, strict=True)
    }


def _history(job: Job, lines: Sequence[_Stretch], readings: Sequence[Reading]) -> History:
    """One job's arrays; its stretches are parted where its training began and ended."""
    read_at = np.array([when for when, _ in readings])
    edges = np.array([lines[0].begun, *(line.until for line in lines)])
    # its first value took as long as its second
    begin, end = (2 * read_at[0] - read_at[1], read_at[-1]) if len(read_at) > 1 else (edges[-1], edges[-1])
    time = np.union1d(edges, np.clip([begin, end], edges[0], edges[-1]))
    middle = (time[:-1] + time[1:]) / 2
    trains = (begin < middle) & (middle < end)
    part_of = np.searchsorted(edges, middle) - 1
    used = np.cumsum([0.0, *(line.usage for line in lines)])
    return History(
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
