"""Experiments with deadlines: from tables, by times and multiples, at a load; and what is measured."""

import math

import numpy as np
import pytest

from core.cli.offline_experiments import deadline_jobs, deadlines
from core.errors import InputError
from core.experiments.measures import DEADLINE_MEASURES, JobOutcome, Run
from core.experiments.outcome import Outcome, RunResult
from core.experiments.scenarios import scenario
from core.experiments.spec_reader import from_dict, read_experiment
from core.runs import bundled
from core.runs.runner import run_arm

JOBS = """\
name,come,until,cpus,iterations,net,batch
a,0,100,2,400,bert,64
b,50,90,1,100,vgg,64
c,60,,4,200,bert,64
"""
SPEEDS = """\
net,batch,n,ips
bert,64,2,6
bert,64,1,4
vgg,64,1,2
bert,64,4,8
"""
TABLE = """\
version: 1
name: From a table
workers: {cores: 8}
jobs:
  from: jobs.csv
  columns: {id: name, at: come, due: until, request: cpus, steps: iterations, kind: [net, batch]}
  throughput: {from: speeds.csv, columns: {kind: [net, batch], cores: n, speed: ips}}
  each: {malleable: true, values: 4}
policies: [fifo, deadline]
baseline: fifo
"""


def read(text=TABLE, jobs=JOBS, speeds=SPEEDS):
    return read_experiment(text, {"jobs.csv": jobs, "speeds.csv": speeds}.__getitem__)


def test_a_table_becomes_jobs_and_kinds_as_if_they_were_written_down():
    made = read()
    assert [job.id for job in made.jobs] == ["a", "b", "c"]
    assert made.kinds["bert 64"].throughput == ((1.0, 4.0), (2.0, 6.0), (4.0, 8.0))
    assert from_dict(made.to_dict()) == made
    a, b, c = scenario(made, 1).jobs
    assert (a.work, a.steps, a.request, a.deadline) == (100.0, 400, 2.0, 100.0)
    assert (b.arrival, b.deadline, c.deadline) == (50.0, 40.0, None)
    assert a.profile.points == ((1.0, 0.25), (2.0, pytest.approx(1 / 6)), (4.0, 0.125))


def test_a_file_finds_the_tables_beside_it(tmp_path, refuses):
    (tmp_path / "jobs.csv").write_text(JOBS)
    (tmp_path / "speeds.csv").write_text(SPEEDS)
    (tmp_path / "made.yaml").write_text(TABLE)
    assert bundled.load(str(tmp_path / "made.yaml")) == read()
    (tmp_path / "speeds.csv").unlink()
    with refuses(InputError):
        bundled.load(str(tmp_path / "made.yaml"))


@pytest.mark.parametrize(
    ("text", "jobs"),
    [
        (TABLE.replace("until", "end"), JOBS),
        (TABLE, JOBS.replace("90", "soon")),
        (TABLE.replace("id: name, ", ""), JOBS),
        (TABLE.replace("due: until", "by: until"), JOBS),
        (TABLE, JOBS.replace("\nb,", "\na,")),
    ],
)
def test_a_table_that_cannot_be_read_is_refused_by_name_line_and_column(text, jobs, refuses):
    with refuses(InputError):
        read(text, jobs)


def test_a_table_is_read_only_beside_a_file(refuses):
    with refuses(InputError):
        read_experiment(TABLE)


AT_LOAD = TABLE.replace(
    "policies:", "drawn: {count: 40, draw: jobs}\narrivals: {by: load, load: 0.5}\npolicies:"
)


def test_jobs_are_drawn_from_the_listed_ones_at_a_load():
    drawn = scenario(read(AT_LOAD), 3).jobs
    asked = sum(job.request * job.work / job.speedup.speed(job.request) for job in drawn)
    assert len(drawn) == read(AT_LOAD).n_jobs == 40
    assert {job.work for job in drawn} == {100.0, 50.0}
    arrivals = np.array([job.arrival for job in drawn])
    assert (np.diff(arrivals) >= 0).all()
    assert asked / (8 * 0.5) * 0.7 < arrivals[-1] <= asked / (8 * 0.5)
    assert {job.deadline for job in drawn} == {100.0, 40.0, None}
    assert scenario(read(AT_LOAD), 3) == scenario(read(AT_LOAD), 3) != scenario(read(AT_LOAD), 4)


