"""A Docker host that is not this machine: over a program's stream, as ssh gives it, and over TCP."""

from __future__ import annotations

import contextlib
import socket
import threading

import pytest

from core.engines.docker_host import Address, Creation, Host, HostLost, transport
from tests.live.test_engine_limits import until

pytestmark = pytest.mark.live


@pytest.fixture
def over_ssh(docker_url, monkeypatch):
    """A host behind ssh, except that ssh itself is left out: the program that it would start runs here."""
    stdio = ["docker", "-H", docker_url, "system", "dial-stdio"]
    monkeypatch.setattr(transport, "_ssh", lambda _: transport.through(stdio))
    with Host(Address("far", "ssh://me@there")) as host:
        yield host


@pytest.fixture
def over_tcp(docker_url, socket_enabled):
    """A host behind TCP: bytes are carried to the socket and back."""
    with (
        _relay(docker_url.removeprefix("unix://")) as port,
        Host(Address("far", f"tcp://127.0.0.1:{port}")) as host,
    ):
        yield host


@pytest.mark.parametrize("way", ["over_ssh", "over_tcp"])
def test_a_far_host_is_seen_counted_and_changed_through_its_api(way, request, light_image):
    host = request.getfixturevalue(way)
    assert not host.info().local
    heard = []
    host.events(heard.append)
    program = "import time\nx = bytearray(20 << 20)\nprint('loss=0.5', flush=True)\n"
    program += "while time.process_time() < 0.3: pass\ntime.sleep(600)"
    container = host.create(Creation(f"phasedock-test-{way}", light_image, ("python3", "-c", program)))
    try:
        host.start(container)
        found = next(each for each in host.containers() if each.id == container)
        assert until(lambda: [line for _, line in host.logs_since(container, 0.0)] == ["loss=0.5"])
        assert until(lambda: host.counters([found])[container].cpu_seconds > 0.3)
        assert host.counters([found])[container].memory > 20 << 20
        given = host.set_limits(container, found.limits.with_cores(0.5))
        assert (given.cores, host.inspect(container).limits.cores) == (0.5, 0.5)
        assert host.restore(container)
        assert host.inspect(container).limits.cores is None
        assert until(lambda: "update" in [event.kind for event in heard if event.container == container])
    finally:
        host.remove(container)
    assert until(lambda: container not in [each.id for each in host.containers()])


def test_a_program_that_ends_at_once_is_a_host_that_is_lost(monkeypatch):
    monkeypatch.setattr(transport, "_ssh", lambda _: transport.through(["false"]))
    with (
        Host(Address("far", "ssh://me@there")) as host,
        pytest.raises(HostLost, match="no answer from") as caught,
    ):
        host.containers()
    assert caught.value.kind == "lost"


@contextlib.contextmanager
def _relay(path):
    """Carry bytes between a port of this machine and a socket."""
    server = socket.create_server(("127.0.0.1", 0))
    open_ends = []

    def carry(source, target):
        with contextlib.suppress(OSError):
            while piece := source.recv(65536):
                target.sendall(piece)
        with contextlib.suppress(OSError):
            target.shutdown(socket.SHUT_RDWR)

    def serve():
        with contextlib.suppress(OSError):
            while True:
                near, _ = server.accept()
                far = socket.socket(socket.AF_UNIX)
                far.connect(path)
                open_ends.extend((near, far))
                for ends in ((near, far), (far, near)):
                    threading.Thread(target=carry, args=ends, daemon=True).start()

    threading.Thread(target=serve, daemon=True).start()
    try:
        yield server.getsockname()[1]
    finally:
        server.shutdown(socket.SHUT_RDWR)
        server.close()
        for end in open_ends:
            end.close()
