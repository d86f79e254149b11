"""The requests that change a container's limits, given what Docker ignores and refuses.

Measured on a real engine; all of it matters for restoring limits exactly: an update ignores every field that
is 0, so "not set" cannot be sent; a quota is removed with −1; a container created with ``--cpus`` takes
``NanoCpus`` only, and at most the machine's cores, which is no limit; memory takes neither 0 nor −1, only a
number, and only together with swap; Docker stores a swap limit of −1 without applying it to the kernel. Where
"no limit" cannot be sent, the kernel's largest number is sent, which it also reports without a limit.

So a field of ``HostConfig`` that was not 0 is restored to the last digit. A field that was 0 stays unchanged
as long as possible; once it has had a value, its restored value has the same effect but another spelling
(`UNSET_VALUES`) until the container is created again, because no request sets it to 0 (moby/moby issue 22516,
open since 2016; docker/for-linux issue 558).
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from core.engines.docker_host.limits import DEFAULT_PERIOD, DEFAULT_SHARES, Limits
from core.engines.errors import ChangeRefused

if TYPE_CHECKING:
    from collections.abc import Callable

    from core.engines.docker_host.cgroups import CgroupReader
    from core.engines.docker_host.connection import Connection
    from core.engines.docker_host.containers import Container
    from core.engines.docker_host.limits import Limits
    from core.engines.values import HostInfo


NO_LIMIT: Final = 9223372036854771712
"""The kernel's own "no limit" of memory: the largest whole number of pages below 2^63."""

_HALF_LIMIT: Final = 1 << 62

UNSET_VALUES: Final = {
    "CpuQuota": -1,
    "CpuShares": DEFAULT_SHARES,
    "Memory": NO_LIMIT,
    "MemorySwap": NO_LIMIT,
    "MemoryReservation": -1,
}
"""What stands in ``HostConfig`` for 0 after a limit was set and removed (control groups version 1)."""

UNSET_SHARES: Final = {1: (DEFAULT_SHARES,), 2: (DEFAULT_SHARES, 2598)}
"""Shares that have the same effect as none, per version of control groups.

Version 2 has weights, of which 100 is usual; runc turns shares into weights, and 1024 shares into 100 only in
its newer releases (before, 39, and 2598 shares into 100). Which of them does it is seen from the group.
"""

USUAL_WEIGHT: Final = {1: DEFAULT_SHARES, 2: 100}
"""What a control group shows of a container that was given no shares: shares in version 1, a weight in 2."""


def update_request(
    now: Limits, target: Limits, cores: float, cgroup: int, resend: tuple[bool, bool] = (False, False)
) -> dict[str, int]:
    """Return the body of Docker's update request; empty if there is nothing to change."""
    body: dict[str, int] = {}
    before, after = now.effect(cores), target.effect(cores)
    if resend[0] or before[0] != after[0]:
        body |= _cpu_fields(now, target, cores)
    if before[1] != after[1]:
        body["CpuShares"] = target.cpu_shares or DEFAULT_SHARES
    if resend[1] or before[2:4] != after[2:4]:
        body |= _memory_fields(target, cgroup)
    if before[4] != after[4]:
        body["MemoryReservation"] = target.reserved_bytes or -1
    return body


def spelling_request(now: Limits, target: Limits) -> dict[str, int]:
    """Return the body of a second request, for limits of the right effect but another spelling.

    It is sent separately from the first: a swap limit of −1 is refused beside a larger limit of memory.
    """
    fields = {
        "CpuShares": (now.cpu_shares, target.cpu_shares),
        "MemorySwap": (now.memory_swap, target.memory_swap),
        "MemoryReservation": (now.memory_reservation, target.memory_reservation),
    }
    if now.nano_cpus == target.nano_cpus == 0:
        fields["CpuQuota"] = (now.cpu_quota, target.cpu_quota)
        fields["CpuPeriod"] = (now.cpu_period, target.cpu_period)
    return {name: new for name, (old, new) in fields.items() if new not in (0, old)}


def _cpu_fields(now: Limits, target: Limits, cores: float) -> dict[str, int]:
    limit = target.cores
    if now.nano_cpus > 0:
        return {"NanoCpus": round(min(cores if limit is None else limit, cores) * 1e9)}
    if limit is None:
        return {"CpuQuota": -1}
    period = (target.cpu_period if target.nano_cpus == 0 else 0) or DEFAULT_PERIOD
    body = {"CpuQuota": max(round(limit * period), 1000)}
    return body if period == (now.cpu_period or DEFAULT_PERIOD) else body | {"CpuPeriod": period}


