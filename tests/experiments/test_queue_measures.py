"""What a queue does to jobs: every measure is that of a slow twin, which reads the whole ledger."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.engines.simulated import simulated
from core.experiments.leaderboard import compare, difference
from core.experiments.measures import (
    COUNTS,
    EXTRA_MEASURES,
    QUEUE_MEASURES,
    RISING,
    informative_measures,
    queues,
)
from core.experiments.outcome import Outcome, RunResult
from core.experiments.scenarios import scenario
from core.experiments.spec_reader import read_experiment
from core.runs.runner import run_arm
from core.scheduling.loop import drive
from core.scheduling.policies import POLICIES
from tests.examples import fewer
from tests.experiments.making import three
from tests.oracles import slow_queue

QUEUE = """\
version: 1
name: More is asked for than there is
workers: {count: 1, cores: 4}
kinds:
  VAE: {work: [20, 90], request: 3, min: 1, max: 4, threads: 3, malleable: true, fixed: 0.1}
  GRU: {work: [10, 60], request: 2, min: 1, max: 2, threads: 2, priority: 3, overhead: 0.01}
  Large: {work: 30, request: 6, min: 5, weight: 0.3}
drawn: {count: 9}
arrivals: {by: uniform, within: 60}
policies:
  - {policy: elastic, label: Static, settings: {admission: strict, reassign: none}}
  - policy: elastic
    label: Turns
    settings: {admission: attend, order: round-robin, quantum: 8, reassign: fill}
  - {policy: elastic, label: Bends}
  - {policy: free, label: Free}
baseline: Static
seeds: 3
"""


def ledger(experiment, arm, seed):
    policy = POLICIES[arm.policy]
    engine = simulated(scenario(experiment, seed), seed)
    return list(drive(engine, policy, policy.build_settings(arm.settings), seed))


def outcome(entries):
    found = Outcome()
    for entry in entries:
        found.add(entry)
    return found.result()


@pytest.mark.parametrize("label", ["Static", "Turns", "Bends", "Free"])
@fewer(4)
@given(seed=st.integers(0, 10_000))
def test_every_measure_is_that_of_the_slow_twin(label, seed):
    experiment = read_experiment(QUEUE)
    entries = ledger(experiment, experiment.arm(label), seed)
    result = outcome(entries)
    measures, jobs, makespan = slow_queue.run(entries)
    assert result.makespan == pytest.approx(makespan)
    for name in QUEUE_MEASURES:
        assert getattr(result, name) == pytest.approx(measures[name]), name
    for job in result.jobs:
        twin = jobs[job.id]
        found = (job.waiting, job.service, job.paused, job.used, job.pauses, job.resizes, job.thread_changes)
        wanted = [twin[name] for name in ("waiting", "service", "paused", "used", "pauses", "resizes")]
        assert found == pytest.approx((*wanted, twin["threads"])), job.id


def test_the_parts_of_a_job_s_time_make_all_of_it():
    experiment = read_experiment(QUEUE)
    result = run_arm(experiment, experiment.arm("Turns"), 3)
    done = [job for job in result.jobs if job.state == "done"]
    assert result.pauses > 0
    assert result.paused > 0
    for job in done:
        assert job.waiting + job.service + job.paused == pytest.approx(job.completion)
    assert result.waiting + result.service + result.paused == pytest.approx(result.mean)
    assert 0 < result.used <= 1


def test_a_refused_job_has_not_failed_and_is_in_no_time():
    experiment = read_experiment(QUEUE.replace("weight: 0.3", "weight: 1"))
    result = run_arm(experiment, experiment.arm("Static"), 1)
    gone = [job for job in result.jobs if job.state == "refused"]
    assert len(gone) == result.refused > 0
    assert result.failed_jobs == 0
    assert all((job.waiting, job.service, job.paused, job.used) == (None, None, None, 0.0) for job in gone)
    late = replace(experiment, arrivals=replace(experiment.arrivals, within=0.0))
    only = replace(late, kinds={"Large": experiment.kinds["Large"]})
    assert run_arm(only, only.arm("Static"), 1).makespan == 0.0
    assert run_arm(only, only.arm("Static"), 1).jobs_per_hour is None


def test_nothing_is_said_where_nobody_waits():
    experiment = three()
    means = [
        {name: getattr(run_arm(experiment, arm, 1), name) for name in QUEUE_MEASURES}
        for arm in experiment.policies
    ]
    assert not any(map(queues, means))
    assert means[1]["resizes"] > 0  # FlowCon changes limits, but nobody waits
    assert informative_measures(means) == {}
    assert informative_measures([{"mean": 3.0}]) == {}
    waits = {**means[0], "waiting": 30.0, "service": 60.0, "pauses": 0.0}
    assert {"waiting", "service"} <= set(informative_measures([means[0], waits])["queue"])
    assert "pauses" not in informative_measures([means[0], waits])["queue"]
    assert queues({"waiting": 0.4, "service": 60.0}) is False  # what starting takes
    assert queues({"waiting": 0.0, "service": 60.0, "refused": 1.0})


def test_they_are_compared_in_their_own_unit_where_the_baseline_has_none():
    experiment = read_experiment(QUEUE)
    results = {
        arm.label: {seed: run_arm(experiment, arm, seed) for seed in experiment.seeds}
        for arm in experiment.policies
    }
    row = {each["label"]: each for each in compare(results, "Free")}["Static"]["differences"]["waiting"]
    assert (row["value"], row["n"]) == (None, 0)
    waits = [results["Static"][seed].waiting for seed in experiment.seeds]
    assert row["seconds"] == pytest.approx(sum(waits) / 3)
    assert min(waits) - 1e-9 <= row["seconds_low"] < row["seconds"]
    assert row["seconds"] < row["seconds_high"] <= max(waits) + 1e-9
    found = difference([10.0, 30.0], [0.0, 20.0])
    assert (found.value, found.n, found.seconds) == (pytest.approx(0.5), 1, 10.0)


def test_results_of_earlier_releases_are_still_read():
    result = run_arm(three(), three().policies[0], 1).to_dict()
    old = {name: value for name, value in result.items() if name not in QUEUE_MEASURES}
    new = ("waiting", "service", "paused", "used", "pauses", "resizes", "thread_changes")
    old["jobs"] = [{name: value for name, value in job.items() if name not in new} for job in old["jobs"]]
    read = RunResult.from_dict(old)
    assert (read.waiting, read.used, read.jobs[0].waiting) == (None, None, None)
    assert read.mean == result["mean"]
    row = compare({"a": {1: read}, "b": {1: read}}, "a")[1]
    assert row["differences"]["waiting"]["seconds"] is None
    assert informative_measures([row["measures"]]) == {}


def test_the_register_says_what_is_better_and_in_which_unit():
    assert {
        "jobs_per_hour",
        "used",
        "met",
        "promised",
        "kept",
        "utilisation",
        "freed",
        "freed_memory",
    } == RISING
    assert {"refused", "pauses", "resizes", "thread_changes", "too_low", "killed"} == COUNTS
    assert all(each.of.__doc__ and each.label and each.short for each in EXTRA_MEASURES.values())
