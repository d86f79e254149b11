"""The images of the training programs: they build, and their programs train."""

import pytest

pytestmark = pytest.mark.live


@pytest.mark.parametrize(
    "name", ["mlp", "autoencoder", pytest.param("elman", marks=pytest.mark.long), "factors"]
)
def test_a_numpy_program_trains_in_the_light_image(light_image, start_job, name):
    command = ["python3", "-m", "phasedock_jobs", name, "--steps", "12", "--size", "0.05"]
    job = start_job(light_image, command)
    assert job.wait(timeout=60)["StatusCode"] == 0, job.logs().decode()
    lines = job.logs().decode().splitlines()
    losses = [float(line.split("loss=")[1]) for line in lines if line.startswith("step ")]
    assert len(losses) == 12
    assert losses[-1] < losses[0]
