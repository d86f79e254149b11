"""A policy that goes on with another worker: its run, its state and its jobs are those of the part before.

The ledger has all that happened. It is read once, from its beginning: the policy is shown every observation
again and so has the state that it had; evidence, series and activity are added up anew. The engine goes on
with the run's clock and with the jobs of the containers that are still there; the others ended meanwhile.
What the policy had set was restored meanwhile, as after every kill; it is set again within owners' limits.
"""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from core.engines.values import NO_EARLIER_PART, EarlierPart, count_occurrences
from core.errors import PhaseDockError
from core.scheduling.actions import Pause, Resume, SetLimit, SetMemory, SetThreads, Start
from core.scheduling.engine_wrapper import EngineWrapper
from core.scheduling.loop import recall
from core.scheduling.model import JobState, Trigger

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from core.engines.ports import SteeredHost
    from core.engines.submitted import JobHost
    from core.live.attach.activity import ActivityLog, AttachedRun
    from core.scheduling.actions import Action
    from core.scheduling.loop import Entry
    from core.scheduling.model import Job, Observation
    from core.scheduling.ports import Engine, SchedulingPolicy

_SAY_EVERY = 50
"""Entries of a ledger after which reading it may be stopped."""


class ContinuedRun:
    """The part of an attached policy's run that is over; nothing, if the run begins."""

    def __init__(self, run: AttachedRun, activity: ActivityLog, say: Callable[[str], None]) -> None:
        self._run, self._activity, self._say = run, activity, say
        self._last: Entry | None = None
        self._names: set[str] = set()
        self._actions: dict[str, dict[type[Action], Action]] = {}

    def recall(self, policy: SchedulingPolicy, settings: Any, seed: int) -> tuple[Any, float | None]:
        """Read the ledger; return the policy's state after it, and its wake-up time.

        Raises Cancelled or Interrupted if `say` does.
        """
        return recall(policy, settings, seed, self._entries())

    def _entries(self) -> Iterator[Entry]:
        for number, entry in enumerate(self._run.earlier()):
            if number % _SAY_EVERY == 0:
                self._say(f"Reading what was before: {number:,} of {self._run.entries:,} decisions")
            self._activity.recall(entry)
            self._last = entry
            self._names.update(job.id for job in entry.observation.jobs)
            for action in _successful(entry):
                self._actions.setdefault(action.job, {})[type(action)] = action
            yield entry

    @property
    def part(self) -> EarlierPart:
        """What the engine has to know of it."""
        if self._last is None:
            return NO_EARLIER_PART
        observation, containers = self._last.observation, self._run.containers
        jobs = {job.id: job for job in observation.jobs}
        known = {each: jobs[name] for each, name in containers.items() if name in jobs}
        now = max(time.time() - self._run.since, observation.time)
        return EarlierPart(now, observation.time, known, count_occurrences(self._names))

    def wrap(self, engine: Engine, host: SteeredHost) -> Engine:
        """Return the engine as the policy left it, if there was a part before."""
        if self._last is None:
            return engine
        actions, ended_state = tuple(self._actions_in_force(self._last)), self._ended_state(host)
        return _ContinuedEngine(engine, self._last.observation, actions, ended_state)

    def _actions_in_force(self, last: Entry) -> Iterator[Action]:
        """Yield the actions that give every job what the policy had set of it at the end."""
        newest = {(action.job, type(action)): action for action in _successful(last)}
        for job in last.observation.jobs:
            kinds = self._actions.get(job.id, {})
            if SetLimit in kinds or Start in kinds:
                started = newest.get((job.id, Start))
                limit, weight = (
                    (started.limit, started.weight) if isinstance(started, Start) else (job.limit, job.weight)
                )
                yield newest.get((job.id, SetLimit), SetLimit(job.id, limit, weight))
            if SetMemory in kinds:
                yield newest.get((job.id, SetMemory), SetMemory(job.id, job.memory_limit))
            if SetThreads in kinds:
                yield kinds[SetThreads]
            is_paused = job.state is JobState.PAUSED and (job.id, Resume) not in newest
            if Pause in kinds and (is_paused or (job.id, Pause) in newest):
                yield Pause(job.id)

    def _ended_state(self, host: SteeredHost) -> Callable[[Job], JobState]:
        """Return what tells how a job ended whose container is not followed any more."""
        containers: dict[str, str] = {}
        for each, name in self._run.containers.items():
            containers.setdefault(name, each)  # a container's id is before its submission's

        def state(job: Job) -> JobState:
            if job.id in containers:
                with suppress(PhaseDockError):
                    outcome = cast("JobHost", host).outcome(containers[job.id])
                    return JobState.DONE if outcome is not None and outcome.done else JobState.FAILED
            return JobState.FAILED

        return state


def _successful(entry: Entry) -> Iterator[Action]:
    failed = {failure.action for failure in entry.failures}
    return (action for action in entry.actions if action not in failed)


class _ContinuedEngine(EngineWrapper):
    """Counts observations on; at the first one, sets again what the policy had set, and says what ended."""

    def __init__(
        self,
        engine: Engine,
        last: Observation,
        actions: Sequence[Action],
        ended_state: Callable[[Job], JobState],
    ) -> None:
        super().__init__(engine)
        self._last, self._actions, self._ended_state = last, actions, ended_state
        self._is_first = True

    def observe(self) -> Observation:
        """Return the engine's observation."""
        observation = self._engine.observe()
        if self._is_first:
            self._is_first = False
            observation = self._go_on(observation)
        return replace(observation, number=observation.number + self._last.number)

    def _go_on(self, found: Observation) -> Observation:
        """Return the observation after the actions, with what was in the one before them."""
        running = {job.id for job in found.jobs}
        self._engine.apply([action for action in self._actions if action.job in running])
        now = self._engine.observe()
        readings = {job.id: job.readings for job in found.jobs}
        present = {job.id for job in (*now.jobs, *found.ended, *now.ended)}
        gone = [job for job in self._last.jobs if job.id not in present]
        return replace(
            now,
            trigger=Trigger.DEPARTURE if gone else found.trigger,
            jobs=tuple(replace(job, readings=(*readings.get(job.id, ()), *job.readings)) for job in now.jobs),
            ended=(
                *(replace(job, state=self._ended_state(job), readings=()) for job in gone),
                *found.ended,
                *now.ended,
            ),
            failures=(*found.failures, *now.failures),
        )
