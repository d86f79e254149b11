"""Connections to Docker hosts: parsing `PHASEDOCK_DOCKER`, and requests over sockets, TLS and SSH."""

from __future__ import annotations

import contextlib
import json
import socket
import subprocess
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qsl, quote, urlsplit

from docker import APIClient
from docker.errors import DockerException, TLSParameterError
from docker.tls import TLSConfig
from docker.utils import kwargs_from_env
from requests.adapters import HTTPAdapter
from requests.exceptions import RequestException, SSLError, Timeout
from urllib3.connection import HTTPConnection
from urllib3.connectionpool import HTTPConnectionPool

from core.engines.errors import ChangeRefused, ContainerGone, HostLost, OddAnswer
from core.errors import SettingsError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    import requests


_SCHEMES: Final = ("unix", "tcp", "http", "https", "ssh")
_FILES: Final = {"ca": "tls_ca", "cert": "tls_cert", "key": "tls_key"}
_FORM: Final = "Write it as name=unix:///var/run/docker.sock;other=ssh://me@there, or leave it empty."


@dataclass(frozen=True, slots=True)
class Address:
    """One Docker host."""

    #: What people call it.
    name: str
    #: ``unix://``, ``tcp://`` or ``ssh://``; empty: the value of ``DOCKER_HOST`` and related variables, or
    #: the usual socket.
    url: str = ""
    #: Files of a ``tcp://`` host that is reached over TLS, or empty.
    tls_ca: str = ""
    tls_cert: str = ""
    tls_key: str = ""

    @property
    def shown(self) -> str:
        """The address for people."""
        return self.url or "the default address of Docker"


def parse_addresses(text: str) -> tuple[Address, ...]:
    """Read the setting that names Docker hosts.

    Raises SettingsError if an entry has no name, a name appears twice, or an address is of no known kind.
    """
    entries = [entry.strip() for entry in text.split(";") if entry.strip()]
    if not entries:
        return (Address("local"),)
    addresses: dict[str, Address] = {}
    for entry in entries:
        address = _parse(entry)
        if address.name in addresses:
            raise SettingsError(f"Two Docker hosts are called “{address.name}”.", "Give each its own name.")
        addresses[address.name] = address
    return tuple(addresses.values())


def _parse(entry: str) -> Address:
    name, equals, url = (part.strip() for part in entry.partition("="))
    if "://" in name or not equals:
        name, url = "local", entry
    if not name.replace("-", "").replace("_", "").replace(".", "").isalnum():
        raise SettingsError(f"“{entry}” does not begin with the name of a Docker host.", _FORM)
    parts = urlsplit(url)
    if url and parts.scheme not in _SCHEMES:
        raise SettingsError(f"“{url}” is not the address of a Docker host.", _FORM)
    if url and not (parts.path.strip("/") if parts.scheme == "unix" else parts.hostname):
        raise SettingsError(f"“{url}” does not say where the Docker host is.", _FORM)
    return Address(name, url.partition("?")[0], **_parse_tls(parts.query, url))


def _parse_tls(query: str, url: str) -> dict[str, str]:
    options = dict(parse_qsl(query))
    unknown = set(options) - set(_FILES)
    if unknown:
        raise SettingsError(
            f"“{url}” sets “{min(unknown)}”, which a Docker host does not have.", "Use ca, cert and key."
        )
    return {_FILES[name]: value for name, value in options.items()}


MAX_API_VERSION: Final = (1, 41)
"""The newest version of Docker's API that is used here; with an older host, the host's own is used."""

_DEFAULT_SOCKET: Final = "unix:///var/run/docker.sock"
_PRESENCE: Final = "http://docker:80"


@dataclass(frozen=True, slots=True)
class Route:
    """An open way to a host: the session, the start of each request's address, and whether it is remote."""

    client: APIClient
    base: str
    remote: bool


