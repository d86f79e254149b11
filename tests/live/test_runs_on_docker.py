"""Experiments in real containers: quotas are those of the ledger, jobs move without losing a step.

What limits really are is read from the control groups while a run goes on, not from what PhaseDock says.
"""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

import docker
import pytest

from core.config import Settings, child_environment
from core.experiments.reading import read_experiment
from core.runtime.infos import TaskState
from core.runtime.run_infos import RunState
from core.runtime.worker import Worker
from core.runtime.workspace import open_workspace
from core.scheduling.actions import Migrate, SetLimit, Start
from core.scheduling.model import JobState

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from docker.models.containers import Container

    from core.runtime.workspace import Workspace

pytestmark = [pytest.mark.live, pytest.mark.timeout(300)]

FLOWCON = """
version: 1
name: FlowCon, real
engine: docker
workers: {id: node, cores: 1}
kinds:
  Long: {work: 10, program: mlp, steps: 70}
  Short: {work: 3, program: autoencoder, steps: 20}
jobs:
  - {id: long, kind: Long, at: 0}
  - {id: short, kind: Short, at: 2}
policies:
  - {policy: free, label: NA}
  - {policy: flowcon, label: FlowCon, settings: {alpha: 0.15, itval: 1}}
baseline: NA
"""

ALONE = """
version: 1
name: Alone, real
engine: docker
workers: {id: node, cores: 1}
kinds:
  Short: {work: 3, program: mlp, steps: 5}
jobs:
  - {id: short, kind: Short, at: 0}
policies: [free]
"""

SPECON = """
version: 1
name: SpeCon, real
engine: docker
docker: {image: "phasedock-jobs:torch"}
workers: {id: half, count: 2, cores: 1}
kinds:
  GRU: {work: 15, program: gru, steps: 100}
  Short: {work: 3, program: gru, steps: 5}
jobs:
  - {id: first, kind: GRU, at: 0}
  - {id: brief, kind: Short, at: 0}
  - {id: second, kind: GRU, at: 0}
policies:
  - {policy: specon, label: SpeCon, settings: {alpha: 50%, interval: 1}}
seeds: [2]
"""


@pytest.fixture
def settings(tmp_path: Path, docker_url: str) -> Settings:
    return Settings(home=tmp_path / "home", docker=f"local={docker_url}", control=True)


@pytest.fixture
def place(settings: Settings) -> Iterator[Workspace]:
    opened = open_workspace(settings)
    yield opened
    opened.runs.remove_left()
    opened.close()


