"""Changing a container's limits, and verifying that Docker applied them."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from core.engines.docker_host.host.limits import DEFAULT_PERIOD
from core.engines.docker_host.host.update_request import (
    UNSET_SHARES,
    USUAL_WEIGHT,
    spelling_request,
    update_request,
)
from core.engines.errors import ChangeRefused

if TYPE_CHECKING:
    from collections.abc import Callable

    from core.engines.docker_host.api.connection import Connection
    from core.engines.docker_host.host.cgroups import CgroupReader
    from core.engines.docker_host.host.containers import Container
    from core.engines.docker_host.host.limits import Limits
    from core.engines.values import HostInfo


_PAGE: Final = 1 << 16
"""Bytes by which the kernel may round a limit down: its largest usual page."""


def resize(
    connection: Connection,
    reader: CgroupReader,
    host: HostInfo,
    now: Container,
    wanted: Limits,
    inspect: Callable[[str], Container],
) -> Limits:
    """Change what differs, read it back from Docker, and from the control group where that can be read.

    A request that is refused may have reached the kernel in part: version 1 takes a limit of memory and swap
    before it refuses one of memory, since that much is in use. What was there is sent again then, and so it
    is where Docker and the kernel are found to differ.

    Raises
    ------
    ChangeRefused
        If Docker refused, or the container has other limits afterwards.
    """
    partial = _partially_applied(reader, now, host.cores)
    body = update_request(now.limits, wanted, host.cores, host.cgroup, partial)
    usual = "CpuShares" in body and wanted.cpu_shares == 0
    for shares in UNSET_SHARES[host.cgroup] if usual else (0,):
        if body:
            try:
                connection.post(
                    f"/containers/{now.id}/update", body | ({"CpuShares": shares} if usual else {})
                )
            except ChangeRefused:
                _mend(connection, reader, host, now)
                raise
        if not usual or _weight(reader, now) in (None, USUAL_WEIGHT[host.cgroup]):
            break
    after = inspect(now.id) if body else now
    if rest := spelling_request(after.limits, wanted):
        connection.post(f"/containers/{now.id}/update", rest)
        after = inspect(now.id)
    seen = replace(after.limits, cpu_shares=0) if usual else after.limits
    enforced = _cores_enforced(reader, after, wanted, host.cores) and _memory_enforced(reader, after, wanted)
    if not seen.agrees(wanted, host.cores) or not enforced:
        raise ChangeRefused(
            f"Docker on {host.name} did not give {now.name} the limits that were asked for.",
            "See Docker's log; the container's original limits stay saved.",
        )
    return after.limits


def _mend(connection: Connection, reader: CgroupReader, host: HostInfo, now: Container) -> None:
    """Send again what a container had before a request that was refused, if the kernel took a part of it."""
    partial = _partially_applied(reader, now, host.cores)
    if before := update_request(now.limits, now.limits, host.cores, host.cgroup, partial):
        with suppress(ChangeRefused):  # what was refused is what has to be said; the next change sends all
            connection.post(f"/containers/{now.id}/update", before)


def _weight(reader: CgroupReader, container: Container) -> int | None:
    found = reader.cpu_limits(container)
    return None if found is None else found.weight


def _partially_applied(reader: CgroupReader, container: Container, cores: float) -> tuple[bool, bool]:
    """Whether the kernel holds a container to other cores, and to other memory, than Docker says."""
    limits = container.limits
    held = reader.memory_limits(container) if container.running else None
    together = None if held is None else held.together
    swaps = together is None or limits.swap_bytes is None or abs(together - limits.swap_bytes) < _PAGE
    memory = _memory_enforced(reader, container, limits) and swaps
    return not _cores_enforced(reader, container, limits, cores), not memory


def _memory_enforced(reader: CgroupReader, container: Container, wanted: Limits) -> bool:
    """Whether the kernel holds the container to its memory; true where that cannot be read."""
    held = reader.memory_limits(container) if container.running else None
    return held is None or abs((held.memory or 0) - (wanted.memory_bytes or 0)) < _PAGE


def _cores_enforced(reader: CgroupReader, container: Container, wanted: Limits, cores: float) -> bool:
    """Whether the kernel holds the container to its cores; true where that cannot be read."""
    found = reader.cpu_limits(container) if container.running else None
    if found is None:
        return True
    has = None if found.quota is None else found.quota / (found.period or DEFAULT_PERIOD)
    limit, said_in_cpus = wanted.cores, container.limits.nano_cpus > 0
    most = None if limit is None or (said_in_cpus and limit >= cores) else limit
    if has is None or most is None:
        return (has is None or (said_in_cpus and has >= cores)) and most is None
    return abs(has - most) <= 0.0001 + 1 / found.period
