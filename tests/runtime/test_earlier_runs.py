"""Runs teach those after them: what an engine's jobs showed is known for the next job of their kind."""

from types import SimpleNamespace

import pytest

from core.engines.simulated import simulated
from core.experiments.scenarios import scenario
from core.experiments.spec_reader import read_experiment
from core.live.attach.policy_loop import UnsubmittedContainers
from core.scheduling.deadline_planning.run_history import Pace, RunMeasurement
from core.scheduling.deadline_planning.speed import predict_speed
from core.scheduling.loop import drive
from core.scheduling.policies import POLICIES
from core.workspace.database import Database
from core.workspace.earlier_runs import EarlierRuns, Kind, LearningEngine

JOBS = """\
version: 1
name: Three of a kind
workers: {cores: 4}
kinds:
  VAE: {work: 300, steps: 600, request: 1, malleable: true, threads: 1, fixed: 0.2}
jobs:
  - {id: a, kind: VAE, at: 0, deadline: 900}
  - {id: b, kind: VAE, at: 40, deadline: 500}
  - {id: c, kind: VAE, at: 80, deadline: 800}
policies: [deadline]
"""
KIND = Kind("mine", ("train",))


def seconds(cores):
    """What a step of these jobs takes."""
    return 0.5 * (0.2 + 0.8 / cores)


@pytest.fixture
def earlier(tmp_path):
    return EarlierRuns(Database(f"sqlite:///{tmp_path}/runs.db"))


def run(earlier, policy="deadline", profiles=None):
    made = scenario(read_experiment(JOBS), 1)
    engine = LearningEngine(simulated(made, 1), {job.id: KIND for job in made.jobs}, profiles or {}, earlier)
    chosen = POLICIES[policy]
    return list(drive(engine, chosen, chosen.build_settings({}), 1))


def test_what_jobs_showed_is_known_of_the_next_one(earlier):
    assert earlier.profile(KIND) is None
    entries = run(earlier)
    given = {job.limit for entry in entries for job in entry.observation.jobs if job.limit}
    known = earlier.of(KIND)
    assert (known.runs, known.steps) == (3, 600)
    assert {at for at, _ in known.points} <= given
    assert len(known.points) > 1
    for cores, each in known.points:
        assert each == pytest.approx(seconds(cores), rel=0.02)
    assert predict_speed(known.profile()).seconds(3.0) == pytest.approx(seconds(3.0), rel=0.05)


def test_how_wrong_predictions_were_is_remembered_with_them(earlier):
    run(earlier)
    profile = earlier.profile(KIND)
    run(earlier, profiles=dict.fromkeys("abc", profile))
    ratios = earlier.of(KIND).ratios
    assert len(ratios) == 3
    assert ratios == pytest.approx([1.0] * 3, rel=0.05)


def test_kinds_know_nothing_of_each_other(earlier):
    run(earlier)
    assert earlier.profile(Kind("mine", ("train", "--wide"))) is None
    assert earlier.profile(Kind("mine", ("train",), "faces")) is None


def test_recordings_that_are_replayed_teach_real_jobs_nothing(earlier):
    run(earlier.replayed())
    assert earlier.profile(KIND) is None
    told = Kind("mine", ("python3", "-m", "phasedock_jobs", "mlp", "--steps", "9"))
    earlier.replayed().add(told, RunMeasurement(paces={1.0: Pace(0.1, 1.0)}, steps=47))
    assert earlier.replayed().profile(told).steps == 47, "a recording has as many as it has"
    assert earlier.profile(told) is None


def unsubmitted_run(earlier, labels, policy="deadline", stops=None):
    """As `run`, with a container for each job that people started themselves."""
    made = scenario(read_experiment(JOBS), 1)
    there = {job.id: SimpleNamespace(image="mine", command=("train",), labels=labels) for job in made.jobs}
    engine = UnsubmittedContainers(
        simulated(made, 1), lambda: {job: job for job in there}, there.get, earlier
    )
    chosen = POLICIES[policy]
    entries = []
    for entry in drive(engine, chosen, chosen.build_settings({}), 1):
        entries.append(entry)
        if stops is not None and entry.observation.time >= stops:
            break
    engine.close()
    return entries


def test_containers_that_people_start_themselves_teach_each_other_by_image_command_and_data(earlier):
    faces = {"phasedock.data": "faces"}
    unsubmitted_run(earlier, faces, "free")
    assert earlier.of(KIND).runs == 0
    known = earlier.of(KIND._replace(data="faces"))
    assert (known.runs, known.steps, known.startup) == (3, 600, None)
    told = {
        job.id: job.terms_or_default.profile
        for entry in unsubmitted_run(earlier, faces)
        for job in entry.observation.jobs
    }
    assert set(told.values()) == {known.profile()}
    assert earlier.of(KIND._replace(data="faces")).runs == 6


def test_what_was_seen_of_them_is_kept_when_the_policy_lets_go(earlier):
    unsubmitted_run(earlier, {}, "free", stops=60.0)
    assert earlier.of(KIND).points


def test_submitted_containers_are_left_to_their_queue(earlier):
    unsubmitted_run(earlier, {"phasedock.submission": "x"}, "free")
    assert earlier.of(KIND).runs == 0
