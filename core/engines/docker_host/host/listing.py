"""The list of a host's containers, cached until something may have changed.

Docker's list says little and inspecting fifty containers costs a tenth of a second, so what is known of a
container is kept until an event names it, and the list itself is requested again only after events, after ten
seconds, or always while no events come in.
"""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any, Final

from core.engines.docker_host.host.containers import parse_container
from core.engines.errors import ContainerGone

if TYPE_CHECKING:
    from core.engines.docker_host.api.connection import Connection
    from core.engines.docker_host.api.events import HostEvent
    from core.engines.docker_host.host.containers import Container

_CHANGING: Final = frozenset(
    ("create", "start", "restart", "stop", "die", "destroy", "update", "pause", "unpause", "rename", "oom")
)
_SURE_FOR: Final = 10.0


class Listing:
    """The containers of one host as they were last seen."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._lock = threading.Lock()
        self._known: dict[str, Container] = {}
        self._stale: set[str] = set()
        self._lists: dict[bool, tuple[float, tuple[str, ...]]] = {}
        self._sure = False

    def note(self, event: HostEvent) -> None:
        """Take notice of an event."""
        with self._lock:
            if event.kind in ("found", "lost"):
                self._sure = event.kind == "found"
                self._stale.update(self._known)
                self._lists.clear()
            elif event.kind in _CHANGING:
                self._stale.add(event.container)
                self._lists.clear()

    def doubt(self, container: str) -> None:
        """Ask again for a container that was just changed, since its event may come later than the answer."""
        with self._lock:
            self._stale.add(container)
            self._lists.clear()

    def known(self, container: str) -> Container | None:
        """What was last seen of a container, or None."""
        with self._lock:
            return self._known.get(container)

    def inspect(self, container: str) -> Container:
        """Ask for one container.

        Raises
        ------
        ContainerGone
            If it is not there.
        HostLost
            If the host does not answer.
        """
        with self._lock:
            self._stale.discard(container)  # an event from now on makes it stale again
        try:
            found = parse_container(self._connection.get(f"/containers/{container}/json"))
        except ContainerGone:
            with self._lock:
                self._known.pop(container, None)
            raise
        with self._lock:
            self._known[found.id] = found
        return found

    def all(self, running_only: bool) -> tuple[Container, ...]:
        """The host's containers, newest first."""
        found = []
        for container in self._ids(running_only):
            with self._lock:
                seen = None if container in self._stale else self._known.get(container)
            try:
                found.append(seen or self.inspect(container))
            except ContainerGone:
                continue
        return tuple(c for c in found if c.running or not running_only)

    def _ids(self, running_only: bool) -> tuple[str, ...]:
        with self._lock:
            asked, ids = self._lists.get(running_only, (float("-inf"), ()))
            if self._sure and time.monotonic() - asked < _SURE_FOR:
                return ids
        begin = time.monotonic()
        with self._lock:
            self._lists[running_only] = (begin, ())  # an event that comes meanwhile removes it again
        entries = self._connection.get("/containers/json", all=not running_only)
        ids = tuple(entry["Id"] for entry in entries)
        with self._lock:
            self._compare(entries)
            if running_only in self._lists:
                self._lists[running_only] = (begin, ids)
            if not running_only:
                self._known = {name: known for name, known in self._known.items() if name in set(ids)}
        return ids

    def _compare(self, entries: list[dict[str, Any]]) -> None:
        """Mark containers whose state is not what we know for inspection; all of them, if unsure."""
        for entry in entries:
            known = self._known.get(entry["Id"])
            if known is not None and (not self._sure or known.state != entry["State"]):
                self._stale.add(entry["Id"])
