"""What is shown of the simulated world does not depend on when, or whether, somebody looks at it."""

import copy
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.engines.simulated import simulated
from core.scheduling import lookup
from core.scheduling.actions import Pause, Refuse, Resume, SetLimit, Start
from core.scheduling.loop import drive
from core.scheduling.model import JobState, Terms
from core.simulation.scenario import JobSpec, Scenario, WorkerSpec
from tests.simulation.making import chaos, run, scenarios, scripted

GIB = 2.0**30


def _ledger(scenario, seed, *, at_once):
    """A chaotic run of which every observation is looked at when it is made, or only after the run."""
    policy = chaos([spec.id for spec in scenario.jobs])
    entries = []
    for entry in drive(simulated(scenario, seed), policy, seed, seed):
        if at_once:
            tuple(entry.observation.jobs)
        entries.append(entry)
    return entries


@given(scenarios(), st.integers(0, 50))
def test_a_late_look_shows_what_an_early_one_did(scenario, seed):
    early, late = (_ledger(scenario, seed, at_once=at_once) for at_once in (True, False))
    assert [entry.observation for entry in early] == [entry.observation for entry in late]


@given(scenarios(), st.integers(0, 50))
def test_what_is_found_by_index_is_what_a_pass_over_all_jobs_finds(scenario, seed):
    for entry in _ledger(scenario, seed, at_once=False):
        seen = entry.observation
        plain = copy.deepcopy(seen)
        assert isinstance(seen.jobs, lookup.IndexedJobs)
        assert isinstance(plain.jobs, tuple)
        assert plain == seen
        assert hash(seen.jobs) == hash(plain.jobs)
        assert lookup.waiting_jobs(seen) == lookup.waiting_jobs(plain)
        assert lookup.count_by_worker(seen) == lookup.count_by_worker(plain)
        for worker in (*seen.workers, "nowhere"):
            name = getattr(worker, "id", worker)
            assert lookup.jobs_on(seen, name) == lookup.jobs_on(plain, name)
        assert lookup.new_values(seen) == lookup.new_values(plain)
        for line, job in zip(lookup.job_positions(seen), plain.jobs, strict=True):
            shown = (line.id, line.state, line.worker, line.can_migrate)
            assert shown == (job.id, job.state, job.worker, job.can_migrate)


@given(scenarios(), st.integers(0, 50), st.data())
def test_what_was_printed_over_several_observations_is_what_each_of_them_shows(scenario, seed, data):
    seen = [entry.observation for entry in _ledger(scenario, seed, at_once=False)]
    last = data.draw(st.integers(0, len(seen) - 1))
    first = data.draw(st.integers(0, last))
    names = (
        data.draw(st.sets(st.sampled_from([job.id for job in seen[last].jobs]))) if seen[last].jobs else ()
    )
    read, unread = seen[first - 1] if first else None, seen[first : last + 1]
    slowly = {name: [v for each in unread for job in each.jobs if job.id == name for _, v in job.readings]
              for name in names}  # fmt: skip
    expected = {name: values for name, values in slowly.items() if values}
    assert lookup.values_since(read, unread, names) == expected
    assert lookup.values_since(read, copy.deepcopy(unread), names) == expected


def test_the_jobs_of_an_observation_are_a_sequence():
    seen = run(Scenario((WorkerSpec("w", 1.0),), (JobSpec("a", 4.0), JobSpec("b", 4.0))))[0].observation
    assert (len(seen.jobs), seen.jobs[-1].id, [job.id for job in seen.jobs[:1]]) == (2, "b", ["a"])
    assert pickle.loads(pickle.dumps(seen)) == seen
    assert repr(seen.jobs) == repr(tuple(seen.jobs))
    assert seen.jobs != ["a"]


def test_memory_is_taken_while_a_job_holds_a_place_and_given_back():
    workers = (WorkerSpec("w", 1.0, memory=8 * GIB),)
    jobs = (JobSpec("a", 4.0, memory=2 * GIB), JobSpec("b", 4.0, memory=3 * GIB, priority=4, deadline=60.0))
    script = [(1.0, Pause("a")), (2.0, Resume("a")), (9.0, Pause("a"))]
    entries = run(Scenario(workers, jobs), scripted(script, {name: Start(name, "w") for name in "ab"}))
    shown = [(entry.observation.time, entry.observation.workers[0].memory_used) for entry in entries]
    assert shown[:3] == [(0.0, 0.0), (1.0, 5 * GIB), (2.0, 5 * GIB)]
    assert shown[-1][1] == 0.0
    assert {entry.observation.workers[0].memory for entry in entries} == {8 * GIB}
    assert entries[0].observation.jobs[0].terms_or_default == Terms(memory=2 * GIB)
    assert entries[0].observation.jobs[1].terms == Terms(memory=3 * GIB, priority=4, deadline=60.0)


def test_a_job_that_says_nothing_has_no_terms():
    seen = run(Scenario((WorkerSpec("w", 1.0),), (JobSpec("a", 4.0),)))[0].observation
    assert (seen.jobs[0].terms, seen.jobs[0].terms_or_default) == (None, Terms())
    assert (seen.workers[0].memory, seen.workers[0].memory_used) == (None, None)


def test_seconds_per_step_follow_the_cores_that_a_job_gets():
    """Ten core-seconds in 20 steps: half a second each on one core, a second on half of one."""
    scenario = Scenario((WorkerSpec("w", 1.0),), (JobSpec("a", 10.0, steps=20),))
    entries = run(scenario, scripted([(4.0, SetLimit("a", 0.5)), (5.0, Resume("a"))], {"a": Start("a", "w")}))
    assert [entry.observation.jobs[0].step_seconds for entry in entries[:3]] == [
        None,
        pytest.approx(0.5),
        pytest.approx(1.0),
    ]


def test_a_job_starts_with_the_threads_that_its_policy_gives_it():
    jobs = (JobSpec("a", 4.0, threads=1, resizable=True), JobSpec("b", 4.0, threads=1))
    starts = {"a": Start("a", "w", 1.0, threads=2), "b": Start("b", "w", 1.0, threads=2)}
    entries = run(Scenario((WorkerSpec("w", 2.0),), jobs), scripted([(0.5, SetLimit("b", 1.0))], starts))
    assert [job.threads for job in entries[1].observation.jobs] == [2, 1]


def test_a_refused_job_ends_without_having_run():
    policy = scripted([], {"a": Start("a", "w"), "b": Refuse("b", "It asks for two cores.")})
    entries = run(Scenario((WorkerSpec("w", 1.0),), (JobSpec("a", 4.0), JobSpec("b", 4.0))), policy)
    (refused,) = [job for entry in entries for job in entry.observation.ended if job.id == "b"]
    assert (refused.state, refused.started, refused.cpu_seconds) == (JobState.REFUSED, None, 0.0)
    assert JobState.REFUSED.ended
