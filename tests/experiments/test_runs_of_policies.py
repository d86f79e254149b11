"""Runs of every registered policy: chance comes from the seed alone, ledgers are whole, replays agree."""

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.engines.simulated import simulated
from core.errors import InputError
from core.experiments.outcome import Outcome
from core.experiments.parts import Arrivals, JobKind
from core.experiments.scenarios import (
    arrival_times,
    equal_shares,
    fair_completions,
    ground_truth,
    loss_curve,
    scenario,
    work_at_goals,
)
from core.experiments.series import Series
from core.experiments.spec import Arm
from core.experiments.spec_reader import read_experiment
from core.files.ledger import pack, unpack
from core.runs.runner import replay_arm, run_arm
from core.scheduling import actions, model
from core.scheduling.loop import Entry, drive
from core.scheduling.policies import POLICIES
from core.simulation.loss import FAMILIES
from core.simulation.scenario import JobSpec, Scenario, WorkerSpec
from tests.examples import fewer
from tests.experiments.making import RANDOM, some, three
from tests.oracles import slow_experiments


def ledger(experiment, policy, seed):
    world, known = scenario(experiment, seed), POLICIES[policy]
    return tuple(drive(simulated(world, seed), known, known.build_settings({}), seed))


@pytest.mark.parametrize("policy", list(POLICIES))
@fewer(4)
@given(seed=st.integers(0, 10_000))
def test_the_same_seed_gives_the_same_ledger_and_its_replay_agrees(policy, seed):
    experiment = some()
    first = ledger(experiment, policy, seed)
    data = pack(first)
    assert pack(ledger(experiment, policy, seed)) == data
    kept = unpack(data)
    assert kept == first
    assert replay_arm(policy, {}, seed, kept) == []
    assert len({job.id for entry in kept for job in entry.observation.ended}) == experiment.n_jobs


@pytest.mark.parametrize("policy", list(POLICIES))
def test_lines_over_time_never_use_more_than_there_is(policy):
    experiment = some()
    series, outcome = Series(), Outcome(ground_truth(scenario(experiment, 3)))
    for entry in ledger(experiment, policy, 3):
        series.add(entry)
        outcome.add(entry)
    lines, result = series.to_dict(), outcome.result()
    for worker in lines["workers"].values():
        assert max(worker["cpu"]) <= worker["capacity"] + 1e-5
    spans = np.diff([0.0, *lines["time"]])
    for job in scenario(experiment, 3).jobs:
        drawn = lines["jobs"][job.id]
        used = np.dot(drawn["cpu"], spans[drawn["first"] : drawn["first"] + len(drawn["cpu"])])
        assert used >= job.work * 0.999  # contention and migrations take more than the work
    moved = [move for move in lines["moves"] if not move["failed"]]
    assert len(moved) == result.migrations
    assert result.t90 < result.t95 < result.t99 < result.mean
    assert all(job.started is not None and job.slowdown > 0.3 for job in result.jobs)


def test_a_replay_finds_a_decision_that_is_another():
    experiment = three()
    entries = ledger(experiment, "flowcon", 1)
    assert replay_arm("flowcon", {"alpha": 0.2}, 1, entries) != []
    found = replay_arm("flowcon", {"itval": 1.0, "alpha": 0.0001}, 1, entries)
    assert all(each.recorded != each.decided for each in found)


def test_the_thesis_three_jobs():
    experiment = three()
    plain, flow = (run_arm(experiment, arm, 1) for arm in experiment.policies)
    by_id = {job.id: job for job in plain.jobs}
    assert by_id["MNIST-T"].completion == pytest.approx(84.7, abs=0.5)
    assert plain.makespan == pytest.approx(394.0, abs=0.5)
    first, middle, last = sorted(job.completion for job in plain.jobs)
    assert plain.median == pytest.approx(middle)
    assert plain.mean == pytest.approx((first + middle + last) / 3)
    assert plain.worst_slowdown == pytest.approx(1.0)
    assert 54 <= {job.id: job for job in flow.jobs}["MNIST-T"].completion <= 58


