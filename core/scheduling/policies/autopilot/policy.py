"""Steering by phases as a policy in the frame of all runs: asked at each sample, its ledger replays.

What a container uses comes with the observation (`core.scheduling.model.Use`); what it is given goes back as
actions like those of every scheduler, so engines verify, refuse, save and restore them as ever.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import inf
from typing import TYPE_CHECKING, NamedTuple

from core.phases.drift import MOST_STRANGE
from core.scheduling.actions import Mark, Reason, SetLimit, SetMemory, Start
from core.scheduling.model import JobState
from core.scheduling.policies.autopilot import cpu, memory
from core.scheduling.policies.autopilot.settings import UNKNOWN, AutopilotSettings, Held, ReadySettings
from core.scheduling.ports import Decision, SchedulingPolicy
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


_TINY = 1e-9


class Begun(NamedTuple):
    """Who begins now."""

    #: Starts that were not confirmed, by the names of their jobs.
    asked: Mapping[str, PendingStart]
    #: What is done, and why.
    starts: tuple[Start, ...]
    reasons: tuple[Reason, ...]
    #: When a start that failed is tried again, or None.
    wake: float | None


def start_waiting(
    settings: AutopilotSettings, before: Mapping[str, PendingStart], seen: Observation
) -> Begun:
    """Start waiting jobs in order of submission, each where its request is free."""
    waiting = [job for job in seen.jobs if job.state is JobState.WAITING]
    if not waiting:
        return Begun({}, (), (), None)
    asked, reasons = update_pending_starts(before, seen)
    room = _Room(settings, seen)
    starts = []
    for job in waiting:
        tried = asked.get(job.id)
        if tried is not None and tried.wait_until > seen.time:
            if tried.worker is not None:  # asked for, and not confirmed yet
                room.take(job, tried.worker)
            continue
        worker = room.place(job, None if tried is None else tried.avoided_worker)
        if worker is None:
            continue
        cores = room.request(job)
        room.take(job, worker)
        first = PendingStart(None, 0.0) if tried is None else tried
        asked[job.id] = first._replace(worker=worker, wait_until=seen.time + START_TIMEOUT)
        starts.append(Start(job.id, worker, cores, threads=threads_for(cores) if job.can_resize else None))
        text = f"{job.id} starts on {worker} with the {format_cores(cores)} that it asks for."
        reasons.append(Reason("autopilot, start", text, job.id, worker))
    waits = [
        each.wait_until for each in asked.values() if each.worker is None and each.wait_until > seen.time
    ]
    return Begun(asked, tuple(starts), tuple(reasons), min(waits, default=None))


class _Room:
    """Cores and bytes of each worker that nobody has a limit for."""

    def __init__(self, settings: AutopilotSettings, seen: Observation) -> None:
        self._unasked = settings.unasked
        self._free = {worker.id: worker.capacity for worker in seen.workers}
        self._largest = max(self._free.values(), default=0.0)
        self._memory = {
            worker.id: inf
            if worker.memory is None
            else settings.filled * worker.memory - (worker.memory_used or 0.0)
            for worker in seen.workers
        }
        for job in seen.jobs:
            if job.worker in self._free:
                self._free[job.worker] -= self.request(job) if job.limit is None else job.limit

    def request(self, job: Job) -> float:
        """Cores that a job asks for, at most those of the largest worker."""
        return min(job.request or self._unasked, self._largest)

    def place(self, job: Job, avoids: str | None) -> str | None:
        """The worker with most cores free on which a job fits; not where it failed if there is another."""
        able = [
            name
            for name, free in self._free.items()
            if self.request(job) <= free + _TINY
            and (job.terms_or_default.memory or 0.0) <= self._memory[name]
        ]
        others = [name for name in able if name != avoids]
        return max(others or able, key=self._free.__getitem__, default=None)

    def take(self, job: Job, worker: str) -> None:
        """Count a job as begun."""
        if worker in self._free:
            self._free[worker] -= self.request(job)
            self._memory[worker] -= job.terms_or_default.memory or 0.0


EVERY = 1.0
"""Seconds between two samples."""
_AFTER = 0.15
"""Seconds after a sample at which it can be seen."""
LEFT = "autopilot, out of memory"
"""The rule by which a container is left alone."""
UNFAMILIAR = "autopilot, unfamiliar"
"""The rule by which a container is steered without its phases, and by them again."""
STRANGER = "unfamiliar"
"""The mark of such a container; that of any other is its phase."""
LATELY = 120
"""Labelled samples over which the share of strange ones is taken."""
_ENOUGH = 20
"""Labelled samples before which nothing is said of that."""
_AGAIN = 0.5
"""A container is familiar again below this part of the share that made it unfamiliar."""
_NOTHING = -1.0
"""What is never asked for: what was asked for before is asked for again."""
_ALIKE = 0.01
"""Share by which a limit may differ from the one that was asked for: engines round."""


@dataclass(frozen=True, slots=True)
class Steered:
    """What is remembered of a container."""

    #: Of its cores and of its memory; None where the policy says nothing of them.
    cpu: CpuState | None
    memory: MemoryState | None
    #: Its limits when it was first seen.
    kept: Held
    #: How often one of its processes had been killed for want of memory by then.
    kills: int
    #: The limits that were asked for last.
    asked: Held
    #: Whether it is left alone, with the limits that it had.
    left: bool = False
    #: How many of its samples were labelled, at most `LATELY`, and the share of strange ones among the last.
    looked: int = 0
    strange: float = 0.0
    #: Whether it is steered by the reactive rule, because its phases mean nothing.
    unfamiliar: bool = False

    @property
    def seen(self) -> float:
        """When its last sample was, seconds."""
        state = self.cpu or self.memory
        return inf if state is None else state.last.time


@dataclass(frozen=True, slots=True)
class AutopilotState:
    """What is remembered between two decisions."""

    #: As chosen.
    settings: AutopilotSettings
    #: Of the last observation.
    number: int = -1
    #: Containers that are steered, by their jobs.
    known: Mapping[str, Steered] = field(default_factory=dict)
    #: Starts that were not confirmed, by the names of their jobs.
    asked: Mapping[str, PendingStart] = field(default_factory=dict)
    #: When it last asked to be woken.
    wake: float | None = None


def begin(settings: AutopilotSettings, seed: int) -> AutopilotState:  # noqa: ARG001 - nothing is left to chance
    """The state before the first observation."""
    return AutopilotState(settings)


def decide(state: AutopilotState, seen: Observation) -> Decision[AutopilotState]:
    """Give each container what its phase needs, and let those begin that wait for what is free."""
    if seen.number <= state.number:
        return Decision(state, wake=state.wake)
    began = start_waiting(state.settings, state.asked, seen)
    fitted = state.settings.fitted if isinstance(state.settings, ReadySettings) else None
    if fitted is None:
        after = replace(state, number=seen.number, asked=began.asked, wake=began.wake)
        return Decision(after, began.starts, began.reasons, wake=began.wake)
    look = _Look(fitted, state, seen)
    wakes = [look.wake] + ([] if began.wake is None else [began.wake])
    after = AutopilotState(state.settings, seen.number, look.known, began.asked, min(wakes))
    reasons = (*look.reasons, *began.reasons)
    return Decision(after, (*look.actions, *began.starts), reasons, tuple(look.marks), min(wakes))


class _Look:
    """One decision about the containers that run."""

    def __init__(self, fitted: FittedPolicy, state: AutopilotState, seen: Observation) -> None:
        self._fitted, self._settings = fitted, state.settings
        self._capacity = {each.id: each.capacity for each in seen.workers}
        self._bytes = {each.id: inf if each.memory is None else each.memory for each in seen.workers}
        alive = {job.id for job in seen.jobs}
        self.known = {name: each for name, each in state.known.items() if name in alive}
        self.actions: list[Action] = []
        self.reasons: list[Reason] = []
        self.marks: list[Mark] = []
        self._now = seen.time
        for failure in seen.failures:
            self._not_done(failure.action)
        for job in seen.jobs:
            if job.use is not None and job.state is JobState.RUNNING and job.worker in self._capacity:
                self._look(job, job.use, job.worker)

    @property
    def wake(self) -> float:
        """When the next sample can be seen."""
        last = max((each.seen for each in self.known.values()), default=-inf)
        coming = last + EVERY + _AFTER
        return coming if self._now < coming < inf else self._now + EVERY

    def _not_done(self, action: Action) -> None:
        """What was refused is asked for again at the next sample."""
        known = self.known.get(action.job)
        if known is None:
            return
        if isinstance(action, SetLimit):
            self.known[action.job] = replace(known, asked=known.asked._replace(cores=_NOTHING))
        elif isinstance(action, SetMemory):
            self.known[action.job] = replace(known, asked=known.asked._replace(memory=_NOTHING))

    def _look(self, job: Job, use: Use, worker: str) -> None:
        known = self.known.get(job.id)
        if known is None:
            known = self._first(job, use, worker)
        elif known.left or job.kills > known.kills:
            known = self._left_alone(job, known, worker)
        elif use.time > known.seen:
            noted = self._noted(job, known, use, worker)
            if noted.unfamiliar == known.unfamiliar:
                known = self._next(job, noted, use, worker)
            else:
                known = self._asked(job, worker, noted, (cpu.DECIDED, "Another rule steers it."), "")
        self.known[job.id] = known
        phase = "" if use.phase < 0 else phase_name(use.phase)
        self.marks.append(Mark(job.id, STRANGER if known.unfamiliar else phase))

    def _first(self, job: Job, use: Use, worker: str) -> Steered:
        held = Held(job.limit, job.memory_limit)
        states = self._begun(self._fitted, use, worker, job.memory_limit)
        known = Steered(*states, held, job.kills, held)
        return self._asked(job, worker, known, (cpu.DECIDED, "It was seen for the first time."), "")

    def _begun(
        self,
        fitted: FittedPolicy,
        use: Use,
        worker: str,
        limit: float | None,
        before: MemoryState | None = None,
    ) -> tuple[CpuState | None, MemoryState | None]:
        """A container's states at its first sample under a policy, with the memory limit that it has."""
        settings, clock = self._settings, fitted.clock
        cores = bytes_ = None
        if fitted.cpu is not None:
            cores = cpu.begin(fitted.cpu, clock, settings, use, self._capacity[worker])
        if fitted.memory is not None and settings.memory:
            bytes_ = memory.begin(fitted.memory, clock, use, limit, before)
        return cores, bytes_

    def _noted(self, job: Job, known: Steered, use: Use, worker: str) -> Steered:
        """Whether the model has seen anything like a container; if not, the reactive rule steers it."""
        fallback = self._fitted.fallback
        if fallback is None or use.phase < 0:
            return known
        looked = min(known.looked + 1, LATELY)
        strange = known.strange + (float(use.strange) - known.strange) / looked
        known = replace(known, looked=looked, strange=strange)
        most = MOST_STRANGE * (_AGAIN if known.unfamiliar else 1.0)
        if looked < _ENOUGH or known.unfamiliar == (strange > most):
            return known
        to = self._fitted if known.unfamiliar else fallback
        text = (
            f"{job.id} does what the phase model has seen again: {to.name} steers it from now on."
            if known.unfamiliar
            else f"{job.id} does what the phase model has not seen in {strange:.0%} of its last samples: "
            f"{to.name} steers it from now on."
        )
        self.reasons.append(Reason(UNFAMILIAR, text, job.id, worker, (("strange", strange),)))
        wanted = None if known.memory is None else known.memory.wanted
        cores, bytes_ = self._begun(to, use, worker, wanted, known.memory)
        if cores is not None and known.cpu is not None:  # it keeps what it has until the rule knows better
            cores = cores._replace(wanted=max(cores.wanted, known.cpu.wanted))
        return replace(known, cpu=cores, memory=bytes_, unfamiliar=not known.unfamiliar)

    def _next(self, job: Job, known: Steered, use: Use, worker: str) -> Steered:
        settings, fallback, growth = self._settings, self._fitted.fallback, self._fitted.growth
        fitted = fallback if known.unfamiliar and fallback is not None else self._fitted
        rule = why = why_bytes = ""
        if fitted.cpu is not None and known.cpu is not None:
            cores, rule, why = cpu.step(
                fitted.cpu,
                fitted.clock,
                settings,
                known.cpu,
                use,
                self._capacity[worker],
                limited=alike(job.limit, known.asked.cores),
            )
            known = replace(known, cpu=cores)
        if fitted.memory is not None and known.memory is not None:
            bytes_, why_bytes = memory.step(
                fitted.memory,
                fitted.clock,
                settings,
                known.memory,
                use,
                self._bytes[worker],
                grows=(UNKNOWN if growth is None or known.unfamiliar else growth).at,
            )
            known = replace(known, memory=bytes_)
        return self._asked(job, worker, known, (rule or cpu.DECIDED, why), why_bytes)

    def _asked(self, job: Job, worker: str, known: Steered, why: tuple[str, str], why_bytes: str) -> Steered:
        """Ask for what a container is to have, where that is something else than was asked for last."""
        cores, bytes_ = known.asked
        if known.cpu is not None and known.cpu.wanted != cores:
            asked = replace(job, limit=cores)  # in watch it has another limit than what was decided
            cores = known.cpu.wanted
            self.actions += plan_changes([(asked, worker, cores)])
            phase = -1 if job.use is None else job.use.phase
            where = "" if phase < 0 else f", in {phase_name(phase)},"
            text = f"{job.id}{where} has {format_cores(cores)} from now on. {why[1]}"
            self.reasons.append(Reason(why[0], text.strip(), job.id, worker, (("cores", cores),)))
        wanted = None if known.memory is None else known.memory.wanted
        if wanted is not None and wanted != bytes_:
            bytes_ = wanted
            self.actions.append(SetMemory(job.id, wanted))
            text = f"{job.id} has {format_bytes(wanted)} of memory from now on. {why_bytes}"
            self.reasons.append(
                Reason("autopilot, memory", text.strip(), job.id, worker, (("bytes", wanted),))
            )
        return replace(known, asked=Held(cores, bytes_))

    def _left_alone(self, job: Job, known: Steered, worker: str) -> Steered:
        """Give a container back the limits that it had, and steer it no more: it ran out of memory."""
        kept = known.kept
        if not known.left:
            text = f"{job.id} ran out of memory. It has the limits back that it had, and is left alone."
            self.reasons.append(Reason(LEFT, text, job.id, worker))
        if kept.cores not in (job.limit, known.asked.cores):
            self.actions.append(SetLimit(job.id, kept.cores, job.weight))
        if kept.memory not in (job.memory_limit, known.asked.memory):
            self.actions.append(SetMemory(job.id, kept.memory))
        return replace(known, asked=kept, left=True)


def alike(limit: float | None, asked: float | None) -> bool:
    """Whether a limit is the one that was asked for, as far as engines round."""
    return limit is not None and asked is not None and abs(limit - asked) <= _ALIKE * asked


AUTOPILOT = SchedulingPolicy(
    name="autopilot",
    title="Autopilot",
    about="Gives each container what its phase needs, by a provisioning policy that learned it from traces.",
    begin=begin,
    decide=decide,
    settings=AutopilotSettings,
    sees_use=True,
)
POLICIES = (AUTOPILOT,)
