"""Requests to one Docker host's API, through the Docker SDK, with its errors turned into readable sentences.

The SDK's low-level client is a `requests` session that knows addresses and TLS, and its `CancellableStream`
ends a streaming response. Requests are made with the session directly rather than with the SDK's methods:

- ``update_container`` has no ``NanoCpus``, the only CPU limit that a container created with ``--cpus`` takes;
- ``logs`` inspects the container before each request, and joins both streams in the pieces that they came in,
  even in the middle of a line; lines with their times are needed here (`log_frames.parse_logs`);
- the models (``client.containers``) inspect every container of a list each time (`listing.Listing` does not);
- every request needs a time limit and readable errors, and here those are in one place.
"""

from __future__ import annotations

import contextlib
import json
import threading
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from docker.errors import DockerException, TLSParameterError
from requests.exceptions import RequestException, SSLError, Timeout

from core.engines.docker_host.api.transport import Route, route
from core.engines.errors import ChangeRefused, ContainerGone, HostLost

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import requests

    from core.engines.docker_host.api.addresses import Address

REQUEST_TIMEOUT: Final = 15.0
"""Seconds after which a request that got no answer counts as lost."""


class Connection:
    """Requests to one Docker host; opened by the first of them, shared by threads."""

    def __init__(self, address: Address, request_timeout: float = REQUEST_TIMEOUT) -> None:
        self.address, self._request_timeout = address, request_timeout
        self._route: Route | None = None
        self._opening = threading.Lock()

    @property
    def remote(self) -> bool:
        """True if the host is certainly another machine."""
        return self._open().remote

    def get(self, path: str, **params: Any) -> Any:
        """The answer to a GET request; retried once where a kept-alive connection had been closed.

        Raises
        ------
        HostLost
            If the host does not answer.
        ContainerGone
            If there is nothing at `path`.
        ChangeRefused
            If the host answers with any other error.
        """
        try:
            return self._asked("GET", path, params)
        except HostLost as lost:
            if lost.kind != "lost" or isinstance(lost.__cause__, Timeout):
                raise
            return self._asked("GET", path, params)

    def bytes_of(self, path: str, **params: Any) -> bytes:
        """The answer to a GET request as bytes."""
        return self._sent("GET", path, params, None, self._request_timeout).content

    def post(
        self,
        path: str,
        body: Mapping[str, Any] | None = None,
        request_timeout: float = 0.0,
        **params: Any,
    ) -> Any:
        """The answer to a POST request; `request_timeout` is added to the usual one."""
        return self._asked("POST", path, params, body, request_timeout)

    def delete(self, path: str, **params: Any) -> None:
        """Send a DELETE request."""
        self._asked("DELETE", path, params)

    def stream(self, path: str, quiet: float, **params: Any) -> requests.Response:
        """A streaming answer; reading it fails when nothing has come for `quiet` seconds."""
        return self._sent("GET", path, params, None, quiet, stream=True)

    def close(self) -> None:
        """Close what is open; the next request opens it again."""
        with self._opening:
            used, self._route = self._route, None
        if used is not None:
            used.client.close()

    def _asked(
        self,
        method: str,
        path: str,
        params: Mapping[str, Any],
        body: Mapping[str, Any] | None = None,
        request_timeout: float = 0.0,
    ) -> Any:
        content = self._sent(method, path, params, body, self._request_timeout + request_timeout).content
        return json.loads(content) if content.strip() else None

    def _sent(
        self,
        method: str,
        path: str,
        params: Mapping[str, Any],
        body: Mapping[str, Any] | None,
        request_timeout: float,
        stream: bool = False,
    ) -> requests.Response:
        with self._in_sentences():
            used = self._open()
            answer: requests.Response = used.client.request(
                method,
                f"{used.base}{quote(path)}",
                params={name: _plain(value) for name, value in params.items()},
                json=body,
                timeout=request_timeout,
                stream=stream,
            )
        if answer.status_code >= 400:
            raise self._refusal(answer)
        return answer

    def _refusal(self, answer: requests.Response) -> ContainerGone | ChangeRefused:
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
                with self._in_sentences():
                    self._route = route(self.address, self._request_timeout)
            return self._route

    @contextlib.contextmanager
    def _in_sentences(self) -> Iterator[None]:
        try:
            yield
        except (RequestException, DockerException, OSError) as error:
            raise self._lost(error) from error

    def _lost(self, error: Exception) -> HostLost:
        where = f"the Docker host {self.address.name} ({self.address.shown})"
        causes = tuple(_causes(error))
        if any(isinstance(cause, PermissionError) for cause in causes):
            return HostLost(
                f"Permission to open the socket of {where} is denied.",
                "Run PhaseDock as root, or as a member of the group docker.",
                "denied",
            )
        if any(isinstance(cause, (FileNotFoundError, ConnectionRefusedError)) for cause in causes):
            return HostLost(
                f"Nothing answers at {where}.", "Start Docker there, or correct PHASEDOCK_DOCKER.", "missing"
            )
        if any(isinstance(cause, (SSLError, TLSParameterError)) for cause in causes):
            return HostLost(
                f"The TLS certificates of PhaseDock and {where} do not match.",
                "Correct ca, cert and key in its address in PHASEDOCK_DOCKER.",
                "denied",
            )
        return HostLost(f"There was no answer from {where}.", "Check that Docker is running there.")


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    """An error, what it came from, and what it carries: libraries wrap the system's own in several layers."""
    seen: list[BaseException | None] = [error]
    for found in seen:
        if found is not None:
            yield found
            inner = [found.__cause__, found.__context__, *found.args, getattr(found, "reason", None)]
            seen += [i for i in inner if isinstance(i, BaseException) and i not in seen]


def _plain(value: Any) -> Any:
    if isinstance(value, bool):
        return "true" if value else "false"
    return json.dumps(value) if isinstance(value, dict) else value
