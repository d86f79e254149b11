"""``resizes``: one job after another, each through the same numbers of cores. A measurement, not a scheduler.

It shows what a change of cores costs and gives: with threads that stay, more of them than cores wait for
each other (oversubscription), fewer leave cores idle (underutilisation); with threads that follow, neither
happens. Source: Libutti, "Scheduling Elastic Machine Learning Process through Containers", JCS&T 23(2),
2023, shows both effects by such changes; the sequence is this project's.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from core.errors import InputError
from core.scheduling.actions import Action, Reason, SetLimit, Start
from core.scheduling.model import JobState
from core.scheduling.ports import Decision, SchedulingPolicy
from core.settings_fields import setting
from core.units import format_cores

if TYPE_CHECKING:
    from core.scheduling.model import Job, Observation


_CHECKS_PER_STAGE = 4
"""Looks between two changes, so that the first step, before which a job prepares, is seen where it is."""


@dataclass(frozen=True)
class ResizesSettings:
    """The numbers of cores that every job runs with, in order."""

    cores: str = setting(
        "2 1 0.5 1 2", label="Cores", help="Numbers with spaces between them; the last one stays to the end."
    )
    every: float = setting(
        15.0, label="Each for", low=0.5, high=86_400.0, unit="s", help="Time between two changes."
    )

    def __post_init__(self) -> None:
        try:
            highest = max(self.sequence)
            lowest = min(self.sequence)
        except ValueError:
            highest = lowest = 0.0
        if not 0.01 <= lowest <= highest <= 4096:
            raise InputError(
                f"Cores (cores) cannot be “{self.cores}”.",
                "Give numbers from 0.01 to 4096, such as 2 1 0.5 2.",
            )

    @property
    def sequence(self) -> tuple[float, ...]:
        """The numbers of cores, in order."""
        return tuple(float(each) for each in self.cores.split())


@dataclass(frozen=True, slots=True)
class ResizesState:
    """The job being measured, and its stage."""

    #: As configured.
    settings: ResizesSettings
    #: The number of the last observation.
    number: int = -1
    #: The job being measured; empty before the first.
    job: str = ""
    #: When its measurement began, seconds of the run's clock.
    turn_began: float = 0.0
    #: The number of stages that it has gone through.
    stages_done: int = 0


def begin(settings: ResizesSettings, _seed: int) -> ResizesState:
    """Return the initial state."""
    return ResizesState(settings)


def decide(state: ResizesState, observation: Observation) -> Decision[ResizesState]:
    """Give the job being measured the cores of its stage; the next job starts when it has ended."""
    if observation.number <= state.number:
        return Decision(state)
    state = replace(state, number=observation.number)
    job = next((job for job in observation.jobs if job.id == state.job), None)
    if job is None or job.state is JobState.WAITING:
        job = job or next(iter(observation.jobs), None)
        state = replace(state, job=job.id if job else "", turn_began=observation.time, stages_done=0)
    if job is None:
        return Decision(state)
    settings, numbers = state.settings, state.settings.sequence
    due = min(int((observation.time - state.turn_began) / settings.every + 1e-9) + 1, len(numbers))
    change = state.turn_began + due * settings.every
    wake = min(change, observation.time + settings.every / _CHECKS_PER_STAGE) if due < len(numbers) else None
    if due == state.stages_done or job.state not in (JobState.WAITING, JobState.RUNNING):
        return Decision(state, wake=wake)
    action, cores = _change_cores(job, numbers[due - 1], observation)
    text = f"{job.id} has {format_cores(cores)}, number {due} of {len(numbers)}."
    reason = Reason("resizes", text, job.id, job.worker, (("cores", cores),))
    return Decision(replace(state, stages_done=due), (action,), (reason,), wake=wake)


def _change_cores(job: Job, cores: float, observation: Observation) -> tuple[Action, float]:
    """Return a start or a change of cores, at most those of the worker."""
    place = next(
        (worker for worker in observation.workers if worker.id == job.worker), observation.workers[0]
    )
    cores = min(cores, place.capacity)
    waits = job.state is JobState.WAITING
    return (Start(job.id, place.id, cores) if waits else SetLimit(job.id, cores, job.weight)), cores


RESIZES = SchedulingPolicy(
    name="resizes",
    title="Measure resizes",
    about="One job after another, each through the same numbers of cores: what a change of cores costs.",
    begin=begin,
    decide=decide,
    settings=ResizesSettings,
    staged=True,
)
POLICIES = (RESIZES,)
