"""Read-only access to a Docker host: its containers, their usage and logs, its events."""

from __future__ import annotations

import logging
import threading
import time
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self

from core.engines.docker_host.agent.readings import AgentReadings
from core.engines.docker_host.api.connection import REQUEST_TIMEOUT, Connection
from core.engines.docker_host.api.events import EventStream
from core.engines.docker_host.api.log_frames import parse_logs
from core.engines.docker_host.host.cgroups import CgroupReader
from core.engines.docker_host.host.containers import parse_host
from core.engines.docker_host.host.listing import Listing
from core.engines.docker_host.host.usage import Using
from core.engines.errors import ContainerGone
from core.engines.values import AGENT

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import TracebackType

    from core.engines.docker_host.api.addresses import Address
    from core.engines.docker_host.api.events import HostEvent
    from core.engines.docker_host.host.containers import Container
    from core.engines.values import Counters, EngineKey, HostInfo


_LOG: Final = logging.getLogger(__name__)


class HostReading:
    """Looks at a Docker host and changes nothing; safe to use from several threads."""

    def __init__(self, address: Address, request_timeout: float = REQUEST_TIMEOUT) -> None:
        self.address = address
        self._connection = Connection(address, request_timeout)
        self._reader = CgroupReader()
        self._listing = Listing(self._connection)
        self._using = Using(self._connection, self._reader)
        self._info: HostInfo | None = None
        self._asked = 0.0
        self._unsure = False
        self._stream: EventStream | None = None
        self._listeners: list[Callable[[HostEvent], None]] = []
        self._following = threading.Event()
        self._lock = threading.Lock()

    @property
    def name(self) -> str:
        """Its name in the settings."""
        return self.address.name

    def info(self, within: float = inf) -> HostInfo:
        """What the host is, as it said at most so many seconds ago; without, whenever it was first asked.

        Raises
        ------
        HostLost
            If it does not answer.
        """
        known, now = self._info, time.monotonic()
        if known is None or now - self._asked >= within:
            found = self._connection.get("/info")
            local = not self._connection.remote and self._reader.usable
            self._info = known = parse_host(self.name, found, local)
            self._asked, self._unsure = now, False
        return known

    def key(self) -> EngineKey:
        """Which engine this is; asked again after it was lost, since another one may answer now.

        Raises
        ------
        HostLost
            If it does not answer.
        """
        return self.info(0.0 if self._unsure else inf).key

    def ping(self) -> None:
        """Ask whether the host is there.

        Raises
        ------
        HostLost
            If it does not answer.
        """
        self._connection.bytes_of("/_ping")

    def containers(self, running_only: bool = True) -> tuple[Container, ...]:
        """The host's containers, newest first; asks only for what may have changed since the last call.

        Raises
        ------
        HostLost
            If it does not answer.
        """
        self._follow()
        found = self._listing.all(running_only)
        if not running_only:
            self._reader.forget_all_but({container.id for container in found})
        return found

    def inspect(self, container: str) -> Container:
        """One container as it is now, by id or name.

        Raises
        ------
        ContainerGone
            If it is not there.
        HostLost
            If the host does not answer.
        """
        return self._listing.inspect(container)

    def has_image(self, image: str) -> bool:
        """Whether the host has an image; nothing is pulled.

        Raises
        ------
        HostLost
            If it does not answer.
        """
        try:
            self._connection.get(f"/images/{image}/json")
        except ContainerGone:
            return False
        return True

    def known(self, container: str) -> Container | None:
        """What was last seen of a container, without asking."""
        return self._listing.known(container)

    def counters(self, containers: Sequence[Container]) -> dict[str, Counters]:
        """A reading of each running container by id; those that have just ended are left out.

        Raises
        ------
        HostLost
            If the host had to be asked and does not answer.
        """
        return self._using.counters(containers)

    def logs_since(self, container: str, since: float, lines: int = 100_000) -> list[tuple[float, str]]:
        """Times and lines that a container printed after `since` (Unix seconds), at most the last `lines`."""
        content = self._connection.bytes_of(
            f"/containers/{container}/logs",
            stdout=True,
            stderr=True,
            timestamps=True,
            since=f"{since:.9f}",
            tail=lines,
        )
        return [(when, line) for when, line in parse_logs(content) if when > since]

    def readings(self, container: Container) -> AgentReadings | None:
        """What a container's agent reports, as it was printed, where its folder is on this machine."""
        folder = self._agent_folder(container)
        return None if folder is None else AgentReadings(folder / "readings.csv")

    def _agent_folder(self, container: Container) -> Path | None:
        said = container.labels.get(AGENT, "")
        return Path(said) if said and self.info().local and Path(said).is_dir() else None

    def events(self, callback: Callable[[HostEvent], None]) -> Callable[[], None]:
        """Call `callback` with every event, in the host's own thread, until the returned function is called.

        A lost host is tried again for as long as it takes; that it is lost or found again is an event too.
        """
        with self._lock:
            self._listeners.append(callback)
            self._begin_following()

        def unsubscribe() -> None:
            with self._lock:
                if callback in self._listeners:
                    self._listeners.remove(callback)

        return unsubscribe

    def close(self) -> None:
        """End the thread that follows events, and close what is open."""
        with self._lock:
            stream, self._stream = self._stream, None
            self._listeners.clear()
            self._following.clear()
        if stream is not None:
            stream.close()
        self._using.close()
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # ---- events ----

    def _follow(self) -> None:
        self.info()  # a host that is not there says so here, not by silence
        with self._lock:
            begun = self._begin_following()
        if begun:
            self._following.wait(2.0)

    def _begin_following(self) -> bool:
        if self._stream is not None:
            return False
        self._stream = EventStream(self.address, self._tell)
        return True

    def _tell(self, event: HostEvent) -> None:
        self._listing.note(event)
        if event.kind == "found":
            self._following.set()
        elif event.kind == "lost":
            self._unsure = True
        with self._lock:
            listeners = tuple(self._listeners)
        for listener in listeners:
            try:
                listener(event)
            except Exception:  # noqa: BLE001 - whatever it is, the others are told all the same
                _LOG.exception("a listener failed at the event %s", event)
