"""Starting and ending the Procfile's processes."""

from __future__ import annotations

import http.server
import signal
import socket
import sys
import threading
from dataclasses import replace

import pytest

from core.config import Settings
from core.errors import ConflictError, NotFoundError
from core.runtime import serve as serving


@pytest.fixture
def signals():
    """Put back the handlers that honcho replaces."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def procfile(folder, **lines):
    (folder / "Procfile").write_text("".join(f"{name}: {line}\n" for name, line in lines.items()))


def test_a_process_that_does_not_come_up_ends_all(settings, tmp_path, signals, monkeypatch, capfd):
    monkeypatch.setattr(serving, "wait_until_serving", lambda _: False)
    procfile(tmp_path, web="sleep 60", worker="sh -c 'echo no luck; exit 3'")
    said = []
    assert serving.serve(settings, said.append, root=tmp_path) == 3
    assert said == [False]
    assert "no luck" in capfd.readouterr().out


def test_a_process_that_dies_later_is_started_again(settings, tmp_path, signals, monkeypatch, capfd):
    monkeypatch.setattr(serving, "wait_until_serving", lambda _: True)
    monkeypatch.setattr(serving, "_LIVED_LONG_ENOUGH", 0.2)
    monkeypatch.setattr(serving, "_STARTS_PER_MINUTE", 3)
    procfile(tmp_path, web="sleep 60", worker="sh -c 'echo up; sleep 0.5; exit 9'")
    assert serving.serve(settings, lambda _: None, root=tmp_path) == 9
    out = capfd.readouterr().out
    assert out.count("worker died and is started again") == 2
    assert out.count("| up") == 3


def test_processes_get_the_settings_and_the_programs_beside_python(
    settings, tmp_path, signals, monkeypatch, capfd
):
    monkeypatch.setattr(serving, "wait_until_serving", lambda _: True)
    procfile(tmp_path, web="sh -c 'echo $PHASEDOCK_HOME $PORT; command -v phasedock; pwd'")
    serving.serve(replace(settings, port=4321), lambda _: None, root=tmp_path)
    out = capfd.readouterr().out
    assert f"{settings.home} 4321" in out
    assert sys.executable.rsplit("/", 1)[0] in out
    assert str(tmp_path) in out


def test_without_a_procfile_that_is_said(settings, tmp_path):
    with pytest.raises(NotFoundError, match="Procfile"):
        serving.serve(settings, lambda _: None, root=tmp_path)


@pytest.mark.loopback
def test_a_taken_port_is_said_with_a_way_out(settings):
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        taken = replace(settings, port=other.getsockname()[1])
        with pytest.raises(ConflictError, match=f"Port {taken.port}") as caught:
            serving.check_port(taken)
    assert f"PORT={taken.port + 1}" in caught.value.hint
    serving.check_port(taken)


@pytest.mark.loopback
def test_an_address_of_another_machine_is_said(tmp_path):
    with pytest.raises(ConflictError, match="cannot listen"):
        serving.check_port(Settings(home=tmp_path, host="192.0.2.1"))


@pytest.mark.parametrize(("number", "said"), [(13, "rights"), (98, "taken")])
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