def test_goals_are_reached_when_the_noiseless_loss_reaches_them():
    text = "version: 1\nname: one\nworkers: {cores: 2}\njobs: [{id: a, work: 100, at: 10}]\npolicies: [free]"
    experiment = read_experiment(text)
    job = run_arm(experiment, Arm("free", "free"), 5).jobs[0]
    for goal, found in zip((0.9, 0.95, 0.99), (job.t90, job.t95, job.t99), strict=True):
        share = -math.log(1 - goal * (1 - math.exp(-5.2))) / 5.2
        assert found == pytest.approx(50 * share, abs=1e-6)
    blind = Outcome()
    for entry in ledger(experiment, "free", 5):
        blind.add(entry)
    assert blind.result().jobs[0].t90 == pytest.approx(job.t90, rel=0.1)
    assert blind.result().worst_slowdown is None


@pytest.mark.parametrize("family", list(FAMILIES))
@given(early=st.floats(0.36, 0.98))
def test_a_kind_s_early_fall_is_that_of_its_curve(family, early):
    curve = loss_curve(JobKind(early=early), family)
    assert float(curve.reduction(np.array(0.2))) == pytest.approx(early, abs=1e-6)
    goals = work_at_goals(curve)
    assert [float(curve.reduction(np.array(x))) for x in goals] == pytest.approx([0.9, 0.95, 0.99])


def test_an_early_fall_that_no_curve_has_is_refused(refuses):
    with refuses(InputError):
        loss_curve(JobKind(early=0.2), "weibull")


@given(st.lists(st.floats(0.01, 8.0), min_size=1, max_size=12), st.floats(0.5, 16.0))
def test_equal_shares_are_those_of_the_slow_twin(caps, capacity):
    found = equal_shares(np.sort(caps), capacity)
    np.testing.assert_allclose(found, slow_experiments.shares(sorted(caps), capacity), atol=1e-9)


@given(
    st.lists(
        st.tuples(st.integers(0, 20), st.integers(1, 30), st.sampled_from([0.5, 1.0, 2.0])),
        min_size=1, max_size=6
    ),
    st.integers(1, 3),
    st.sampled_from([0.0, 0.05])
)  # fmt: skip
def test_fair_completions_are_those_of_the_slow_twin(jobs, workers, gamma):
    made = Scenario(
        workers=tuple(WorkerSpec(f"w{n}", 2.0) for n in range(workers)),
        jobs=tuple(
            JobSpec(f"j{n}", float(work), float(at), demand) for n, (at, work, demand) in enumerate(jobs)
        ),
        gamma=gamma,
    )
    slow = slow_experiments.fair(jobs, workers, 2.0, gamma, 0.02)
    fair = fair_completions(made)
    found = [fair[f"j{n}"] for n in range(len(jobs))]
    assert found == pytest.approx(slow, abs=0.2)


def test_one_stream_of_chance_leaves_the_others_as_they_are():
    plain = scenario(some(), 7)
    later = scenario(some(RANDOM.replace("within: 100", "within: 200")), 7)
    assert [job.arrival * 2 for job in plain.jobs] == pytest.approx([job.arrival for job in later.jobs])
    assert [job.work for job in plain.jobs] == [job.work for job in later.jobs]
    assert [job.id for job in plain.jobs] == [f"Job-{n + 1}" for n in range(6)]
    assert scenario(some(), 8) != plain
    assert scenario(some(), 7) == plain
    claims = [math.log(job.size_error) for job in plain.jobs]
    assert 0 < max(abs(each) for each in claims) < 0.3


def test_rotation_draws_every_kind_as_often():
    text = RANDOM.replace("{count: 6}", "{count: 6, draw: rotation}")
    models = [job.model for job in scenario(some(text), 1).jobs]
    assert sorted(models) == ["GRU"] * 3 + ["VAE"] * 3


@pytest.mark.parametrize("by", ["together", "spacing", "normal", "uniform", "poisson", "list"])
def test_jobs_come_as_the_rule_says(by):
    rule = Arrivals(by=by, start=5.0, spacing=10.0, spread=1.0, within=50.0, times=(7.0, 9.0, 30.0))
    times = arrival_times(rule, 3, np.random.default_rng(2))
    assert len(times) == 3
    assert times.min() >= 5.0
    expected = {"together": [5, 5, 5], "spacing": [5, 15, 25], "list": [7, 9, 30]}
    if by in expected:
        assert times.tolist() == expected[by]
    elif by == "uniform":
        assert times.max() <= 55.0
    elif by == "normal":
        assert times[0] == 5.0
        assert np.diff(times) == pytest.approx([10.0, 10.0], abs=4.0)
    else:
        assert np.all(np.diff(times) > 0)


