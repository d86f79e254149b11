"""The exam that every registered scheduling policy sits: what a pure function of what is seen must keep.

A question takes a `Paper`: a policy with settings, and the ledger of one simulated run of it.
"""

from __future__ import annotations

import copy
from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from core.engines.simulated import simulated
from core.scheduling.actions import Migrate, Pause, Resume, SetLimit, SetThreads, Start, Stop
from core.scheduling.loop import drive, replay
from core.scheduling.model import JobState
from core.simulation.loss import MODELS, curve
from core.simulation.scenario import JobSpec, Scenario, WorkerSpec

if TYPE_CHECKING:
    from core.scheduling.actions import Action
    from core.scheduling.loop import Entry
    from core.scheduling.model import Observation
    from core.scheduling.ports import Decision, SchedulingPolicy


def _jobs(count: int, gap: float) -> tuple[JobSpec, ...]:
    return tuple(
        JobSpec(
            f"j{place}",
            work=40.0 + 35.0 * (place % 4),
            arrival=gap * place,
            demand=(None, 0.6, 1.5)[place % 3],
            loss=curve(MODELS[place % 3]),
            request=(None, 0.5, 1.0)[place % 3],
            checkpoint_s=None if place == 2 else 1.5,
            steps=None if place % 5 == 4 else 200,
        )
        for place in range(count)
    )


SCENARIOS = {
    "one worker": Scenario((WorkerSpec("w", 1.0),), _jobs(5, 20.0)),
    "a cluster": Scenario(
        (WorkerSpec("u", 1.0), WorkerSpec("v", 2.0), WorkerSpec("w", 1.0)),
        _jobs(14, 12.0),
        gamma=0.02,
        checkpoint_failure=0.2,
        restore_failure=0.2,
    ),
}


@dataclass(frozen=True)
class Paper:
    """A policy, its settings, and one run of it.

    Parameters
    ----------
    policy, settings, seed
        As they ran.
    scenario
        The simulated world.
    entries
        The ledger.
    """

    policy: SchedulingPolicy
    settings: Any
    seed: int
    scenario: Scenario
    entries: tuple[Entry, ...]


def paper(policy: SchedulingPolicy, scenario: Scenario, seed: int = 3, **values: object) -> Paper:
    """Run a policy once."""
    settings = policy.chosen(values)
    return Paper(policy, settings, seed, scenario, tuple(run(policy, settings, scenario, seed)))


def run(policy: SchedulingPolicy, settings: Any, scenario: Scenario, seed: int) -> list[Entry]:
    """One simulated run's ledger."""
    return list(drive(simulated(scenario, 1), policy, settings, seed))


def every_job_ends(one: Paper) -> None:
    """No job is lost, none is left."""
    ended = Counter(job.id for entry in one.entries for job in entry.observation.ended)
    assert ended == Counter(job.id for job in one.scenario.jobs)


def is_pure(one: Paper) -> None:
    """The same state and observation give the same decision, and neither is changed."""
    state = one.policy.begin(one.settings, one.seed)
    for entry in one.entries:
        before, seen = copy.deepcopy(state), copy.deepcopy(entry.observation)
        first, second = (one.policy.decide(state, entry.observation) for _ in range(2))
        assert first == second
        assert state == before
        assert entry.observation == seen
        state = first.state


def is_determined_by_its_seed(one: Paper) -> None:
    """The same seed gives the same ledger."""
    again = run(one.policy, one.settings, one.scenario, one.seed)
    assert tuple(again) == one.entries


def ignores_stale_observations(one: Paper) -> None:
    """What is not newer than the last seen changes nothing and asks for nothing."""
    state = one.policy.begin(one.settings, one.seed)
    for place, entry in enumerate(one.entries):
        state = one.policy.decide(state, entry.observation).state
        for older in {place, place // 2, 0}:
            assert_nothing_happened(one.policy.decide(state, one.entries[older].observation), state)


def assert_nothing_happened(answer: Decision[Any], state: Any) -> None:
    """The answer to a stale observation."""
    assert answer.actions == ()
    assert answer.reasons == ()
    assert answer.state == state


def replays(one: Paper) -> None:
    """Shown its ledger, it decides what it decided."""
    assert list(replay(one.policy, one.settings, one.seed, one.entries)) == []


def acts_on_what_it_sees(one: Paper) -> None:
    """Only jobs and workers that are there, only what can be done to them, and a reason for every start."""
    for entry in one.entries:
        for action in entry.actions:
            check_action(action, entry.observation)
        jobs = {job.id for job in entry.observation.jobs}
        assert {mark.job for mark in entry.marks} <= jobs
        assert all(reason.rule and reason.text for reason in entry.reasons)
        assert entry.wake is None or entry.wake > entry.observation.time


def check_action(action: Action, seen: Observation) -> None:
    """One action is possible in what was seen when it was decided."""
    jobs, workers = {job.id: job for job in seen.jobs}, {worker.id: worker for worker in seen.workers}
    assert action.job in jobs
    job = jobs[action.job]
    match action:
        case Start(_, worker, limit, weight):
            assert job.state is JobState.WAITING
            assert limit is None or 0.0 < limit <= workers[worker].capacity
            assert weight > 0.0
        case SetLimit(_, limit, weight):
            assert limit is None or limit > 0.0
            assert weight > 0.0
        case SetThreads(_, threads):
            assert threads >= 1
        case Migrate(_, to):
            assert to in workers
            assert to != job.worker
            assert job.can_migrate
        case Pause() | Resume() | Stop():
            assert job.state is not JobState.WAITING


def moves_each_job_once_for_each_reason(one: Paper) -> None:
    """At most one reallocation (Algorithm 4) and one rebalance (Algorithm 5) per container."""
    for algorithm in ("Algorithm 4", "Algorithm 5"):
        moved = Counter(
            reason.job
            for entry in one.entries
            for reason in entry.reasons
            if reason.rule.startswith(algorithm)
        )
        assert all(count == 1 for count in moved.values())


def needs_no_oracle(one: Paper) -> None:
    """What it decides does not depend on what no scheduler can know, unless it says that it does."""
    if one.policy.oracle:
        return
    state = one.policy.begin(one.settings, one.seed)
    for entry in one.entries:
        jobs = tuple(replace(job, hidden=None) for job in entry.observation.jobs)
        answer = one.policy.decide(state, replace(entry.observation, jobs=jobs))
        assert answer.actions == entry.actions
        state = answer.state


EXAM = (
    every_job_ends,
    is_pure,
    is_determined_by_its_seed,
    ignores_stale_observations,
    replays,
    acts_on_what_it_sees,
    moves_each_job_once_for_each_reason,
    needs_no_oracle,
)
