"""Real PyTorch training in real containers: it learns, moves without a gap, and follows its cores."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from core.progress import ProgressReader, read_reported
from tests.live.agent_folder import Folder

if TYPE_CHECKING:
    from collections.abc import Callable

    from docker.models.containers import Container

    Start = Callable[..., Container]

pytestmark = [pytest.mark.live, pytest.mark.timeout(400)]

SMALL = {"vae": 0.1, "classifier": 0.2, "birnn": 0.05, "rnn": 0.1, "lstm": 0.1, "gru": 0.1}


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


def command(name: str, steps: int, *more: str) -> list[str]:
    run = ["python3", "-W", "error", "-m", "phasedock_jobs", name, "--steps", str(steps)]
    return [*run, "--size", str(SMALL[name]), "--threads", "1", *more]


def printed(job: Container) -> list[str]:
    return [line for line in job.logs().decode().splitlines() if "loss=" in line and line.startswith("step")]


def ended(job: Container) -> int:
    code: int = job.wait(timeout=300)["StatusCode"]
    return code


@pytest.mark.parametrize("name", sorted(SMALL))
def test_a_program_learns_and_reports(torch_image: str, start_job: Start, folder: Folder, name: str) -> None:
    job = start_job(torch_image, command(name, 30), **folder.options)
    assert ended(job) == 0, job.logs().decode()

    reader = ProgressReader()
    values = [value for _, value in reader.feed(enumerate(printed(job)))]
    assert len(values) == 30
    assert sum(values[-5:]) < 0.97 * sum(values[:5])
    assert (reader.position.steps, reader.position.total_steps) == (30, 30)

    reported = read_reported((folder.path / "readings.csv").read_text())
    assert [one.step for one in reported] == list(range(1, 31))
    assert [one.loss for one in reported] == pytest.approx(values, abs=6e-5)
    now = folder.says()
    assert (now["state"], now["step"], now["steps"]) == ("done", 30, 30)


@pytest.mark.parametrize("name", ["vae", "classifier", "lstm"])
def test_a_job_goes_on_elsewhere_without_losing_or_repeating_a_step(
    torch_image: str, start_job: Start, folder: Folder, name: str
) -> None:
    whole = start_job(torch_image, command(name, 24), cpuset_cpus="1")
    origin = start_job(torch_image, command(name, 24), cpuset_cpus="0", **folder.options)
    folder.wait(lambda now: now["state"] == "running" and now["step"] >= 7)
    folder.want(checkpoint=1, hold=True)
    held = folder.wait(lambda now: now["checkpoint"] == 1 and now["state"] == "held")
    time.sleep(0.5)
    assert folder.says()["step"] == held["step"] == held["checkpoint_step"], "it stands still"
    origin.kill()

    version = folder.want(checkpoint=1)
    target = start_job(torch_image, command(name, 24), cpuset_cpus="1", **folder.options)
    resumed = folder.wait(lambda now: now["version"] == version and now["state"] == "running")
    assert resumed["step"] >= held["checkpoint_step"]
    assert resumed["started"] > held["started"]
    assert (ended(whole), ended(target)) == (0, 0), target.logs().decode()

    assert 7 <= held["step"] < 24
    assert printed(origin) + printed(target) == printed(whole)
    assert [step for step, _ in folder.losses()] == list(range(1, 25))


def test_sigterm_writes_a_checkpoint_from_which_it_goes_on(
    torch_image: str, start_job: Start, folder: Folder
) -> None:
    job = start_job(torch_image, command("gru", 40, "--every", "0"), **folder.options)
    folder.wait(lambda now: now["state"] == "running" and now["step"] >= 5)
    job.stop(timeout=10)
    assert ended(job) == 143
    now = folder.says()
    assert now["state"] == "held"
    assert now["checkpoint_step"] == now["step"] == len(printed(job))
    job.start()
    assert ended(job) == 0
    assert [step for step, _ in folder.losses()] == list(range(1, 41))
    assert len(printed(job)) == 40


def test_a_killed_job_does_its_last_steps_again_and_says_no_loss_twice(
    light_image: str, start_job: Start, folder: Folder
) -> None:
    run = ["python3", "-m", "phasedock_jobs", "mlp", "--steps", "120", "--size", "0.05", "--threads", "1"]
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
    assert f"going on after step {kept} of 120" in lines
    assert (kept % 10, again) == (0, list(range(kept + 1, reached + 1)))
    # it may die between saying a step's loss and keeping its checkpoint
    assert 20 <= kept <= reached <= kept + 10
    assert [step for step, _ in folder.losses()] == list(range(1, 121))


def processor_threads(job: Container) -> int:
    """Threads of the job's process that do at least a fifth of its work, from /proc."""
    tasks = Path(f"/proc/{job.attrs['State']['Pid']}/task")

    def used() -> dict[str, int]:
        times = {one.name: (one / "stat").read_text().rsplit(")", 1)[1].split() for one in tasks.iterdir()}
        return {name: int(fields[11]) + int(fields[12]) for name, fields in times.items()}

    before, until = used(), time.monotonic() + 60
    while (total := sum((after := used()).values()) - sum(before.values())) < 100:
        assert time.monotonic() < until, "it stands still"
        time.sleep(0.1)
    return sum(ticks - before.get(name, 0) >= total / 5 for name, ticks in after.items())


