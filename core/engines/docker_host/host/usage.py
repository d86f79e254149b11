"""Usage counters of many containers: from control groups on this machine, from Docker's API elsewhere."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from core.engines.docker_host.host.counters import from_api
from core.engines.errors import ChangeRefused, ContainerGone

if TYPE_CHECKING:
    from collections.abc import Sequence

    from core.engines.docker_host.api.connection import Connection
    from core.engines.docker_host.host.cgroups import CgroupReader
    from core.engines.docker_host.host.containers import Container
    from core.engines.values import Counters


class Using:
    """Reads counters; remote containers concurrently, since a host answers for each once a second at most."""

    def __init__(self, connection: Connection, reader: CgroupReader) -> None:
        self._connection, self._reader = connection, reader
        self._pool: ThreadPoolExecutor | None = None

    def counters(self, containers: Sequence[Container]) -> dict[str, Counters]:
        """A reading of each running container by id.

        Raises
        ------
        HostLost
            If the host had to be asked and does not answer.
        """
        found: dict[str, Counters] = {}
        others = []
        remote = self._connection.remote
        for container in containers:
            if remote or (container.running and not self._reader.reads(container)):
                others.append(container)
                continue
            counters = self._reader.counters(container)
            if counters is not None:
                found[container.id] = counters
        if others:
            found |= self._asked(others)
        return found

    def close(self) -> None:
        """End the threads that ask."""
        if self._pool is not None:
            self._pool.shutdown()
            self._pool = None

    def _asked(self, containers: Sequence[Container]) -> dict[str, Counters]:
        if self._pool is None:
            self._pool = ThreadPoolExecutor(32, thread_name_prefix="docker-stats")
        answers = self._pool.map(self._ask, [container.id for container in containers if container.running])
        return {name: counters for name, counters in answers if counters is not None}

    def _ask(self, container: str) -> tuple[str, Counters | None]:
        path = f"/containers/{container}/stats"
        try:
            found = self._connection.get(path, stream=False, **{"one-shot": True})
        except (ContainerGone, ChangeRefused):
            return container, None
        ended = str(found.get("read", "")).startswith("0001")
        return container, None if ended else from_api(found, time.monotonic())
