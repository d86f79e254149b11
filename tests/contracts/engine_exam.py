"""The exam that every engine sits: what a policy may rely on, wherever it runs.

An engine's tests inherit from `EngineExam` and give `engine`, which makes workers and jobs of its world. Time
is only ever let pass through `Engine.wait`, and nothing is asked to be faster or more exact than `slack`
seconds.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from itertools import pairwise

import pytest

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
from core.scheduling.model import JobState, Observation, Trigger


@dataclass(frozen=True)
class ExamJob:
    """A job that takes about `seconds` of one core, prints a falling loss 20 times, and says its 20 steps."""

    id: str
    seconds: float = 4.0
    arrival: float = 0.0
    can_migrate: bool = True
    can_resize: bool = False


class EngineExam(ABC):
    """Inherit, and make an engine."""

    slack = 1e-6
    """Seconds, and core-seconds, by which this world may be late or wrong."""

    @abstractmethod
    def engine(self, *jobs, workers=2):
        """An engine with these jobs and so many workers of at least one core each; none of them in use."""

    # ---- what is seen ----

    def test_the_first_observation(self):
        engine = self.engine(ExamJob("a"))
        seen = self.next(engine)
        assert (seen.number, seen.trigger) == (0, Trigger.ARRIVAL)
        assert len({worker.id for worker in seen.workers}) == len(seen.workers) == 2
        assert all(worker.capacity >= 1 for worker in seen.workers)
        (job,) = seen.jobs
        assert (job.id, job.state, job.worker, job.started) == ("a", JobState.WAITING, None, None)
        assert (job.cpu_seconds, job.readings) == (0.0, ())
        assert not engine.finished

    def test_numbers_count_and_time_never_decreases(self):
        entries = self.until_finished(self.engine(ExamJob("a"), ExamJob("b", arrival=1.0)), wake=0.5)
        assert [seen.number for seen in entries] == list(range(len(entries)))
        times = [seen.time for seen in entries]
        assert times == sorted(times)

    def test_waiting_comes_back_in_time(self):
        engine = self.engine(ExamJob("a"))
        begin = self.next(engine).time
        seen = self.next(engine, begin + 0.5)
        assert seen.trigger is Trigger.TICK
        assert begin + 0.5 - self.slack <= seen.time <= begin + 0.5 + self.slack

    def test_an_arrival_is_seen_when_it_comes(self):
        engine = self.engine(ExamJob("a"), ExamJob("b", arrival=1.0))
        first, second = self.next(engine), self.next(engine, 60.0)
        assert [job.id for job in first.jobs] == ["a"]
        assert [job.id for job in second.jobs] == ["a", "b"]
        assert second.trigger is Trigger.ARRIVAL
        assert second.jobs[1].arrived == pytest.approx(1.0, abs=self.slack)

    def test_a_started_job_runs_to_its_end(self):
        engine = self.engine(ExamJob("a"))
        seen = self.until_finished(engine, wake=0.5)
        running = [entry.jobs[0] for entry in seen if entry.jobs and entry.jobs[0].state.placed]
        assert {job.worker for job in running} == {seen[0].workers[0].id}
        assert all(job.started is not None for job in running)
        (last,) = seen[-1].ended
        assert (last.id, last.state, seen[-1].trigger) == ("a", JobState.DONE, Trigger.DEPARTURE)
        assert (last.steps, last.total_steps) == (20, 20)
        assert engine.finished

    def test_usage_is_a_counter(self):
        used = [job.cpu_seconds for job in self.of("a", self.until_finished(self.engine(ExamJob("a")), 0.5))]
        assert used == sorted(used)
        assert used[-1] > 0

    def test_each_reading_is_shown_once_and_not_before_it_was_printed(self):
        seen = self.until_finished(self.engine(ExamJob("a")), wake=0.5)
        for entry in seen:
            for job in (*entry.jobs, *entry.ended):
                assert all(when <= entry.time + self.slack for when, _ in job.readings)
        readings = [reading for job in self.of("a", seen) for reading in job.readings]
        assert len(readings) == 20
        assert [when for when, _ in readings] == sorted(when for when, _ in readings)
        assert readings[-1][1] < readings[0][1]

    def test_an_end_is_shown_once(self):
        seen = self.until_finished(self.engine(ExamJob("a"), ExamJob("b", 2.0)), wake=0.5)
        assert sorted(job.id for entry in seen for job in entry.ended) == ["a", "b"]
        for earlier, later in pairwise(seen):
            assert not {job.id for job in earlier.ended} & {job.id for job in later.jobs}

    # ---- what is done ----

    def limited(self, engine):
        """What is observed before job a has half a core."""
        seen = self.next(engine)
        assert engine.apply([Start("a", seen.workers[0].id, 0.5)]) == ()
        return seen

    def test_a_limit_holds(self):
        engine = self.engine(ExamJob("a"))
        seen = self.limited(engine)
        before = self.next(engine, seen.time + 0.1).jobs[0]
        later = self.next(engine, seen.time + 2.1)
        assert later.jobs[0].limit == pytest.approx(0.5)
        assert later.jobs[0].cpu_seconds - before.cpu_seconds <= 0.5 * 2.0 * 1.1 + self.slack
        assert engine.apply([SetLimit("a", 0.25, 2.0)]) == ()
        changed = self.next(engine, later.time + 0.1).jobs[0]
        assert (changed.limit, changed.weight) == (pytest.approx(0.25), pytest.approx(2.0))

    def test_a_memory_limit_holds_until_it_is_taken_back(self):
        engine = self.engine(ExamJob("a"))
        seen = self.started(engine, "a")
        before = seen.jobs[0].memory_limit
        assert engine.apply([SetMemory("a", 2.0**28)]) == ()
        changed = self.next(engine, seen.time + 0.2)
        assert changed.jobs[0].memory_limit == 2.0**28
        assert engine.apply([SetLimit("a", 0.5), SetMemory("a", None)]) == ()
        later = self.next(engine, changed.time + 0.2).jobs[0]
        assert (later.memory_limit, later.limit) == (before, pytest.approx(0.5))

    def test_a_paused_job_stands_still_and_goes_on(self):
        engine = self.engine(ExamJob("a"))
        seen = self.started(engine, "a")
        assert engine.apply([Pause("a")]) == ()
        paused = self.next(engine, seen.time + 0.2)
        later = self.next(engine, paused.time + 1.0)
        assert later.jobs[0].state is JobState.PAUSED
        assert later.jobs[0].cpu_seconds == pytest.approx(paused.jobs[0].cpu_seconds, abs=self.slack)
        assert engine.apply([Resume("a")]) == ()
        ended = self.until_finished(engine, wake=0.5)[-1].ended
        assert [(job.state, job.steps) for job in ended] == [(JobState.DONE, 20)]

    def test_a_stopped_job_has_failed(self):
        engine = self.engine(ExamJob("a"))
        self.started(engine, "a")
        assert engine.apply([Stop("a")]) == ()
        assert not engine.finished
        seen = self.next(engine, 600.0)
        assert [(job.id, job.state) for job in seen.ended] == [("a", JobState.FAILED)]
        assert seen.jobs == ()
        assert engine.finished

    def test_a_refused_job_never_runs(self):
        engine = self.engine(ExamJob("a"), ExamJob("b"))
        seen = self.started(engine, "a")
        assert engine.apply([Refuse("b", "It asks for more than there is.")]) == ()
        later = self.next(engine, seen.time + 5)
        assert [(job.id, job.state, job.started) for job in later.ended] == [("b", JobState.REFUSED, None)]
        assert [job.id for job in later.jobs] == ["a"]
        assert len(engine.apply([Start("b", seen.workers[0].id)])) == 1

    def test_a_migrated_job_goes_on_where_it_was(self):
        engine = self.engine(ExamJob("a"))
        seen = self.started(engine, "a")
        there = seen.workers[1].id
        assert engine.apply([Migrate("a", there)]) == ()
        after = self.until_finished(engine, wake=0.5)
        jobs = self.of("a", [seen, *after])
        assert all(job.worker == there for job in jobs[1:] if job.state is not JobState.DONE)
        steps = [job.steps or 0 for job in jobs]
        assert steps == sorted(steps)
        assert sum(len(job.readings) for job in jobs) == 20
        assert (jobs[-1].state, jobs[-1].steps) == (JobState.DONE, 20)
        assert any(entry.trigger is Trigger.OUTCOME for entry in after)

    def test_what_cannot_be_done_is_refused(self):
        engine = self.engine(ExamJob("a"), ExamJob("b", can_migrate=False))
        seen = self.started(engine, "a")
        refused = []
        for action in (_named(one, seen) for one in WRONG):
            failures = engine.apply([action])
            assert [failure.action for failure in failures] == [action]
            assert failures[0].why.endswith(".")
            refused += failures
        later = self.next(engine, seen.time + 0.2)
        assert later.failures == tuple(refused)
        assert [job.state for job in later.jobs] == [JobState.RUNNING, JobState.WAITING]
        assert later.jobs[0].limit is None
        assert self.next(engine, later.time + 0.1).failures == ()

    def test_a_job_that_writes_no_checkpoints_does_not_migrate(self):
        engine = self.engine(ExamJob("a", can_migrate=False))
        seen = self.started(engine, "a")
        assert not seen.jobs[0].can_migrate
        assert len(engine.apply([Migrate("a", seen.workers[1].id)])) == 1

    def test_nobody_migrates_twice_at_once(self):
        engine = self.engine(ExamJob("a"), workers=3)
        seen = self.started(engine, "a")
        moves = [Migrate("a", seen.workers[1].id), Migrate("a", seen.workers[2].id)]
        assert [failure.action for failure in engine.apply(moves)] == moves[1:]

    def test_one_refusal_does_not_hold_up_the_rest(self):
        engine = self.engine(ExamJob("a"), ExamJob("b"))
        seen = self.next(engine)
        here = seen.workers[0].id
        assert len(engine.apply([Start("a", "nowhere"), Start("a", here), Start("b", here)])) == 1
        states = [job.state for job in self.next(engine, seen.time + 0.2).jobs]
        assert states == [JobState.RUNNING, JobState.RUNNING]

    def test_an_ended_job_is_gone(self):
        engine = self.engine(ExamJob("a", 0.5), ExamJob("b", 60.0))
        seen = self.started(engine, "a", "b")
        while not seen.ended:
            seen = self.next(engine, seen.time + 5)
        assert [failure.action for failure in engine.apply([Stop("a")])] == [Stop("a")]
        assert engine.apply([Stop("b")]) == ()

    # ---- helpers ----

    @staticmethod
    def next(engine, until=None) -> Observation:
        """Wait and look."""
        engine.wait(until)
        return engine.observe()

    def started(self, engine, *names) -> Observation:
        """Start jobs on the first worker and look a little later."""
        seen = self.next(engine)
        assert engine.apply([Start(name, seen.workers[0].id) for name in names]) == ()
        return self.next(engine, seen.time + 0.4)

    def until_finished(self, engine, wake) -> list[Observation]:
        """Start what waits on the first worker until all has ended; all observations."""
        seen: list[Observation] = []
        while not engine.finished:
            seen.append(self.next(engine, seen[-1].time + wake if seen else None))
            waiting = [job.id for job in seen[-1].jobs if job.state is JobState.WAITING]
            assert engine.apply([Start(name, seen[-1].workers[0].id) for name in waiting]) == ()
        return seen

    @staticmethod
    def of(name, seen):
        """One job in every observation that shows it."""
        return [job for entry in seen for job in (*entry.jobs, *entry.ended) if job.id == name]


WRONG = (
    Start("nobody", "{0}"),
    Start("a", "nowhere"),
    Start("b", "{0}", limit=0.0),
    Start("b", "{0}", limit=1e6),
    Start("b", "{0}", weight=0.0),
    Start("b", "{0}", threads=0),
    Start("a", "{0}"),
    Refuse("nobody", "No."),
    Refuse("a", "No."),
    SetLimit("nobody", 0.5),
    SetLimit("b", 0.5),
    SetLimit("a", 0.0),
    SetLimit("a", -1.0),
    SetLimit("a", 1e6),
    SetLimit("a", 0.5, weight=-1.0),
    SetMemory("nobody", 1e9),
    SetMemory("b", 1e9),
    SetMemory("a", 0.0),
    SetMemory("a", -1.0),
    SetThreads("a", 2),
    Migrate("nobody", "{1}"),
    Migrate("a", "nowhere"),
    Migrate("a", "{0}"),
    Migrate("b", "{1}"),
    Pause("b"),
    Resume("a"),
    Stop("nobody"),
)
"""What no engine does; workers go by their numbers."""


def _named(action, seen):
    """Put the ids of workers in the place of their numbers."""
    names = [worker.id for worker in seen.workers]
    places = {"worker", "to"} & set(type(action).__slots__)
    parts = {place: getattr(action, place).format(*names) for place in places}
    return type(action)(**{**{name: getattr(action, name) for name in type(action).__slots__}, **parts})
