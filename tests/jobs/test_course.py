"""The course of a training job: shards are imported, decoded, learned from in two stages, and uploaded."""

import time

import numpy as np
import pytest

from core.jobs.__main__ import main
from core.jobs.agent import Agent
from core.jobs.catalogue import make
from core.jobs.course import Course, DataPipeline
from core.jobs.programs import shards
from core.jobs.programs.batches import Pace
from core.jobs.programs.data import SIDE, distort
from core.jobs.running import Plan, run
from core.jobs.threads import set_threads


@pytest.fixture(scope="session", autouse=True)
def store(tmp_path_factory):
    """An object store with two training shards and a held-out one."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(shards, "FOLDER", tmp_path_factory.mktemp("store"))
        shards.write_shards(2, 1)
        yield


def agent():
    return Agent(None, lambda threads: threads or 1)


def trained(steps, path, course, stop=None):
    """A program and the lines of its run, or of its first steps, from its checkpoint if there is one."""
    set_threads(1)
    program, said = make("mlp", 3, 0.02), []
    run(program, Plan(stop or steps, path, 20 if course.upload else 1, course, 3), agent(), said.append)
    return program, said


def test_distorted_digits_are_images_that_depend_on_their_seed():
    images, labels = shards.read_shard(shards.shard_paths()[0])
    assert images.shape == (shards.SHARD, SIDE * SIDE)
    assert set(labels.tolist()) == set(range(10))
    squares = images[:300].reshape(-1, SIDE, SIDE)
    bent, again, other = (distort(squares, np.random.default_rng(seed)) for seed in (1, 1, 2))
    assert bent.shape == (300, SIDE * SIDE)
    assert 0 <= bent.min() < bent.max() <= 1
    np.testing.assert_array_equal(bent, again)
    assert (bent != other).any()
    middle = bent.reshape(-1, SIDE, SIDE)[:, 5:11, 5:11].mean()
    assert middle > 2 * bent.reshape(-1, SIDE, SIDE)[:, 0].mean(), "digits stay where they are seen"


def test_a_job_imports_decodes_validates_uploads_and_has_a_second_stage(tmp_path):
    course = Course(shards=2, workers=1, views=2, second=0.5, judge=1, staging=1, upload=100)
    program, said = trained(40, tmp_path / "c.npz", course)
    text = "\n".join(said)
    stages = [
        "2 shards imported", "8000 images decoded", "1000 images scored", "epoch 1/2 val_loss",
        "uploaded in", "batches of 512 from step 21 on", "epoch 2/2 val_loss",
    ]  # fmt: skip
    places = [text.index(stage) for stage in stages]
    assert places == sorted(places)
    assert (program.batch, program.scale) == (512, 2)
    assert len(program.order) == 8000
    assert len(program._test_x) <= 200, "the staging buffer is freed"


@pytest.mark.parametrize("stop", [pytest.param(13, marks=pytest.mark.long), 25])
def test_a_resumed_run_meets_the_same_data(tmp_path, stop, sentence):
    """It has another number of steps when it is stopped, and the second stage begins at the same one."""
    whole, _ = trained(30, None, Course(shards=1, workers=1, second=0.5, renew=1))
    trained(
        30, tmp_path / "c.npz", Course(shards=1, workers=1, second=min(15 / stop, 1.0), renew=1), stop=stop
    )
    resumed, said = trained(30, tmp_path / "c.npz", Course(shards=1, workers=1, second=0.5, renew=1))
    if stop == 25:
        sentence(said[0])
        assert sum("images decoded" in line for line in said) == 1, "those of the second epoch, at once"
    for name, value in whole.parameters.items():
        np.testing.assert_allclose(resumed.parameters[name], value, rtol=1e-5, atol=1e-6)


def test_a_leak_grows_with_every_step():
    program = make("mlp", 3, 0.02)
    with DataPipeline(Course(shards=1, workers=1, leak=0.5), program, 3, 40, print, lambda: None) as data:
        data.prepare(0)
        for number in range(1, 5):
            data.prepare_step(number)
        assert sum(part.nbytes for part in data._leaked) == 4 * 2**19


def test_a_pace_lets_through_its_rate_and_catches_up_for_a_second_at_most(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    monkeypatch.setattr(time, "sleep", lambda seconds: now.__setitem__(0, now[0] + seconds))
    pace = Pace(10.0)
    for _ in range(20):
        pace.wait(1)
    assert now[0] == pytest.approx(2.0)
    now[0] += 5.0
    for _ in range(20):
        pace.wait(1)
    assert now[0] == pytest.approx(8.0)


def test_jobs_without_images_or_shards_say_so(capsys, monkeypatch, tmp_path):
    assert main(["elman", "--steps", "1", "--shards", "1"]) == 2
    assert "Only programs on whole digits" in capsys.readouterr().out
    monkeypatch.setattr(shards, "FOLDER", tmp_path)
    assert main(["mlp", "--steps", "1", "--shards", "1"]) == 2
    assert "There are no shards here" in capsys.readouterr().out
    for wrong in (("--second", "0"), ("--feed", "-1"), ("--shards", "1.5")):
        with pytest.raises(SystemExit):
            main(["mlp", *wrong])
