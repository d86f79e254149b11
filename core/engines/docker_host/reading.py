"""Reads from a Docker host: containers, their usage, logs and events, cached until an event changes them."""

from __future__ import annotations

import logging
import struct
import threading
import time
from collections import Counter
from dataclasses import replace
from itertools import islice
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self, TypeVar

from core.engines.docker_host.cgroups import CgroupReader, ContainerUsage
from core.engines.docker_host.connection import REQUEST_TIMEOUT, Connection
from core.engines.docker_host.containers import (
    Container,
    parse_container,
    parse_host,
    parse_labels,
    parse_text,
    parse_time,
)
from core.engines.docker_host.events import EventStream
from core.engines.docker_host.limits import Limits
from core.engines.docker_host.pressure import PressureReader
from core.engines.errors import ChangeRefused, ContainerGone, HostLost, OddAnswer
from core.engines.run.agent import AgentReadings
from core.engines.values import AGENT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from types import TracebackType

    from core.engines.docker_host.connection import Address
    from core.engines.run.host import HostEvent
    from core.engines.values import Counters, EngineKey, HostInfo


_T = TypeVar("_T")
_ID_LENGTH: Final = 64
_HEADER: Final = struct.Struct(">BxxxL")


def parse_logs(content: bytes) -> list[tuple[float, str]]:
    """Parse Docker's log format to lines with their Unix seconds, in the order of time."""
    lines: list[tuple[float, str]] = []
    for text in _split_streams(content):
        for line in text.split(b"\n"):
            when, _, line_text = line.decode("utf-8", "replace").rstrip("\r").partition(" ")
            try:
                lines.append((parse_time(when), line_text))
            except (ValueError, OverflowError):
                continue
    return sorted((line for line in lines if line[0]), key=lambda line: line[0])


def _split_streams(content: bytes) -> list[bytes]:
    """Split frames into the text of each stream; a line may span frames, but not streams."""
    if not _is_framed(content):
        return [content]
    streams: dict[int, list[bytes]] = {}
    place = 0
    while place + _HEADER.size <= len(content):
        stream, length = _HEADER.unpack_from(content, place)
        place += _HEADER.size
        streams.setdefault(stream, []).append(content[place : place + length])
        place += length
    return [b"".join(pieces) for pieces in streams.values()]


def _is_framed(content: bytes) -> bool:
    return len(content) >= _HEADER.size and content[0] in (0, 1, 2) and content[1:4] == b"\0\0\0"


_CHANGING_EVENTS: Final = frozenset(
    ("create", "start", "restart", "stop", "die", "destroy", "update", "pause", "unpause", "rename", "oom")
)
_MAX_LIST_AGE: Final = 10.0
_WITH_PROCESSES: Final = frozenset(("running", "paused"))


class ListedContainer(NamedTuple):
    """What a host's list says of a container."""

    id: str
    name: str
    image: str
    labels: Mapping[str, str]
    state: str

    def as_container(self, unreadable: str) -> Container:
        """Return a container of which no more is known, and why."""
        unknown = Limits()
        named = (self.id, self.name, self.image, self.labels, self.state)
        return Container(*named, 0.0, 0.0, 0, unknown, "", unreadable=unreadable)


def _parse_list(answer: Any) -> tuple[ListedContainer, ...]:
    """Return the containers of a list; raises TypeError if it is none."""
    if not isinstance(answer, list):
        raise TypeError(type(answer))
    return tuple(each for each in map(_parse_listed, answer) if each is not None)


def _parse_listed(entry: Any) -> ListedContainer | None:
    """Return what an entry of a list says; None if it names no container."""
    if not isinstance(entry, dict) or not isinstance(entry.get("Id"), str) or not entry["Id"]:
        return None
    texts = {name: each for name, each in entry.items() if isinstance(each, str)}
    names = entry.get("Names")
    first = names[0] if isinstance(names, list) and names and isinstance(names[0], str) else entry["Id"][:12]
    return ListedContainer(
        parse_text(entry["Id"]),
        parse_text(first).removeprefix("/"),
        parse_text(texts.get("Image")),
        parse_labels(entry.get("Labels")),
        parse_text(texts.get("State")),
    )