def test_jobs_drawn_from_kinds_and_listed_ones_come_at_a_load_too():
    made = read_experiment(
        """\
version: 1
name: At a load
workers: {cores: 4, id: w}
kinds:
  small: {work: [50, 150], request: 1}
  wide: {work: 400, request: 2, fixed: 0.2}
jobs: [{id: first, kind: small, work: 100}]
drawn: {count: 30, draw: rotation}
arrivals: {by: load, load: 2}
policies: [fifo]
"""
    )
    drawn = scenario(made, 1).jobs
    # 0.2 + 0.8/2 of its time with two cores: 400 core-seconds take 480 there
    asked = 100.0 + 15 * 100.0 + 15 * 2 * 400.0 * 0.6
    arrivals = [job.arrival for job in drawn]
    assert len(drawn) == 31
    assert 0.7 * asked / 8 < max(arrivals) <= asked / 8


def test_a_deadline_is_a_time_a_duration_or_a_multiple_of_the_time_at_the_request():
    made = read_experiment(
        """\
version: 1
name: Deadlines
workers: {cores: 4}
kinds:
  even: {work: 80, request: 2, slack: 1.5}
  said: {work: 80, deadline: 30}
  drawn: {work: 80, slack: [0.5, 1.5]}
jobs:
  - {id: own, kind: even, at: 10, deadline: 7}
  - {id: due, kind: even, at: 10, due: 25}
  - {id: times, kind: even, at: 10, slack: 2}
  - {id: kind, kind: even, at: 10}
  - {id: said, kind: said, at: 10}
  - {id: past, kind: said, at: 10, due: 5}
  - {id: drawn, kind: drawn, at: 10}
policies: [fifo]
"""
    )
    found = {job.id: job.deadline for job in scenario(made, 1).jobs}
    assert 40.0 <= found.pop("drawn") <= 120.0
    assert found == {"own": 7.0, "due": 15.0, "times": 80.0, "kind": 60.0, "said": 30.0, "past": 0.001}


def test_predictions_are_wrong_by_as_much_as_the_world_says():
    text = AT_LOAD.replace("count: 40", "count: 2000") + "world: {prediction_error: 0.3}\n"
    jobs = [job for job in scenario(read(text), 1).jobs if job.profile]
    wrong = [math.log(job.profile.points[0][1] * job.steps / job.work) for job in jobs]
    assert np.std(wrong) == pytest.approx(0.3, abs=0.02)
    assert np.mean(wrong) == pytest.approx(0.0, abs=0.03)
    exact = scenario(read(AT_LOAD), 1).jobs
    assert {job.profile.points[0][1] * job.steps / job.work for job in exact} == {1.0}


def job(name, completion, deadline, *, state="done", used=10.0, **more):
    return JobOutcome(
        name, "", 100.0, 100.0, 100.0 + completion, completion, None, None, None, None, None, 0, state,
        used=used, deadline=deadline, **more
    )  # fmt: skip


def test_what_became_of_deadlines():
    jobs = [
        job("met", 50.0, 50.0, promised=True, allocated=20.0, predicted_end=140.0),
        job("late", 60.0, 50.0, promised=True, allocated=20.0, predicted_end=166.0),
        job("later", 80.0, 50.0, promised=False, allocated=20.0),
        job("refused", 0.0, 50.0, state="refused", used=0.0),
        job("none", 500.0, None, allocated=100.0, used=100.0),
    ]
    assert deadline_jobs(jobs)[0] == {
        "id": "met", "submitted": 100.0, "deadline": 150.0, "admitted": True, "started": 100.0,
        "ended": 150.0, "predicted_end": 140.0, "core_seconds": 10.0, "state": "done", "met": True
    }  # fmt: skip
    run = Run(jobs, 4.0)
    assert {name: each.of(run) for name, each in DEADLINE_MEASURES.items()} == {
        "met": 0.25, "promised": 0.5, "kept": 0.5, "tardiness": 20.0, "tardiness_p95": pytest.approx(29.0),
        "utilisation": 130.0 / 160.0, "lost": 20.0, "prediction_error": pytest.approx(0.15),
        "prediction_error_p90": pytest.approx(0.19)
    }  # fmt: skip


def test_a_run_measures_what_its_jobs_say():
    made = read(AT_LOAD.replace("load: 0.5", "load: 3"))
    result = run_arm(made, made.arm("deadline"), 1)
    found = deadlines(result)
    assert 0 < found["met"] <= found["admitted"] < found["submitted"]
    assert found["met_of_admitted"] == 1.0 == result.kept
    assert found["tardiness_mean"] == result.tardiness
    assert result.utilisation == pytest.approx(1.0)
    assert all(job.predicted_end for job in result.jobs if job.promised)
    assert RunResult.from_dict(result.to_dict()).jobs == result.jobs
    assert deadlines(Outcome().result()) is None
    assert run_arm(made, made.arm("fifo"), 1).jobs[0].promised is None
    assert Outcome().result().met is None
