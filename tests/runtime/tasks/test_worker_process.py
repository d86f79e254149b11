"""The worker as a process: signals, the log, and who counts as alive."""

import logging
import os
import signal
import threading
import time

import pytest

from core.application import Workspace
from core.cli.supervisor import log_to
from core.tasks import crashed_workers
from core.tasks.crashed_workers import birth_of, is_alive, this_host
from core.tasks.worker import Worker
from core.workspace.database_schema import WorkerRow
from core.workspace.records import TaskState
from tests.runtime.kinds_for_tests import kinds_for_tests, until


@pytest.fixture
def plain_process():
    """Put back what a worker changes in its process: signal handlers and logging."""
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    root = logging.getLogger()
    before, level = root.handlers[:], root.level
    yield
    for number, handler in handlers.items():
        signal.signal(number, handler)
    for handler in root.handlers:
        if handler not in before:
            handler.close()
    root.handlers[:] = before
    root.setLevel(level)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_worker_works_until_it_is_told_to_stop(settings, plain_process, number):
    workspace = Workspace(settings, kinds_for_tests())
    task = workspace.tasks.submit("count", "Count", {"steps": 2})
    seen = []

    def stop_when_done():
        until(lambda: workspace.tasks.get(task).state is TaskState.DONE)
        seen.append(workspace.tasks.worker())
        os.kill(os.getpid(), number)

    watching = threading.Thread(target=stop_when_done)
    watching.start()
    Worker(workspace, kinds=kinds_for_tests()).run()
    watching.join()
    assert seen[0].alive
    assert seen[0].seconds_since_beat < 30
    assert not workspace.tasks.worker().alive
    workspace.close()


def test_a_thread_that_does_not_listen_does_not_keep_the_process(settings, plain_process, monkeypatch):
    workspace = Workspace(settings, kinds_for_tests())
    worker = Worker(workspace, threads=1, kinds=kinds_for_tests())
    worker.start()
    task = workspace.tasks.submit("count", "Count", {"steps": 2, "pause": 0.8})
    until(lambda: workspace.tasks.get(task).state is TaskState.RUNNING)
    assert not worker.stop(grace=0.05)
    assert workspace.tasks.get(task).state is TaskState.INTERRUPTED
    assert worker.stop(grace=10)
    workspace.close()


def test_the_worker_shows_signs_of_life_and_tidies(settings, monkeypatch):
    monkeypatch.setattr("core.tasks.worker.BEAT_EVERY", 0.05)
    monkeypatch.setattr("core.tasks.worker._TIDY_EVERY", 0.05)
    workspace = Workspace(settings, kinds_for_tests())
    worker = Worker(workspace, threads=1, kinds=kinds_for_tests())
    worker.start()
    stale = WorkerRow(id="d" * 16, host=this_host(), pid=2**22 + 1, birth="1", started=0.0, beat=0.0)
    with workspace.database.write() as session:
        session.add(stale)

    def only_one():
        with workspace.database.read() as session:
            return session.query(WorkerRow).count() == 1

    until(only_one)
    until(lambda: workspace.tasks.worker().seconds_since_beat < 1)
    assert worker.stop()
    workspace.close()


def row(**values):
    return WorkerRow(**{"id": "e" * 16, "host": this_host(), "started": 0.0, "beat": 0.0, **values})


def test_the_kernel_knows_who_lives():
    me = os.getpid()
    assert is_alive(row(pid=me, birth=birth_of(me)))
    assert not is_alive(row(pid=me, birth="born at another time"))
    assert not is_alive(row(pid=2**22 + 1, birth="1"))


def test_a_zombie_is_dead():
    child = os.fork()
    if child == 0:
        os._exit(0)
    until(lambda: birth_of(child) == "")
    os.waitpid(child, 0)


def test_without_proc_the_process_id_decides(monkeypatch):
    monkeypatch.setattr(crashed_workers, "_LINUX", False)
    assert is_alive(row(pid=os.getpid(), birth=""))
    assert is_alive(row(pid=1, birth=""))
    assert not is_alive(row(pid=2**22 + 1, birth=""))


def test_a_clock_that_jumps_declares_nobody_dead(monkeypatch):
    monkeypatch.setattr(time, "time", lambda: 4e9)
    assert is_alive(row(pid=os.getpid(), birth=birth_of(os.getpid())))


def test_tracebacks_go_to_the_file_and_sentences_to_the_screen(tmp_path, plain_process, capsys):
    log_to(tmp_path, "worker")
    try:
        int("seven")
    except ValueError:
        logging.getLogger("x").exception("it broke")
    logging.getLogger("x").info("a detail")
    shown = capsys.readouterr().err
    assert "it broke" in shown
    assert "Traceback" not in shown
    assert "a detail" not in shown
    kept = (tmp_path / "logs" / "worker.log").read_text()
    assert "Traceback" in kept
    assert "a detail" in kept
