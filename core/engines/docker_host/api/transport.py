"""The ways to a Docker host: its socket, TCP with or without TLS, and ssh.

The session is the Docker SDK's in every case, and so are TCP, TLS and what the environment says
(``DOCKER_HOST``). Two ways are opened here instead, because of how the SDK (7.2) was seen to behave:

- to a socket at which nothing answers it leaves a socket of its own open at every try, and a host that is
  missing is tried every few seconds;
- for ssh it wants paramiko even where it is told to start ssh, lets ssh ask for a password on the terminal,
  and reads from the program without any time limit, so that a silent host is waited for without end.

Both come down to opening a stream of bytes, which is all that `Dialled` needs. Over ssh that stream is
``docker system dial-stdio`` on the other machine, as Docker's own client does it: nothing but ssh and Docker
is needed there, and keys, agents and known hosts are ssh's own affair.
"""

from __future__ import annotations

import socket
import subprocess
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from docker import APIClient
from docker.tls import TLSConfig
from docker.utils import kwargs_from_env
from requests.adapters import HTTPAdapter
from urllib3.connection import HTTPConnection
from urllib3.connectionpool import HTTPConnectionPool

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from core.engines.docker_host.api.addresses import Address

NEWEST: Final = (1, 41)
"""The newest version of Docker's API that is used here; with an older host, the host's own is used."""

_USUAL: Final = "unix:///var/run/docker.sock"
_THERE: Final = "http://docker:80"


@dataclass(frozen=True, slots=True)
class Route:
    """An open way to a host: the session, the start of each request's address, and whether it is remote."""

    client: APIClient
    base: str
    remote: bool


def route(address: Address, request_timeout: float) -> Route:
    """Open the way to a host and agree on a version of the API.

    Raises
    ------
    DockerException, RequestException, OSError
        If the host cannot be reached.
    """
    url, tls = _where(address)
    parts = urlsplit(url)
    far = parts.scheme not in ("unix", "http+unix")
    if far and parts.scheme != "ssh":
        client = APIClient(url, version="1.24", timeout=request_timeout, tls=tls, max_pool_size=32)
        base = str(client.base_url)
    else:
        client = APIClient(_THERE, version="1.24", timeout=request_timeout)
        client.mount(_THERE, Dialled(_ssh(url) if far else _unix(parts.netloc + parts.path)))
        base = _THERE
    client.trust_env = False  # the environment's certificate authorities and proxies are for other sites
    try:
        answer = client.get(f"{base}/version", timeout=request_timeout)
        answer.raise_for_status()
        spoken = tuple(int(part) for part in answer.json()["ApiVersion"].split("."))
    except BaseException:
        client.close()
        raise
    return Route(client, f"{base}/v{'.'.join(map(str, min(spoken, NEWEST)))}", far)


class Dialled(HTTPAdapter):
    """Requests over streams that `dial` opens; a few are kept open and used again."""

    def __init__(self, dial: Callable[[float | None], socket.socket]) -> None:
        self._dialled = _pool(dial)
        super().__init__()

    def get_connection_with_tls_context(self, *_: Any, **__: Any) -> HTTPConnectionPool:
        """The pool of streams, whatever the request's address is."""
        return self._dialled

    def request_url(self, request: Any, _: Mapping[str, str] | None) -> str:
        """The path alone: no proxy stands before a stream."""
        return str(request.path_url)

    def close(self) -> None:
        """Close the streams that are kept."""
        super().close()
        self._dialled.close()


def _pool(dial: Callable[[float | None], socket.socket]) -> HTTPConnectionPool:
    class Stream(HTTPConnection):
        def connect(self) -> None:
            self.sock = dial(self.timeout)
            self.sock.settimeout(self.timeout)

    class Streams(HTTPConnectionPool):
        ConnectionCls = Stream

    return Streams("docker", maxsize=32)


def _unix(path: str) -> Callable[[float | None], socket.socket]:
    def dial(timeout: float | None) -> socket.socket:
        stream = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            stream.settimeout(timeout)
            stream.connect(path)
        except BaseException:
            stream.close()
            raise
        return stream

    return dial


def _ssh(url: str) -> Callable[[float | None], socket.socket]:
    parts = urlsplit(url)
    port = ["-p", str(parts.port)] if parts.port else []
    there = f"{parts.username}@{parts.hostname}" if parts.username else str(parts.hostname)
    return through(["ssh", "-o", "BatchMode=yes", *port, "--", there, "docker", "system", "dial-stdio"])


def through(command: list[str]) -> Callable[[float | None], socket.socket]:
    """Opens streams that are the input and output of a program, which ends when its stream is closed."""

    def dial(_: float | None) -> socket.socket:
        near, far = socket.socketpair()
        try:
            program = subprocess.Popen(  # noqa: S603 - the person's own setting, and no shell reads it
                command,
                stdin=far.fileno(),
                stdout=far.fileno(),
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        except BaseException:
            near.close()
            raise
        finally:
            far.close()
        threading.Thread(target=program.wait, name="docker-ssh", daemon=True).start()
        return near

    return dial


def _where(address: Address) -> tuple[str, TLSConfig | bool]:
    if not address.url:
        found = kwargs_from_env()
        return found.get("base_url", _USUAL), found.get("tls", False)
    if not (address.tls_cert or address.tls_ca):
        return address.url, False
    pair = (address.tls_cert, address.tls_key) if address.tls_cert else None
    ca = address.tls_ca or None
    return address.url, TLSConfig(client_cert=pair, ca_cert=ca, verify=ca is not None)