def open_route(address: Address, request_timeout: float) -> Route:
    """Open the way to a host and agree on a version of the API.

    Raises DockerException or RequestException or OSError if the host cannot be reached.
    """
    url, tls = _resolve_address(address)
    parts = urlsplit(url)
    far = parts.scheme not in ("unix", "http+unix")
    if far and parts.scheme != "ssh":
        client = APIClient(url, version="1.24", timeout=request_timeout, tls=tls, max_pool_size=32)
        base = str(client.base_url)
    else:
        client = APIClient(_PRESENCE, version="1.24", timeout=request_timeout)
        client.mount(_PRESENCE, DialAdapter(_dial_ssh(url) if far else _dial_unix(parts.netloc + parts.path)))
        base = _PRESENCE
    client.trust_env = False  # the environment's certificate authorities and proxies are for other sites
    try:
        answer = client.get(f"{base}/version", timeout=request_timeout)
        answer.raise_for_status()
        version = tuple(int(part) for part in answer.json()["ApiVersion"].split("."))
    except BaseException:
        client.close()
        raise
    return Route(client, f"{base}/v{'.'.join(map(str, min(version, MAX_API_VERSION)))}", far)


class DialAdapter(HTTPAdapter):
    """Sends requests over streams that `dial` opens; keeps a few open for reuse."""

    def __init__(self, dial: Callable[[float | None], socket.socket]) -> None:
        self._dialled = _make_pool(dial)
        super().__init__()

    def get_connection_with_tls_context(self, *_: Any, **__: Any) -> HTTPConnectionPool:
        """Return the pool of streams for every address."""
        return self._dialled

    def request_url(self, request: Any, _: Mapping[str, str] | None) -> str:
        """Return the path alone, because a stream has no proxy."""
        return str(request.path_url)

    def close(self) -> None:
        """Close the pooled streams."""
        super().close()
        self._dialled.close()


def _make_pool(dial: Callable[[float | None], socket.socket]) -> HTTPConnectionPool:
    class Stream(HTTPConnection):
        def connect(self) -> None:
            self.sock = dial(self.timeout)
            self.sock.settimeout(self.timeout)

    class Streams(HTTPConnectionPool):
        ConnectionCls = Stream

    return Streams("docker", maxsize=32)


def _dial_unix(path: str) -> Callable[[float | None], socket.socket]:
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


def _dial_ssh(url: str) -> Callable[[float | None], socket.socket]:
    parts = urlsplit(url)
    port = ["-p", str(parts.port)] if parts.port else []
    there = f"{parts.username}@{parts.hostname}" if parts.username else str(parts.hostname)
    return dial_command(["ssh", "-o", "BatchMode=yes", *port, "--", there, "docker", "system", "dial-stdio"])


def dial_command(command: list[str]) -> Callable[[float | None], socket.socket]:
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


def _resolve_address(address: Address) -> tuple[str, TLSConfig | bool]:
    if not address.url:
        environment = kwargs_from_env()
        return environment.get("base_url", _DEFAULT_SOCKET), environment.get("tls", False)
    if not (address.tls_cert or address.tls_ca):
        return address.url, False
    pair = (address.tls_cert, address.tls_key) if address.tls_cert else None
    ca = address.tls_ca or None
    return address.url, TLSConfig(client_cert=pair, ca_cert=ca, verify=ca is not None)


MAX_BYTES: Final = 1 << 24
"""Bytes of a log that are read at once; a container may print more in a line than fits into the memory."""

REQUEST_TIMEOUT: Final = 15.0
"""Seconds after which a request that got no answer counts as lost."""


