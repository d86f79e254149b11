"""A prediction comes from the baseline's recording alone, and is near what the policies then really do."""

from dataclasses import replace

import numpy as np
import pytest

from core.engines.simulated import simulated
from core.experiments.predicting import predict
from core.experiments.scenarios import scenario
from core.experiments.spec_reader import read_experiment
from core.runs.runner import run_arm, run_scenario
from core.scheduling.loop import drive
from core.scheduling.policies import POLICIES

WORLD = """
version: 1
name: Recorded
workers: {count: 2, cores: 1, id: half}
world: {gamma: 0.05, noise: 0.001}
kinds:
  Long: {work: [60, 90], like: VAE, program: x}
  Short: {work: [15, 25], like: GRU, program: x}
drawn: {count: 6}
arrivals: {by: spacing, spacing: 12}
policies: [fewest, flowcon, specon]
baseline: fewest
seeds: [3, 4]
"""


@pytest.fixture(scope="module")
def experiment():
    return read_experiment(WORLD)


def observations(experiment, seed, pace=None):
    policy = POLICIES["fewest"]
    engine = simulated(scenario(experiment, seed), seed, reveal_hidden=False)
    return [entry.observation for entry in drive(engine, policy, policy.build_settings(), seed, pace)]


def test_policies_are_predicted_from_the_baseline_alone(experiment):
    made = predict(
        experiment, {seed: observations(experiment, seed, 2.0) for seed in experiment.seeds}, run_scenario
    )
    assert made.missing == {}
    assert [fit["gamma"] for fit in made.fits.values()] == pytest.approx([0.05, 0.05], abs=0.01)
    for row in made.comparison:
        arm = experiment.arm(row["label"])
        real = np.mean([run_arm(experiment, arm, seed).mean for seed in experiment.seeds])
        assert row["measures"]["mean"] == pytest.approx(real, rel=0.05), arm.label


def test_what_cannot_be_fitted_is_named(experiment):
    seen = observations(experiment, 3)
    made = predict(experiment, {3: observations(experiment, 3, 2.0), 4: seen[:2]}, run_scenario)
    assert list(made.fits) == [3]
    assert "completed" in made.missing[4]
    assert predict(experiment, {4: seen[:2]}, run_scenario) is None


def test_looking_more_often_changes_nothing_but_the_ledger(experiment):
    arm = experiment.arm("specon")
    plain = run_arm(experiment, arm, 3)
    engine, policy = simulated(scenario(experiment, 3), 3, reveal_hidden=False), POLICIES["specon"]
    entries = list(drive(engine, policy, policy.build_settings(), 3, pace=1.0))
    ends = {job.id: entry.observation.time for entry in entries for job in entry.observation.ended}
    assert ends == pytest.approx({job.id: job.ended for job in plain.jobs})
    gaps = np.diff([entry.observation.time for entry in entries])
    assert gaps.max() <= 1.0 + 1e-9


def test_threads_that_follow_are_predicted_from_ones_that_stay():
    """Jobs with a thread for each of two processors, however many they are: other threads, other times."""
    text = WORLD.replace("name: Recorded", "name: Recorded\nengine: docker")
    text = text.replace("workers: {count: 2, cores: 1, id: half}", "workers: {cores: 2, id: node}")
    text = text.replace(
        "[fewest, flowcon, specon]",
        "[{policy: free, threads: static}, {policy: free, label: one, threads: one},"
        " {policy: free, label: follow}]",
    )
    text = text.replace("gamma: 0.05", "gamma: 0")  # which could not be told from what threads cost
    asked = read_experiment(text.replace("baseline: fewest", "baseline: free"))
    drawn = {seed: scenario(asked, seed) for seed in asked.seeds}
    static, one = ({"threads": threads, "thread_penalty": 2.0} for threads in (2, 1))
    follow = {"thread_penalty": 2.0, "follows": True, "resizable": True}

    def world(seed, more):
        return replace(drawn[seed], jobs=tuple(replace(job, **more) for job in drawn[seed].jobs))

    def simulate(seed):
        policy = POLICIES["free"]
        engine = simulated(world(seed, static), seed, reveal_hidden=False)
        return [entry.observation for entry in drive(engine, policy, policy.build_settings(), seed, 2.0)]

    made = predict(asked, {seed: simulate(seed) for seed in asked.seeds}, run_scenario)
    for label, more in (("free", static), ("one", one), ("follow", follow)):
        row = next(row for row in made.comparison if row["label"] == label)
        real = np.mean([run_scenario(world(seed, more), asked.arm(label), seed).mean for seed in asked.seeds])
        assert row["measures"]["mean"] == pytest.approx(real, rel=0.05), label
