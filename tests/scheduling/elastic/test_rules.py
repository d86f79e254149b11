"""``elastic``, rule by rule: examples by hand, several workers, memory, refusals, waiting that ends."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.engines.simulated import simulated
from core.scheduling import lookup
from core.scheduling.actions import Pause, Refuse, Resume, SetLimit, SetThreads, Start
from core.scheduling.forecasting import StepTime, fit_step_time
from core.scheduling.loop import drive, replay
from core.scheduling.model import Failure, JobState, Terms, Trigger, Worker
from core.scheduling.policies import POLICIES
from core.scheduling.policies.elastic.allocation import equal_shares
from core.scheduling.policies.elastic.book import Claim
from core.scheduling.policies.elastic.context import ElasticContext
from core.simulation.scenario import JobSpec, Scenario, WorkerSpec
from core.simulation.speedup import SpeedUp
from tests.scheduling.making import PAUSED, RUNNING, Table

GIB = 2.0**30
ELASTIC = POLICIES["elastic"]


def table(cores=8.0, workers=1, **values):
    machines = tuple(Worker(f"w{n + 1}", cores) for n in range(workers))
    return Table("elastic", {"reassign": "none", **values}, machines)


def run(scenario, **values):
    return list(drive(simulated(scenario, 1), ELASTIC, ELASTIC.build_settings(values), 1))


def starts(decision):
    return {action.job: action.limit for action in decision.actions if isinstance(action, Start)}


def test_strict_starts_whole_requests_in_order_and_says_why_the_next_one_waits(sentence):
    made = table(admission="strict")
    for name, request in (("a", 6.0), ("b", 4.0), ("c", 1.0)):
        made.put(name, request=request)
    decided = made.step(0.0)
    assert starts(decided) == {"a": 6.0}, "c may not overtake b"
    sentence(decided.reasons[-1].text)
    assert made.step(1.0).reasons == (), "said once"


def test_attend_starts_with_what_is_free_from_the_minimum_on():
    made = table(admission="attend")
    made.put("a", request=6.0)
    made.put("b", request=4.0, terms=Terms(min=2.0))
    made.put("c", request=4.0)
    assert starts(made.step(0.0)) == {"a": 6.0, "b": 2.0}


def test_proportional_divides_requests_as_they_exceed_the_cores():
    """8 + 4 + 4 cores are asked for of 8: factor 2, so 4, 2 and 2."""
    made = table(admission="proportional")
    for name, request in (("a", 8.0), ("b", 4.0), ("c", 4.0)):
        made.put(name, request=request)
    assert starts(made.step(0.0)) == {"a": 4.0, "b": 2.0, "c": 2.0}


def test_equal_shares_give_the_remainder_to_the_earliest():
    claims = [Claim(name, 0.0, 4.0, 1.0, most) for name, most in (("a", 8.0), ("b", 8.0), ("c", 1.0))]
    assert equal_shares(8.0, claims, 1.0) == {"a": 4.0, "b": 3.0, "c": 1.0}


def test_threads_go_before_cores_to_shrink_and_after_them_to_grow():
    made = table(admission="proportional", reassign="fill")
    made.put("a", request=8.0, can_resize=True, threads=8)
    assert made.step(0.0).actions == (Start("a", "w1", 8.0, threads=8),)
    made.put("a", limit=8.0)
    made.put("b", request=8.0)
    assert made.step(1.0).actions == (SetThreads("a", 4), SetLimit("a", 4.0), Start("b", "w1", 4.0))
    made.put("a", limit=4.0, threads=4)
    made.put("b", limit=4.0)
    assert made.step(2.0, ended=("b",)).actions == (SetLimit("a", 8.0), SetThreads("a", 8))


def test_a_program_that_keeps_its_threads_gets_no_more_cores_than_those():
    made = table(reassign="fill")
    made.put("a", request=2.0, threads=2)
    assert starts(made.step(0.0)) == {"a": 2.0}
    made.put("b", request=2.0, can_resize=True, threads=2)
    made.put("a", limit=2.0)
    assert made.step(1.0).actions == (Start("b", "w1", 6.0, threads=6),)


def test_in_turns_the_longest_running_is_paused_and_queues_up_again(sentence):
    made = table(4.0, admission="strict", order="round-robin", quantum=10.0)
    made.put("a", request=4.0)
    made.step(0.0)
    made.put("a", limit=4.0)
    made.put("b", request=4.0)
    assert made.step(5.0).actions == ()
    assert made.answer.wake == 10.0
    assert made.step(10.0).actions == (Pause("a"), Start("b", "w1", 4.0))
    made.put("a", state=PAUSED)
    made.put("b", limit=4.0)
    assert made.step(15.0).actions == ()
    decided = made.step(20.0)
    assert decided.actions == (Pause("b"), Resume("a"))
    sentence(*[reason.text for reason in decided.reasons if reason.rule == "elastic, turns"])


def test_feedback_lowers_the_priority_of_those_that_were_run():
    made = table(4.0, admission="strict", order="priority", feedback=True, quantum=10.0, ageing=0.0)
    made.put("a", request=4.0, terms=Terms(priority=5))
    made.step(0.0)
    made.put("a", limit=4.0)
    made.put("low", request=4.0, terms=Terms(priority=4))
    assert made.step(10.0).actions == (), "5 − 1 is not below 4"
    made.put("high", request=4.0, arrived=10.0, terms=Terms(priority=5))
    assert made.step(12.0).actions == (Pause("a"), Start("high", "w1", 4.0))


def test_ageing_lets_a_low_priority_come_first_in_the_end():
    made = table(4.0, admission="strict", order="priority", ageing=10.0)
    made.put("a", request=4.0)
    made.step(0.0)
    made.put("a", limit=4.0)
    made.put("old", request=4.0, arrived=1.0)
    made.put("new", request=4.0, arrived=90.0, terms=Terms(priority=8))
    assert starts(made.step(95.0, ended=("a",))) == {"old": 4.0}


def test_nothing_starts_beyond_the_share_of_memory(sentence):
    made = Table("elastic", {"reassign": "none"}, (Worker("w", 8.0, 0.0, 10 * GIB, 5 * GIB),))
    made.put("a", request=1.0, terms=Terms(memory=2 * GIB))
    made.put("b", request=1.0, terms=Terms(memory=2 * GIB))
    decided = made.step(0.0)
    assert starts(decided) == {"a": 1.0}
    sentence(decided.reasons[-1].text)


@pytest.mark.parametrize(
    ("values", "said", "asks", "most"),
    [
        ({"admission": "strict"}, {"request": 9.0}, "asks for 9.00", "8.00"),
        ({"cap": 2.0}, {"request": 4.0, "terms": Terms(min=3.0)}, "needs at least 3.00", "2.00"),
    ],
)
def test_what_can_never_start_is_refused_with_what_would_be_accepted(values, said, asks, most):
    made = table(**values)
    made.put("j", **said)
    (refused,) = made.step(0.0).actions
    accepted = f"it would be accepted with {most} cores"
    assert refused == Refuse(
        "j", f"j {asks} cores, and no job can have more than {most} cores here: {accepted}."
    )


def test_a_job_that_needs_more_memory_than_any_worker_may_give_is_refused(sentence):
    made = Table("elastic", {}, (Worker("w", 8.0, 0.0, 10 * GIB, 0.0),))
    made.put("j", request=1.0, terms=Terms(memory=9 * GIB))
    (refused,) = made.step(0.0).actions
    sentence(refused.why)


def test_a_start_that_fails_is_tried_again_after_pauses_that_double():
    made = table()
    made.put("a", request=1.0)
    (start,) = made.step(0.0).actions
    made.put("a", state=JobState.WAITING, worker=None, started=None)
    assert made.step(1.0, failures=(Failure(start, "No."),)).actions == ()
    assert made.answer.wake == 6.0
    assert made.step(6.0).actions == (start,)
    made.put("a", state=JobState.WAITING, worker=None, started=None)
    made.step(7.0, failures=(Failure(start, "No."),))
    assert made.answer.wake == 17.0


def test_freed_cores_go_to_whom_they_help_most():
    """A third core takes 1/3 off a step that cores share, and almost nothing off one that they do not."""
    jobs = (
        JobSpec("flat", 400.0, request=2.0, resizable=True, speedup=SpeedUp(0.95, 0.05)),
        JobSpec("steep", 400.0, request=2.0, resizable=True, speedup=SpeedUp(0.0, 1.0)),
        JobSpec("short", 40.0, request=4.0, resizable=True),
    )
    entries = run(Scenario((WorkerSpec("w", 8.0),), jobs), admission="strict", reassign="speedup")
    cores = {job.id: job.limit for job in entries[-3].observation.jobs}
    assert cores["steep"] > cores["flat"]
    assert max(entry.observation.time for entry in entries if entry.observation.ended) < 400.0


def test_jobs_of_a_cluster_go_where_cores_are_free():
    made = table(4.0, workers=2, admission="strict")
    for name in "abcd":
        made.put(name, request=2.0)
    placed = {action.job: action.worker for action in made.step(0.0).actions}
    assert placed == {"a": "w1", "b": "w2", "c": "w1", "d": "w2"}


def test_cores_are_taken_back_on_the_worker_where_least_is_asked_for():
    made = table(4.0, workers=2, admission="strict", reassign="fill")
    made.put("a", request=1.0, can_resize=True)
    made.put("b", request=3.0, can_resize=True)
    made.step(0.0)
    made.put("a", limit=4.0)
    made.put("b", limit=4.0)
    made.put("c", request=3.0, arrived=1.0)
    assert made.step(1.0).actions == (SetThreads("a", 1), SetLimit("a", 1.0), Start("c", "w1", 3.0))


@pytest.mark.parametrize("admission", ["proportional", "equal"])
def test_full_workers_take_jobs_in_turns(admission):
    made = table(4.0, workers=2, admission=admission, reassign="fill")
    placed = []
    for moment, name in enumerate("abcdef"):
        made.put(name, request=4.0, arrived=float(moment), can_resize=True)
        for action in made.step(float(moment)).actions:
            if isinstance(action, Start):
                placed.append(action.worker)
                made.put(action.job, limit=action.limit)
            elif isinstance(action, SetLimit):
                made.put(action.job, limit=action.limit)
    assert placed == ["w1", "w2"] * 3


def test_what_a_container_had_when_it_was_found_is_what_it_asks_for():
    made = table(4.0, admission="strict")
    made.put("found", state=RUNNING, worker="w1", limit=3.0)
    made.put("a", request=2.0)
    assert made.step(0.0).actions == ()
    assert made.step(1.0, ended=("found",)).actions == (Start("a", "w1", 2.0),)


def test_found_containers_that_hold_more_than_there_is_make_room_for_those_that_wait():
    """One that has no limit counts with what a job asks for that says nothing."""
    made = table(2.0, grain=0.25)
    made.on("w1", "one", "two", "three")
    made.put("a", request=1.0)
    decided = made.step(0.0)
    assert starts(decided) == {"a": 0.5}
    assert sum(action.limit for action in decided.actions if isinstance(action, SetLimit)) <= 1.5 + 1e-9


def test_a_job_that_waits_may_be_given_another_priority():
    made = table(4.0, admission="strict", order="priority", ageing=0.0)
    made.put("a", request=4.0)
    made.step(0.0)
    made.put("a", limit=4.0)
    made.put("low", request=4.0, terms=Terms(priority=1))
    made.put("high", request=4.0, terms=Terms(priority=2))
    made.step(1.0)
    made.put("low", terms=Terms(priority=9))
    assert starts(made.step(2.0, ended=("a",))) == {"low": 4.0}


@st.composite
def clusters(draw):
    workers = [
        WorkerSpec(f"w{n}", draw(st.integers(1, 6)), memory=8 * GIB) for n in range(draw(st.integers(1, 4)))
    ]
    most = max(worker.cores for worker in workers)
    jobs = [
        JobSpec(
            f"j{n}",
            float(draw(st.integers(1, 80))),
            float(draw(st.integers(0, 40))),
            request=float(draw(st.integers(1, int(most)))),
            memory=draw(st.none() | st.sampled_from([GIB, 3 * GIB, 6 * GIB])),
            priority=draw(st.integers(0, 9)),
            resizable=draw(st.booleans()),
            speedup=draw(st.none() | st.just(SpeedUp(0.2, 0.7, 0.1))),
        )
        for n in range(draw(st.integers(1, 10)))
    ]
    return Scenario(tuple(workers), tuple(jobs))


VALUES = st.fixed_dictionaries(
    {
        "admission": st.sampled_from(["strict", "attend", "proportional", "equal"]),
        "order": st.sampled_from(["arrival", "priority", "round-robin"]),
        "reassign": st.sampled_from(["strict", "proportional", "fill", "speedup", "none"]),
        "first": st.sampled_from(["waiting", "running"]),
        "grain": st.sampled_from([1.0, 0.5, 0.25]),
        "feedback": st.booleans(),
        "quantum": st.just(15.0),
    }
)


@given(clusters(), VALUES)
def test_no_variant_exceeds_cores_or_memory_and_nobody_waits_for_ever(scenario, values):
    entries = run(scenario, **values)
    for entry in entries:
        assert entry.failures == ()
        for worker in entry.observation.workers:
            jobs = lookup.jobs_on(entry.observation, worker.id)
            running = [job for job in jobs if job.state is RUNNING]
            assert sum(job.limit for job in running) <= worker.capacity + 1e-6
            assert worker.memory_used <= 0.8 * worker.memory
    ended = [job.id for entry in entries for job in entry.observation.ended if job.state is JobState.DONE]
    assert sorted(ended) == sorted(spec.id for spec in scenario.jobs)
    assert list(replay(ELASTIC, ELASTIC.build_settings(values), 1, entries)) == []


@given(clusters(), VALUES)
def test_no_core_is_idle_while_an_elastic_job_could_use_it(scenario, values):
    """With ``fill`` every free core is used, unless nobody may take it."""
    elastic = replace(
        scenario, jobs=tuple(replace(job, resizable=True, memory=None) for job in scenario.jobs)
    )
    for entry in run(elastic, **{**values, "reassign": "fill", "grain": 1.0, "first": "waiting"}):
        held = {job.id: (job.worker, job.limit) for job in entry.observation.jobs if job.state is RUNNING}
        for action in entry.actions:
            if isinstance(action, Start):
                held[action.job] = (action.worker, action.limit)
            elif isinstance(action, SetLimit) and action.job in held:
                held[action.job] = (held[action.job][0], action.limit)
            elif isinstance(action, Pause):
                del held[action.job]
            elif isinstance(action, Resume):
                (job,) = [each for each in entry.observation.jobs if each.id == action.job]
                limits = [a.limit for a in entry.actions if isinstance(a, SetLimit) and a.job == action.job]
                held[action.job] = (job.worker, limits[-1] if limits else job.limit)
        for worker in entry.observation.workers:
            used = [limit for where, limit in held.values() if where == worker.id]
            assert not used or sum(used) == pytest.approx(worker.capacity)


@given(st.floats(0, 5), st.floats(0.1, 10), st.floats(0, 0.5))
def test_a_curve_is_found_again_from_what_it_takes(fixed, parallel, overhead):
    true = StepTime(fixed, parallel, overhead)
    found = fit_step_time([(cores, true.seconds(cores)) for cores in (0.5, 1.0, 2.0, 4.0)])
    for cores in (0.5, 1.0, 3.0, 4.0):
        assert found.seconds(cores) == pytest.approx(true.seconds(cores), rel=1e-6)


def test_one_measurement_says_only_what_cores_share():
    assert fit_step_time([(2.0, 3.0)]) == StepTime(0.0, pytest.approx(6.0), 0.0)
    assert fit_step_time([(1.0, 4.0), (2.0, 3.0)]).seconds(4.0) == pytest.approx(2.5)
    assert fit_step_time([(1.0, 1.0), (2.0, 1.5), (4.0, 2.0)]).gain(2.0, 1.0) < 0


@given(clusters(), VALUES)
def test_a_look_at_what_changed_decides_what_a_look_at_all_does(scenario, values):
    """A worker that is not looked at is one of which nothing changed."""
    shown = run(scenario, **values)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ElasticContext, "_workers_to_read", lambda self, *_: list(self.workers))
        whole = run(scenario, **values)
    assert [sorted(map(str, entry.actions)) for entry in shown] == [
        sorted(map(str, entry.actions)) for entry in whole
    ]


def test_a_decision_about_one_worker_looks_at_no_other():
    made = table(4.0, workers=50, admission="strict", reassign="fill")
    for number in range(50):
        made.put(f"j{number}", request=4.0)
    made.step(0.0)
    for number in range(50):
        made.put(f"j{number}", limit=4.0)
    made.step(1.0, trigger=Trigger.ARRIVAL)
    before, there = made.state.books, made.jobs["j7"].worker
    made.put("new", request=4.0, arrived=2.0)
    assert made.step(2.0, ended=("j7",), trigger=Trigger.DEPARTURE).actions == (Start("new", there, 4.0),)
    assert [name for name, book in made.state.books.items() if book is not before[name]] == [there]


def test_memory_of_paused_jobs_holds_nobody_up_for_ever():
    """The first needs more memory than is left while another is paused: that one runs on, and frees it."""
    made = Table(
        "elastic",
        {"admission": "strict", "order": "round-robin", "quantum": 10.0, "reassign": "none"},
        (Worker("w", 4.0, 0.0, 10 * GIB, 0.0),),
    )
    made.put("a", request=4.0, terms=Terms(memory=4 * GIB))
    made.step(0.0)
    made.put("a", limit=4.0)
    made.put("b", request=4.0, arrived=1.0, terms=Terms(memory=4 * GIB))
    made.put("large", request=4.0, arrived=2.0, terms=Terms(memory=8 * GIB))
    assert made.step(10.0).actions == (Pause("a"), Start("b", "w", 4.0))
    made.put("a", state=PAUSED)
    made.put("b", limit=4.0)
    assert made.step(15.0).actions == ()
    assert made.step(20.0, ended=("b",)).actions == (Resume("a"),)
    made.put("a", state=RUNNING)
    assert made.step(40.0).actions == ()
    assert starts(made.step(50.0, ended=("a",))) == {"large": 4.0}
