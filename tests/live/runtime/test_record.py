"""Recordings of real containers: what is stored is what the kernel counted, whatever became of the worker."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from core.bootstrap import worker_for
from core.config import Settings, child_environment
from core.phases import PhaseSettings, fit, predict
from core.traces.model import Role
from core.workspace.records import TaskState
from tests.live.waiting import ended, until
from tests.live.workloads import FALLING

pytestmark = pytest.mark.live
ROOT = Path(__file__).parents[3]
WAVES = """
import time
while True:
    end = time.time() + 3
    while time.time() < end: pass
    time.sleep(2)
"""


@pytest.fixture
def settings(tmp_path, docker_url):
    return Settings(home=tmp_path / "home", docker=f"local={docker_url}")


def environment(settings):
    return child_environment(settings) | {"PHASEDOCK_DOCKER": settings.docker}


def counter(container):
    """The kernel's counter of CPU time, and how many seconds one of its units is."""
    pid = container.client.api.inspect_container(container.id)["State"]["Pid"]
    for line in Path(f"/proc/{pid}/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        if "cpuacct" in controllers.split(","):
            roots = map(Path, ("/sys/fs/cgroup/cpu,cpuacct", "/sys/fs/cgroup/cpuacct"))
            root = next(root for root in roots if root.is_dir())
            return root / path.strip("/") / "cpuacct.usage", 1e-9
        if controllers == "":
            return Path("/sys/fs/cgroup") / path.strip("/") / "cpu.stat", 1e-6
    raise AssertionError(pid)


class Counting(threading.Thread):
    """Reads a container's counter twenty times a second, so that it is known at any moment."""

    def __init__(self, container):
        super().__init__()
        self._path, self._scale = counter(container)
        self._read: list[tuple[float, float]] = []
        self._over = threading.Event()
        self.start()

    def run(self):
        while not self._over.wait(0.05):
            text = self._path.read_text()
            value = int(text.split("usage_usec ")[1].split()[0] if "usage_usec" in text else text)
            self._read.append((time.time(), value * self._scale))

    def stop(self):
        self._over.set()
        self.join()

    def inside(self, time_, values):
        """Samples at moments at which the counter was being read."""
        there = (time_ > self._read[0][0]) & (time_ < self._read[-1][0])
        return time_[there], values[there]

    def used(self, first, last):
        """CPU seconds between two moments."""
        times, values = zip(*self._read, strict=True)
        return float(np.diff(np.interp([first, last], times, values))[0])


def test_a_recording_agrees_with_the_counters_of_the_kernel(space, light_image, start_job):
    model = fit(_waves(), PhaseSettings(phases=2, hidden=2, epochs=2, history=1, seed=3))
    stored = space.models.add(model, name="two")
    jobs = [
        start_job(light_image, ["python3", "-c", FALLING], labels={"phasedock": "1"}, nano_cpus=200_000_000),
        start_job(light_image, ["python3", "-c", WAVES], labels={"phasedock": "1"}, mem_limit="256m"),
    ]
    foreign = start_job(light_image, ["sleep", "60"])
    worker = worker_for(space)
    worker.start()
    try:
        task = space.live.recordings.record("local", "two jobs", model=stored.id)
        until(
            lambda: r if (r := space.live.view.request_view("local").recording) and r.samples >= 4 else None
        )
        counted = [Counting(job) for job in jobs]
        time.sleep(12)
        for each in counted:
            each.stop()
        assert space.live.recordings.stop("local") == task
        done = ended(space, task)
    finally:
        worker.stop(20)
    assert done.state is TaskState.DONE, done.error
    info = space.traces.get(done.result["trace_set"])
    traces = space.traces.load(info.id)
    assert set(traces.ids) == {job.name for job in jobs}
    assert foreign.name not in traces.ids
    assert info.period == 1.0
    for job, kernel in zip(jobs, counted, strict=True):
        execution = traces.execution(job.name)
        time_, cpu = kernel.inside(execution.time, execution.columns["cpu_cores"])
        assert np.median(np.diff(time_)) == pytest.approx(1.0, abs=0.1)
        integral = float((cpu[1:] * np.diff(time_)).sum())
        assert integral == pytest.approx(kernel.used(time_[0], time_[-1]), rel=0.03)
    falling, waves = (traces.execution(job.name) for job in jobs)
    assert np.allclose(falling.columns["cpu_limit_cores"], 0.2)
    assert np.isnan(waves.columns["cpu_limit_cores"]).all()
    assert ((falling.columns["throttled"] >= 0) & (falling.columns["throttled"] <= 1)).all()
    assert 0.05 < np.nanmin(falling.columns["loss"]) < 1.2
    assert np.isnan(waves.columns["loss"]).all()
    assert set(waves.columns["memory_limit_bytes"]) == {256 * 2**20}
    phase = traces.feature(Role.PHASE)
    assert phase is not None
    assert set(waves.columns["phase"]) <= {-1.0, 0.0, 1.0}
    if not len(traces.breaks):
        # labelled as samples came, and once more with all of them: the same
        assert np.array_equal(traces.column("phase"), predict(model, traces))


def _waves():
    """Traces that are idle and busy in turn, one sample a second."""
    from core.traces.model import Feature, TraceSet
    from core.units import Unit

    cpu = np.tile(np.repeat([1.0, 0.02], [3, 2]), 40) + np.random.default_rng(1).normal(0, 0.01, 200)
    memory = np.full(200, 6e6) + np.arange(200) * 10.0
    features = (Feature("cpu_cores", Role.CPU, Unit.CORES), Feature("memory_bytes", Role.MEMORY, Unit.BYTES))
    return TraceSet(features, (cpu, memory), np.arange(200.0), ("w",), np.array([0, 200]), 1.0)


@pytest.mark.long
def test_what_was_recorded_before_the_worker_was_killed_can_be_finished(
    space, settings, light_image, start_job
):
    job = start_job(light_image, ["python3", "-c", WAVES], labels={"phasedock": "1"})
    task = space.live.recordings.record("local", "cut short")
    command = [sys.executable, "-m", "core.cli", "worker"]
    first = subprocess.Popen(command, env=environment(settings), cwd=ROOT)
    try:
        until(
            lambda: r if (r := space.live.view.request_view("local").recording) and r.samples >= 3 else None,
            60,
        )
        first.send_signal(signal.SIGKILL)
        first.wait(10)
    finally:
        if first.poll() is None:
            first.kill()
    assert space.tasks.get(task).state is TaskState.INTERRUPTED
    (left,) = space.live.recordings.unfinished()
    assert (left.name, left.containers) == ("cut short", 1)
    worker = worker_for(space)
    worker.start()
    try:
        done = ended(space, space.live.recordings.finish(left.recording))
    finally:
        worker.stop(20)
    assert done.state is TaskState.DONE, done.error
    traces = space.traces.load(done.result["trace_set"])
    assert traces.ids == (job.name,)
    assert traces.n_samples == left.samples >= 3
    assert space.live.recordings.unfinished() == ()


@pytest.mark.long
def test_the_command_line_records_and_watches_without_a_worker(settings, light_image, start_job):
    job = start_job(light_image, ["python3", "-c", WAVES], labels={"phasedock": "1"})
    command = [sys.executable, "-m", "core.cli"]

    def run(*words):
        done = subprocess.run(
            [*command, *words, "--json"],
            env=environment(settings),
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return json.loads(done.stdout)

    seen = run("watch")
    assert [row["name"] for row in seen["rows"] if row["id"] == job.id] == [job.name]
    made = run("record", "typed", "--seconds", "5", "--container", job.name)
    assert made["executions"] == 1
    assert 3 <= made["samples"] <= 6
    assert run("release") == {"restored": [], "gone": [], "failed": []}
