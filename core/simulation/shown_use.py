"""What simulated jobs use, for policies that steer by that: cores and memory over the last second."""

from __future__ import annotations

from dataclasses import replace
from math import inf
from typing import TYPE_CHECKING, NamedTuple

from core.scheduling.model import JobState, Use
from core.scheduling.over import OverEngine

if TYPE_CHECKING:
    from collections.abc import Mapping

    from core.scheduling.model import Job, Observation
    from core.scheduling.ports import Engine

EVERY = 1.0
"""Seconds between two samples."""
_FULL = 0.999
"""Share of what it can use below which a limit holds a job back."""


class _Seen(NamedTuple):
    at: float
    cpu_seconds: float
    use: Use | None


class ShowsUse(OverEngine):
    """An engine whose jobs are shown with what they used, as sampling them once a second would.

    A job's memory is what its owner said that it needs; of its quota's periods all are throttled while it
    could use more than its limit, and none while it could not. What it could use more is withheld.
    """

    def __init__(self, engine: Engine, demands: Mapping[str, float]) -> None:
        super().__init__(engine)
        self._demands = demands
        self._seen: dict[str, _Seen] = {}

    def observe(self) -> Observation:
        """Show what the engine shows, with what its jobs used."""
        seen = self._engine.observe()
        before, self._seen = self._seen, {}
        most = {each.id: each.capacity for each in seen.workers}
        jobs = (self._shown(job, before.get(job.id), seen.time, most) for job in seen.jobs)
        return replace(seen, jobs=tuple(jobs))

    def _shown(self, job: Job, before: _Seen | None, now: float, most: Mapping[str, float]) -> Job:
        if job.state is not JobState.RUNNING:
            return job
        if before is None:
            self._seen[job.id] = _Seen(now, job.cpu_seconds, None)
            return job
        passed, use = now - before.at, before.use
        if passed >= EVERY:
            cores = (job.cpu_seconds - before.cpu_seconds) / passed
            demand = self._demands.get(job.id, inf)
            held = job.limit is not None and job.limit < _FULL * demand
            more = min(demand, most[job.worker or ""]) - (job.limit or 0.0) if held else 0.0
            use = Use(now, cores, job.said.memory or 0.0, float(held), withheld=max(more, 0.0))
            before = _Seen(now, job.cpu_seconds, use)
        self._seen[job.id] = before
        return job if use is None else replace(job, use=use)
