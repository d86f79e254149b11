"""Recorded executions become jobs, with work and demand of the slow twin; what cannot be made is named."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import InputError
from core.experiments.recorded import (
    TraceJobs,
    experiment_values,
    jobs_from_traces,
    quantile_over_time,
    weights,
)
from core.experiments.scenarios import scenario
from core.experiments.spec_reader import from_dict
from core.runs.runner import run_arm
from core.traces.model import Feature, Role, TraceSet
from core.units import Unit
from tests.builders import small_traces
from tests.oracles import slow_experiments

CORES = Feature("cpu", Role.CPU, Unit.CORES)
LOSS = Feature("loss", Role.LOSS)


def traces(*executions, features=(CORES,), gaps=(), **more):
    """Executions of (time, value of each feature) samples; `gaps` are indices of samples after a gap."""
    flat = [sample for execution in executions for sample in execution]
    offsets = np.cumsum([0, *(len(execution) for execution in executions)])
    columns = tuple(np.array([sample[at + 1] for sample in flat], float) for at in range(len(features)))
    names = tuple(f"run-{at}" for at in range(len(executions)))
    return TraceSet(features, columns, np.array([sample[0] for sample in flat], float), names, offsets,
                    2.0, np.array(gaps, dtype=np.int64), **more)  # fmt: skip


STEADY = [(10.0, 1.0), (12.0, 1.0), (14.0, 1.0)]
LATER = [(110.0, 2.0), (112.0, 0.5), (116.0, 0.5)]


@given(
    st.lists(st.tuples(st.floats(0.1, 50.0), st.floats(0.01, 32.0), st.booleans()), min_size=2, max_size=30)
)
def test_work_and_demand_are_those_of_the_slow_twin(pieces):
    times = np.cumsum([spent for spent, _, _ in pieces]).tolist()
    samples = [(time, cores) for time, (_, cores, _) in zip(times, pieces, strict=True)]
    gaps = tuple(at for at, (_, _, gap) in enumerate(pieces) if gap and at)
    made = jobs_from_traces(traces(samples, gaps=gaps), TraceJobs(quantile=0.8))
    marked = [(time, cores, at in gaps) for at, (time, cores) in enumerate(samples)]
    work, seconds = slow_experiments.work_of(marked, 2.0)
    (job,) = made.jobs
    assert job.work == pytest.approx(work, rel=1e-5)
    assert made.durations[job.id] == pytest.approx(seconds)
    spent = weights(traces(samples, gaps=gaps), slice(0, len(samples))).tolist()
    high = slow_experiments.smallest_not_exceeded([cores for _, cores in samples], spent, 0.8)
    assert job.demand == pytest.approx(max(high, work / seconds), rel=1e-5)
    # alone, a job takes at most as long as it was recorded
    assert job.work / job.demand <= seconds * (1 + 1e-5)


@given(
    st.lists(st.tuples(st.floats(0.0, 9.0), st.floats(0.1, 9.0)), min_size=1, max_size=20),
    st.floats(0.5, 1.0),
)
def test_a_quantile_over_time_is_that_of_the_slow_twin(pieces, share):
    values, seconds = (np.array(each) for each in zip(*pieces, strict=True))
    slow = slow_experiments.smallest_not_exceeded(values.tolist(), seconds.tolist(), share)
    assert quantile_over_time(values, seconds, share) == slow


def test_arrivals_are_as_recorded_or_compressed_in_proportion():
    set_ = traces(LATER, STEADY, [(60.0, 1.0), (62.0, 1.0)])
    made = jobs_from_traces(set_)
    assert [(job.id, job.at) for job in made.jobs] == [("run-1", 0.0), ("run-2", 50.0), ("run-0", 100.0)]
    pressed = jobs_from_traces(set_, TraceJobs(spacing="compressed", within=10.0))
    assert [job.at for job in pressed.jobs] == [0.0, 5.0, 10.0]
    assert [job.work for job in pressed.jobs] == [job.work for job in made.jobs]


def test_so_many_are_made_the_first_ones_or_spread_over_all():
    set_ = traces(*([(10.0 * at, 1.0), (10.0 * at + 2, 1.0)] for at in range(9)))
    first = jobs_from_traces(set_, TraceJobs(count=3))
    assert [job.id for job in first.jobs] == ["run-0", "run-1", "run-2"]
    spread = jobs_from_traces(set_, TraceJobs(count=3, pick="spread"))
    assert [job.id for job in spread.jobs] == ["run-0", "run-4", "run-8"]


def test_with_the_mean_as_demand_a_job_takes_alone_as_long_as_recorded():
    made = jobs_from_traces(traces(LATER), TraceJobs(demand="mean", losses=False))
    experiment = from_dict(experiment_values(made, "Mine") | {"policies": ["free"], "baseline": "free"})
    result = run_arm(experiment, experiment.policies[0], 1)
    assert result.jobs[0].completion == pytest.approx(made.durations["run-0"], rel=1e-4)


def test_what_cannot_be_made_is_named(refuses):
    missing = [(0.0, 1.0), (2.0, np.nan), (4.0, 1.0)]
    made = jobs_from_traces(traces(STEADY, [(5.0, 1.0)], [(0.0, 0.0), (2.0, 0.0)], missing, []))
    assert [job.id for job in made.jobs] == ["run-0"]
    said = {each.execution: each.reason for each in made.left_out}
    assert said == {
        "run-1": "“run-1” has 1 sample: its time is not known.",
        "run-2": "“run-2” used no CPU.",
        "run-3": "“run-3” has no CPU for 33% of its time.",
        "run-4": "“run-4” has 0 samples: its time is not known.",
    }
    with refuses(InputError):
        jobs_from_traces(traces([(5.0, 1.0)]))


def test_a_set_without_cpu_in_cores_is_refused(refuses):
    share = Feature("cpu", Role.CPU, Unit.SHARE)
    with refuses(InputError):
        jobs_from_traces(traces(STEADY, features=(share,)))
    with refuses(InputError):
        jobs_from_traces(traces(STEADY, features=(Feature("memory", Role.MEMORY, Unit.BYTES),)))


def test_what_is_uncertain_is_said(refuses):
    full, idle = [(0.0, 0.99, 1.0), (2.0, 1.0, 1.0), (40.0, 1.0, 1.0)], [(0.0, 0.2, 1.0), (2.0, 0.2, 1.0)]
    limit = Feature("limit", Role.CPU_LIMIT, Unit.CORES)
    limited = traces(full, idle, features=(CORES, limit), gaps=(2,))
    notes = " ".join(jobs_from_traces(limited).notes)
    for words in (
        "All recordings begin at the same time",
        "1 job ran at the CPU limit",
        "1 job had gaps",
        "2 jobs without a falling recorded loss",
    ):
        assert words in notes, words
    with refuses(InputError):
        jobs_from_traces(limited, TraceJobs(spacing="compressed"))


def test_recorded_losses_are_replayed_against_the_work_that_was_done():
    falling = [(2.0 * at, 1.0, 8.0 - at) for at in range(1, 7)]
    rising = [(2.0 * at, 1.0, float(at)) for at in range(1, 7)]
    set_ = traces(falling, rising, features=(CORES, LOSS), attributes={"workload": ["run-0", "run-0"]})
    made = jobs_from_traces(set_)
    first, second = made.jobs
    assert (first.kind, second.kind) == ("run-0 (recorded loss)", "run-0")
    kind = made.kinds[first.kind]
    assert (kind.losses[0], kind.losses[-1], kind.values) == (7.0, 2.0, 6)
    # a sixth of the work is done at each of the six samples
    assert kind.losses[len(kind.losses) // 2] == pytest.approx(8.0 - 3, abs=0.1)
    assert made.kinds[second.kind].losses == ()
    experiment = from_dict(experiment_values(made, "Mine"))
    assert from_dict(experiment.to_dict()) == experiment
    spec = next(job for job in scenario(experiment, 1).jobs if job.id == first.id)
    assert spec.loss.level(np.array([0.0, 1.0])).tolist() == [7.0, 2.0]
    assert run_arm(experiment, experiment.policies[0], 1).failed_jobs == 0
    assert not jobs_from_traces(set_, TraceJobs(losses=False)).kinds["run-0"].losses


def test_an_experiment_of_traces_has_room_for_its_jobs(refuses):
    made = jobs_from_traces(small_traces(6))
    values = experiment_values(made, "Mine")
    experiment = from_dict(values)
    cores = experiment.workers[0].cores
    assert cores * 2 >= made.busiest
    assert cores >= max(job.demand for job in experiment.jobs)
    assert experiment.n_jobs == 6
    assert from_dict(experiment.to_dict()) == experiment
    with refuses(InputError):
        from_dict(values | {"kinds": {**values["kinds"], "x": {"losses": [1.0, 2.0]}}})


def test_two_samples_at_one_time_are_refused(sentence):
    made = jobs_from_traces(replace(traces(STEADY, [(5.0, 1.0), (5.0, 1.0)])))
    sentence(made.left_out[0].reason)
