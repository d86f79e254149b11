"""``las``: least attained service. The job with the least processor time so far goes first.

Good where job sizes are unknown and differ much: short jobs are through before long ones compete with them.
Source: Nuyens and Wierman, "The foreground–background queue: a survey", 2008; Tiresias (Gu et al.,
NSDI 2019) uses it for training jobs.
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
class LasSettings:
    """The interval of comparing attained service."""

    quantum: float = quantum_setting()
    placement: str = placement_setting()


def begin(settings: LasSettings, seed: int) -> WeighingState:
    """Return the state before the first observation."""
    return WeighingState(settings, placer(settings.placement, seed))


def weigh(_worker: Worker, jobs: Sequence[Job], _memory: Memory) -> dict[str, JobWeight]:
    """Return the fewest core-seconds first, unknown ones last; among equals the one that came first."""
    ordered = sorted(jobs, key=lambda job: inf if job.cpu_seconds is None else job.cpu_seconds)
    return weights_by_rank([job.id for job in ordered])


def decide(state: WeighingState, observation: Observation) -> Decision[WeighingState]:
    """Order every worker by attained service."""
    return decide_by_weights(state, observation, "Least attained service", weigh)


LAS = SchedulingPolicy(
    name="las",
    about="Least attained service (LAS): the job that has had the least processor time goes first.",
    begin=begin,
    decide=decide,
    settings=LasSettings,
    title="Least served first",
    group=PolicyGroup.PROGRESS,
)
POLICIES = (LAS,)
