"""What goes wrong in mid-run: deadlines that can still be met are met, all others are said early.

A small machine of its own lets jobs slow down, loses cores, refuses starts and forgets the policy; how fast
jobs really are is known to it alone.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.scheduling.actions import Pause, Resume, SetLimit, Start
from core.scheduling.model import Failure, Job, JobState, Observation, Profile, Terms, Trigger, Worker
from core.scheduling.policies import POLICIES

LOOK = 1.0


@dataclass
class Work:
    """A job as it really is."""

    job: Job
    seconds: float
    done: float = 0.0
    slower: tuple[float, float] = (inf, 1.0)
    cores: float = 0.0
    ended: float = inf
    told: list[tuple[float, str]] = field(default_factory=list)

    @property
    def until(self):
        return self.job.arrived + self.job.terms.deadline

    def step(self, now):
        """Seconds per step with its cores now."""
        return self.seconds / min(self.cores, 4.0) * (self.slower[1] if now >= self.slower[0] else 1.0)


@dataclass
class Machine:
    """One machine with a policy; what happens to it is set before it runs."""

    cores: float = 4.0
    loses: tuple[float, float] = (inf, 0.0)
    refuses: int = 0
    killed: float = inf
    work: dict[str, Work] = field(default_factory=dict)

    def submit(self, name, steps, deadline, at=0.0, seconds=1.0, slower=(inf, 1.0), known=True):
        """A job of so many steps of so many core-seconds, as its profile says if its kind is known."""
        points = tuple((float(k), seconds / k) for k in (1, 2, 4))
        terms = Terms(deadline=deadline, profile=Profile(points) if known else None)
        job = Job(name, JobState.WAITING, arrived=at, steps=0, total_steps=steps, request=1.0,
                  can_resize=True, terms=terms)  # fmt: skip
        self.work[name] = Work(job, seconds, slower=slower)

    def run(self, until=3000.0):
        """Let time pass until all is done; the policy decides when it wants to or something happens."""
        policy = POLICIES["deadline"]
        chosen = policy.build_settings({"interval": 10.0, "grain": 1.0})
        state, number, wake, failures, now = policy.begin(chosen, 1), 0, None, (), 0.0
        there, known = set(), self.cores
        while now < until and any(each.ended == inf for each in self.work.values()):
            cores = self.loses[1] if now >= self.loses[0] else self.cores
            if self.killed <= now:
                self.killed = inf
                state, wake = policy.begin(chosen, 1), None
                # what the policy of before had promised is kept with the jobs
                for each in self.work.values():
                    promised = bool(each.told) and each.told[-1][1] in ("promised", "late")
                    each.job = replace(each.job, terms=replace(each.job.terms, promised=promised))
            ended = [each for each in self.work.values() if each.ended == now]
            alive = [each for each in self.work.values() if each.job.arrived <= now and each.ended == inf]
            new = {each.job.id for each in alive} - there
            if new or ended or failures or cores != known or wake is None or now >= wake:
                there |= new
                known = cores
                seen = Observation(
                    number, now, Trigger.TICK, (Worker("w", cores),),
                    tuple(self.observed(each, now) for each in alive),
                    tuple(replace(each.job, state=JobState.DONE) for each in ended), failures
                )  # fmt: skip
                number += 1
                answer = policy.decide(state, seen)
                state, wake = answer.state, answer.wake if answer.wake is not None else inf
                for mark in answer.marks:
                    if mark.job in self.work:
                        self.work[mark.job].told.append((now, mark.label))
                failures = tuple(filter(None, (self.do(action, now) for action in answer.actions)))
            used = sum(each.cores for each in alive)
            assert used <= cores + 1e-9 or cores < self.cores, "more was given than there is"
            self.pass_by(alive, now, min(1.0, cores / used) if used else 1.0)
            now += LOOK
        return {name: each.ended <= each.until for name, each in self.work.items()}

    def observed(self, each, now):
        step = each.step(now) if each.cores > 0 else None
        return replace(each.job, steps=int(each.done), step_seconds=step, limit=each.cores or None)

    def pass_by(self, alive, now, share):
        for each in alive:
            if each.cores > 0 and each.job.state is JobState.RUNNING:
                each.done += LOOK / each.step(now) * share
                if each.done >= each.job.total_steps:
                    each.ended = now + LOOK

    def do(self, action, now):
        each = self.work[action.job]
        match action:
            case Start(_, _, limit):
                if self.refuses > 0:
                    self.refuses -= 1
                    return Failure(action, "The engine refuses.")
                each.job = replace(each.job, state=JobState.RUNNING, worker="w", started=now)
                each.cores = limit
            case SetLimit(_, limit):
                each.cores = limit
            case Pause():
                each.job, each.cores = replace(each.job, state=JobState.PAUSED), 0.0
            case Resume():
                each.job = replace(each.job, state=JobState.RUNNING)
        return None

    def late_since(self, name):
        """When it was first said that a job will be late, and that was not taken back."""
        told = self.work[name].told
        first = inf
        for at, label in told:
            first = min(first, at) if label == "late" else inf
        return first


def test_a_job_that_slows_down_by_half_gets_what_it_needs():
    machine = Machine()
    machine.submit("slow", 200, 250.0, slower=(60.0, 2.0))
    machine.submit("other", 200, 1500.0)
    assert machine.run() == {"slow": True, "other": True}


def test_one_that_can_no_longer_be_in_time_is_said_long_before():
    machine = Machine()
    machine.submit("lost", 800, 220.0, slower=(40.0, 2.0))
    machine.submit("other", 100, 1500.0)
    assert machine.run() == {"lost": False, "other": True}
    assert machine.late_since("lost") < 40.0 + 60.0


def test_a_host_that_loses_a_core_keeps_whom_it_can():
    machine = Machine(loses=(50.0, 3.0))
    machine.submit("soon", 150, 110.0)
    machine.submit("later", 300, 320.0)
    machine.submit("never", 500, 250.0)
    met = machine.run()
    assert met["soon"]
    assert met["later"] or met["never"], "who can be kept is kept"
    for name, kept in met.items():
        promised = any(label == "promised" for _, label in machine.work[name].told)
        if promised and not kept:
            assert machine.late_since(name) < machine.work[name].until - 60.0


@pytest.mark.parametrize("times", [1, 3])
def test_an_engine_that_refuses_starts_is_asked_again_in_time(times):
    machine = Machine(refuses=times)
    machine.submit("a", 100, 200.0)
    machine.submit("b", 100, 400.0)
    assert machine.run() == {"a": True, "b": True}


def test_a_policy_that_is_killed_goes_on_from_its_promises():
    machine = Machine(killed=35.0)
    machine.submit("a", 300, 160.0)
    machine.submit("b", 200, 180.0, at=10.0)
    machine.submit("greedy", 400, 420.0, at=36.0)
    met = machine.run()
    assert (met["a"], met["b"]) == (True, True)


def test_one_of_an_unknown_kind_is_promised_as_soon_as_its_own_steps_say_how_fast_it_is():
    machine = Machine(cores=2.0)
    machine.submit("other", 600, 3000.0)
    machine.submit("fresh", 150, 120.0, known=False)
    met = machine.run()
    labels = [(at, label) for at, label in machine.work["fresh"].told if label == "promised"]
    assert labels[0][0] < 30.0
    assert met["fresh"]


FAULTS = st.fixed_dictionaries(
    {
        "loses": st.tuples(st.floats(20.0, 300.0), st.sampled_from((2.0, 3.0))) | st.just((inf, 0.0)),
        "refuses": st.integers(0, 3),
        "killed": st.floats(5.0, 200.0) | st.just(inf),
    }
)
JOBS = st.lists(
    st.tuples(
        st.integers(20, 400),
        st.floats(30.0, 900.0),
        st.integers(0, 200),
        st.tuples(st.floats(10.0, 300.0), st.sampled_from((1.5, 2.0))) | st.just((inf, 1.0)),
    ),
    min_size=1,
    max_size=6,
)


@given(FAULTS, JOBS)
def test_whoever_misses_a_promise_was_told_and_all_jobs_end(faults, jobs):
    machine = Machine(**faults)
    for at, (steps, deadline, arrival, slower) in enumerate(jobs):
        machine.submit(f"j{at}", steps, deadline, float(arrival), slower=slower)
    met = machine.run(6000.0)
    assert all(each.ended < inf for each in machine.work.values())
    for name, kept in met.items():
        each = machine.work[name]
        before = [label for at, label in each.told if at < each.until]
        if not kept and before and before[-1] == "promised":
            # by no more than the machine's own steps of time, or for something shortly before
            happened = [at for at in (each.slower[0], faults["loses"][0]) if at < inf]
            shortly = any(each.until - at < 60.0 for at in happened)
            assert shortly or each.ended - each.until <= 5 * LOOK
