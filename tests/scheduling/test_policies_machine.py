"""A world that does what it likes before every policy: jobs come and go, actions fail, messages repeat."""

from __future__ import annotations

import copy
from collections import Counter
from dataclasses import replace
from typing import Any, ClassVar

import pytest
from hypothesis import HealthCheck
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    precondition,
    rule,
    run_state_machine_as_test,
)

from core.scheduling.actions import Migrate, Pause, Refuse, Resume, SetLimit, Start, Stop
from core.scheduling.model import Failure, Hidden, Job, JobState, Observation, Trigger, Worker
from core.scheduling.policies import POLICIES
from core.scheduling.policy_exam import is_possible
from tests.examples import fewer

levels = st.one_of(st.floats(0.0, 2.0), st.sampled_from([float("nan"), float("inf"), -1.0, 0.0]))


class Chaos(RuleBasedStateMachine):
    """One policy in a world where everything that can go wrong does.

    After every rule the policy is shown the world; whether an action works is drawn.
    """

    policy_name = "free"
    values: ClassVar[dict[str, object]] = {}

    @initialize(
        count=st.integers(1, 4),
        capacity=st.sampled_from([0.5, 1.0, 8.0]),
        seed=st.integers(0, 9),
        chosen=st.sampled_from([5.0, 30.0]),
    )
    def begin(self, count, capacity, seed, chosen):
        self.policy = POLICIES[self.policy_name]
        self.step = chosen
        self.state: Any = self.policy.begin(self.policy.build_settings(self.values), seed)
        self.workers = tuple(Worker(f"w{place}", capacity) for place in range(count))
        self.jobs: dict[str, Job] = {}
        self.origins: dict[str, str | None] = {}
        self.time, self.number, self.born = 0.0, 0, 0
        self.shown: list[Observation] = []
        self.failures: list[Failure] = []
        self.ended: list[Job] = []
        self.moved: Counter[tuple[str, str | None]] = Counter()
        self.wake: float | None = None

    @rule(
        count=st.integers(1, 6),
        request=st.none() | st.floats(0.1, 2.0),
        able=st.sampled_from([True, True, False]),
        fails=st.booleans(),
    )
    def arrive(self, count, request, able, fails):
        for _ in range(count):
            name, self.born = f"j{self.born}", self.born + 1
            hidden = Hidden(50.0 + self.born)
            self.jobs[name] = Job(
                name, JobState.WAITING, arrived=self.time, request=request, can_migrate=able, hidden=hidden
            )
        self.decide(Trigger.ARRIVAL, fails=fails)

    @rule(
        printed=st.lists(levels, max_size=2),
        seconds=st.floats(0.0, 40.0),
        busy=st.integers(1, 3),
        fails=st.booleans(),
    )
    def passes(self, printed, seconds, busy, fails):
        """Time passes: jobs run and print; not all of them."""
        self.time += seconds
        for place, (name, job) in enumerate(self.jobs.items()):
            if job.state is JobState.RUNNING and place % busy == 0:
                readings = tuple((self.time, level / (1 + place)) for level in printed)
                self.jobs[name] = replace(job, cpu_seconds=job.cpu_seconds + 0.3 * seconds, readings=readings)
        self.decide(Trigger.TICK, fails=fails)

    @rule(level=st.floats(0.5, 1.0), rounds=st.integers(3, 8), busy=st.integers(1, 3), fails=st.booleans())
    def converge(self, level, rounds, busy, fails):
        """Ticks in a row at which some losses hardly fall, less each time, and the others fall quickly."""
        for place in range(rounds):
            self.time = self.wake if self.wake is not None else self.time + self.step
            slow, quick = level + 0.004 * 0.5**place, level * 0.8**place
            for number, (name, job) in enumerate(self.jobs.items()):
                if job.state is JobState.RUNNING:
                    printed = ((self.time, slow if number % busy == 0 else quick),)
                    self.jobs[name] = replace(job, cpu_seconds=job.cpu_seconds + 1.0, readings=printed)
            self.decide(Trigger.TICK, fails=fails and place == rounds - 1)

    @precondition(lambda self: self.jobs)
    @rule(which=st.integers(0, 99), fails=st.booleans(), crashes=st.booleans())
    def ends(self, which, fails, crashes):
        name = list(self.jobs)[which % len(self.jobs)]
        end = JobState.FAILED if crashes else JobState.DONE
        self.ended.append(replace(self.jobs.pop(name), state=end))
        self.decide(Trigger.DEPARTURE, fails=fails)

    @precondition(lambda self: any(job.state is JobState.MIGRATING for job in self.jobs.values()))
    @rule(works=st.booleans())
    def arrives_on_its_target(self, works):
        moving = [name for name, job in self.jobs.items() if job.state is JobState.MIGRATING]
        self.settle(moving[0], works)
        self.decide(Trigger.OUTCOME)

    @precondition(lambda self: self.shown)
    @rule(back=st.integers(0, 99))
    def repeats_an_old_message(self, back):
        before = copy.deepcopy(self.state)
        answer = self.policy.decide(self.state, self.shown[back % len(self.shown)])
        assert (answer.actions, answer.reasons, answer.state) == ((), (), before)
        self.state = answer.state

    def settle(self, name, works):
        """End a migration, on its target or back at its origin."""
        job, origin = self.jobs[name], self.origins.pop(name)
        self.jobs[name] = replace(job, state=JobState.RUNNING, worker=job.worker if works else origin)
        if not works:
            self.failures.append(Failure(Migrate(name, job.worker or ""), "It did not start."))

    def decide(self, trigger, *, fails=False):
        """Show the world, check what is decided, and do it, or refuse it."""
        seen = Observation(
            self.number, self.time, trigger, self.workers, tuple(self.jobs.values()), tuple(self.ended),
            tuple(self.failures)
        )  # fmt: skip
        self.number += 1
        self.ended, self.failures = [], []
        answer = self.policy.decide(self.state, seen)
        assert self.policy.decide(self.state, seen) == answer
        self.state, self.wake = answer.state, answer.wake
        self.shown.append(seen)
        for name, job in self.jobs.items():
            self.jobs[name] = replace(job, readings=())
        self.count(answer.reasons)
        for place, action in enumerate(answer.actions):
            assert is_possible(action, seen)
            if fails and place % 2 == 0:
                self.failures.append(Failure(action, "The engine did not answer."))
            else:
                self.do(action)

    def count(self, reasons):
        for reason in reasons:
            for algorithm in ("Algorithm 4", "Algorithm 5"):
                if reason.rule.startswith(algorithm):
                    self.moved[algorithm, reason.job] += 1
        if self.values.get("rebalance") != "as-printed":
            assert all(times == 1 for times in self.moved.values())

    def do(self, action):
        """Perform an action as an engine would."""
        job = self.jobs[action.job]
        match action:
            case Start(_, worker, limit, weight):
                self.jobs[action.job] = replace(
                    job, state=JobState.RUNNING, worker=worker, started=self.time, limit=limit, weight=weight
                )
            case SetLimit(_, limit, weight) if job.state.placed:
                self.jobs[action.job] = replace(job, limit=limit, weight=weight)
            case Migrate(_, to) if job.state is JobState.RUNNING:
                self.origins[action.job] = job.worker
                self.jobs[action.job] = replace(job, state=JobState.MIGRATING, worker=to)
            case Pause() if job.state is JobState.RUNNING:
                self.jobs[action.job] = replace(job, state=JobState.PAUSED)
            case Resume() if job.state is JobState.PAUSED:
                self.jobs[action.job] = replace(job, state=JobState.RUNNING)
            case Refuse():
                self.ended.append(replace(self.jobs.pop(action.job), state=JobState.REFUSED))
            case Stop():
                self.ended.append(replace(self.jobs.pop(action.job), state=JobState.FAILED))
            case _:
                self.failures.append(Failure(action, "It cannot be done now."))

    def teardown(self):
        """Once nothing fails any more, every job that waits is started, in a queue as others end."""
        if not hasattr(self, "jobs"):
            return
        for _ in range(4):
            self.time_passes()
        waits = any(job.state is JobState.WAITING for job in self.jobs.values())
        assert not waits or self.policy_name in QUEUEING
        for _ in range(len(self.jobs)):  # those that are paused come before some that wait
            for name in [name for name, job in self.jobs.items() if job.state is JobState.RUNNING]:
                self.ended.append(replace(self.jobs.pop(name), state=JobState.DONE))
            self.time_passes()
        assert all(job.state is not JobState.WAITING for job in self.jobs.values())

    def time_passes(self):
        for name in list(self.origins):
            if name in self.jobs and self.jobs[name].state is JobState.MIGRATING:
                self.settle(name, works=True)
        self.time += 700.0
        self.decide(Trigger.TICK)


