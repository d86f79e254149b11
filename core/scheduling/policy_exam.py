"""The exam that every scheduling policy must pass, run on a few short runs.

A `Paper` is a policy with the ledger of one of its runs. Each question returns a sentence about a fault, or
None. The caller runs the policy, usually in the simulator.
"""

from __future__ import annotations

import copy
import re
from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from core.scheduling.actions import (
    Migrate,
    Pause,
    Refuse,
    Resume,
    SetLimit,
    SetMemory,
    SetThreads,
    Start,
    Stop,
)
from core.scheduling.loop import replay
from core.scheduling.model import JobState

if TYPE_CHECKING:
    from collections.abc import Callable

    from core.scheduling.actions import Action
    from core.scheduling.loop import Entry
    from core.scheduling.model import Job, Observation, Worker
    from core.scheduling.ports import Decision, SchedulingPolicy

NAME = re.compile(r"[a-z0-9][a-z0-9._+-]{0,59}")


@dataclass(frozen=True)
class Paper:
    """A policy, its settings, and one run."""

    #: As in that run.
    policy: SchedulingPolicy
    settings: Any
    seed: int
    #: The jobs of the run.
    jobs: tuple[str, ...]
    #: The ledger.
    entries: tuple[Entry, ...]
    #: Repeats the run.
    run: Callable[[], tuple[Entry, ...]]


def declaration(policy: SchedulingPolicy) -> str | None:
    """Check that a policy's name and description are complete."""
    if not NAME.fullmatch(policy.name):
        return f"“{policy.name}” is not a valid name. Use small letters, digits, dots and hyphens."
    if not policy.about.endswith("."):
        return "Its description is not a sentence. End it with a full stop."
    return (
        None
        if policy.build_settings() == policy.build_settings({})
        else "The same settings are not equal to each other."
    )


def every_job_ends(paper: Paper) -> str | None:
    """Check that every job ends exactly once."""
    ended = Counter(job.id for entry in paper.entries for job in entry.observation.ended)
    wrong = sorted(job for job in {*paper.jobs, *ended} if ended[job] != (job in paper.jobs))
    return f"The job “{wrong[0]}” did not end once." if wrong else None


def is_pure(paper: Paper) -> str | None:
    """Check that the same state and observation give the same decision, and that neither is changed."""
    state = paper.policy.begin(paper.settings, paper.seed)
    for entry in paper.entries:
        unchanged_state, unchanged_observation = copy.deepcopy(state), copy.deepcopy(entry.observation)
        first, second = (paper.policy.decide(state, entry.observation) for _ in range(2))
        if first != second:
            return "Asked twice with the same state and observation, it decides differently."
        if state != unchanged_state or entry.observation != unchanged_observation:
            return "It changes the state or the observation that it is given."
        state = first.state
    return None


def is_determined_by_its_seed(paper: Paper) -> str | None:
    """Check that the same seed gives the same ledger."""
    return None if paper.run() == paper.entries else "The same seed does not give the same ledger."


def ignores_stale_observations(paper: Paper) -> str | None:
    """Check that an observation that is not newer than the last has no effect."""
    state = paper.policy.begin(paper.settings, paper.seed)
    for place, entry in enumerate(paper.entries):
        state = paper.policy.decide(state, entry.observation).state
        for older in {place, place // 2, 0}:
            if not _is_unchanged(paper.policy.decide(state, paper.entries[older].observation), state):
                return "It acts on an observation that is not newer than the last. Compare its number."
    return None


def _is_unchanged(answer: Decision[Any], state: Any) -> bool:
    return not answer.actions and not answer.reasons and bool(answer.state == state)


def replays(paper: Paper) -> str | None:
    """Check that a replay of the ledger gives the same decisions."""
    different = next(replay(paper.policy, paper.settings, paper.seed, paper.entries), None)
    return None if different is None else f"Shown its ledger, it decides differently at {different.number}."


def acts_on_what_it_sees(paper: Paper) -> str | None:
    """Check that all actions refer to jobs and workers of the observation and are possible, with reasons."""
    for entry in paper.entries:
        observation = entry.observation
        impossible = next((action for action in entry.actions if not is_possible(action, observation)), None)
        if impossible is not None:
            return f"It requests an impossible action: {impossible}."
        if not {mark.job for mark in entry.marks} <= {job.id for job in observation.jobs}:
            return "It marks a job that is not there."
        if not all(reason.rule and reason.text for reason in entry.reasons):
            return "It gives a reason without a rule or a text."
        if entry.wake is not None and entry.wake <= observation.time:
            return "Its wake-up time is in the past."
    return None


def is_possible(action: Action, observation: Observation) -> bool:
    """Return whether an action was possible in the observation it was decided on."""
    jobs = {job.id: job for job in observation.jobs}
    workers = {worker.id: worker for worker in observation.workers}
    return action.job in jobs and _is_possible_for(action, jobs[action.job], workers)


def _is_amount(action: SetLimit | SetMemory | SetThreads) -> bool:
    if isinstance(action, SetThreads):
        return action.threads >= 1
    above = action.limit is None or action.limit > 0.0
    return above and (isinstance(action, SetMemory) or action.weight > 0.0)


def _is_possible_for(action: Action, job: Job, workers: dict[str, Worker]) -> bool:
    match action:
        case Start(_, worker, limit, weight, threads):
            fits = worker in workers and (limit is None or 0.0 < limit <= workers[worker].capacity)
            begins = weight > 0.0 and (threads is None or threads >= 1)
            return job.state is JobState.WAITING and fits and begins
        case Refuse(_, why):
            return job.state is JobState.WAITING and bool(why)
        case SetLimit() | SetMemory() | SetThreads():
            return _is_amount(action)
        case Migrate(_, to):
            return to in workers and to != job.worker and job.can_migrate
        case Pause() | Resume() | Stop():
            return job.state is not JobState.WAITING


def exceeds_no_capacity(paper: Paper) -> str | None:
    """Check that no limit exceeds the worker's cores."""
    for entry in paper.entries:
        capacity = {worker.id: worker.capacity for worker in entry.observation.workers}
        max_cores = {job.id: capacity[job.worker] for job in entry.observation.jobs if job.worker is not None}
        for action in entry.actions:
            limit = action.limit if isinstance(action, SetLimit) else None
            if limit is not None and limit > max_cores.get(action.job, limit) * (1 + 1e-9):
                return f"It gives “{action.job}” more than its worker has: {action}."
    return None


def needs_no_oracle(paper: Paper) -> str | None:
    """Check that decisions do not depend on `Job.hidden`, except for declared oracles."""
    if paper.policy.oracle:
        return None
    state = paper.policy.begin(paper.settings, paper.seed)
    for entry in paper.entries:
        jobs = tuple(replace(job, hidden=None) for job in entry.observation.jobs)
        answer = paper.policy.decide(state, replace(entry.observation, jobs=jobs))
        if answer.actions != entry.actions:
            return "It looks at Job.hidden without declaring oracle=True."
        state = answer.state
    return None


QUESTIONS: tuple[Callable[[Paper], str | None], ...] = (
    every_job_ends,
    is_pure,
    is_determined_by_its_seed,
    ignores_stale_observations,
    replays,
    acts_on_what_it_sees,
    exceeds_no_capacity,
    needs_no_oracle,
)
