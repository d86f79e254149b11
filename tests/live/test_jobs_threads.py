"""Threads of jobs in real containers: they follow on request, and the processors used show it."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.live.agent_folder import Folder

if TYPE_CHECKING:
    from collections.abc import Callable

    from docker.models.containers import Container

    Start = Callable[..., Container]

pytestmark = [pytest.mark.live, pytest.mark.timeout(400)]


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


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


def cores_used(job: Container, seconds: float) -> float:
    """Processor seconds that a container uses per second, from its control group through Docker."""

    def used() -> float:
        stats = job.client.api.stats(job.id, stream=False, one_shot=True)
        return float(stats["cpu_stats"]["cpu_usage"]["total_usage"]) / 1e9

    before, began = used(), time.monotonic()
    time.sleep(seconds)
    return (used() - before) / (time.monotonic() - began)


def test_tensorflow_uses_no_more_processors_than_threads_were_asked_for(
    tensorflow_image: str, start_job: Start, folder: Folder
) -> None:
    run = ["python3", "-m", "phasedock_jobs", "tf-classifier", "--steps", "100000", "--size", "0.2"]
    job = start_job(tensorflow_image, run, cpuset_cpus="0,1", **folder.options)
    job.reload()
    assert folder.wait(lambda now: now["state"] == "running" and now["step"] >= 5)["threads"] == 2
    for wanted in (2, 1, 2, 1):
        version = folder.want(threads=wanted)
        assert folder.wait(lambda now, version=version: now["version"] >= version)["threads"] == wanted
        tasks = Path(f"/proc/{job.attrs['State']['Pid']}/task").iterdir()
        allowed = set().union(*(os.sched_getaffinity(int(task.name)) for task in tasks))
        assert len(allowed) == wanted
        # a machine that is shared gives it less than it may have, so threads that work are looked at as well
        assert cores_used(job, 3) < wanted + 0.05
        assert wanted == 1 or processor_threads(job) >= 2
    job.kill()
    steps = [step for step, _ in folder.losses()]
    assert steps == list(range(1, len(steps) + 1)), "nothing was lost or repeated"
