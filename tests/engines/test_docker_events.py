"""Following a host's events: that a stream which is closed while it is being opened ends."""

import contextlib
import socket
import threading

import pytest

from core.engines.docker_host.connection import Address
from core.engines.docker_host.events import EventStream

VERSION = b'HTTP/1.1 200 OK\r\nContent-Length: 21\r\n\r\n{"ApiVersion":"1.41"}'
EVENTS = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


@pytest.fixture
def slow_host(tmp_path):
    """A host whose events begin when they are let: its address, whether it was asked, and what lets them."""
    asked, let, path = threading.Event(), threading.Event(), tmp_path / "docker.sock"

    def serve(stream):
        with stream, contextlib.suppress(OSError):
            while request := stream.recv(65536):
                if b"/version" in request:
                    stream.sendall(VERSION)
                    continue
                asked.set()
                let.wait(10)
                stream.sendall(EVENTS)

    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
        server.listen()

        def accept():
            with contextlib.suppress(OSError):
                while True:
                    threading.Thread(target=serve, args=(server.accept()[0],), daemon=True).start()

        threading.Thread(target=accept, daemon=True).start()
        yield Address("slow", f"unix://{path}"), asked, let
        server.shutdown(socket.SHUT_RDWR)


def test_a_stream_that_is_closed_while_it_is_opened_ends(slow_host):
    address, asked, let = slow_host
    heard = []
    stream = EventStream(address, heard.append)
    assert asked.wait(10)
    threading.Timer(0.2, let.set).start()
    stream.close()
    assert not stream._thread.is_alive()
    assert heard == []