class ContainerCache:
    """The last known containers of a host."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._lock = threading.Lock()
        self._cached: dict[str, Container] = {}
        self._stale: set[str] = set()
        self._lists: dict[bool, tuple[float, tuple[ListedContainer, ...]]] = {}
        self._is_following = False
        self._kills: Counter[str] = Counter()

    def handle_event(self, event: HostEvent) -> None:
        """Update the cache by an event."""
        with self._lock:
            if event.kind in ("found", "lost"):
                self._is_following = event.kind == "found"
                self._stale.update(self._cached)
                self._lists.clear()
            elif event.kind in _CHANGING_EVENTS:
                self._kills[event.container] += event.kind == "oom"
                self._stale.add(event.container)
                self._lists.clear()

    def mark_stale(self, container: str) -> None:
        """Mark a just changed container for a new request, since its event may follow the answer."""
        with self._lock:
            self._stale.add(container)
            self._lists.clear()

    def last_state(self, container: str) -> Container | None:
        """Return the last known state of a container, or None."""
        with self._lock:
            return self._cached.get(container)

    def inspect(self, container: str) -> Container:
        """Request one container.

        Raises ContainerGone if it does not exist; OddAnswer if it cannot be described; HostLost if the host
        does not answer.
        """
        with self._lock:
            self._stale.discard(container)  # an event from now on makes it stale again
        try:
            current = parse_container(self._connection.get(f"/containers/{container}/json"))
            if len(container) == _ID_LENGTH and current.id != container:
                raise OddAnswer("Docker's description of it is of another container.", "See Docker's log.")
            current = replace(current, kills=self._kills[current.id])
        except ContainerGone:
            with self._lock:
                self._cached.pop(container, None)
            raise
        except ChangeRefused as refused:
            with self._lock:
                self._stale.add(container)
            raise OddAnswer(refused.message, refused.hint) from refused
        with self._lock:
            self._cached[current.id] = current
        return current

    def all(self, running_only: bool) -> tuple[Container, ...]:
        """Return the host's containers, newest first."""
        found = self._describe(self._listed(running_only))
        return tuple(c for c in found if _has_processes(c) or not running_only)

    def stopped(self, wanted: Callable[[ListedContainer], bool], at_most: int) -> tuple[Container, ...]:
        """Return wanted containers that are listed as stopped, newest first; the others are not requested."""
        listed = (each for each in self._listed(running_only=False) if each.state not in _WITH_PROCESSES)
        return tuple(self._describe(islice(filter(wanted, listed), at_most)))

    def _describe(self, listed: Iterable[ListedContainer]) -> Iterator[Container]:
        for each in listed:
            with self._lock:
                cached = None if each.id in self._stale else self._cached.get(each.id)
            try:
                yield cached or self.inspect(each.id)
            except ContainerGone:
                continue
            except OddAnswer as odd:
                known = self.last_state(each.id)
                yield (
                    each.as_container(odd.message)
                    if known is None
                    else replace(known, unreadable=odd.message)
                )

    def _listed(self, running_only: bool) -> tuple[ListedContainer, ...]:
        with self._lock:
            requested_at, listed = self._lists.get(running_only, (float("-inf"), ()))
            if self._is_following and time.monotonic() - requested_at < _MAX_LIST_AGE:
                return listed
        begin = time.monotonic()
        with self._lock:
            self._lists[running_only] = (begin, ())  # an event that comes meanwhile removes it again
        listed = _of_host(lambda: _parse_list(self._connection.get("/containers/json", all=not running_only)))
        with self._lock:
            self._compare(listed)
            if running_only in self._lists:
                self._lists[running_only] = (begin, listed)
            if not running_only:
                ids = {each.id for each in listed}
                self._cached = {name: cached for name, cached in self._cached.items() if name in ids}
                self._kills = Counter({name: n for name, n in self._kills.items() if name in ids})
        return listed

    def _compare(self, listed: Iterable[ListedContainer]) -> None:
        """Mark containers with a changed state as stale; all of them while events are not followed."""
        for each in listed:
            cached = self._cached.get(each.id)
            if cached is not None and (not self._is_following or cached.state != each.state):
                self._stale.add(each.id)


def _has_processes(container: Container) -> bool:
    """Whether a container runs or is paused; by the list where no more is known of it."""
    return container.running or (bool(container.unreadable) and container.state in _WITH_PROCESSES)


def _of_host(ask: Callable[[], _T]) -> _T:
    """Return an answer about the whole host; an odd one is as good as none.

    Raises HostLost if there is none that can be read.
    """
    try:
        return ask()
    except ChangeRefused as refused:
        raise HostLost(refused.message, refused.hint) from refused
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise HostLost(
            "The Docker host gives answers that cannot be read.", "Check whether a proxy stands before it."
        ) from error


_LOG: Final = logging.getLogger(__name__)


