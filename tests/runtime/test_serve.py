"""Starting and ending the Procfile's processes."""

import http.server
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest

from core.cli import supervisor
from core.cli import supervisor as serving
from core.cli.supervisor import RestartTimes
from core.config import Settings
from core.errors import ConflictError, NotFoundError
from tests.runtime.kinds_for_tests import until


def procfile(folder, **lines):
    (folder / "Procfile").write_text("".join(f"{name}: {line}\n" for name, line in lines.items()))


def test_a_process_that_does_not_come_up_ends_all(settings, tmp_path, monkeypatch, capfd):
    monkeypatch.setattr(serving, "wait_until_serving", lambda _: False)
    procfile(tmp_path, web="sleep 60", worker="sh -c 'echo no luck; exit 3'")
    said = []
    assert serving.serve(settings, said.append, root=tmp_path) == 3
    assert said == [False]
    assert "no luck" in capfd.readouterr().out


QUICK = RestartTimes(up_after=0.2, steady_after=60.0, first_delay=0.01, longest_delay=0.04)


def stop_when(happened):
    """What `announce` may do: end all, as Ctrl+C does, once something happened."""

    def announce(_ready):
        until(happened)
        os.kill(os.getpid(), signal.SIGINT)

    return announce


def test_a_process_that_dies_later_is_started_again_for_ever(
    settings, tmp_path, monkeypatch, capfd, caplog, sentence
):
    monkeypatch.setattr(serving, "wait_until_serving", lambda _: True)
    caplog.set_level("INFO", "phasedock.serve")
    first_time = "test -e born || { touch born; sleep 0.4; }; echo up >> lives; exit 9"
    procfile(tmp_path, web="sleep 60", worker=f"sh -c '{first_time}'")
    lives = tmp_path / "lives"
    eight = stop_when(lambda: lives.exists() and len(lives.read_text().split()) >= 8)
    assert serving.serve(settings, eight, root=tmp_path, times=QUICK) == 0
    out = capfd.readouterr().out
    said = [line.partition("| ")[2] for line in out.splitlines() if "will be restarted" in line]
    sentence(said[0])
    assert said[1].endswith("0.02 s")
    assert all(line.endswith("0.04 s") for line in said[2:7])
    assert set(said) <= set(caplog.messages)


def test_what_was_killed_is_started_again_however_young_it_was(settings, tmp_path, monkeypatch, capfd):
    monkeypatch.setattr(serving, "wait_until_serving", lambda _: True)
    procfile(tmp_path, worker="sh -c 'echo up >> lives; test $(wc -l < lives) -ge 3 && sleep 60; kill -9 $$'")
    lives = tmp_path / "lives"
    three = stop_when(lambda: lives.exists() and len(lives.read_text().split()) == 3)
    times = replace(QUICK, up_after=60.0)
    assert serving.serve(settings, three, root=tmp_path, times=times) == 0
    assert capfd.readouterr().out.count("worker was killed by SIGKILL and will be restarted") == 2


def test_what_a_dead_process_leaves_behind_is_killed_before_the_next_start(settings, tmp_path, monkeypatch):
    monkeypatch.setattr(serving, "wait_until_serving", lambda _: True)
    monkeypatch.chdir(tmp_path)
    # the child holds the output, as gunicorn's worker does, and would live for a minute
    procfile(tmp_path, web="sh -c 'sleep 60 & echo $! >> children; sleep 0.3; kill -9 $$'")
    children = tmp_path / "children"
    two = stop_when(lambda: children.exists() and len(children.read_text().split()) == 2)
    assert serving.serve(settings, two, root=tmp_path, times=QUICK) == 0
    until(lambda: not any(Path(f"/proc/{pid}/cmdline").exists() for pid in children.read_text().split()))


def test_what_does_not_heed_the_end_is_killed(settings, tmp_path, monkeypatch):
    monkeypatch.setattr(serving, "wait_until_serving", lambda _: True)
    procfile(tmp_path, web="sh -c 'trap \"\" TERM; touch deaf; while true; do sleep 60; done'")
    began = time.monotonic()
    announce = stop_when((tmp_path / "deaf").exists)
    assert serving.serve(settings, announce, root=tmp_path, times=replace(QUICK, grace=0.1)) == 0
    assert time.monotonic() - began < 10


SERVES = """
import sys
from pathlib import Path
from core.cli import supervisor
from core.config import Settings
supervisor.wait_until_serving = lambda _: True
home = Path(sys.argv[1])
supervisor.serve(Settings(home=home), lambda _: None, root=home)
"""


@pytest.fixture
def killed_serve(tmp_path):
    """Kill a `serve` of its own with SIGKILL once its process is up; gives the process's id."""

    def serve_and_kill(line):
        (tmp_path / "pid").unlink(missing_ok=True)
        procfile(tmp_path, web=f"sh -c '{line}'")
        process = subprocess.Popen([sys.executable, "-c", SERVES, str(tmp_path)], cwd=supervisor.ROOT)
        until(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text().strip())
        process.kill()
        process.wait()
        return int((tmp_path / "pid").read_text())

    return serve_and_kill


def lives(pid):
    return Path(f"/proc/{pid}/environ").exists() and Path(f"/proc/{pid}/cmdline").read_bytes() != b""


linux = pytest.mark.skipif(sys.platform != "linux", reason="processes end with their parent on Linux only")


@linux
def test_processes_end_with_a_supervisor_that_is_killed(killed_serve):
    pid = killed_serve("echo $$ > pid; exec sleep 60")
    until(lambda: not lives(pid))


