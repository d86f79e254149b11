"""The demo as an engine: policies on it, and the exam of engines."""

import math
import time
from dataclasses import replace

import pytest

from core.scheduling.actions import Migrate, Pause, Resume, SetLimit, SetThreads, Start, Stop
from core.scheduling.model import JobState, Trigger
from core.simulation.replay import ReplayPlan, StartingPlace
from tests.contracts.engine_exam import EngineExam, ExamJob
from tests.engines.demo.making import Demo, flat, job_of


def test_a_policys_limits_are_restored_when_it_ends(demo):
    with demo.engine() as engine:
        engine.wait(1.0)
        names = [job.id for job in engine.observe().jobs]
        assert engine.apply([SetLimit(names[0], 0.25, 2.0), Pause(names[1])]) == ()
        host = demo.host()
        assert {each.state for each in host.containers()} == {"running", "paused"}
    after = demo.host().containers()
    assert [(each.state, each.limits.cores, each.limits.weight) for each in after] == [
        ("running", None, 1.0)
    ] * 2
    assert demo.keeper.kept_limits == {}
    assert engine.close() == ()


def eventually(true):
    """Whether something becomes true within two seconds of this machine."""
    end = time.monotonic() + 2.0
    while not true() and time.monotonic() < end:
        time.sleep(0.01)
    return true()


def test_limits_of_a_container_that_ended_are_not_kept_for_ever(demo):
    engine = demo.engine()
    engine.wait(1.0)
    assert engine.apply([SetLimit("one-01", 1.5)]) == ()
    assert len(demo.keeper.kept_limits) == 1
    ended = []
    while not ended:
        engine.wait(60.0)
        ended = engine.observe().ended
    assert [(job.id, job.state) for job in ended] == [("one-01", JobState.DONE)]
    assert eventually(lambda: demo.keeper.kept_limits == {})
    assert engine.reasons["one-01"] == "It finished."


def test_a_container_that_is_deselected_leaves_with_its_limits(demo):
    picked = {"one-01", "two-02"}
    engine = demo.engine(adopt=lambda container: container.name in picked)
    engine.wait(1.0)
    assert engine.apply([SetLimit("one-01", 0.5)]) == ()
    picked.discard("one-01")
    engine.wait(30.0)
    (ended,) = engine.observe().ended
    assert (ended.id, ended.state) == ("one-01", JobState.FAILED)
    assert demo.host().inspect(job_of(demo.host(), "one").id).limits.cores is None
    picked.add("one-01")
    engine.wait(30.0)
    assert [job.id for job in engine.observe().jobs] == ["two-02", "one-01#2"]


def test_new_containers_arrive(demo):
    engine = demo.engine()
    seen = []
    while not any(job.id.endswith("03") for entry in seen for job in entry.jobs):
        engine.wait(engine.time + 10.0)
        seen.append(engine.observe())
    assert seen[-1].trigger is Trigger.ARRIVAL


class TestExam(EngineExam):
    """What applies to jobs that are found running and never started, on one worker."""

    slack = 1e-3

    test_the_first_observation = None
    test_a_refused_job_never_runs = None
    test_a_migrated_job_goes_on_where_it_was = None
    test_nobody_migrates_twice_at_once = None
    test_a_job_that_writes_no_checkpoints_does_not_migrate = None

    @pytest.fixture(autouse=True)
    def _folder(self, tmp_path):
        self.folder = tmp_path

    def engine(self, *jobs, workers=2):
        places = tuple(StartingPlace(first=job.arrival) for job in jobs)
        plan = ReplayPlan(
            float(workers), 1e9, tuple(flat(job.id, job.seconds) for job in jobs), places, math.inf
        )
        return _Named(Demo(self.folder, plan).engine(), [job.id for job in jobs])

    def started(self, engine, *names):
        seen = self.next(engine)
        return self.next(engine, seen.time + 0.4) if set(names) <= {job.id for job in seen.jobs} else seen

    def until_finished(self, engine, wake):
        seen = []
        while not engine.finished:
            seen.append(self.next(engine, seen[-1].time + wake if seen else None))
        return seen

    def limited(self, engine):
        seen = self.started(engine, "a")
        assert engine.apply([SetLimit("a", 0.5)]) == ()
        return seen

    def test_what_cannot_be_done_is_refused(self):
        engine = self.engine(ExamJob("a"))
        self.started(engine, "a")
        for action in WRONG:
            failures = engine.apply([action])
            assert [failure.action for failure in failures] == [action]
            assert failures[0].why.endswith(".")
            later = self.next(engine, engine.time + 0.01)
            assert later.failures == failures
            assert [(job.state, job.limit) for job in later.jobs] == [(JobState.RUNNING, None)]

    def test_one_refusal_does_not_hold_up_the_rest(self):
        engine = self.engine(ExamJob("a"), ExamJob("b"))
        self.started(engine, "a", "b")
        assert len(engine.apply([SetLimit("a", -1.0), SetLimit("a", 0.5), SetLimit("b", 0.5)])) == 1
        assert [job.limit for job in self.next(engine, engine.time + 0.2).jobs] == [0.5, 0.5]


WRONG = (
    Start("nobody", "demo"),
    Start("a", "nowhere"),
    Start("a", "demo"),
    SetLimit("nobody", 0.5),
    SetLimit("a", 0.0),
    SetLimit("a", -1.0),
    SetLimit("a", 1e6),
    SetLimit("a", 0.5, weight=-1.0),
    SetThreads("a", 2),
    Migrate("nobody", "demo"),
    Migrate("a", "nowhere"),
    Migrate("a", "demo"),
    Resume("a"),
    Stop("nobody"),
)


class _Named:
    """The demo's engine with jobs called as the exam calls them; over when all of them have ended."""

    def __init__(self, engine, names):
        self._engine = engine
        self._long = {name: f"{name}-{at + 1:02d}" for at, name in enumerate(names)}
        self._short = {long: short for short, long in self._long.items()}
        self._running = set(names)

    @property
    def finished(self):
        return not self._running

    @property
    def time(self):
        return self._engine.time

    def wait(self, until):
        self._engine.wait(until)

    def observe(self):
        seen = self._engine.observe()
        named = {"jobs": self._jobs(seen.jobs), "ended": self._jobs(seen.ended)}
        self._running -= {job.id for job in named["ended"]}
        return replace(seen, failures=self._failures(seen.failures), **named)

    def apply(self, actions):
        return self._failures(
            self._engine.apply([replace(each, job=self._long.get(each.job, each.job)) for each in actions])
        )

    def _jobs(self, jobs):
        return tuple(replace(job, id=self._short[job.id]) for job in jobs)

    def _failures(self, failures):
        return tuple(
            replace(each, action=replace(each.action, job=self._short.get(each.action.job, each.action.job)))
            for each in failures
        )