class HostReading:
    """Reads from a Docker host without changes; safe to use from several threads."""

    def __init__(self, address: Address, request_timeout: float = REQUEST_TIMEOUT) -> None:
        self.address = address
        self._connection = Connection(address, request_timeout)
        self._reader = CgroupReader()
        self._pressure = PressureReader()
        self._cache = ContainerCache(self._connection)
        self._usage = ContainerUsage(self._connection, self._reader)
        self._info: HostInfo | None = None
        self._requested_at = 0.0
        self._is_unsure = False
        self._stream: EventStream | None = None
        self._listeners: list[Callable[[HostEvent], None]] = []
        self._following = threading.Event()
        self._lock = threading.Lock()

    @property
    def name(self) -> str:
        """Its name in the settings."""
        return self.address.name

    def info(self, within: float = inf) -> HostInfo:
        """Return the description of the host, at most `within` seconds old.

        Raises HostLost if it does not answer.
        """
        info, now = self._info, time.monotonic()
        if info is None or now - self._requested_at >= within:
            local = not self._connection.remote and self._reader.usable
            info = _of_host(lambda: parse_host(self.name, self._connection.get("/info"), local))
            self._info = info
            self._requested_at, self._is_unsure = now, False
        return info

    def key(self) -> EngineKey:
        """Return the identity of the engine; requested again after a loss, since another may answer.

        Raises HostLost if it does not answer.
        """
        return self.info(0.0 if self._is_unsure else inf).key

    def ping(self) -> None:
        """Check that the host answers.

        Raises HostLost if it does not answer.
        """
        self._connection.get_bytes("/_ping")

    def containers(self, running_only: bool = True) -> tuple[Container, ...]:
        """Return the host's containers, newest first; requests only changed ones.

        Raises HostLost if it does not answer.
        """
        self._follow()
        containers = self._cache.all(running_only)
        if not running_only:
            self._reader.forget_all_but({container.id for container in containers})
        return containers

    def stopped(self, wanted: Callable[[ListedContainer], bool], at_most: int) -> tuple[Container, ...]:
        """Return the newest wanted containers that are listed as stopped; some may have started meanwhile.

        `wanted` judges by ``id`` and ``labels``.

        Raises HostLost if it does not answer.
        """
        self._follow()
        return self._cache.stopped(wanted, at_most)

    def inspect(self, container: str) -> Container:
        """Return the present state of a container, by id or name.

        Raises ContainerGone if it does not exist; HostLost if the host does not answer.
        """
        return self._cache.inspect(container)

    def has_image(self, image: str) -> bool:
        """Whether the host has an image; nothing is pulled.

        Raises HostLost if it does not answer.
        """
        try:
            self._connection.get(f"/images/{image}/json")
        except ContainerGone:
            return False
        return True

    def last_state(self, container: str) -> Container | None:
        """Return the last known state of a container without a request."""
        return self._cache.last_state(container)

    def counters(self, containers: Sequence[Container]) -> dict[str, Counters]:
        """Return a reading of each running container by id.

        Raises HostLost if a request is needed and the host does not answer.
        """
        return self._usage.counters(containers)

    def pressure(self) -> float | None:
        """Return the share of the last seconds in which something on the host waited for CPU or memory.

        None of a host that is not this machine.
        """
        return self._pressure() if self.info().local else None

    def logs_since(self, container: str, since: float, lines: int = 100_000) -> list[tuple[float, str]]:
        """Return times and a container's last `lines` log lines after `since` (Unix seconds)."""
        content = self._connection.get_bytes(
            f"/containers/{container}/logs",
            stdout=True,
            stderr=True,
            timestamps=True,
            since=f"{since:.9f}",
            tail=lines,
        )
        return [(when, line) for when, line in parse_logs(content) if when > since]

    def readings(self, container: Container) -> AgentReadings | None:
        """Return the readings of a container's agent, or None if its folder is not on this machine."""
        folder = self._agent_folder(container)
        return None if folder is None else AgentReadings(folder / "readings.csv")

    def _agent_folder(self, container: Container) -> Path | None:
        label = container.labels.get(AGENT, "")
        return Path(label) if label and self.info().local and Path(label).is_dir() else None

    def events(self, callback: Callable[[HostEvent], None]) -> Callable[[], None]:
        """Call `callback` with every event in the host's thread; return the function that unsubscribes.

        A lost host is retried forever; its loss and return are events, too.
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
        """End the thread that follows events and close the connection."""
        with self._lock:
            stream, self._stream = self._stream, None
            self._listeners.clear()
            self._following.clear()
        if stream is not None:
            stream.close()
        self._usage.close()
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # ---- events ----

    def _follow(self) -> None:
        self.info()  # a lost host raises here, not by silence
        with self._lock:
            is_new = self._begin_following()
        if is_new:
            self._following.wait(2.0)

    def _begin_following(self) -> bool:
        if self._stream is not None:
            return False
        self._stream = EventStream(self.address, self._notify_listeners)
        return True

    def _notify_listeners(self, event: HostEvent) -> None:
        self._cache.handle_event(event)
        if event.kind == "found":
            self._following.set()
        elif event.kind == "lost":
            self._is_unsure = True
        with self._lock:
            listeners = tuple(self._listeners)
        for listener in listeners:
            try:
                listener(event)
            except Exception:  # noqa: BLE001 - whatever it is, the others are told all the same
                _LOG.exception("a listener failed at the event %s", event)