QUEUEING = (
    "elastic",
    "resizes",
    "deadline",
    "elasticflow",
    "fifo",
    "fifo.backfill",
    "kube.default",
    "edf",
    "edf.preemptive",
    "least.laxity",
    "autopilot",
)
"""Policies that let jobs wait while others run."""

CASES = {
    **{name: (name, {}) for name in POLICIES},
    "flowcon, every other way": (
        "flowcon",
        {"growth": "means", "new_limit": "multiplicative", "unknown": "unknown-inf", "threshold": "peak",
         "limits": "hybrid", "work_conserving": True}
    ),
    "elastic, in turns": (
        "elastic",
        {"order": "round-robin", "admission": "attend", "reassign": "fill", "quantum": 5.0, "grain": 0.25}
    ),
    "elastic, by priority": (
        "elastic",
        {"order": "priority", "feedback": True, "admission": "equal", "victim": "smallest", "grain": 0.25}
    ),
    "specon, as printed": ("specon", {"rebalance": "as-printed", "alpha": 0.1, "placement": "random"})
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_a_policy_keeps_its_head(case):
    name, values = CASES[case]
    machine = type("Machine", (Chaos,), {"policy_name": name, "values": values})
    run_state_machine_as_test(
        machine,
        settings=fewer(
            5, stateful_step_count=30,
            suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
        )
    )  # fmt: skip
