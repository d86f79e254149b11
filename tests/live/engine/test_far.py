"""A Docker host that is not this machine: over a program's stream, as ssh gives it, and over TCP."""

import contextlib
import socket
import ssl
import subprocess
import threading
from dataclasses import replace

import pytest

from core.engines.docker_host import Address, Host, HostLost, connection, parse_addresses
from core.engines.run import ContainerCreation
from tests.live.engine.test_limits import until

pytestmark = pytest.mark.live


@pytest.fixture
def over_ssh(docker_url, monkeypatch):
    """A host behind ssh, except that ssh itself is left out: the program that it would start runs here."""
    stdio = ["docker", "-H", docker_url, "system", "dial-stdio"]
    monkeypatch.setattr(connection, "_dial_ssh", lambda _: connection.dial_command(stdio))
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


@pytest.fixture(scope="module")
def certificates(tmp_path_factory):
    """An authority, and what it signed for a server and a client."""
    folder = tmp_path_factory.mktemp("tls")
    new, days = ["-newkey", "rsa:2048", "-nodes"], ["-days", "2"]
    openssl(folder, "req", "-x509", *new, "-keyout", "ca.key", "-out", "ca.pem", "-subj", "/CN=ca", *days)
    (folder / "names").write_text("subjectAltName=IP:127.0.0.1\n")
    for who in ("server", "client"):
        key = ["-keyout", f"{who}.key", "-out", f"{who}.csr", "-subj", f"/CN={who}"]
        openssl(folder, "req", *new, *key)
        signed = ["-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-extfile", "names"]
        openssl(folder, "x509", "-req", "-in", f"{who}.csr", *signed, "-out", f"{who}.pem", *days)
    return folder


def openssl(folder, *arguments):
    subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def tls_port(docker_url, socket_enabled, certificates):
    """A port that speaks TLS, asks for the client's certificate and hands on to the socket."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=certificates / "ca.pem")
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_cert_chain(certificates / "server.pem", certificates / "server.key")
    with _relay(docker_url.removeprefix("unix://"), context) as port:
        yield port


def tls_address(port, certificates, client="client"):
    """The address as the setting gives it."""
    files = f"ca={certificates}/ca.pem&cert={certificates}/{client}.pem&key={certificates}/{client}.key"
    (address,) = parse_addresses(f"far=tcp://127.0.0.1:{port}?{files}")
    return address


@pytest.fixture
def over_tls(tls_port, certificates):
    """A host behind TLS, which knows its clients by certificate."""
    with Host(tls_address(tls_port, certificates)) as host:
        yield host


def test_a_tls_host_is_not_believed_without_its_authority(tls_port, certificates):
    stranger = replace(tls_address(tls_port, certificates), tls_ca=f"{certificates}/client.pem")
    with Host(stranger) as host, pytest.raises(HostLost, match="certificates") as caught:
        host.ping()
    assert caught.value.kind == "denied"


def test_a_certificate_that_is_not_there_is_said(certificates):
    with Host(tls_address(1, certificates, "nobody")) as host, pytest.raises(HostLost, match="certificates"):
        host.ping()


@pytest.mark.parametrize("way", ["over_ssh", "over_tcp", "over_tls"])
def test_a_far_host_is_seen_counted_and_changed_through_its_api(way, request, light_image):
    host = request.getfixturevalue(way)
    assert not host.info().local
    heard = []
    host.events(heard.append)
    program = "import time\nx = bytearray(20 << 20)\nprint('loss=0.5', flush=True)\n"
    program += "while time.process_time() < 0.3: pass\ntime.sleep(600)"
    container = host.create(
        ContainerCreation(f"phasedock-test-{way}", light_image, ("python3", "-c", program))
    )
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
    monkeypatch.setattr(connection, "_dial_ssh", lambda _: connection.dial_command(["false"]))
    with (
        Host(Address("far", "ssh://me@there")) as host,
        pytest.raises(HostLost, match="no answer from") as caught,
    ):
        host.containers()
    assert caught.value.kind == "lost"


@contextlib.contextmanager
def _relay(path, context=None):
    """Carry bytes between a port of this machine and a socket; with a context, over TLS.

    Sockets are closed after the threads that use them: OpenSSL writes to a number, which would be another
    file's by then.
    """
    server = socket.create_server(("127.0.0.1", 0))
    open_ends, threads = [], []

    def start(target, *args):
        threads.append(threading.Thread(target=target, args=args, daemon=True))
        threads[-1].start()

    def serve():
        with contextlib.suppress(OSError):
            while True:
                near, _ = server.accept()
                if context is not None:
                    try:
                        near = context.wrap_socket(near, server_side=True)
                    except OSError:
                        near.close()
                        continue
                far = socket.socket(socket.AF_UNIX)
                far.connect(path)
                open_ends.extend((near, far))
                start(_carry, near, far)
                start(_carry, far, near)

    start(serve)
    try:
        yield server.getsockname()[1]
    finally:
        _ended(server)
        threads[0].join(10)
        for end in open_ends:
            _ended(end)
        for thread in threads:
            thread.join(10)
            assert not thread.is_alive()
        for end in (server, *open_ends):
            end.close()


def _carry(source, target):
    with contextlib.suppress(OSError):
        while piece := source.recv(65536):
            target.sendall(piece)
    _ended(target)


def _ended(end):
    with contextlib.suppress(OSError):
        end.shutdown(socket.SHUT_RDWR)