def _memory_fields(target: Limits, cgroup: int) -> dict[str, int]:
    """Version 2 keeps swap apart and Docker sends the difference, so its "no limit" needs room for both."""
    memory, swap = target.memory_bytes, target.swap_bytes
    if memory is None:
        return {"Memory": NO_LIMIT if cgroup == 1 else _HALF_LIMIT, "MemorySwap": NO_LIMIT}
    return {"Memory": memory, "MemorySwap": NO_LIMIT if swap is None else swap}


_PAGE: Final = 1 << 16
"""Bytes by which the kernel may round a limit down: its largest usual page."""


def apply_limits(
    connection: Connection,
    reader: CgroupReader,
    host: HostInfo,
    now: Container,
    target: Limits,
    inspect: Callable[[str], Container],
) -> Limits:
    """Change what differs, read it back from Docker, and from the control group where that can be read.

    A request that is refused may have reached the kernel in part: version 1 takes a limit of memory and swap
    before it refuses one of memory, since that much is in use. What was there is sent again then, and so it
    is where Docker and the kernel are found to differ. Raises ChangeRefused if Docker refused, or the
    container has other limits afterwards.
    """
    partial = _partially_applied(reader, now, host.cores)
    body = update_request(now.limits, target, host.cores, host.cgroup, partial)
    unsets_weight = "CpuShares" in body and target.cpu_shares == 0
    for shares in UNSET_SHARES[host.cgroup] if unsets_weight else (0,):
        if body:
            try:
                connection.post(
                    f"/containers/{now.id}/update", body | ({"CpuShares": shares} if unsets_weight else {})
                )
            except ChangeRefused:
                _resend_limits(connection, reader, host, now)
                raise
        if not unsets_weight or _read_weight(reader, now) in (None, USUAL_WEIGHT[host.cgroup]):
            break
    after = inspect(now.id) if body else now
    if second_body := spelling_request(after.limits, target):
        connection.post(f"/containers/{now.id}/update", second_body)
        after = inspect(now.id)
    comparable = replace(after.limits, cpu_shares=0) if unsets_weight else after.limits
    enforced = _are_cores_enforced(reader, after, target, host.cores) and _is_memory_enforced(
        reader, after, target
    )
    if not comparable.agrees(target, host.cores) or not enforced:
        raise ChangeRefused(
            f"Docker on {host.name} did not apply the requested limits to {now.name}.",
            "See Docker's log; the container's original limits stay saved.",
        )
    return after.limits


def _resend_limits(connection: Connection, reader: CgroupReader, host: HostInfo, now: Container) -> None:
    """Send again what a container had before a request that was refused, if the kernel took a part of it."""
    partial = _partially_applied(reader, now, host.cores)
    if before := update_request(now.limits, now.limits, host.cores, host.cgroup, partial):
        with suppress(ChangeRefused):  # report the first refusal; the next change sends all
            connection.post(f"/containers/{now.id}/update", before)


def _read_weight(reader: CgroupReader, container: Container) -> int | None:
    enforced_limits = reader.cpu_limits(container)
    return None if enforced_limits is None else enforced_limits.weight


def _partially_applied(reader: CgroupReader, container: Container, cores: float) -> tuple[bool, bool]:
    """Whether the kernel holds a container to other cores, and to other memory, than Docker says."""
    limits = container.limits
    enforced_limits = reader.memory_limits(container) if container.running else None
    memory_and_swap = None if enforced_limits is None else enforced_limits.memory_and_swap
    swap_agrees = (
        memory_and_swap is None
        or limits.swap_bytes is None
        or abs(memory_and_swap - limits.swap_bytes) < _PAGE
    )
    memory = _is_memory_enforced(reader, container, limits) and swap_agrees
    return not _are_cores_enforced(reader, container, limits, cores), not memory


def _is_memory_enforced(reader: CgroupReader, container: Container, target: Limits) -> bool:
    """Whether the kernel holds the container to its memory; true where that cannot be read."""
    enforced_limits = reader.memory_limits(container) if container.running else None
    return enforced_limits is None or abs((enforced_limits.memory or 0) - (target.memory_bytes or 0)) < _PAGE


def _are_cores_enforced(reader: CgroupReader, container: Container, target: Limits, cores: float) -> bool:
    """Whether the kernel holds the container to its cores; true where that cannot be read."""
    enforced_limits = reader.cpu_limits(container) if container.running else None
    if enforced_limits is None:
        return True
    has = (
        None
        if enforced_limits.quota is None
        else enforced_limits.quota / (enforced_limits.period or DEFAULT_PERIOD)
    )
    limit, is_in_cpus = target.cores, container.limits.nano_cpus > 0
    expected = None if limit is None or (is_in_cpus and limit >= cores) else limit
    if has is None or expected is None:
        return (has is None or (is_in_cpus and has >= cores)) and expected is None
    return abs(has - expected) <= 0.0001 + 1 / enforced_limits.period
