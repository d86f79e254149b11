"""The NumPy programs: they learn, a seed is a series, and an interruption leaves no trace in it."""

import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from core.jobs.__main__ import main
from core.jobs.agent import Agent, Stopped
from core.jobs.catalogue import CATALOGUE, make
from core.jobs.running import Plan, run
from core.jobs.threads import POOLS
from core.progress import ProgressReader

LIGHT = [name for name, entry in CATALOGUE.items() if entry.image == "light"]
SIZE = 0.03


def losses(lines):
    return [line for line in lines if "loss=" in line and line.startswith("step")]


def one_run(name, steps, checkpoint=None, seed=1, every=0):
    lines = []
    run(make(name, seed, SIZE), Plan(steps, checkpoint, every), Agent(None, lambda _: 1), lines.append)
    return lines


def interrupted_run(name, steps, stop_after, checkpoint):
    """Lines until SIGTERM comes after so many steps."""
    lines = []
    agent = Agent(None, lambda _: 1)

    def say(line):
        lines.append(line)
        if line.startswith(f"step {stop_after}/"):
            agent.terminate()

    with pytest.raises(Stopped):
        run(make(name, 1, SIZE), Plan(steps, checkpoint), agent, say)
    return lines


@pytest.mark.parametrize("name", LIGHT)
def test_a_program_learns_and_its_losses_can_be_read(name):
    lines = one_run(name, 25)
    reader = ProgressReader()
    values = [value for _, value in reader.feed(enumerate(lines))]
    assert len(values) == 25
    assert values[-1] < 0.97 * values[0]
    assert (reader.position.steps, reader.position.total_steps) == (25, 25)
    assert any(line.startswith("epoch 1/2 val_loss=") for line in lines)
    assert lines[-1].startswith("done: 25 steps")


@pytest.mark.parametrize("name", LIGHT)
def test_a_seed_decides_the_series(name):
    assert losses(one_run(name, 6)) == losses(one_run(name, 6))
    assert losses(one_run(name, 6)) != losses(one_run(name, 6, seed=2))


@pytest.mark.parametrize("name", LIGHT)
@pytest.mark.parametrize(
    "stop_after", [pytest.param(1, marks=pytest.mark.long), 13, pytest.param(20, marks=pytest.mark.long)]
)
def test_interrupted_and_resumed_is_the_same_series(name, stop_after, tmp_path):
    whole = losses(one_run(name, 24))
    before = interrupted_run(name, 24, stop_after, tmp_path / "checkpoint.npz")
    after = one_run(name, 24, tmp_path / "checkpoint.npz")
    assert len(losses(before)) == stop_after
    assert losses(before) + losses(after) == whole
    assert after[0] == f"going on after step {stop_after} of 24"


def test_a_finished_job_that_is_started_again_is_done(tmp_path):
    one_run("mlp", 4, tmp_path / "checkpoint.npz", every=2)
    lines = one_run("mlp", 4, tmp_path / "checkpoint.npz")
    assert not losses(lines)
    assert lines[-1].startswith("done")


def test_a_disk_that_is_full_is_said_and_the_training_goes_on(tmp_path):
    lines = one_run("factors", 3, tmp_path / "no such folder" / "checkpoint.npz", every=1)
    assert len(losses(lines)) == 3
    assert sum("could not be written" in line for line in lines) == 3


@pytest.fixture
def process(tmp_path):
    """A program that runs for long, with an agent's folder."""
    command = [
        sys.executable,
        "-m",
        "core.jobs",
        "mlp",
        "--steps",
        "100000",
        "--size",
        "0.01",
        "--every",
        "0",
    ]
    settings = os.environ | {"PHASEDOCK_AGENT": str(tmp_path), "OPENBLAS_NUM_THREADS": "1"}
    with subprocess.Popen(command, env=settings, stdout=subprocess.PIPE, text=True) as running:
        yield running
        running.kill()


def wait_for_step(folder, at_least):
    until = time.monotonic() + 30
    while time.monotonic() < until:
        try:
            step = int(json.loads((folder / "says.json").read_text())["step"])
        except FileNotFoundError:
            step = 0
        if step >= at_least:
            return step
        time.sleep(0.02)
    raise AssertionError("the job did not get so far")


def test_a_real_process_ends_at_sigterm_with_its_checkpoint(process, tmp_path):
    wait_for_step(tmp_path, 5)
    process.send_signal(signal.SIGTERM)
    assert process.wait(10) == 143
    told = json.loads((tmp_path / "says.json").read_text())
    with np.load(tmp_path / "checkpoint.npz", allow_pickle=False) as checkpoint:
        assert int(checkpoint["step"]) == told["step"] == told["checkpoint_step"]
    assert told["state"] == "held"
    assert len((tmp_path / "readings.csv").read_text().splitlines()) == told["step"]


def test_the_command_runs_a_program(tmp_path, capsys, monkeypatch):
    for variable in POOLS:
        monkeypatch.setenv(variable, "7")  # put back afterwards
    handler = signal.getsignal(signal.SIGTERM)
    path = tmp_path / "checkpoint.npz"
    try:
        assert (
            main(["elman", "--steps", "2", "--size", "0.01", "--threads", "1", "--checkpoint", str(path)])
            == 0
        )
        assert [os.environ[variable] for variable in POOLS] == ["1", "1"]
        assert main(["vae", "--steps", "2"]) == 2
        assert main(["tf-vae", "--steps", "2"]) == 2
    finally:
        signal.signal(signal.SIGTERM, handler)
    printed = capsys.readouterr().out
    assert "step 2/2 loss=" in printed
    assert "vae needs torch, which this image lacks. Use phasedock-jobs:torch." in printed
    assert "needs tensorflow, which this image lacks. Use phasedock-jobs:tensorflow." in printed


WRONG = ("nothing", "mlp --size 0", "mlp --size nan", "mlp --size x", "mlp --steps 0", "mlp --seed -1")


@pytest.mark.parametrize("wrong", [*WRONG, "mlp --threads 0", "mlp --threads many"])
def test_a_wrong_command_is_refused_in_words(wrong, capsys):
    with pytest.raises(SystemExit) as refused:
        main(wrong.split())
    assert refused.value.code == 2
    assert "error: argument" in capsys.readouterr().err