def quota(client: docker.DockerClient, container: str) -> float | None:
    """Cores that the kernel allows, None for all; read from the control group, v1 or v2."""
    pid = client.api.inspect_container(container)["State"]["Pid"]
    for line in Path(f"/proc/{pid}/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        if not path.strip("/"):
            continue  # a process that has ended is nowhere
        if "cpu" in controllers.split(","):
            folder = Path("/sys/fs/cgroup/cpu") / path.strip("/")
            given = int((folder / "cpu.cfs_quota_us").read_text())
            return None if given < 0 else given / int((folder / "cpu.cfs_period_us").read_text())
        if not controllers:
            given, period = (Path("/sys/fs/cgroup") / path.strip("/") / "cpu.max").read_text().split()
            return None if given == "max" else int(given) / int(period)
    raise ProcessLookupError(pid)


class Kernel(threading.Thread):
    """Notes every quota of a run's jobs, from the control groups, until it is told to stop."""

    def __init__(self, client: docker.DockerClient) -> None:
        super().__init__(daemon=True)
        self.client, self.seen, self.over = client, {}, threading.Event()

    def run(self) -> None:
        while not self.over.wait(0.1):
            for each in self.client.containers.list(filters={"label": "phasedock.run"}, ignore_removed=True):
                try:
                    now = quota(self.client, each.id)
                except (OSError, docker.errors.NotFound):  # it ended between two calls
                    continue
                key = (each.labels["phasedock.run"], each.labels["phasedock.job"])
                noted = self.seen.setdefault(key, [])
                if not noted or noted[-1] != now:
                    noted.append(now)


def done(place: Workspace, text: str) -> str:
    """Run an experiment as a task here; gives its id."""
    task = place.runs.submit(read_experiment(text))
    Worker(place).work(task)
    info = place.tasks.get(task)
    assert (info.state, info.error) == (TaskState.DONE, None)
    return str(info.params["experiment"])


@pytest.mark.usefixtures("light_image")
def test_flowcon_moves_real_quotas_as_its_ledger_says(
    place: Workspace, docker_client: docker.DockerClient
) -> None:
    kernel = Kernel(docker_client)
    kernel.start()
    info = place.runs.experiment(done(place, FLOWCON))
    kernel.over.set()
    run = info.runs["FlowCon"][1]
    asked: dict[str, list[float | None]] = {}
    for entry in place.runs.entries(run):
        for action in entry.actions:
            if isinstance(action, Start | SetLimit):
                limits = asked.setdefault(action.job, [])
                if not limits or limits[-1] != action.limit:
                    limits.append(action.limit)
    assert any(len(limits) > 1 for limits in asked.values())
    for job, limits in asked.items():
        seen = kernel.seen[run, job]
        # a limit that stood for less than a look may be missed; none is there that was not asked for
        assert [value for value in limits if value in seen] == seen
        assert len(seen) >= len(limits) - 1
    assert place.runs.replay(run) == []
    free = kernel.seen[info.runs["NA"][1], "long"]
    assert free in ([None], [1.0])
    results = {label: place.runs.result(runs[1]) for label, runs in info.runs.items()}
    assert all(job.state == JobState.DONE for result in results.values() for job in result.jobs)
    assert info.report is not None
    fit = info.report["predicted"]["fits"]["1"]
    assert fit["left_out"] == []
    assert docker_client.containers.list(all=True, filters={"label": "phasedock.run"}) == []


@pytest.mark.usefixtures("torch_image")
def test_specon_moves_a_pytorch_job_without_losing_or_repeating_a_step(place: Workspace) -> None:
    info = place.runs.experiment(done(place, SPECON))
    entries = list(place.runs.entries(info.runs["SpeCon"][2]))
    moved = {action.job for entry in entries for action in entry.actions if isinstance(action, Migrate)}
    assert moved
    for job in moved:
        seen = [each for entry in entries for each in (*entry.observation.jobs, *entry.observation.ended)
                if each.id == job]  # fmt: skip
        assert len({each.worker for each in seen if each.worker}) == 2
        assert len([value for each in seen for value in each.readings]) == seen[-1].total_steps
        steps = [each.steps for each in seen if each.steps is not None]
        assert steps == sorted(steps)
        assert (seen[-1].state, seen[-1].steps) == (JobState.DONE, seen[-1].total_steps)
    assert not [failure for entry in entries for failure in entry.failures]


@pytest.mark.usefixtures("light_image")
def test_a_run_removes_what_a_killed_one_left_and_nothing_of_others(
    place: Workspace, settings: Settings, light_image: str, start_job: Callable[..., Container]
) -> None:
    left, others = (
        start_job(light_image, ["sleep", "600"], labels={"phasedock": "", "phasedock.run": run})
        for run in ("left", "others")
    )
    (settings.home / "jobs" / "left").mkdir(parents=True)
    done(place, ALONE)
    with pytest.raises(docker.errors.NotFound):
        left.reload()
    others.reload()
    assert others.status == "running"
    assert [each.name for each in (settings.home / "jobs").iterdir()] == ["lock"]


@pytest.mark.usefixtures("light_image")
def test_a_killed_worker_leaves_no_container_behind(
    settings: Settings, place: Workspace, docker_client: docker.DockerClient
) -> None:
    def left() -> list[object]:
        return docker_client.containers.list(filters={"label": "phasedock.run"}, ignore_removed=True)

    command = [sys.executable, "-m", "core.cli", "worker"]
    environment = child_environment(settings) | {
        "PHASEDOCK_DOCKER": settings.docker,
        "PHASEDOCK_CONTROL": "on",
    }
    with subprocess.Popen(command, env=environment) as process:
        task = place.runs.submit(read_experiment(FLOWCON))
        until(lambda: len(left()) == 2, 60)
        process.send_signal(signal.SIGKILL)
    run = place.runs.list(1)[0].id
    assert len(left()) == 2
    worker = Worker(place)
    worker.start()
    try:
        until(lambda: not left(), 30)
        assert place.tasks.get(task).state is TaskState.INTERRUPTED
        assert place.runs.get(run).state is RunState.INTERRUPTED
    finally:
        worker.stop()


def until(true: Callable[[], object], seconds: float) -> None:
    """Wait until something holds."""
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end
        time.sleep(0.2)
