"""The simulated world: known cases, and what is true in every world under any policy."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import ConflictError, InputError
from core.scheduling.actions import Migrate, SetLimit, Start
from core.scheduling.model import JobState, Trigger
from core.scheduling.ports import Decision, SchedulingPolicy
from core.simulation.loss import Replayed
from core.simulation.scenario import JobSpec, Scenario, WorkerSpec
from tests.simulation.making import chaos, ends, run, scenarios, scripted

NODE = (WorkerSpec("node", 1.0),)
THESIS = (JobSpec("VAE", 217.3), JobSpec("MNIST-P", 148.5, 40.0), JobSpec("MNIST-T", 28.2, 80.0))


def test_the_thesis_three_jobs_without_limits():
    """Design §6: MNIST-T takes 84.7 s ± 0.5 and the makespan is 394.0 s ± 0.5."""
    entries = run(Scenario(NODE, THESIS))
    ended = ends(entries)
    assert ended["MNIST-T"] - 80 == pytest.approx(84.7, abs=0.5)
    assert max(ended.values()) == pytest.approx(394.0, abs=0.5)
    assert [entry.observation.trigger for entry in entries] == [Trigger.ARRIVAL] * 3 + [Trigger.DEPARTURE] * 3


def test_every_job_prints_its_own_loss_whatever_the_order_in_which_they_come():
    jobs = tuple(
        JobSpec(f"j{n}", 1.0, arrival, values=2, noise_sigma=0.0, loss=Replayed(((0.0, n),)))
        for n, arrival in enumerate([3.0, 0.0, 3.0, 1.0])
    )
    seen = [(job.id, value) for entry in run(Scenario(NODE, jobs)) for job in entry.observation.ended
            for _, value in job.readings]  # fmt: skip
    assert sorted(set(seen)) == [("j0", 0.0), ("j1", 1.0), ("j2", 2.0), ("j3", 3.0)]


def test_contention_slows_all_by_the_count_of_jobs():
    """Three equal jobs at γ = 0.1: η = 1/1.2 while all three run, and they end together."""
    jobs = tuple(JobSpec(f"j{n}", 10.0) for n in range(3))
    ended = ends(run(Scenario(NODE, jobs, gamma=0.1)))
    assert list(ended.values()) == pytest.approx([36.0] * 3)


def test_effective_contention_counts_shares():
    """A job held to a tenth of the core hardly slows the other: n_e = 1/(0.9² + 0.1²) = 1.2195."""
    jobs = (JobSpec("big", 9.0), JobSpec("small", 1.0))
    starts = {"big": Start("big", "node"), "small": Start("small", "node", 0.1)}
    ended = ends(run(Scenario(NODE, jobs, gamma=0.5, contention="effective"), scripted((), starts)))
    assert ended["big"] == pytest.approx(10 * (1 + 0.5 * (1 / 0.82 - 1)))


def test_a_migration_takes_its_time_and_loses_nothing():
    """Control 1.1 s, checkpoint 1.5 s and restore 2 s are added to the 10 s of work, and nothing else."""
    workers = (WorkerSpec("a", 1.0), WorkerSpec("b", 1.0))
    policy = scripted([(4.0, Migrate("j", "b"))], {"j": Start("j", "a")})
    entries = run(Scenario(workers, (JobSpec("j", 10.0, values=10, steps=10),)), policy)
    assert ends(entries)["j"] == pytest.approx(14.6)
    outcome = next(e.observation for e in entries if e.observation.trigger is Trigger.OUTCOME)
    assert (outcome.time, outcome.jobs[0].worker, outcome.jobs[0].steps) == (pytest.approx(8.6), "b", 4)
    last = entries[-1].observation.ended[0]
    assert (last.state, last.steps, last.cpu_seconds) == (JobState.DONE, 10, pytest.approx(10.0))


@pytest.mark.parametrize(("stage", "seconds"), [("checkpoint_failure", 2.6), ("restore_failure", 6.6)])
def test_a_failed_migration_goes_on_where_it_came_from(stage, seconds):
    workers = (WorkerSpec("a", 1.0), WorkerSpec("b", 1.0))
    policy = scripted([(4.0, Migrate("j", "b"))], {"j": Start("j", "a")})
    entries = run(Scenario(workers, (JobSpec("j", 10.0),), **{stage: 1.0}), policy)
    assert ends(entries)["j"] == pytest.approx(10 + seconds)
    seen = next(e.observation for e in entries if e.observation.failures)
    assert seen.failures[0].action == Migrate("j", "b")
    assert (seen.trigger, seen.jobs[0].worker, seen.jobs[0].state) == (Trigger.OUTCOME, "a", JobState.RUNNING)


def test_a_job_that_crashes_ends_as_failed_with_what_it_printed():
    entries = run(Scenario(NODE, (JobSpec("j", 10.0, values=10, crash_at=0.45),)))
    last = entries[-1].observation.ended[0]
    assert (last.state, entries[-1].observation.time) == (JobState.FAILED, pytest.approx(4.5))
    assert sum(len(job.readings) for e in entries for job in e.observation.ended) == 4


def test_a_claim_of_size_may_be_wrong_and_a_job_may_say_nothing():
    told = run(Scenario(NODE, (JobSpec("j", 2.0, steps=100, size_error=1.5),)))[-1].observation.ended[0]
    silent = run(Scenario(NODE, (JobSpec("j", 2.0, steps=None),)))[-1].observation.ended[0]
    assert (told.steps, told.total_steps) == (100, 150)
    assert (silent.steps, silent.total_steps) == (None, None)


def test_one_printed_value_at_each_share_of_the_work():
    """At half a core from t = 0, value i of 5 is printed at 2·i seconds."""
    spec = JobSpec("j", 5.0, demand=0.5, values=5, noise_sigma=0.0)
    readings = run(Scenario(NODE, (spec,)))[-1].observation.ended[0].readings
    assert [when for when, _ in readings] == pytest.approx([2.0, 4.0, 6.0, 8.0, 10.0])
    assert [value for _, value in readings] == sorted((value for _, value in readings), reverse=True)
    assert readings[-1][1] == pytest.approx(0.1)


def test_before_and_after_its_training_a_job_prints_nothing_and_does_no_step():
    """On half a core of 10 core-seconds, of which 2 prepare and 3 finish: it trains from 4 s to 14 s."""
    spec = JobSpec("j", 10.0, demand=0.5, values=5, steps=10, noise_sigma=0.0, prepare=2.0, finish=3.0)
    looks = scripted([(at, SetLimit("j", None)) for at in (1.0, 3.9, 6.1, 19.0)], {"j": Start("j", "node")})
    seen = [entry.observation for entry in run(Scenario(NODE, (spec,)), looks)]
    readings = [reading for each in seen for job in (*each.jobs, *each.ended) for reading in job.readings]
    assert [when for when, _ in readings] == pytest.approx([6.0, 8.0, 10.0, 12.0, 14.0])
    steps = {round(each.time, 1): each.jobs[0].steps for each in seen if each.jobs}
    assert [steps[at] for at in (1.0, 3.9, 6.1, 19.0)] == [0, 0, 2, 10]
    assert seen[-1].time == pytest.approx(20.0)
    assert readings[-1][1] == pytest.approx(0.1)


@pytest.mark.parametrize("follows", [False, True])
def test_before_and_after_its_training_a_job_computes_with_one_thread(follows):
    """Alone on 2 cores it prepares 10 s on one, trains 20 s on two and finishes 5 s on one.

    Beside another whose two threads train it has one core each; with one thread that is no thread too many.
    """
    spec = JobSpec("j", 55.0, threads=2, follows=follows, prepare=10.0, finish=5.0, thread_penalty=3.0)
    looks = scripted([(at, SetLimit("j", None)) for at in (5.0, 15.0, 32.0)], {"j": Start("j", "node")})
    two = (WorkerSpec("node", 2.0),)
    seen = [entry.observation for entry in run(Scenario(two, (spec,)), looks)]
    used = {round(each.time, 6): each.workers[0].used for each in seen if each.jobs}
    assert [used[at] for at in (5.0, 15.0, 32.0)] == [1.0, 2.0, 1.0]
    assert ends(run(Scenario(two, (spec,)))) == {"j": pytest.approx(35.0)}
    other = JobSpec("k", 1000.0, threads=2, thread_penalty=3.0)
    expected = 10 + 40 * (1.0 if follows else 4.0) + 5
    assert ends(run(Scenario(two, (other, spec))))["j"] == pytest.approx(expected)


def test_a_job_that_never_trains_is_refused(refuses):
    with refuses(InputError):
        JobSpec("j", 5.0, prepare=3.0, finish=2.0)


def test_a_policy_that_starts_nothing_is_told_so(refuses):
    idle = SchedulingPolicy("idle", "", lambda *_: None, lambda *_: Decision(None))
    with refuses(ConflictError):
        run(Scenario(NODE, (JobSpec("j", 1.0),)), idle)
    asking = SchedulingPolicy(
        "asking", "", lambda *_: None, lambda _, seen: Decision(None, wake=seen.time + 10)
    )
    with refuses(ConflictError):
        run(Scenario(NODE, (JobSpec("j", 1.0),), horizon=1000.0), asking)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Scenario((), (JobSpec("j", 1.0),)),
        lambda: Scenario(NODE, (JobSpec("j", 1.0), JobSpec("j", 2.0))),
        lambda: Scenario((*NODE, *NODE), (JobSpec("j", 1.0),)),
        lambda: JobSpec("j", -1.0),
        lambda: JobSpec("j", float("nan")),
        lambda: JobSpec("j", 1.0, demand=0.0),
        lambda: JobSpec("j", 1.0, noise_phi=1.0),
        lambda: WorkerSpec("w", 0.0),
        lambda: Scenario(NODE, (JobSpec("j", 1.0),), gamma=-1.0),
        lambda: Scenario(NODE, (JobSpec("j", 1.0),), contention="much"),
        lambda: Scenario(NODE, (JobSpec("j", 1.0),), restore_failure=2.0),
    ],
)
def test_an_impossible_world_is_refused(make, refuses):
    with refuses(InputError):
        make()


@given(scenarios(failures=(0.0, 0.5, 1.0)), st.integers(0, 2**32))
def test_in_every_world_under_any_policy(scenario, seed):
    """Capacity kept, clock monotone, work conserved, no job lost by migration; same seed, same ledger."""
    policy = chaos([spec.id for spec in scenario.jobs])
    entries = run(scenario, policy, seed)
    assert entries == run(scenario, policy, seed)
    check_clock_and_capacity(entries)
    check_jobs(scenario, entries)


def check_clock_and_capacity(entries):
    cores = {worker.id: worker.capacity for worker in entries[0].observation.workers}
    used = {}
    before, allowed = 0.0, sum(cores.values())
    for number, entry in enumerate(entries):
        seen = entry.observation
        assert seen.number == number
        assert seen.time >= before
        assert all(worker.used <= cores[worker.id] * (1 + 1e-9) for worker in seen.workers)
        now = {job.id: job.cpu_seconds for job in (*seen.jobs, *seen.ended)}
        gained = {name: total - used.get(name, 0.0) for name, total in now.items()}
        assert all(gain >= -1e-9 for gain in gained.values())
        assert sum(gained.values()) <= allowed * (seen.time - before) + 1e-6
        for job in seen.jobs:
            if job.limit is not None and number and job.limit == limit_before(entries[number - 1], job.id):
                assert gained[job.id] <= job.limit * (seen.time - before) + 1e-6
        used.update(now)
        before = seen.time


def limit_before(entry, name):
    """The limit during the interval after an entry: None where that entry touched it."""
    if any(action.job == name and isinstance(action, (Start, SetLimit)) for action in entry.actions):
        return None
    return next((job.limit for job in entry.observation.jobs if job.id == name), None)


def check_jobs(scenario, entries):
    readings = {spec.id: [] for spec in scenario.jobs}
    ended = [job for entry in entries for job in entry.observation.ended]
    assert Counter(job.id for job in ended) == Counter(spec.id for spec in scenario.jobs)
    for entry in entries:
        for job in (*entry.observation.jobs, *entry.observation.ended):
            assert all(when <= entry.observation.time for when, _ in job.readings)
            readings[job.id] += job.readings
    specs = {spec.id: spec for spec in scenario.jobs}
    for job in ended:
        times = [when for when, _ in readings[job.id]]
        assert times == sorted(times)
        if job.state is JobState.DONE:
            assert len(times) == specs[job.id].values
            assert job.steps == specs[job.id].steps
            assert job.cpu_seconds >= specs[job.id].work * (1 - 1e-9)
            if scenario.gamma == 0 and plain(specs[job.id]):
                assert job.cpu_seconds == pytest.approx(specs[job.id].work)


def plain(spec):
    """Whether each core-second of usage is one of work."""
    return spec.speedup is None and spec.threads is None and not (spec.resizable or spec.follows)


def test_noise_does_not_depend_on_policy_or_on_other_jobs():
    alone = run(Scenario(NODE, (THESIS[0],)))
    among = run(Scenario(NODE, THESIS), chaos([job.id for job in THESIS], 20))

    def values(entries):
        jobs = [j for e in entries for j in (*e.observation.jobs, *e.observation.ended)]
        return [value for job in jobs if job.id == "VAE" for _, value in job.readings]

    assert values(among) == values(alone)[: len(values(among))]
    assert len(values(among)) > 10
