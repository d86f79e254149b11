"""The course of a training: what is read and varied, and that a resumed run meets the same data."""

import numpy as np
import pytest

from core.jobs.__main__ import main
from core.jobs.agent import Agent
from core.jobs.catalogue import make
from core.jobs.programs.data import SIDE, generate_distorted_digits
from core.jobs.running import DataOptions, DataPipeline, Plan, run


def nothing():
    """Called now and then."""


def agent():
    return Agent(None, lambda threads: threads or 1)


def trained(steps, path, course, stop=None):
    """Losses and lines of a run, or of its first steps, from its checkpoint if there is one."""
    program, said = make("mlp", 3, 0.02), []
    run(program, Plan(stop or steps, path, 1, course, 3), agent(), said.append)
    return program, said


def test_varied_digits_are_images_that_depend_on_their_seed():
    images, labels = generate_distorted_digits(300, (1, 2, 3))
    assert images.shape == (300, SIDE * SIDE)
    assert images.dtype == np.float32
    assert 0 <= images.min() < images.max() <= 1
    assert set(labels.tolist()) == set(range(10))
    again, other = generate_distorted_digits(300, (1, 2, 3)), generate_distorted_digits(300, (1, 2, 4))
    np.testing.assert_array_equal(images, again[0])
    assert (images != other[0]).any()
    middle = images.reshape(-1, SIDE, SIDE)[:, 5:11, 5:11].mean()
    assert middle > 2 * images.reshape(-1, SIDE, SIDE)[:, 0].mean(), "digits stay where they are seen"


def test_what_is_said_happens_and_the_second_stage_has_larger_batches(tmp_path):
    course = DataOptions(load=2, augment=1, judge=1, second=0.5)
    program, said = trained(40, tmp_path / "c.npz", course)
    text = "\n".join(said)
    assert "2 thousand images read" in text
    assert "epoch 1 varied" in text
    assert "epoch 2 varied" in text
    assert "batches of 512 from step 21 on" in text
    assert program.batch == 512
    assert len(program._test_x) == 1000


@pytest.mark.parametrize("renew", [1, pytest.param(2, marks=pytest.mark.long)])
def test_a_resumed_run_meets_the_same_data(tmp_path, renew, sentence):
    course = DataOptions(augment=1, renew=renew)
    whole, _ = trained(30, None, course)
    trained(30, tmp_path / "c.npz", course, stop=25)
    resumed, said = trained(30, tmp_path / "c.npz", course)
    sentence(said[0])
    assert [line.split(" in ")[0] for line in said if "varied" in line] == [f"epoch {3 - renew} varied"]
    for name, value in whole.parameters.items():
        np.testing.assert_allclose(resumed.parameters[name], value, rtol=1e-5, atol=1e-6)


def test_who_cannot_be_given_other_data_says_so(capsys):
    assert main(["elman", "--steps", "1", "--augment", "1"]) == 2
    assert "Only programs on digits" in capsys.readouterr().out
    DataPipeline(DataOptions(), make("elman", 1, 0.05), 1, 1, print, nothing)
    with pytest.raises(SystemExit):
        main(["mlp", "--second", "0"])