class Connection:
    """Sends requests to one Docker host; opened by the first request, shared by threads."""

    def __init__(self, address: Address, request_timeout: float = REQUEST_TIMEOUT) -> None:
        self.address, self._request_timeout = address, request_timeout
        self._route: Route | None = None
        self._opening = threading.Lock()

    @property
    def remote(self) -> bool:
        """True if the host is certainly another machine."""
        return self._open().remote

    def get(self, path: str, **params: Any) -> Any:
        """Send a GET request and return the answer; retry once if a kept-alive connection was closed.

        Raises HostLost if the host does not answer; ContainerGone if there is nothing at `path`;
        ChangeRefused if the host answers with any other error.
        """
        try:
            return self._request_json("GET", path, params)
        except HostLost as lost:
            if lost.kind != "lost" or isinstance(lost.__cause__, Timeout):
                raise
            return self._request_json("GET", path, params)

    def get_bytes(self, path: str, at_most: int = MAX_BYTES, **params: Any) -> bytes:
        """Return the answer to a GET request, or the first bytes of a longer one."""
        answer = self._request("GET", path, params, None, self._request_timeout, stream=True)
        pieces, size = [], 0
        with self._translate_errors(), answer:
            for piece in answer.iter_content(1 << 16):
                pieces.append(piece[: at_most - size])
                size += len(pieces[-1])
                if size >= at_most:
                    break
        return b"".join(pieces)

    def post(
        self,
        path: str,
        body: Mapping[str, Any] | None = None,
        request_timeout: float = 0.0,
        **params: Any,
    ) -> Any:
        """Return the answer to a POST request; `request_timeout` is added to the usual one."""
        return self._request_json("POST", path, params, body, request_timeout)

    def delete(self, path: str, **params: Any) -> None:
        """Send a DELETE request."""
        self._request_json("DELETE", path, params)

    def stream(self, path: str, read_timeout: float, **params: Any) -> requests.Response:
        """Return a streaming answer; reading it fails after `read_timeout` seconds without data."""
        return self._request("GET", path, params, None, read_timeout, stream=True)

    def close(self) -> None:
        """Close the connection; the next request opens it again."""
        with self._opening:
            route, self._route = self._route, None
        if route is not None:
            route.client.close()

    def _request_json(
        self,
        method: str,
        path: str,
        params: Mapping[str, Any],
        body: Mapping[str, Any] | None = None,
        request_timeout: float = 0.0,
    ) -> Any:
        content = self._request(method, path, params, body, self._request_timeout + request_timeout).content
        try:
            return json.loads(content, parse_constant=lambda _: None) if content.strip() else None
        except (ValueError, RecursionError) as error:
            raise OddAnswer(
                f"Docker on {self.address.name} gave an answer that cannot be read.",
                "Check whether a proxy stands before it.",
            ) from error

    def _request(
        self,
        method: str,
        path: str,
        params: Mapping[str, Any],
        body: Mapping[str, Any] | None,
        request_timeout: float,
        stream: bool = False,
    ) -> requests.Response:
        with self._translate_errors():
            route = self._open()
            answer: requests.Response = route.client.request(
                method,
                f"{route.base}{quote(path)}",
                params={name: _encode_parameter(value) for name, value in params.items()},
                json=body,
                timeout=request_timeout,
                stream=stream,
            )
        if answer.status_code >= 400:
            raise self._read_refusal(answer)
        return answer

    def _read_refusal(self, answer: requests.Response) -> ContainerGone | ChangeRefused:
        try:
            why = str(json.loads(answer.content)["message"])
        except (ValueError, KeyError, TypeError):
            why = answer.reason or f"status {answer.status_code}"
        message = f"Docker on {self.address.name} says: {why.strip().rstrip('.')}."
        if answer.status_code == 404:
            return ContainerGone(message, "Refresh to see which containers exist.")
        return ChangeRefused(message, "Nothing was changed.")

    def _open(self) -> Route:
        with self._opening:
            if self._route is None:
                with self._translate_errors():
                    self._route = open_route(self.address, self._request_timeout)
            return self._route

    @contextlib.contextmanager
    def _translate_errors(self) -> Iterator[None]:
        try:
            yield
        except (RequestException, DockerException, OSError) as error:
            raise self._describe_loss(error) from error

    def _describe_loss(self, error: Exception) -> HostLost:
        place = f"the Docker host {self.address.name} ({self.address.shown})"
        causes = tuple(_iterate_causes(error))
        if any(isinstance(cause, PermissionError) for cause in causes):
            return HostLost(
                f"Permission to open the socket of {place} is denied.",
                "Run PhaseDock as root, or as a member of the group docker.",
                "denied",
            )
        if any(isinstance(cause, (FileNotFoundError, ConnectionRefusedError)) for cause in causes):
            return HostLost(
                f"Nothing answers at {place}.", "Start Docker there, or correct PHASEDOCK_DOCKER.", "missing"
            )
        if any(isinstance(cause, (SSLError, TLSParameterError)) for cause in causes):
            return HostLost(
                f"The TLS certificates of PhaseDock and {place} do not match.",
                "Correct ca, cert and key in its address in PHASEDOCK_DOCKER.",
                "denied",
            )
        return HostLost(f"There was no answer from {place}.", "Check that Docker is running there.")


def _iterate_causes(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an error and all errors that it wraps; libraries wrap system errors in several layers."""
    causes: list[BaseException | None] = [error]
    for cause in causes:
        if cause is not None:
            yield cause
            inner = [cause.__cause__, cause.__context__, *cause.args, getattr(cause, "reason", None)]
            causes += [i for i in inner if isinstance(i, BaseException) and i not in causes]


def _encode_parameter(value: Any) -> Any:
    if isinstance(value, bool):
        return "true" if value else "false"
    return json.dumps(value) if isinstance(value, dict) else value
