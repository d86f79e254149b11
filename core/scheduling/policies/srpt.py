"""``srpt``: shortest remaining processing time, an oracle.

It reads the true remaining work, which no scheduler can know. On one worker no policy has a lower mean
completion time; losses are not considered. A job with unknown remaining work comes last.
Source: Schrage, "A proof of the optimality of the shortest remaining processing time discipline", 1968.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING

from core.scheduling.placement import placement_setting, placer
from core.scheduling.ports import Decision, PolicyGroup, SchedulingPolicy
from core.scheduling.shares import weights_by_rank
from core.scheduling.weighing import JobWeight, WeighingState, decide_by_weights, quantum_setting

if TYPE_CHECKING:
    from collections.abc import Sequence

    from core.scheduling.model import Job, Observation, Worker
    from core.scheduling.weighing import Memory


@dataclass(frozen=True)
class SrptSettings:
    """The interval of comparing remaining work."""

    quantum: float = quantum_setting()
    placement: str = placement_setting()


def begin(settings: SrptSettings, seed: int) -> WeighingState:
    """Return the state before the first observation."""
    return WeighingState(settings, placer(settings.placement, seed))


def _work_left(job: Job) -> float:
    return inf if job.hidden is None else job.hidden.work_left


def weigh(_worker: Worker, jobs: Sequence[Job], _memory: Memory) -> dict[str, JobWeight]:
    """Return the least work left first; among equals the one that came first."""
    return weights_by_rank([job.id for job in sorted(jobs, key=_work_left)])


def decide(state: WeighingState, observation: Observation) -> Decision[WeighingState]:
    """Order every worker by the work that is left."""
    return decide_by_weights(state, observation, "Shortest remaining work", weigh)


SRPT = SchedulingPolicy(
    name="srpt",
    about="An oracle: the job with the least work left goes first.",
    begin=begin,
    decide=decide,
    settings=SrptSettings,
    oracle=True,
    title="Shortest remaining first",
    group=PolicyGroup.PROGRESS,
)
POLICIES = (SRPT,)
