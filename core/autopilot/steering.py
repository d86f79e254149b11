"""Steering by phases as a policy in the frame of all runs: it is asked each second, and its ledger replays.

What a container uses comes with the observation (`core.scheduling.model.Use`); what it is given goes back as
actions like those of every scheduler, so engines verify, refuse, save and restore them as ever.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from core.autopilot import cpu, memory
from core.autopilot.settings import SteeringSettings
from core.scheduling.actions import Mark, Reason, SetLimit, SetMemory
from core.scheduling.model import JobState
from core.scheduling.ports import Decision, SchedulingPolicy
from core.units import format_bytes, format_cores

if TYPE_CHECKING:
    from collections.abc import Mapping

    from core.autopilot.cpu import CpuState
    from core.autopilot.fitted import FittedPolicy
    from core.autopilot.memory import MemoryState
    from core.scheduling.actions import Action
    from core.scheduling.model import Job, Observation, Use

EVERY = 1.0
"""Seconds between two looks."""


@dataclass(frozen=True, slots=True)
class Steered:
    """What is remembered of a container.

    Parameters
    ----------
    cpu, memory
        Of its cores and of its memory; None where the policy says nothing of them.
    asked
        Cores and bytes that were asked for last; None before anything was.
    """

    cpu: CpuState | None
    memory: MemoryState | None
    asked: tuple[float | None, float | None] = (None, None)


@dataclass(frozen=True, slots=True)
class SteeringState:
    """What is remembered of all containers, by their jobs."""

    settings: SteeringSettings
    known: Mapping[str, Steered] = field(default_factory=dict)


def steering(fitted: FittedPolicy, *, steers: bool) -> SchedulingPolicy:
    """A fitted policy as one that runs in the frame.

    Parameters
    ----------
    fitted
        The policy.
    steers
        Whether what it decides is done, so that a container that is held back is held back by it.
    """

    def begin(settings: SteeringSettings, seed: int) -> SteeringState:  # noqa: ARG001 - nothing is left to chance
        return SteeringState(settings)

    def decide(state: SteeringState, seen: Observation) -> Decision[SteeringState]:
        return _Look(fitted, state, seen, steers=steers).decision()

    return SchedulingPolicy(
        name=fitted.name,
        about="Gives each container what its phase needs, as a provisioning policy says.",
        begin=begin,
        decide=decide,
        settings=SteeringSettings,
    )


class _Look:
    """One decision."""

    def __init__(
        self, fitted: FittedPolicy, state: SteeringState, seen: Observation, *, steers: bool
    ) -> None:
        self._fitted, self._state, self._seen, self._steers = fitted, state, seen, steers
        self._known = dict(state.known)
        self._actions: list[Action] = []
        self._reasons: list[Reason] = []
        self._marks: list[Mark] = []

    def decision(self) -> Decision[SteeringState]:
        alive = {job.id for job in self._seen.jobs}
        for name in self._known.keys() - alive:
            del self._known[name]
        for failure in self._seen.failures:
            self._not_done(failure.action)
        for job in self._seen.jobs:
            if job.use is not None and job.state is JobState.RUNNING:
                self._look(job, job.use)
        state = replace(self._state, known=self._known)
        wake = self._seen.time + EVERY
        return Decision(state, tuple(self._actions), tuple(self._reasons), tuple(self._marks), wake=wake)

    def _not_done(self, action: Action) -> None:
        """What was refused is asked for again at the next look."""
        known = self._known.get(action.job)
        if known is None:
            return
        cores, bytes_ = known.asked
        if isinstance(action, SetLimit):
            self._known[action.job] = replace(known, asked=(None, bytes_))
        elif isinstance(action, SetMemory):
            self._known[action.job] = replace(known, asked=(cores, None))

    def _look(self, job: Job, use: Use) -> None:
        known = self._known.get(job.id)
        if known is None:
            known, said = self._first(job, use)
        elif self._latest(known) >= use.time:
            return
        else:
            known, said = self._next(known, use)
        self._known[job.id] = self._asked(job, known, said)
        self._marks.append(Mark(job.id, "" if use.phase < 0 else f"phase {use.phase}"))

    def _latest(self, known: Steered) -> float:
        states = [state for state in (known.cpu, known.memory) if state is not None]
        return states[0].last.time if states else float("inf")

    def _first(self, job: Job, use: Use) -> tuple[Steered, tuple[str, str]]:
        settings, fitted = self._state.settings, self._fitted
        cores = (
            None if fitted.cpu is None else cpu.begin(fitted.cpu, settings, use, fitted.period, fitted.cycle)
        )
        bytes_ = None
        if fitted.memory is not None and settings.memory:
            limit = job.memory_limit
            bytes_ = memory.begin(fitted.memory, use, limit, fitted.period, fitted.cycle)
        held = (job.limit, job.memory_limit)
        return Steered(cores, bytes_, held), ("It was seen for the first time.", "")

    def _next(self, known: Steered, use: Use) -> tuple[Steered, tuple[str, str]]:
        settings, fitted = self._state.settings, self._fitted
        period, cycle = fitted.period, fitted.cycle
        why_cores = why_bytes = ""
        if fitted.cpu is not None and known.cpu is not None:
            state, why_cores = cpu.step(
                fitted.cpu, settings, known.cpu, use, period, cycle, steers=self._steers
            )
            known = replace(known, cpu=state)
        if fitted.memory is not None and known.memory is not None:
            after, why_bytes = memory.step(fitted.memory, settings, known.memory, use, period, cycle)
            known = replace(known, memory=after)
        return known, (why_cores, why_bytes)

    def _asked(self, job: Job, known: Steered, said: tuple[str, str]) -> Steered:
        """Ask for what a container is to have, where that is something else than was asked for last."""
        cores, bytes_ = known.asked
        if known.cpu is not None and known.cpu.wanted != cores:
            cores = known.cpu.wanted
            self._actions.append(SetLimit(job.id, cores, job.weight))
            self._say("cores", job, f"{job.id} has {format_cores(cores)} from now on. {said[0]}", cores)
        wanted = None if known.memory is None else known.memory.wanted
        if wanted is not None and wanted != bytes_:
            bytes_ = wanted
            self._actions.append(SetMemory(job.id, wanted))
            text = f"{job.id} has {format_bytes(wanted)} of memory from now on. {said[1]}"
            self._say("memory", job, text, wanted)
        return replace(known, asked=(cores, bytes_))

    def _say(self, rule: str, job: Job, text: str, value: float) -> None:
        reason = Reason(f"{self._fitted.name}, {rule}", text.strip(), job.id, job.worker, ((rule, value),))
        self._reasons.append(reason)