FLOATS = st.floats(allow_nan=False)
NAMES = st.text(max_size=5)
JOBS = st.builds(
    model.Job,
    id=NAMES, state=st.sampled_from(model.JobState), worker=st.none() | NAMES, arrived=FLOATS,
    started=st.none() | FLOATS, cpu_seconds=FLOATS, limit=st.none() | FLOATS, weight=FLOATS,
    threads=st.none() | st.integers(1, 99),
    readings=st.lists(st.tuples(FLOATS, FLOATS), max_size=3).map(tuple),
    steps=st.none() | st.integers(0, 10**12), can_migrate=st.booleans(),
    hidden=st.none() | st.builds(model.Hidden, FLOATS)
)  # fmt: skip
ACTIONS = st.one_of(
    st.builds(actions.Start, NAMES, NAMES, st.none() | FLOATS, FLOATS),
    st.builds(actions.SetLimit, NAMES, st.none() | FLOATS, FLOATS),
    st.builds(actions.SetThreads, NAMES, st.integers(1, 9)),
    st.builds(actions.Migrate, NAMES, NAMES),
    *(st.builds(each, NAMES) for each in (actions.Pause, actions.Resume, actions.Stop)),
)
FAILURES = st.lists(st.builds(model.Failure, ACTIONS, NAMES), max_size=2).map(tuple)
ENTRIES = st.builds(
    Entry,
    observation=st.builds(
        model.Observation,
        number=st.integers(0, 10**9), time=FLOATS, trigger=st.sampled_from(model.Trigger),
        workers=st.lists(st.builds(model.Worker, NAMES, FLOATS, FLOATS), max_size=2).map(tuple),
        jobs=st.lists(JOBS, max_size=3).map(tuple), ended=st.lists(JOBS, max_size=1).map(tuple),
        failures=FAILURES
    ),
    actions=st.lists(ACTIONS, max_size=3).map(tuple),
    reasons=st.lists(
        st.builds(
            actions.Reason, NAMES, NAMES, st.none() | NAMES, st.none() | NAMES,
            st.lists(st.tuples(NAMES, FLOATS), max_size=2).map(tuple)
        ),
        max_size=2
    ).map(tuple),
    marks=st.lists(st.builds(actions.Mark, NAMES, NAMES, st.none() | FLOATS), max_size=2).map(tuple),
    wake=st.none() | FLOATS,
    failures=FAILURES
)  # fmt: skip


@given(st.lists(ENTRIES, max_size=3))
def test_any_ledger_survives_as_bytes(entries):
    back = unpack(pack(entries))
    assert back == tuple(entries)
    for one, other in zip(back, entries, strict=True):
        assert type(one.observation.trigger) is type(other.observation.trigger)
        assert repr(one) == repr(other)


@pytest.mark.parametrize("data", [b"", b"not compressed", pack([])[:-3]])
def test_bytes_that_are_no_ledger_are_refused(data, refuses):
    with refuses(InputError):
        unpack(data)


@pytest.mark.parametrize("failing", [0.0, 0.4])
def test_moves_are_those_that_were_seen_to_happen(failing):
    text = (Path(__file__).parents[2] / "data" / "experiments" / "specon-20-mixed.yaml").read_text("utf-8")
    chances = f"control: 1.1 s, checkpoint_failure: {failing}, restore_failure: {failing}"
    experiment = read_experiment(text.replace("control: 1.1 s", chances))
    series, outcome, places, seen_moves = Series(), Outcome(), {}, 0
    for entry in ledger(experiment, "specon", 2):
        series.add(entry)
        outcome.add(entry)
        for job in (*entry.observation.jobs, *entry.observation.ended):
            if job.state is not model.JobState.MIGRATING and job.worker is not None:
                seen_moves += places.setdefault(job.id, job.worker) != job.worker
                places[job.id] = job.worker
    moves = series.to_dict()["moves"]
    assert seen_moves > 0
    assert sum(not move["failed"] for move in moves) == outcome.result().migrations == seen_moves
    assert any(move["failed"] for move in moves) == (failing > 0) == (outcome.result().failed_actions > 0)
    assert all(move["from"] != move["to"] and move["rule"] for move in moves)
