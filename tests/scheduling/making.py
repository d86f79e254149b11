"""Hand-made observations, and what a policy answers to one after the other."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from core.scheduling.actions import Migrate, SetLimit, Start
from core.scheduling.model import Job, JobState, Observation, Trigger, Worker
from core.scheduling.policies import POLICIES

RUNNING, WAITING, MIGRATING = JobState.RUNNING, JobState.WAITING, JobState.MIGRATING
PAUSED = JobState.PAUSED


@dataclass
class Table:
    """A policy and the world that a test lays before it.

    Jobs are put, changed and taken away by hand; `look` shows them, with what they printed since the last
    look, and keeps the answer.
    """

    name: str
    settings: dict[str, object] = field(default_factory=dict)
    workers: tuple[Worker, ...] = (Worker("w", 1.0),)
    seed: int = 1
    number: int = 0
    jobs: dict[str, Job] = field(default_factory=dict)
    answer: Any = None

    def __post_init__(self):
        self.policy = POLICIES[self.name]
        self.state = self.policy.begin(self.policy.build_settings(self.settings), self.seed)

    def put(self, name, **values):
        """Add a job, or change what is known of it."""
        self.jobs[name] = replace(self.jobs.get(name, Job(name, WAITING)), **values)

    def on(self, worker, *names):
        """Let jobs run on a worker."""
        for name in names:
            self.put(name, state=RUNNING, worker=worker)

    def prints(self, name, *values, cpu=None):
        """Let a job print values of E, and use core-seconds."""
        self.put(name, readings=tuple((0.0, value) for value in values))
        if cpu is not None:
            self.put(name, cpu_seconds=self.jobs[name].cpu_seconds + cpu)

    def step(self, time, *, ended=(), failures=(), trigger=Trigger.TICK):
        """Show the world as it is at `time`, and start what the policy starts."""
        gone = tuple(replace(self.jobs.pop(name), state=JobState.DONE) for name in ended)
        seen = Observation(
            self.number, time, trigger, self.workers, tuple(self.jobs.values()), gone, failures
        )
        self.number += 1
        self.answer = self.policy.decide(self.state, seen)
        self.state = self.answer.state
        for name in self.jobs:
            self.put(name, readings=())
        for action in self.answer.actions:
            if isinstance(action, Start) and action.job in self.jobs:
                self.put(action.job, state=RUNNING, worker=action.worker, started=time)
        return self.answer

    @property
    def labels(self):
        """The list or category of every job."""
        return {mark.job: mark.label for mark in self.answer.marks}

    @property
    def growths(self):
        """The growth of every job."""
        return {mark.job: mark.growth for mark in self.answer.marks}

    @property
    def limits(self):
        """Limits that were asked for just now."""
        return {a.job: a.limit for a in self.answer.actions if isinstance(a, SetLimit | Start)}

    @property
    def weights(self):
        """Weights that were asked for just now."""
        return {a.job: a.weight for a in self.answer.actions if isinstance(a, SetLimit | Start)}

    @property
    def moves(self):
        """Migrations that were asked for just now."""
        return {a.job: a.to for a in self.answer.actions if isinstance(a, Migrate)}

    def rules(self, job=None):
        """The rules that the answer cites, of one job or of all."""
        return [r.rule for r in self.answer.reasons if job is None or r.job == job]


def workers(*used):
    """Workers of one core, named w1, w2 …, with so many cores in use."""
    return tuple(Worker(f"w{place + 1}", 1.0, each) for place, each in enumerate(used))