@linux
def test_the_next_start_ends_what_a_killed_supervisor_of_its_home_left(killed_serve, tmp_path):
    pid = killed_serve('trap "" TERM; echo $$ > pid; while true; do sleep 0.1; done')
    assert lives(pid)
    assert supervisor.end_leftovers(tmp_path / "another", grace=0.1) == 0
    assert lives(pid)
    assert supervisor.end_leftovers(tmp_path, grace=0.3) >= 1
    until(lambda: not lives(pid))


@linux
def test_a_supervisor_that_runs_keeps_its_processes(settings, tmp_path, monkeypatch):
    monkeypatch.setattr(serving, "wait_until_serving", lambda _: True)
    procfile(tmp_path, web="sh -c 'touch up; sleep 60'")
    ended = []

    def announce(ready):
        until((tmp_path / "up").exists)
        ended.append(supervisor.end_leftovers(settings.home, grace=0.1))
        stop_when(lambda: True)(ready)

    assert serving.serve(settings, announce, root=tmp_path, times=QUICK) == 0
    assert ended == [0]


@pytest.mark.parametrize(
    ("short_lives", "seconds"), [(0, 0.5), (1, 0.5), (2, 1), (5, 8), (6, 15), (10**6, 15)]
)
def test_the_delay_doubles_up_to_a_longest(short_lives, seconds):
    assert RestartTimes().delay(short_lives) == seconds


def test_a_machine_without_processes_left_is_waited_for(settings, tmp_path, monkeypatch, capfd):
    monkeypatch.setattr(serving, "wait_until_serving", lambda _: True)
    procfile(tmp_path, web="sh -c 'touch up; sleep 60'")
    popen, tries = supervisor.subprocess.Popen, []

    def scarce(*args, **more):
        tries.append(args)
        if len(tries) < 3:
            raise OSError(11, "Resource temporarily unavailable")
        return popen(*args, **more)

    monkeypatch.setattr(supervisor.subprocess, "Popen", scarce)
    announce = stop_when((tmp_path / "up").exists)
    assert serving.serve(settings, announce, root=tmp_path, times=QUICK) == 0
    assert (
        "cannot be started (Resource temporarily unavailable), next try in 0.01 s" in capfd.readouterr().out
    )


def test_a_long_life_brings_the_first_delay_back(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(supervisor.time, "monotonic", lambda: now[0])
    worker = supervisor.Supervised("worker", "true", print, RestartTimes())
    delays = []
    for lived in (1.0, 1.0, 1.0, 40.0, 1.0):
        now[0] += lived
        worker.ended(-9)
        delays.append(worker.delay)
        worker._started = now[0]
    assert delays == [0.5, 1.0, 2.0, 0.5, 1.0]


def test_processes_get_the_settings_and_the_programs_beside_python(settings, tmp_path, monkeypatch, capfd):
    monkeypatch.setattr(serving, "wait_until_serving", lambda _: True)
    procfile(tmp_path, web="sh -c 'echo $PHASEDOCK_HOME $PORT; command -v phasedock; pwd'")
    serving.serve(replace(settings, port=4321), lambda _: None, root=tmp_path)
    out = capfd.readouterr().out
    assert f"{settings.home} 4321" in out
    assert sys.executable.rsplit("/", 1)[0] in out
    assert str(tmp_path) in out


def test_without_a_procfile_that_is_said(settings, tmp_path, refuses):
    with refuses(NotFoundError):
        serving.serve(settings, lambda _: None, root=tmp_path)


@pytest.mark.loopback
def test_a_taken_port_is_said_with_a_way_out(settings, sentence):
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        taken = replace(settings, port=port)
        with pytest.raises(ConflictError) as caught:
            serving.check_port(taken)
    sentence(str(caught.value).replace(str(port), "PORT").replace(str(port + 1), "NEXT"))
    serving.check_port(taken)


@pytest.mark.loopback
def test_an_address_of_another_machine_is_said(tmp_path, refuses):
    with refuses(ConflictError):
        serving.check_port(Settings(home=tmp_path, host="192.0.2.1"))


@pytest.mark.parametrize(("number", "said"), [(13, "permission"), (98, "used by another")])
def test_port_errors_are_told_apart(settings, monkeypatch, number, said):
    monkeypatch.setattr(serving, "is_serving", lambda _: True)
    assert said in serving._port_error(settings, OSError(number, "x")).message


@pytest.mark.loopback
def test_waiting_for_the_page():
    class Health(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200 if self.path == "/healthz" else 404)
            self.end_headers()

        def log_message(self, *_args):
            pass

    with http.server.HTTPServer(("127.0.0.1", 0), Health) as server:
        address = f"http://127.0.0.1:{server.server_port}"
        assert not serving.wait_until_serving("http://127.0.0.1:9", 0.3)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        assert serving.wait_until_serving(address, 5)
        assert not serving.is_serving(f"{address}/elsewhere")
        server.shutdown()


_SIGNALS = """
import signal
from core.cli import supervisor
supervisor._POLL_SECONDS = 0.001
signal.signal(signal.SIGALRM, lambda *_: None)
made = supervisor.Supervisor({}, {}, None)
for _ in range(3000):
    signal.setitimer(signal.ITIMER_REAL, 0.001)
    made._step()
"""


@pytest.mark.slow
def test_a_signal_in_the_moment_in_which_a_wait_is_over_stops_nothing():
    subprocess.run([sys.executable, "-c", _SIGNALS], check=True, timeout=60, cwd=Path(__file__).parents[2])