@pytest.mark.parametrize(("image", "name"), [("torch", "vae"), ("light", "mlp")])
def test_threads_follow_on_request_and_are_acknowledged(
    request: pytest.FixtureRequest, start_job: Start, folder: Folder, image: str, name: str
) -> None:
    run = ["python3", "-m", "phasedock_jobs", name, "--steps", "100000", "--size", "0.05", "--every", "0"]
    job = start_job(request.getfixturevalue(f"{image}_image"), run, cpuset_cpus="0,1", **folder.options)
    job.reload()
    assert folder.wait(lambda now: now["state"] == "running")["threads"] == 2
    for wanted in (1, 2, 1):
        version, asked = folder.want(threads=wanted), time.monotonic()
        assert folder.wait(lambda now, version=version: now["version"] >= version)["threads"] == wanted
        assert time.monotonic() - asked < 5, "as the protocol demands"
        assert processor_threads(job) == wanted


def test_static_threads_stay_and_say_so(light_image: str, start_job: Start, folder: Folder) -> None:
    run = ["python3", "-m", "phasedock_jobs", "mlp", "--steps", "5000", "--threads", "2", "--size", "0.1"]
    start_job(light_image, run, **folder.options)
    version = folder.want(threads=1)
    now = folder.wait(lambda now: now["version"] >= version and now["state"] == "running")
    assert now["threads"] == 2


def seconds_per_step(start: Start, image: str, folder: Folder, threads: int) -> float:
    """Wall seconds of a step under half a core."""
    run = ["python3", "-m", "phasedock_jobs", "vae", "--steps", "100000", "--size", "0.05", "--every", "0"]
    folder.want(threads=threads)
    half = {"cpuset_cpus": "0,1", "cpu_period": 100_000, "cpu_quota": 50_000}
    job = start(image, run, **half, **folder.options)
    first = folder.wait(lambda now: now["state"] == "running" and now["step"] >= 3)["step"]
    began = time.monotonic()
    last = folder.wait(lambda now: now["step"] >= first + 40 or time.monotonic() > began + 8)["step"]
    took = time.monotonic() - began
    job.kill()
    return took / max(1, last - first)


def test_under_half_a_core_one_thread_is_faster_than_two(
    torch_image: str, start_job: Start, tmp_path: Path
) -> None:
    folders = [Folder(tmp_path / name) for name in ("one", "two")]
    for folder in folders:
        folder.path.mkdir()
    one = seconds_per_step(start_job, torch_image, folders[0], threads=1)
    two = seconds_per_step(start_job, torch_image, folders[1], threads=2)
    print(f"seconds a step under half a core: {one:.3f} with one thread, {two:.3f} with two")
    assert two > 1.1 * one
