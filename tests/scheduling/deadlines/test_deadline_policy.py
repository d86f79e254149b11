"""``deadline``: whom it promises, what that takes from others, and that promises are kept."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.engines.simulated import simulated
from core.scheduling.actions import Pause, Refuse, Resume, SetLimit, SetThreads, Start
from core.scheduling.loop import drive
from core.scheduling.model import Failure, JobState, Profile, Terms, Trigger, Worker
from core.scheduling.policies import POLICIES
from core.simulation.scenario import JobSpec, Scenario, WorkerSpec
from core.simulation.speedup import SpeedUp
from tests.scheduling.making import Table

GIB = float(2**30)
EVEN = ((1.0, 1.0), (4.0, 0.25))
"""A step takes a core-second, on one core or on four."""


def table(cores=4.0, **chosen):
    return Table("deadline", {"grain": 1.0, **chosen}, (Worker("w", cores),))


def asks(made, name, steps, deadline, at=0.0, points=EVEN, teardown=0.0, **more):
    profile = None if points is None else Profile(points, teardown=teardown)
    terms = Terms(deadline=deadline, profile=profile, **more)
    made.put(name, arrived=at, steps=0, total_steps=steps, terms=terms, can_resize=True)


def follow(made):
    """Do to the jobs what was decided."""
    for action in made.answer.actions:
        match action:
            case Start(name, _, limit):
                made.put(name, limit=limit)
            case SetLimit(name, limit):
                made.put(name, limit=limit)
            case Pause(name):
                made.put(name, state=JobState.PAUSED)
            case Resume(name):
                made.put(name, state=JobState.RUNNING)
    return {name: job.limit for name, job in made.jobs.items() if job.state is JobState.RUNNING}


def texts(made, job):
    return [reason.text for reason in made.answer.reasons if reason.job == job]


def test_a_job_has_all_that_helps_it_while_nobody_else_needs_it(sentence):
    made = table()
    asks(made, "a", 99, 100.0)
    made.step(0.0)
    assert follow(made) == {"a": 4.0}
    sentence(*texts(made, "a"))


def test_cores_beyond_the_least_share_are_given_back_for_whom_needs_them(sentence):
    """Of 4 cores a needs 1 for 100 s; b needs 3 of them to do 85 steps in 30 s."""
    made = table()
    asks(made, "a", 99, 100.0)
    made.step(0.0)
    follow(made)
    asks(made, "b", 85, 30.0)
    made.step(0.0)
    assert [type(action) for action in made.answer.actions] == [SetThreads, SetLimit, Start]
    assert follow(made) == {"a": 1.0, "b": 3.0}
    sentence(*texts(made, "a"))


def test_a_promise_is_not_broken_for_a_later_job(sentence):
    made = table()
    asks(made, "a", 400, 100.0)
    made.step(0.0)
    follow(made)
    asks(made, "b", 10, 50.0)
    made.step(0.0)
    assert follow(made) == {"a": 4.0}
    sentence(texts(made, "b")[0])
    assert "a" in made.state.estimates
    assert [estimate.is_promised for estimate in made.state.estimates.values()] == [True, False]


def test_what_no_number_of_cores_brings_to_its_end_is_said_with_what_would_be_possible(sentence):
    made = table()
    asks(made, "a", 400, 90.0)
    made.step(0.0)
    sentence(*texts(made, "a"))
    assert follow(made) == {"a": 4.0}, "with what is left over"
    refusing = table(rest="refuse-hopeless")
    asks(refusing, "a", 400, 90.0)
    answer = refusing.step(0.0)
    assert [type(action) for action in answer.actions] == [Refuse]


def test_a_job_that_slows_down_gets_more_cores_and_one_that_cannot_be_saved_is_said_early(sentence):
    """At half its speed, 60 steps in 40 s take 3 of 4 cores; at an eighth it is lost."""
    made = table()
    asks(made, "a", 100, 100.0)
    asks(made, "b", 1000, 1000.0)
    made.step(0.0)
    assert follow(made)["a"] == 2.0, "one would do; half of what is left over goes to each"
    made.put("a", steps=30, step_seconds=2 / 2.0)
    made.step(30.0)
    made.put("a", steps=40, step_seconds=2 / 2.0)
    made.step(60.0)
    assert follow(made)["a"] == 3.0
    made.put("a", steps=60, step_seconds=8 / 3.0)
    made.step(90.0)
    assert made.state.estimates["a"].is_late
    sentence(" ".join(texts(made, "a")))


def test_what_a_job_does_after_its_last_step_is_a_part_of_its_time(sentence):
    made = table(1.0)
    asks(made, "a", 90, 100.0, teardown=20.0)
    made.step(0.0)
    sentence(texts(made, "a")[0])
    asks(made, "b", 70, 100.0, teardown=20.0)
    made.step(0.0)
    sentence(texts(made, "b")[0])
    mark = next(mark for mark in made.answer.marks if mark.job == "b")
    assert mark.ends == pytest.approx(90.0)


@pytest.mark.parametrize("spare", ["speed", "core-time"])
def test_whoever_has_done_all_its_steps_is_not_stopped_in_its_last_moments(spare):
    """It is late already, and another job needs all cores: it keeps one until it has ended."""
    made = table(spare=spare)
    asks(made, "a", 100, 100.0)
    made.step(0.0)
    follow(made)
    made.put("a", steps=100, step_seconds=0.25)
    asks(made, "b", 380, 100.0, at=101.0)
    made.step(101.0)
    assert follow(made) == {"a": 1.0, "b": 3.0}
    made.put("a", state=JobState.PAUSED)
    made.step(140.0)
    assert follow(made) == {"a": 1.0, "b": 3.0}, "nor left where it was stopped"


@pytest.mark.parametrize(("most", "cores"), [(2.0, {"a": 2.0}), (1.0, {"a": 1.0, "z": 1.0})])
def test_a_job_is_to_end_a_second_early_where_that_can_be(most, cores):
    """It would end half a second before its deadline, and what it does last may take longer than that."""
    made = table(2.0)
    asks(made, "a", 99, 100.0, max=most)
    asks(made, "z", 10_000, None)
    made.step(0.0)
    follow(made)
    made.put("a", limit=1.0, steps=88, step_seconds=1.0)
    made.put("z", limit=1.0, state=JobState.RUNNING)
    made.step(89.5)
    assert follow(made) == cores
    assert [mark.label for mark in made.answer.marks if mark.job == "a"] == ["promised"]


def test_a_host_that_loses_cores_says_whom_it_cannot_serve_any_more(sentence):
    made = table(4.0)
    asks(made, "a", 190, 100.0)
    asks(made, "b", 190, 100.0)
    made.step(0.0)
    assert follow(made) == {"a": 2.0, "b": 2.0}
    made.workers = (Worker("w", 2.0),)
    made.step(1.0)
    assert follow(made) == {"a": 2.0}, "b is paused: half the cores for both would make both late"
    sentence(texts(made, "b"))
    made.workers = (Worker("w", 4.0),)
    made.step(2.0)
    assert follow(made) == {"a": 2.0, "b": 2.0}
    sentence(texts(made, "b")[-1])


def test_a_host_that_loses_cores_while_a_start_is_on_its_way_gives_nobody_more():
    """The two cores that b was given are more than the one that is left."""
    made = table(4.0)
    asks(made, "a", 190, 100.0)
    made.step(0.0)
    follow(made)
    asks(made, "b", 190, 100.0)
    made.step(0.5)
    made.put("b", state=JobState.WAITING, worker=None)
    made.put("a", limit=2.0)
    made.workers = (Worker("w", 1.0),)
    made.step(1.0)
    assert [type(action) for action in made.answer.actions if action.job == "a"] == [Pause]


def test_a_start_that_fails_is_tried_again(sentence):
    made = table()
    asks(made, "a", 100, 1000.0)
    (start,) = made.step(0.0).actions
    made.put("a", state=JobState.WAITING, worker=None)
    answer = made.step(1.0, failures=(Failure(start, "The image is not there."),))
    assert (answer.actions, answer.wake) == ((), 6.0)
    sentence(texts(made, "a")[0])
    assert [type(action) for action in made.step(6.0).actions] == [Start]


def test_a_start_that_was_not_confirmed_yet_keeps_its_cores():
    made = table()
    asks(made, "a", 290, 100.0)
    made.step(0.0)
    made.put("a", state=JobState.WAITING, worker=None)
    asks(made, "b", 90, 100.0)
    made.step(1.0)
    assert made.limits == {}, "all four are given to a"
    made.on("w", "a")
    made.put("a", limit=4.0)
    made.step(2.0)
    assert follow(made) == {"a": 3.0, "b": 1.0}


def test_a_job_that_cannot_change_its_threads_has_its_request():
    made = table()
    asks(made, "a", 100, 100.0)
    made.put("a", can_resize=False, request=2.0)
    made.step(0.0)
    assert follow(made) == {"a": 2.0}


def test_what_is_not_profiled_runs_with_what_is_left_and_is_promised_once_its_steps_are_seen(sentence):
    made = table()
    asks(made, "a", 100, 100.0, points=None)
    made.put("a", request=2.0)
    made.step(0.0)
    sentence(*texts(made, "a"))
    assert follow(made) == {"a": 2.0}
    assert made.answer.wake == 10.0, "sooner than at the interval, 30 s"
    made.put("a", steps=10, step_seconds=0.5)
    made.step(30.0)
    assert made.state.estimates["a"].is_promised
    sentence(texts(made, "a")[0])


def test_of_whom_nobody_knows_how_many_steps_are_left_that_is_said_once():
    made = table()
    asks(made, "a", None, 100.0, points=None)
    made.step(0.0)
    follow(made)
    made.put("a", steps=20, step_seconds=0.5)
    made.step(10.0)
    assert texts(made, "a")[0].startswith("a does not print its number of steps")
    made.put("a", steps=40)
    made.step(20.0)
    assert "steps" not in "".join(texts(made, "a"))


def test_whom_its_own_steps_show_to_be_too_slow_is_told_so_and_goes_on(sentence):
    made = table(rest="refuse")
    asks(made, "a", 100, 100.0, points=None)
    made.step(0.0)
    follow(made)
    made.put("a", steps=2, step_seconds=15.0)
    made.step(30.0)
    sentence(texts(made, "a")[0])
    assert not any(isinstance(action, Refuse) for action in made.answer.actions)


def test_a_container_that_runs_already_when_it_comes_is_promised_like_a_new_job():
    made = table(4.0)
    asks(made, "a", 100, 100.0)
    made.step(0.0)
    follow(made)
    asks(made, "own", 60, 60.0, at=5.0)
    made.on("w", "own")
    made.step(5.0, trigger=Trigger.ARRIVAL)
    assert made.state.estimates["own"].is_promised
    assert set(follow(made)) == {"a", "own"}
    asks(made, "past", 60, 0.0, at=6.0)
    made.on("w", "past")
    made.step(7.0, trigger=Trigger.ARRIVAL)
    assert not made.state.estimates["past"].is_promised


def test_nobody_begins_where_memory_does_not_suffice():
    made = table()
    made.workers = (Worker("w", 4.0, memory=10 * GIB, memory_used=0.0), Worker("v", 4.0, memory=4 * GIB))
    asks(made, "a", 100, 1000.0, memory=6 * GIB)
    asks(made, "b", 100, 1000.0, memory=6 * GIB)
    made.step(0.0)
    assert made.jobs["a"].worker == "w"
    assert made.jobs["b"].state is JobState.WAITING


def test_while_too_much_is_asked_for_the_dearest_jobs_are_promised_nothing(sentence):
    """Eleven jobs within 100 s ask four cores for more core-seconds than they have: half of them fit."""
    made = table()
    for k in range(11):
        asks(made, f"j{k:02}", 400 if k % 2 else 20, 5000.0, at=float(k))
        made.step(float(k))
        follow(made)
    asks(made, "dear", 400, 9000.0, at=100.0)
    made.step(100.0)
    sentence(texts(made, "dear")[0])
    asks(made, "cheap", 20, 9000.0, at=100.0)
    made.step(100.0)
    assert made.state.estimates["cheap"].is_promised


def test_what_was_promised_nothing_has_no_cores_that_hardly_help_it():
    """The second core adds 0.6 of the first, the third 0.4."""
    made = table(4.0)
    points = ((1.0, 1.0), (2.0, 1 / 1.6), (3.0, 0.5), (4.0, 1 / 2.3))
    asks(made, "a", 100, None, points=points)
    made.step(0.0)
    assert follow(made) == {"a": 2.0}
    eager = table(4.0, worth=0.0)
    asks(eager, "a", 100, None, points=points)
    eager.step(0.0)
    assert follow(eager) == {"a": 4.0}


def unlucky(made):
    """Ten jobs before were half as fast as predicted, or as fast."""
    made.state = replace(made.state, ratios=(1.0, 2.0) * 5)


def test_whom_only_the_reserve_keeps_from_a_promise_begins_at_once_with_all_that_it_needs(sentence):
    """100 steps in 39 s take 3 cores as predicted, and are out of reach at half that speed."""
    made = table(4.0)
    unlucky(made)
    asks(made, "other", 4000, 1e6)
    made.step(0.0)
    assert follow(made) == {"other": 4.0}, "it needs one of them"
    asks(made, "hopes", 100, 40.0)
    made.step(1.0)
    sentence(texts(made, "hopes")[0])
    sentence(texts(made, "hopes")[1])
    assert follow(made) == {"other": 1.0, "hopes": 3.0}


@pytest.mark.parametrize(
    ("steps", "crowded", "cores"),
    [(100, False, "3.00"), (100, True, "2.00"), (400, False, "3.00"), (400, True, None)],
)
def test_while_nobody_is_turned_away_more_luck_is_hoped_for_with_what_would_do_as_predicted(
    steps, crowded, cores
):
    """The luckiest tenth was twice as fast as predicted; three of four cores are free."""
    made = table(4.0)
    made.state = replace(made.state, ratios=(0.5, 2.0) * 5, costs=((0.0, 1e9),) * 10 if crowded else ())
    asks(made, "other", 4000, 1e6)
    made.step(0.0)
    follow(made)
    asks(made, "hopes", steps, 40.0)
    made.step(1.0)
    said = f"hopes is promised nothing, and may be in time all the same with {cores} cores."
    assert (said in texts(made, "hopes")) == (cores is not None)
    assert cores is not None or not any("all the same" in text for text in texts(made, "hopes"))


def test_a_step_in_progress_counts_by_its_time():
    """Of 20 steps of 4.3 s on four cores none may be lost; at 40 s 9 are done, and a third of the next."""
    made = table(4.0)
    asks(made, "a", 20, 86.0, points=((1.0, 17.15), (4.0, 4.2875)))
    made.step(0.0)
    follow(made)
    made.put("a", steps=0, step_seconds=4.2875)
    made.step(2.0)
    made.put("a", steps=9, step_seconds=4.2875)
    made.step(40.0)
    assert not made.state.estimates["a"].is_late
    assert made.state.estimates["a"].progress == pytest.approx(9 + (40 - 9 * 4.2875) / 4.2875, abs=0.01)


@st.composite
def worlds(draw):
    jobs = []
    for k in range(draw(st.integers(1, 8))):
        curve = SpeedUp(draw(st.sampled_from([0.0, 0.2, 1.0])), 1.0, draw(st.sampled_from([0.0, 0.02])))
        steps, work = draw(st.integers(20, 400)), draw(st.floats(20.0, 600.0))
        points = tuple((float(c), work / steps / curve.speed(c)) for c in range(1, 5))
        jobs.append(
            JobSpec(
                f"j{k}", work, draw(st.floats(0.0, 300.0)), steps=steps, values=5, speedup=curve,
                resizable=True, request=draw(st.none() | st.sampled_from([1.0, 2.0, 4.0])),
                profile=Profile(points), deadline=draw(st.none() | st.floats(10.0, 2000.0)), max=4.0
            )
        )  # fmt: skip
    workers = [WorkerSpec(f"w{k}", draw(st.sampled_from([2.0, 4.0]))) for k in range(draw(st.integers(1, 2)))]
    return Scenario(tuple(workers), tuple(jobs))


@given(worlds(), st.sampled_from([0.25, 1.0]))
def test_every_promise_is_kept_where_predictions_are_right(scenario, grain):
    policy, promised, ends = POLICIES["deadline"], {}, {}
    for entry in drive(simulated(scenario, 1), policy, policy.build_settings({"grain": grain}), 1):
        seen = entry.observation
        for reason in entry.reasons:
            if reason.rule == "deadline, promise":
                promised[reason.job] = seen.time
            assert reason.rule != "deadline, late", reason.text
        ends |= {job.id: seen.time for job in seen.ended}
        for worker in seen.workers:
            given = [job.limit or 0.0 for job in seen.jobs if job.worker == worker.id]
            running = [job for job in seen.jobs if job.worker == worker.id and job.state is JobState.RUNNING]
            assert sum(job.limit for job in running) <= worker.capacity + 1e-9 or not given
    assert ends.keys() == {job.id for job in scenario.jobs}
    for job in scenario.jobs:
        if job.id in promised:
            assert ends[job.id] <= job.arrival + job.deadline + 1e-6
