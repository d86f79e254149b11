"""``slaq``: greedy marginal loss reduction. The next piece of a worker goes where the loss falls most.

At every quantum a job's gain g = loss reduction per core-second (normalised) and its decay q, by which gains
fall per core-second, are taken from its last two intervals; with x core-seconds more its marginal gain is
g·exp(−q·x). Each job gets one unit of its worker, so that none starves; every further unit goes to the job
with the largest marginal gain. A job whose gain is not known yet comes first.
Source: Zhang et al., "SLAQ: quality-driven scheduling for distributed machine learning", SoCC 2017, 4.1.
"""

from __future__ import annotations

from dataclasses import dataclass
from heapq import heapify, heapreplace
from math import exp, inf, log
from typing import TYPE_CHECKING, NamedTuple

from core.scheduling.actions import Mark
from core.scheduling.placement import placement_setting, placer
from core.scheduling.ports import Decision, PolicyGroup, SchedulingPolicy
from core.scheduling.weighing import JobWeight, WeighingState, decide_by_weights, quantum_setting
from core.settings_fields import setting

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from core.scheduling.growth import Track, Tracks
    from core.scheduling.model import Job, Observation, Worker
    from core.scheduling.weighing import Memory

_MIN_SECONDS = 1e-6


@dataclass(frozen=True)
class SlaqSettings:
    """The interval of measuring gains, and the units that a worker is divided into."""

    quantum: float = quantum_setting()
    units: int = setting(
        50, label="Units", low=1, high=1000, help="Equal pieces that a worker is divided into."
    )
    placement: str = placement_setting()


class Gain(NamedTuple):
    """The last measurement of a job's loss, and its reduction per core-second."""

    #: Core-seconds and E (raw) when it was last measured.
    cpu_seconds: float
    level: float
    #: Core-seconds of the interval that the gain is from.
    seconds: float = 0.0
    #: Loss reduction per core-second, or None before it was measured.
    gain: float | None = None
    #: By which the gain falls per core-second; at least 0.
    decay: float = 0.0


def measure_gain(before: Gain | None, used: float, track: Track) -> Gain:
    """Return the gain of a job that has `used` core-seconds; as before if it had no processor time."""
    if before is None:
        return Gain(used, track.last)
    seconds = used - before.cpu_seconds
    if seconds <= _MIN_SECONDS:
        return before
    reduction = max(0.0, before.level - track.last) / (track.largest or 1.0)
    gain, decay = reduction / seconds, before.decay
    if before.gain and gain:
        decay = max(0.0, log(before.gain / gain) / (0.5 * (seconds + before.seconds)))
    return Gain(used, track.last, seconds, gain, decay)


def learn_gains(memory: Memory, jobs: Sequence[Job], tracks: Tracks) -> Memory:
    """Measure the gain of every job that has printed something; it stays where CPU is not measured."""
    unmeasured = {job.id: memory[job.id] for job in jobs if job.cpu_seconds is None and job.id in memory}
    return unmeasured | {
        job.id: measure_gain(memory.get(job.id), job.cpu_seconds, track)
        for job in jobs
        if job.cpu_seconds is not None and (track := tracks.get(job.id)) is not None
    }


def divide_units(gains: Mapping[str, Gain | None], units: int, piece: float) -> dict[str, int]:
    """Return the units of one worker for each job, greedily."""
    units = max(units, len(gains))
    heap = [
        (_negative_gain(each, 1, piece), 1, place, name) for place, (name, each) in enumerate(gains.items())
    ]
    heapify(heap)
    for _ in range(units - len(heap)):
        _, count, place, name = heap[0]
        heapreplace(heap, (_negative_gain(gains[name], count + 1, piece), count + 1, place, name))
    return {name: units_by_job for _, units_by_job, _, name in heap}


def _negative_gain(gain: Gain | None, units: int, piece: float) -> float:
    """Return the negative marginal gain of one more unit; the lowest comes first."""
    if gain is None or gain.gain is None:
        return -inf
    return -gain.gain * exp(-gain.decay * units * piece)


def begin(settings: SlaqSettings, seed: int) -> WeighingState:
    """Return the state before the first observation."""
    return WeighingState(settings, placer(settings.placement, seed))


def decide(state: WeighingState, observation: Observation) -> Decision[WeighingState]:
    """Divide every worker by marginal gains."""
    settings: SlaqSettings = state.settings

    def weigh(worker: Worker, jobs: Sequence[Job], memory: Memory) -> dict[str, JobWeight]:
        gains: dict[str, Gain | None] = {job.id: memory.get(job.id) for job in jobs}
        units = max(settings.units, len(jobs))
        units_by_job = divide_units(gains, units, settings.quantum * worker.capacity / units)
        return {
            name: JobWeight(units_by_job[name] / units, Mark(name, growth=each.gain if each else None))
            for name, each in gains.items()
        }

    return decide_by_weights(state, observation, "Greedy marginal loss reduction", weigh, learn_gains)


SLAQ = SchedulingPolicy(
    name="slaq",
    about="Greedy marginal loss reduction (SLAQ): the processor goes where the loss falls most.",
    begin=begin,
    decide=decide,
    settings=SlaqSettings,
    title="SLAQ",
    group=PolicyGroup.PROGRESS,
)
POLICIES = (SLAQ,)
