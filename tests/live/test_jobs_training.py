"""Real PyTorch and TensorFlow training in real containers: it learns, and moves without a gap."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from core.jobs.catalogue import CATALOGUE
from core.progress import ProgressReader, read_reported
from tests.live.agent_folder import Folder
from tests.oracles import marginals, recurrent_cells

if TYPE_CHECKING:
    from collections.abc import Callable

    from docker.models.containers import Container

    Start = Callable[..., Container]

pytestmark = [pytest.mark.live, pytest.mark.timeout(400)]

SMALL = {"vae": 0.1, "classifier": 0.2, "birnn": 0.05, "rnn": 0.1, "lstm": 0.1, "gru": 0.1}
SMALL |= {"dynamic-rnn": 0.1, "lstm-crf": 0.1, "gru-forecast": 0.1}
SMALL |= {"tf-vae": 0.05, "tf-classifier": 0.2, "tf-lstm": 0.2, "tf-birnn": 0.05, "tf-dynamic-rnn": 0.1}
SMALL |= {"tf-rnn": 0.1, "tf-gru": 0.1}
MOVED = ("vae", "classifier", "lstm", "lstm-crf", "tf-vae", "tf-dynamic-rnn")
"""Those that differ in what they carry from step to step; all others share their base with one of them."""
STEPS = 160
"""Of a job that is stopped midway: of 7 ms at least, so that it goes on for a second after it was asked."""


@pytest.fixture
def image(request, name):
    """The image of the program that the test is about."""
    return request.getfixturevalue(f"{CATALOGUE[name].image}_image")


@pytest.fixture
def folder(tmp_path):
    return Folder(tmp_path)


def command(name, steps, *more):
    run = ["python3", "-W", "error", "-m", "phasedock_jobs", name, "--steps", str(steps)]
    return [*run, "--size", str(SMALL[name]), "--threads", "1", *more]


def printed(job):
    return [line for line in job.logs().decode().splitlines() if "loss=" in line and line.startswith("step")]


def ended(job):
    return job.wait(timeout=300)["StatusCode"]


@pytest.mark.long
@pytest.mark.parametrize("name", sorted(SMALL))
def test_a_program_learns_and_reports(image, start_job, folder, name):
    job = start_job(image, command(name, 30), **folder.options)
    assert ended(job) == 0, job.logs().decode()

    reader = ProgressReader()
    values = [value for _, value in reader.feed(enumerate(printed(job)))]
    assert len(values) == 30
    assert sum(values[-5:]) < 0.97 * sum(values[:5])
    assert (reader.position.steps, reader.position.total_steps) == (30, 30)

    reported = read_reported((folder.path / "readings.csv").read_text())
    assert [one.step for one in reported] == list(range(1, 31))
    assert [one.loss for one in reported] == pytest.approx(values, abs=6e-5)
    now = folder.read_report()
    assert (now["state"], now["step"], now["steps"]) == ("done", 30, 30)


@pytest.mark.long
@pytest.mark.parametrize("name", MOVED)
def test_a_job_goes_on_elsewhere_without_losing_or_repeating_a_step(image, start_job, folder, name):
    whole = start_job(image, command(name, STEPS), cpuset_cpus="1")
    origin = start_job(image, command(name, STEPS), cpuset_cpus="0", **folder.options)
    folder.wait(lambda now: now["state"] == "running" and now["step"] >= 7)
    folder.send_request(checkpoint=1, hold=True)
    held = folder.wait(lambda now: now["checkpoint"] == 1 and now["state"] == "held")
    time.sleep(0.5)
    assert folder.read_report()["step"] == held["step"] == held["checkpoint_step"], "it stands still"
    origin.kill()

    version = folder.send_request(checkpoint=1)
    target = start_job(image, command(name, STEPS), cpuset_cpus="1", **folder.options)
    resumed = folder.wait(lambda now: now["version"] == version and now["state"] == "running")
    assert resumed["step"] >= held["checkpoint_step"]
    assert resumed["started"] > held["started"]
    assert (ended(whole), ended(target)) == (0, 0), target.logs().decode()

    assert 7 <= held["step"] < STEPS
    assert printed(origin) + printed(target) == printed(whole)
    assert [step for step, _ in folder.losses()] == list(range(1, STEPS + 1))


@pytest.mark.long
@pytest.mark.parametrize("name", ["gru", "tf-dynamic-rnn"])
def test_sigterm_writes_a_checkpoint_from_which_it_goes_on(image, start_job, folder, name):
    job = start_job(image, command(name, STEPS, "--every", "0"), **folder.options)
    folder.wait(lambda now: now["state"] == "running" and now["step"] >= 5)
    job.stop(timeout=60)  # it ends within a second of its own, which a crowded machine may take long to give
    assert ended(job) == 143
    now = folder.read_report()
    assert now["state"] == "held"
    assert now["checkpoint_step"] == now["step"] == len(printed(job))
    job.start()
    assert ended(job) == 0
    assert [step for step, _ in folder.losses()] == list(range(1, STEPS + 1))
    assert len(printed(job)) == STEPS


@pytest.mark.long
def test_a_killed_job_does_its_last_steps_again_and_says_no_loss_twice(light_image, start_job, folder):
    run = ["python3", "-m", "phasedock_jobs", "mlp", "--steps", "200", "--size", "0.05", "--threads", "1"]
    run += ["--every", "10"]
    job = start_job(light_image, run, **folder.options)
    folder.wait(lambda now: now["step"] >= 27)
    job.kill()
    job.wait(timeout=60)
    reached = folder.losses()[-1][0]
    job.start()
    assert ended(job) == 0
    lines = job.logs().decode().splitlines()
    again = [int(line.split()[1].split("/")[0]) for line in lines if line.endswith(" again")]
    kept = reached - len(again)
    assert f"going on after step {kept} of 200" in lines
    assert (kept % 10, again) == (0, list(range(kept + 1, reached + 1)))
    # it may die between saying a step's loss and keeping its checkpoint
    assert 20 <= kept <= reached <= kept + 10
    assert [step for step, _ in folder.losses()] == list(range(1, 201))


MARGINALS = """
import torch
from phasedock_jobs.programs.torch.sequences import marginals
torch.manual_seed(1)
scores, transitions = torch.randn(3, 4, 3, dtype=torch.float64), torch.randn(3, 3, dtype=torch.float64)
found = marginals(scores, transitions)
for one, told in zip(scores.tolist(), found.tolist()):
    for row, right in zip(told, label_probabilities(one, transitions.tolist())):
        assert all(abs(a - b) < 1e-12 for a, b in zip(row, right)), (row, right)
