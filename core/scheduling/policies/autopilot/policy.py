"""Steering by phases as a scheduling policy: a decision at each sample, with a ledger that replays.

Usage arrives with the observation (`core.scheduling.model.Use`); limits leave as actions like those of every
scheduler, so engines verify, refuse, save and restore them as usual.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from math import inf
from typing import TYPE_CHECKING, NamedTuple

from core.phases.drift import MAX_STRANGE_SHARE
from core.scheduling.actions import Mark, Reason, SetLimit, SetMemory, Start
from core.scheduling.model import JobState
from core.scheduling.policies.autopilot import cpu, memory
from core.scheduling.policies.autopilot.settings import (
    UNKNOWN_GROWTH,
    AutopilotSettings,
    Limits,
    ReadySettings,
)
from core.scheduling.ports import Decision, PolicyGroup, SchedulingPolicy
from core.scheduling.refusals import START_TIMEOUT, PendingStart, update_pending_starts
from core.scheduling.shares import plan_changes, threads_for
from core.units import format_bytes, format_cores, phase_name

if TYPE_CHECKING:
    from collections.abc import Mapping

    from core.scheduling.actions import Action
    from core.scheduling.model import Job, Observation, Use
    from core.scheduling.policies.autopilot.cpu import CpuState
    from core.scheduling.policies.autopilot.memory import MemoryState
    from core.scheduling.policies.autopilot.settings import FittedPolicy


_TOLERANCE = 1e-9


class WaitingStarts(NamedTuple):
    """The starts of one decision."""

    #: Unconfirmed starts, by job name.
    pending: Mapping[str, PendingStart]
    #: The starts and their reasons.
    starts: tuple[Start, ...]
    reasons: tuple[Reason, ...]
    #: When a failed start is retried, or None.
    wake: float | None


def start_waiting(
    settings: AutopilotSettings, before: Mapping[str, PendingStart], observation: Observation
) -> WaitingStarts:
    """Start waiting jobs in order of submission, each where its request is free."""
    waiting = [job for job in observation.jobs if job.state is JobState.WAITING]
    if not waiting:
        return WaitingStarts({}, (), (), None)
    pending, reasons = update_pending_starts(before, observation)
    room = _FreeResources(settings, observation)
    starts = []
    for job in waiting:
        attempt = pending.get(job.id)
        if attempt is not None and attempt.wait_until > observation.time:
            if attempt.worker is not None:  # requested, and not confirmed yet
                room.take(job, attempt.worker)
            continue
        worker = room.place(job, None if attempt is None else attempt.avoided_worker)
        if worker is None:
            continue
        cores = room.request(job)
        room.take(job, worker)
        first = PendingStart(None, 0.0) if attempt is None else attempt
        pending[job.id] = first._replace(worker=worker, wait_until=observation.time + START_TIMEOUT)
        starts.append(Start(job.id, worker, cores, threads=threads_for(cores) if job.can_resize else None))
        text = f"{job.id} starts on {worker} with the {format_cores(cores)} that it asks for."
        reasons.append(Reason("autopilot, start", text, job.id, worker))
    waits = [
        each.wait_until
        for each in pending.values()
        if each.worker is None and each.wait_until > observation.time
    ]
    return WaitingStarts(pending, tuple(starts), tuple(reasons), min(waits, default=None))


class _FreeResources:
    """Cores and bytes of each worker that no limit covers."""

    def __init__(self, settings: AutopilotSettings, observation: Observation) -> None:
        self._unasked = settings.unasked
        self._free = {worker.id: worker.capacity for worker in observation.workers}
        self._largest = max(self._free.values(), default=0.0)
        self._memory = {worker.id: worker.free_memory(settings.filled) for worker in observation.workers}
        for job in observation.jobs:
            if job.worker in self._free:
                self._free[job.worker] -= self.request(job) if job.limit is None else job.limit

    def request(self, job: Job) -> float:
        """Return the requested cores, at most those of the largest worker."""
        return min(job.request or self._unasked, self._largest)

    def place(self, job: Job, avoids: str | None) -> str | None:
        """Return the freest worker that fits a job, avoiding the worker of a failed start if possible."""
        able = [
            name
            for name, free in self._free.items()
            if self.request(job) <= free + _TOLERANCE
            and (job.terms_or_default.memory or 0.0) <= self._memory[name]
        ]
        others = [name for name in able if name != avoids]
        return max(others or able, key=self._free.__getitem__, default=None)

    def take(self, job: Job, worker: str) -> None:
        """Count a job as started."""
        if worker in self._free:
            self._free[worker] -= self.request(job)
            self._memory[worker] -= job.terms_or_default.memory or 0.0


SAMPLE_SECONDS = 1.0
"""Seconds between two samples."""
_SAMPLE_DELAY = 0.15
"""Seconds after a sample at which it can be seen."""
OUT_OF_MEMORY_RULE = "autopilot, out of memory"
"""The rule that leaves a container alone."""
UNFAMILIAR_RULE = "autopilot, unfamiliar"
"""The rule that switches between steering with and without phases."""
UNFAMILIAR_MARK = "unfamiliar"
"""The mark of an unfamiliar container; other marks are phases."""
STRANGE_WINDOW = 120
"""Labelled samples over which the strange share is taken."""
_MIN_LABELLED = 20
"""The fewest labelled samples for that share."""
_FAMILIAR_RATIO = 0.5
"""A container is familiar again below this part of the limit that made it unfamiliar."""
_NEVER_REQUESTED = -1.0
"""A request that never matches, so that the limit is requested again."""
_LIMIT_TOLERANCE = 0.01
"""Relative difference up to which a limit equals the requested one: engines round."""


@dataclass(frozen=True, slots=True)
class SteeredContainer:
    """The state of one container."""

    #: The states of its cores and memory; None where the policy does not advise.
    cpu: CpuState | None
    memory: MemoryState | None
    #: Its limits at its first sample.
    initial_limits: Limits
    #: The number of its killed processes at that time.
    kills: int
    #: The last requested limits.
    requested_limits: Limits
    #: Whether it is left alone with its initial limits.
    is_left_alone: bool = False
    #: Its labelled samples, at most `STRANGE_WINDOW`, and the strange share of the last ones.
    labelled_samples: int = 0
    strange_share: float = 0.0
    #: Whether the reactive rule steers it, because its phases mean nothing.
    is_unfamiliar: bool = False

    @property
    def last_seen(self) -> float:
        """The time of its last sample that was acted on, seconds."""
        state = self.cpu or self.memory
        return -inf if state is None else state.last.time


@dataclass(frozen=True, slots=True)
class AutopilotState:
    """The state between two decisions."""

    #: As configured.
    settings: AutopilotSettings
    #: The number of the last observation.
    number: int = -1
    #: The steered containers, by job.
    containers: Mapping[str, SteeredContainer] = field(default_factory=dict)
    #: Unconfirmed starts, by job name.
    pending_starts: Mapping[str, PendingStart] = field(default_factory=dict)
    #: The last requested wake-up time.
    wake: float | None = None


def begin(settings: AutopilotSettings, seed: int) -> AutopilotState:  # noqa: ARG001 - nothing is left to chance
    """Return the initial state."""
    return AutopilotState(settings)


def decide(state: AutopilotState, observation: Observation) -> Decision[AutopilotState]:
    """Give each container what its phase needs, and start waiting jobs on free cores."""
    if observation.number <= state.number:
        return Decision(state, wake=state.wake)
    starts = start_waiting(state.settings, state.pending_starts, observation)
    fitted = state.settings.fitted if isinstance(state.settings, ReadySettings) else None
    if fitted is None:
        after = replace(state, number=observation.number, pending_starts=starts.pending, wake=starts.wake)
        return Decision(after, starts.starts, starts.reasons, wake=starts.wake)
    round_ = _SteeringRound(fitted, state, observation)
    wakes = [round_.wake] + ([] if starts.wake is None else [starts.wake])
    after = AutopilotState(state.settings, observation.number, round_.containers, starts.pending, min(wakes))
    reasons = (*round_.reasons, *starts.reasons)
    return Decision(after, (*round_.actions, *starts.starts), reasons, tuple(round_.marks), min(wakes))


class _SteeringRound:
    """One decision about the running containers."""

    def __init__(self, fitted: FittedPolicy, state: AutopilotState, observation: Observation) -> None:
        self._fitted, self._settings = fitted, state.settings
        self._capacity = {each.id: each.capacity for each in observation.workers}
        self._bytes = {each.id: inf if each.memory is None else each.memory for each in observation.workers}
        alive = {job.id for job in observation.jobs}
        self.containers = {name: each for name, each in state.containers.items() if name in alive}
        self.actions: list[Action] = []
        self.reasons: list[Reason] = []
        self.marks: list[Mark] = []
        self._now = observation.time
        self._running = Counter(job.worker for job in observation.jobs if job.state is JobState.RUNNING)
        for failure in observation.failures:
            self._reset_refused(failure.action)
        for job in observation.jobs:
            if job.use is not None and job.state is JobState.RUNNING and job.worker in self._capacity:
                self._steer(job, job.use, job.worker)

    @property
    def wake(self) -> float:
        """The time of the next sample."""
        last = max((each.last_seen for each in self.containers.values()), default=-inf)
        coming = last + SAMPLE_SECONDS + _SAMPLE_DELAY
        return coming if self._now < coming < inf else self._now + SAMPLE_SECONDS

    def _reset_refused(self, action: Action) -> None:
        """Reset the limits of a refused action, so that the next sample requests them again."""
        container = self.containers.get(action.job)
        if container is None:
            return
        if isinstance(action, SetLimit):
            self.containers[action.job] = replace(
                container, requested_limits=container.requested_limits._replace(cores=_NEVER_REQUESTED)
            )
        elif isinstance(action, SetMemory):
            self.containers[action.job] = replace(
                container, requested_limits=container.requested_limits._replace(memory=_NEVER_REQUESTED)
            )

    def _steer(self, job: Job, use: Use, worker: str) -> None:
        container = self.containers.get(job.id)
        if container is None:
            container = self._steer_new(job, use, worker)
        elif container.is_left_alone or job.kills > container.kills:
            container = self._leave_alone(job, container, worker)
        elif use.time > container.last_seen:
            updated = self._update_familiarity(job, container, use, worker)
            if updated.is_unfamiliar == container.is_unfamiliar:
                container = self._steer_next(job, updated, use, worker)
            else:
                container = self._request_limits(
                    job, worker, updated, (cpu.DECIDED, "Another rule steers it."), ""
                )
        self.containers[job.id] = container
        phase = "" if use.phase < 0 else phase_name(use.phase)
        self.marks.append(Mark(job.id, UNFAMILIAR_MARK if container.is_unfamiliar else phase))

    def _steer_new(self, job: Job, use: Use, worker: str) -> SteeredContainer:
        initial = Limits(job.limit, job.memory_limit)
        states = self._begin_states(self._fitted, use, job, worker, job.memory_limit)
        container = SteeredContainer(*states, initial, job.kills, initial)
        return self._request_limits(
            job, worker, container, (cpu.DECIDED, "It was seen for the first time."), ""
        )

    def _begin_states(
        self,
        fitted: FittedPolicy,
        use: Use,
        job: Job,
        worker: str,
        limit: float | None,
        before: MemoryState | None = None,
    ) -> tuple[CpuState | None, MemoryState | None]:
        """Return a container's states at its first sample under a policy, with its present memory limit."""
        settings, clock = self._settings, fitted.clock
        cores = bytes_ = None
        if fitted.cpu is not None:
            cores = cpu.begin_cpu(fitted.cpu, clock, settings, use, self._max_cores(job, worker))
        if fitted.memory is not None and settings.memory and use.memory is not None:
            bytes_ = memory.begin_memory(fitted.memory, clock, use, limit, before)
        return cores, bytes_

    def _max_cores(self, job: Job, worker: str) -> float:
        """Return the most cores for a job: its worker's, or fewer where its owner set a bound."""
        return min(self._capacity[worker], inf if job.max_cores is None else job.max_cores)

    def _update_familiarity(
        self, job: Job, container: SteeredContainer, use: Use, worker: str
    ) -> SteeredContainer:
        """Let the reactive rule steer a container that does not resemble the model's training data."""
        fallback = self._fitted.fallback
        if fallback is None or use.phase < 0:
            return container
        samples = min(container.labelled_samples + 1, STRANGE_WINDOW)
        strange = container.strange_share + (float(use.strange) - container.strange_share) / samples
        container = replace(container, labelled_samples=samples, strange_share=strange)
        max_share = MAX_STRANGE_SHARE * (_FAMILIAR_RATIO if container.is_unfamiliar else 1.0)
        if samples < _MIN_LABELLED or container.is_unfamiliar == (strange > max_share):
            return container
        to = self._fitted if container.is_unfamiliar else fallback
        text = (
            f"{job.id} does what the phase model has seen again: {to.name} steers it from now on."
            if container.is_unfamiliar
            else f"{job.id} does what the phase model has not seen in {strange:.0%} of its last samples: "
            f"{to.name} steers it from now on."
        )
        self.reasons.append(Reason(UNFAMILIAR_RULE, text, job.id, worker, (("strange", strange),)))
        memory_target = None if container.memory is None else container.memory.target
        cores, bytes_ = self._begin_states(to, use, job, worker, memory_target, container.memory)
        if cores is not None and container.cpu is not None:  # it keeps its cores until the rule has data
            cores = cores._replace(target=max(cores.target, container.cpu.target))
        return replace(container, cpu=cores, memory=bytes_, is_unfamiliar=not container.is_unfamiliar)

    def _steer_next(self, job: Job, container: SteeredContainer, use: Use, worker: str) -> SteeredContainer:
        settings, fallback, growth = self._settings, self._fitted.fallback, self._fitted.growth
        fitted = fallback if container.is_unfamiliar and fallback is not None else self._fitted
        rule = why = why_bytes = ""
        if fitted.cpu is not None and container.cpu is not None:
            cores, rule, why = cpu.step_cpu(
                fitted.cpu,
                fitted.clock,
                settings,
                container.cpu,
                use,
                self._max_cores(job, worker),
                limited=is_same_limit(job.limit, container.requested_limits.cores),
                fair=self._capacity[worker] / self._running[worker],
            )
            container = replace(container, cpu=cores)
        if fitted.memory is None or use.memory is None:
            pass  # what was not measured is not acted on
        elif container.memory is None and settings.memory:
            bytes_ = memory.begin_memory(fitted.memory, fitted.clock, use, job.memory_limit)
            container = replace(container, memory=bytes_)
        elif container.memory is not None:
            bytes_, why_bytes = memory.step_memory(
                fitted.memory,
                fitted.clock,
                settings,
                container.memory,
                use,
                min(self._bytes[worker], inf if job.owner_memory is None else job.owner_memory),
                growth_at=(UNKNOWN_GROWTH if growth is None or container.is_unfamiliar else growth).factor_at,
            )
            container = replace(container, memory=bytes_)
        return self._request_limits(job, worker, container, (rule or cpu.DECIDED, why), why_bytes)

    def _request_limits(
        self, job: Job, worker: str, container: SteeredContainer, why: tuple[str, str], why_bytes: str
    ) -> SteeredContainer:
        """Request a container's target limits if they differ from the last requested ones."""
        cores, bytes_ = container.requested_limits
        if container.cpu is not None and container.cpu.target != cores:
            requested = replace(job, limit=cores)  # in watch its limit differs from the decided one
            cores = container.cpu.target
            self.actions += plan_changes([(requested, worker, cores)])
            phase = -1 if job.use is None else job.use.phase
            where = "" if phase < 0 else f", in {phase_name(phase)},"
            text = f"{job.id}{where} has {format_cores(cores)} from now on. {why[1]}"
            self.reasons.append(Reason(why[0], text.strip(), job.id, worker, (("cores", cores),)))
        memory_target = None if container.memory is None else container.memory.target
        if memory_target is not None and memory_target != bytes_:
            bytes_ = memory_target
            self.actions.append(SetMemory(job.id, memory_target))
            text = f"{job.id} has {format_bytes(memory_target)} of memory from now on. {why_bytes}"
            self.reasons.append(
                Reason("autopilot, memory", text.strip(), job.id, worker, (("bytes", memory_target),))
            )
        return replace(container, requested_limits=Limits(cores, bytes_))

    def _leave_alone(self, job: Job, container: SteeredContainer, worker: str) -> SteeredContainer:
        """Restore the limits of a container that ran out of memory, and stop steering it."""
        initial = container.initial_limits
        if not container.is_left_alone:
            text = f"{job.id} ran out of memory. It has the limits back that it had, and is left alone."
            self.reasons.append(Reason(OUT_OF_MEMORY_RULE, text, job.id, worker))
        if initial.cores not in (job.limit, container.requested_limits.cores):
            self.actions.append(SetLimit(job.id, initial.cores, job.weight))
        if initial.memory not in (job.memory_limit, container.requested_limits.memory):
            self.actions.append(SetMemory(job.id, initial.memory))
        return replace(container, requested_limits=initial, is_left_alone=True)


def is_same_limit(limit: float | None, requested: float | None) -> bool:
    """Whether a limit equals the requested one within the rounding of engines."""
    return (
        limit is not None and requested is not None and abs(limit - requested) <= _LIMIT_TOLERANCE * requested
    )


AUTOPILOT = SchedulingPolicy(
    name="autopilot",
    title="Autopilot",
    group=PolicyGroup.PHASES,
    about="Gives each container what its phase needs, by a provisioning policy that learned it from traces.",
    begin=begin,
    decide=decide,
    settings=AutopilotSettings,
    sees_use=True,
)
POLICIES = (AUTOPILOT,)
