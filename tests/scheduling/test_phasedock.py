"""The project's own policy: its order, its promises, and what it does where it knows nothing."""

import dataclasses
import itertools

import numpy as np
import pytest

from core.engines.simulated import simulated
from core.experiments.outcome import Outcome
from core.experiments.scenarios import ground_truth
from core.scheduling.actions import Migrate, Pause
from core.scheduling.loop import drive
from core.scheduling.policies import POLICIES
from core.scheduling.policies.phasedock import PHASEDOCK
from core.simulation.loss import FAMILIES
from core.simulation.scenario import JobSpec, Scenario, WorkerSpec
from tests.scheduling.making import Table, workers


def random_scenario(n, seed, workers=1, *, caps=True, says=True):
    chance = np.random.default_rng([seed, n])
    kinds = list(FAMILIES["exponential"])
    jobs = tuple(
        JobSpec(
            id=f"job-{k:02d}",
            work=float(chance.uniform(28, 300)),
            arrival=float(chance.uniform(0, 200)),
            demand=float(chance.uniform(0.6, 1.0)) if caps else None,
            loss=FAMILIES["exponential"][kinds[k % 3]],
            steps=200 if says else None,
        )
        for k in range(n)
    )
    return Scenario(tuple(WorkerSpec(f"w{k}", 1.0) for k in range(workers)), jobs)


def run(scenario, policy=PHASEDOCK, **settings):
    return list(drive(simulated(scenario, 1), policy, policy.build_settings(settings), 1))


def completions(entries):
    return {
        job.id: entry.observation.time - job.arrived for entry in entries for job in entry.observation.ended
    }


def some(seeds):
    """So many seeds, of which all but the first run in the long tests alone."""
    return [0, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(1, seeds))]


@pytest.mark.parametrize("seed", some(6))
@pytest.mark.parametrize("delta", [0.1, 0.3])
def test_nobody_waits_much_longer_than_its_promise(seed, delta):
    scenario = random_scenario(10, seed)
    mine = completions(run(scenario, delta=delta, goal=10.0))
    fair = completions(run(scenario, POLICIES["free"]))
    # what is left is known to half a step of 200, and a promise is looked at every ten seconds
    assert max(mine[name] / fair[name] for name in fair) <= 1 + delta + 0.1


@pytest.mark.parametrize("seed", some(4))
def test_jobs_end_sooner_on_the_whole(seed):
    scenario = random_scenario(10, 100 + seed)
    mine, free = completions(run(scenario)), completions(run(scenario, POLICIES["free"]))
    assert sum(mine.values()) < 0.85 * sum(free.values())


def test_who_does_not_say_how_much_is_left_keeps_a_fair_share():
    scenario = random_scenario(8, 5, says=False)
    entries = run(scenario)
    assert not [action for entry in entries for action in entry.actions if isinstance(action, Pause)]
    mine, free = completions(entries), completions(run(scenario, POLICIES["free"]))
    for name, seconds in free.items():
        assert mine[name] == pytest.approx(seconds, rel=1e-6)


def test_one_silent_job_among_others_is_not_starved():
    scenario = random_scenario(8, 6, caps=False)
    silent = dataclasses.replace(scenario.jobs[0], steps=None)
    scenario = dataclasses.replace(scenario, jobs=(silent, *scenario.jobs[1:]))
    mine, free = completions(run(scenario)), completions(run(scenario, POLICIES["free"]))
    assert mine[silent.id] <= 1.05 * free[silent.id]


def test_a_job_that_has_more_steps_than_it_said_still_ends():
    scenario = random_scenario(6, 7)
    liars = tuple(dataclasses.replace(job, size_error=0.5) for job in scenario.jobs)
    assert len(completions(run(dataclasses.replace(scenario, jobs=liars)))) == 6


def test_moves_are_few_and_wake_the_job_first():
    entries = run(random_scenario(24, 8, workers=3, caps=False))
    moves = [action.job for entry in entries for action in entry.actions if isinstance(action, Migrate)]
    assert moves
    assert max(moves.count(name) for name in set(moves)) <= 4
    assert not [failure for entry in entries for failure in entry.failures]


def test_a_long_job_that_cannot_use_a_worker_is_not_left_to_the_end():
    scenario = random_scenario(8, 10, caps=False)
    narrow = dataclasses.replace(scenario.jobs[0], work=200.0, demand=0.2, arrival=0.0)
    scenario = dataclasses.replace(scenario, jobs=(narrow, *scenario.jobs[1:]))
    ends = [run(scenario, policy)[-1].observation.time for policy in (PHASEDOCK, POLICIES["free"])]
    assert ends[0] <= 1.03 * ends[1]
    late = run(scenario, stretch=10.0)[-1].observation.time
    assert late > 1.1 * ends[1]


def reached(entries, scenario):
    """Mean times to 90, 95 and 99% of the loss reduction."""
    outcome = Outcome(ground_truth(scenario))
    for entry in entries:
        outcome.add(entry)
    result = outcome.result()
    return [result.t90 or 0.0, result.t95 or 0.0, result.t99 or 0.0]


@pytest.mark.parametrize("seed", some(3))
def test_no_point_is_paid_for_by_the_next(seed):
    """A weight on 90% alone makes 99% late; weights on all three make none of them later than sharing."""
    scenario = random_scenario(10, 300 + seed, caps=False)
    mine = reached(run(scenario), scenario)
    free = reached(run(scenario, POLICIES["free"]), scenario)
    single = reached(run(scenario, goal=1.5, goal95=0.0, goal99=0.0), scenario)
    assert all(now < then for now, then in zip(mine, free, strict=True))
    assert mine[2] < single[2]


def test_a_job_is_on_its_way_to_one_point_after_the_other():
    entries = run(random_scenario(1, 11))
    labels = [mark.label for entry in entries for mark in entry.marks]
    assert [label for label, _ in itertools.groupby(labels)] == [
        "unknown",
        "to 90%",
        "to 95%",
        "to 99%",
        "to the end",
    ]


def test_a_job_is_promised_nothing_before_its_size_is_known():
    """The first job takes its two steps in ten seconds; what is promised by then must not bind for ever."""
    slow = JobSpec("slow", work=200.0, demand=0.2)
    others = tuple(JobSpec(f"quick-{k}", work=30.0, arrival=20.0) for k in range(4))
    entries = run(Scenario((WorkerSpec("w", 1.0),), (slow, *others)), stretch=10.0, interval=1.0)
    assert Pause("slow") in [action for entry in entries for action in entry.actions]


def test_without_pauses_everybody_keeps_running():
    entries = run(random_scenario(8, 9), pause=False)
    assert not [action for entry in entries for action in entry.actions if isinstance(action, Pause)]
    assert len(completions(entries)) == 8


def test_jobs_that_ended_before_they_used_a_processor_say_nothing_of_the_next():
    made = Table("phasedock", workers=workers(0.0, 0.0))
    made.on("w1", "brief", "x", "y")
    made.step(0.0, ended=("brief",))
    made.step(5.0)
    assert set(made.labels.values()) == {"unknown"}