print("equal")
"""


@pytest.mark.long
def test_marginals_of_labels_are_those_of_all_labellings_added_up(torch_image, start_job):
    """The twin adds up every labelling; its text goes into the container, which has no tests."""
    twin = Path(marginals.__file__).read_text(encoding="utf-8")
    job = start_job(torch_image, ["python3", "-c", twin + MARGINALS])
    assert ended(job) == 0, job.logs().decode()
    assert job.logs().decode().splitlines()[-1] == "equal"


CELLS = """
import numpy as np
import tensorflow as tf
from phasedock_jobs.programs.tensorflow.program import GATES, draw_layer, run_layer, run_layer_until
rng = np.random.default_rng(1)
x, lengths = rng.normal(size=(3, 5, 2)).astype(np.float32), np.array([5, 1, 3], np.int32)
for kind in GATES:
    layer = draw_layer("one", kind, 2, 4, rng)
    layer["one.b"] = rng.normal(size=layer["one.b"].shape).astype(np.float32)
    W, U, b = (layer[f"one.{name}"].tolist() for name in "WUb")
    right = [units_over_time(kind, series.tolist(), W, U, b) for series in x]
    variables = {name: tf.Variable(value) for name, value in layer.items()}
    assert np.abs(run_layer(variables, "one", kind, x) - np.array(right)).max() < 1e-5, kind
    turned = [units_over_time(kind, series[::-1].tolist(), W, U, b)[::-1] for series in x]
    assert np.abs(run_layer(variables, "one", kind, x, backwards=True) - np.array(turned)).max() < 1e-5, kind
    if kind == "plain":
        ends = np.array([series[length - 1] for series, length in zip(right, lengths)])
        assert np.abs(run_layer_until(variables, "one", x, lengths) - ends).max() < 1e-5
print("equal")
"""


@pytest.mark.long
def test_recurrent_layers_are_those_computed_unit_by_unit(tensorflow_image, start_job):
    twin = Path(recurrent_cells.__file__).read_text(encoding="utf-8")
    job = start_job(tensorflow_image, ["python3", "-c", twin + CELLS])
    assert ended(job) == 0, job.logs().decode()
    assert job.logs().decode().splitlines()[-1] == "equal"
