"""Changing a container's limits, and verifying that Docker applied them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

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


def resize(
    connection: Connection,
    reader: CgroupReader,
    host: HostInfo,
    now: Container,
    wanted: Limits,
    inspect: Callable[[str], Container],
) -> Limits:
    """Change what differs, read it back from Docker, and from the control group where that can be read.

    Raises
    ------
    ChangeRefused
        If Docker refused, or the container has other limits afterwards.
    """
    body = update_request(now.limits, wanted, host.cores, host.cgroup)
    usual = "CpuShares" in body and wanted.cpu_shares == 0
    for shares in UNSET_SHARES[host.cgroup] if usual else (0,):
        if body:
            connection.post(f"/containers/{now.id}/update", body | ({"CpuShares": shares} if usual else {}))
        if not usual or _weight(reader, now) in (None, USUAL_WEIGHT[host.cgroup]):
            break
    after = inspect(now.id) if body else now
    if rest := spelling_request(after.limits, wanted):
        connection.post(f"/containers/{now.id}/update", rest)
        after = inspect(now.id)
    seen = replace(after.limits, cpu_shares=0) if usual else after.limits
    if not seen.agrees(wanted, host.cores) or not _enforced(reader, after, wanted, host.cores):
        raise ChangeRefused(
            f"Docker on {host.name} did not give {now.name} the limits that were asked for.",
            "See Docker's log; the container's original limits stay saved.",
        )
    return after.limits


def _weight(reader: CgroupReader, container: Container) -> int | None:
    found = reader.cpu_limits(container)
    return None if found is None else found.weight


def _enforced(reader: CgroupReader, container: Container, wanted: Limits, cores: float) -> bool:
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
