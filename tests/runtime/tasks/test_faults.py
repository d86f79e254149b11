"""Real processes, really killed: nothing acknowledged is lost, nothing half-made is seen."""

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from core.application import Workspace
from core.bootstrap import open_workspace
from core.config import child_environment
from core.workspace.records import TaskState
from tests.builders import small_traces
from tests.runtime.kinds_for_tests import kinds_for_tests, until

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[3]
PHASEDOCK = Path(sys.executable).with_name("phasedock")


class Process:
    """A process of our own, which no test leaves behind."""

    def __init__(self, *command, environment=None, log=None):
        self.log = log
        with log.open("ab") as file:
            self.popen = subprocess.Popen(
                [str(part) for part in command],
                cwd=ROOT,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=file,
                start_new_session=True,
            )

    def kill(self, number=signal.SIGKILL):
        try:
            os.killpg(self.popen.pid, number)
        except ProcessLookupError:
            return
        self.popen.wait(20)


@pytest.fixture
def start(settings, tmp_path):
    processes = []

    def started(*command):
        processes.append(
            Process(*command, environment=child_environment(settings), log=tmp_path / "process.log")
        )
        return processes[-1]

    yield started
    for process in processes:
        process.kill()


@pytest.fixture
def counting(settings):
    """A workspace with the kinds that tests need, and the command of a worker that knows them."""
    opened = Workspace(settings, kinds_for_tests())
    yield opened, (sys.executable, "-m", "tests.runtime.kinds_for_tests", settings.home)
    opened.close()


def state(workspace, task):
    return workspace.tasks.get(task).state


def ended(workspace, task, seconds=60.0):
    return until(lambda: (info := workspace.tasks.get(task)).state.ended and info, seconds)


def test_a_worker_killed_in_mid_training_leaves_no_half_made_model(workspace, settings, start):
    traces = workspace.traces.add(small_traces(40, samples=240), None, name="set")
    params = {
        "trace_set": traces.id,
        "settings": {"epochs": 20_000, "patience": 0, "solver": "minibatch", "seed": 5},
        "features": None,
        "name": "model",
    }
    task = workspace.tasks.submit("train", "Train", params)
    worker = start(PHASEDOCK, "worker")
    until(lambda: len(workspace.tasks.metrics(task)) > 2, 60)
    assert state(workspace, task) is TaskState.RUNNING
    worker.kill()

    info = workspace.tasks.get(task)
    assert info.state is TaskState.INTERRUPTED
    assert "worker stopped" in info.error[0]
    assert not workspace.tasks.worker().alive
    assert workspace.models.list() == []

    params["settings"]["epochs"] = 3
    short = workspace.tasks.submit("train", "Train", params)
    again = workspace.tasks.retry(task)
    assert workspace.tasks.get(again).params == info.params
    start(PHASEDOCK, "worker")
    done = ended(workspace, short)
    assert done.state is TaskState.DONE
    assert [model.id for model in workspace.models.list()] == [done.result["model"]]
    until(lambda: state(workspace, again) is TaskState.RUNNING)
    workspace.tasks.cancel(again)
    assert ended(workspace, again).state is TaskState.CANCELLED
    assert len(workspace.models.list()) == 1
    assert list((settings.home / "tmp").iterdir()) == []


@pytest.mark.long
def test_a_retry_after_a_kill_completes(counting, start):
    workspace, command = counting
    first = workspace.tasks.submit("count", "Count", {"steps": 60, "pause": 0.05})
    waiting = workspace.tasks.submit("count", "Count", {"steps": 2})
    also_waiting = [workspace.tasks.submit("count", "Count", {"steps": 60, "pause": 0.05}) for _ in range(2)]
    worker = start(*command)
    until(lambda: workspace.tasks.get(first).progress > 0.1)
    worker.kill()
    assert state(workspace, first) is TaskState.INTERRUPTED
    again = workspace.tasks.retry(first)
    start(*command)
    for task in (again, waiting, *also_waiting):
        info = ended(workspace, task)
        # what had begun before the kill is interrupted; all else is done without being asked again
        assert info.state is TaskState.DONE or task in also_waiting
        if info.state is not TaskState.DONE:
            assert ended(workspace, workspace.tasks.retry(task)).state is TaskState.DONE
    assert workspace.tasks.get(again).attempt == 2


def test_a_worker_that_is_told_to_stop_stops_soon(counting, start):
    workspace, command = counting
    task = workspace.tasks.submit("count", "Count", {"steps": 1000, "pause": 0.05})
    worker = start(*command)
    until(lambda: state(workspace, task) is TaskState.RUNNING)
    begun = time.monotonic()
    worker.kill(signal.SIGTERM)
    assert time.monotonic() - begun < 4
    assert worker.popen.returncode == 0
    assert state(workspace, task) is TaskState.INTERRUPTED


@pytest.mark.long
def test_web_and_workers_may_start_at_the_same_time(settings, start):
    script = (
        "from core.config import load_settings; from core.bootstrap import open_workspace;"
        "w = open_workspace(load_settings()); w.tasks.submit('samples', 'Samples', {})"
    )
    processes = [start(sys.executable, "-c", script) for _ in range(4)]
    assert [process.popen.wait(60) for process in processes] == [0] * 4, processes[0].log.read_text()
    workspace = open_workspace(settings)
    assert len(workspace.tasks.list()) == 4
    workspace.close()


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.mark.loopback
def test_serve_starts_all_says_where_and_ends_all(settings, tmp_path):
    port = free_port()
    environment = {**child_environment(settings), "PORT": str(port)}
    serve = Process(PHASEDOCK, "serve", environment=environment, log=tmp_path / "serve.log")
    try:
        until(lambda: "is ready" in serve.log.read_text() or serve.popen.poll() is not None, 90)
        said = serve.log.read_text()
        assert f"http://127.0.0.1:{port}" in said
        assert open_workspace(settings).traces.list() == []
        taken = subprocess.run(
            [PHASEDOCK, "serve"],
            env=environment,
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert taken.returncode == 1
        assert f"Port {port}" in taken.stderr
        assert "Traceback" not in taken.stderr + taken.stdout
        pids = children_of(serve.popen.pid)
        assert len(pids) >= 2
        os.kill(serve.popen.pid, signal.SIGINT)
        assert serve.popen.wait(20) == 0
        until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in pids), 5)
    finally:
        serve.kill()


def children_of(pid):
    """All processes below one."""
    below, found = {}, []
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = status.read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue
        below.setdefault(int(fields[1]), []).append(int(status.parent.name))
    queue = [pid]
    while queue:
        queue += (children := below.get(queue.pop(), []))
        found += children
    return found
