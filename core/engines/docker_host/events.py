"""The event stream of a Docker host, followed in a thread that reconnects when the stream breaks."""

from __future__ import annotations

import contextlib
import json
import threading
from typing import TYPE_CHECKING, Any, Final

from docker.types import CancellableStream
from requests.exceptions import RequestException
from urllib3.exceptions import HTTPError

from core.engines.docker_host.connection import Connection
from core.engines.errors import ChangeRefused, ContainerGone, HostLost
from core.engines.run.host import HostEvent

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    import requests

    from core.engines.docker_host.connection import Address

_READ_TIMEOUT: Final = 3600.0
_RETRY_DELAYS: Final = (0.2, 0.5, 1.0, 2.0)


class EventStream:
    """Follows a host's events in a thread of its own."""

    def __init__(self, address: Address, on_event: Callable[[HostEvent], None]) -> None:
        self._address, self._on_event = address, on_event
        self._closing = threading.Event()
        self._stream: CancellableStream | None = None
        self._thread = threading.Thread(target=self._run, name=f"docker-events-{address.name}", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End the thread, waiting briefly for it."""
        self._closing.set()
        stream = self._stream
        if stream is not None:
            with contextlib.suppress(OSError, AttributeError):
                stream.close()
        if self._thread is not threading.current_thread():
            self._thread.join(5)

    def _run(self) -> None:
        tries = 0
        while not self._closing.is_set():
            connection = Connection(self._address)
            try:
                tries = self._follow(connection) or tries + 1
            except (HostLost, ContainerGone, ChangeRefused):
                tries += 1
            finally:
                connection.close()
            self._closing.wait(_RETRY_DELAYS[min(tries, len(_RETRY_DELAYS)) - 1])

    def _follow(self, connection: Connection) -> int:
        """Follow one connection to its end; 0 if it was established."""
        answer = connection.stream("/events", _READ_TIMEOUT, filters={"type": ["container"]})
        self._stream = CancellableStream(_read_events(answer, self._address.name), answer)
        if self._closing.is_set():  # closed while it was being opened, when there was nothing to cancel
            answer.close()
            return 0
        self._on_event(HostEvent(self._address.name, "found"))
        try:
            for event in self._stream:
                if self._closing.is_set():
                    break
                self._on_event(event)
        finally:
            self._stream = None
            answer.close()
            self._on_event(HostEvent(self._address.name, "lost"))
        return 0


def _read_events(answer: requests.Response, host: str) -> Iterator[HostEvent]:
    incomplete_line = b""
    try:
        for piece in answer.iter_content(chunk_size=None):
            *lines, incomplete_line = (incomplete_line + piece).split(b"\n")
            for line in filter(bytes.strip, lines):
                with contextlib.suppress(TypeError, ValueError, AttributeError, OverflowError):  # an odd line
                    yield parse_event(json.loads(line), host)
    except (RequestException, HTTPError, OSError, ValueError, AttributeError):
        return  # the host is gone, or the stream was closed under it


def parse_event(message: Mapping[str, Any], host: str) -> HostEvent:
    """Return the event in a line of Docker's ``/events``."""
    actor = message.get("Actor") or {}
    kind = str(message.get("Action") or message.get("status") or "").partition(":")[0]
    return HostEvent(
        host,
        kind,
        str(actor.get("ID") or message.get("id") or ""),
        float(message.get("timeNano", 0)) / 1e9 or float(message.get("time", 0)),
        dict(actor.get("Attributes") or {}),
    )
